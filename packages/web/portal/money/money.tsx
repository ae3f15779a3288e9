// What can be spent, where to send more, and what has arrived.

import { useQuestion } from '../../shared/calls/question.ts'
import { may } from '../../shared/calls/session.ts'
import { Ranges } from '../../shared/charts/ranges.tsx'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Money as Sum } from '../../shared/parts/money.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { Deposits } from './deposits.tsx'
import { LowBalance } from './low_balance.tsx'
import { BalanceChart, patchByMoney, useSummary } from './money_charts.tsx'
import { QrCode } from './qr_code.tsx'

export default function Money({ query }: PageProps) {
  const balance = useQuestion('/v1/balance', {}, { patch: patchByMoney })
  const { days, drawn, range } = useSummary(query.range)
  return (
    <>
      <Title title={say('money')}>
        {may('money') && (
          <a class="button" href={path.statement}>
            {say('statement')}
          </a>
        )}
      </Title>
      <div class="stack">
        <Answer question={balance} lines={12}>
          {({ balance, address }) => (
            <div class="panels">
              <section class="panel">
                <h2>{say('home.left')}</h2>
                <p class="headline">
                  <Sum trx={balance} />
                  <span class="quiet">{say('money.spendable')}</span>
                </p>
              </section>
              <DepositAddress address={address} />
              {may('money') && <LowBalance />}
            </div>
          )}
        </Answer>
        <section class="panel">
          <h2>{say('money.deposits')}</h2>
          <div>
            <Deposits query={query} />
          </div>
        </section>
        <Answer question={days} lines={8}>
          {() => <BalanceChart {...drawn} actions={<Ranges range={range} />} />}
        </Answer>
      </div>
    </>
  )
}

function DepositAddress({ address }: { address: string }) {
  return (
    <section class="panel">
      <h2>{say('deposit')}</h2>
      <p>{say('money.sentence')}</p>
      <p>
        <Address address={address} whole />
      </p>
      <QrCode text={address} title={say('money.qr')} />
    </section>
  )
}
