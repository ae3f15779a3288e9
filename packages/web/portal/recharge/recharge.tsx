// Buying without an account: TRX is sent to the published address, and the address that has sent it
// gets the energy. What is chosen stands in the address of the page, so that whoever opens it again
// finds the payment again.

import './recharge_words.ts'
import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { Address, Copy } from '../../shared/parts/address.tsx'
import { Answer } from '../../shared/parts/answer.tsx'
import { Paste, TextField } from '../../shared/parts/field.tsx'
import { Money, moneyText } from '../../shared/parts/money.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, type Key, say } from '../../shared/words/words.ts'
import { QrCode } from '../money/qr_code.tsx'
import { type Offer, useOffer, useRecharges } from './offer.ts'
import { burningCost, type Payment, paymentFor, savedPercent } from './payment.ts'
import { Recharges } from './recharges.tsx'

const PRESETS: readonly [energy: number, what: Key][] = [
  [65_000, 'recharge.transfer'],
  [131_000, 'recharge.transfer_to_new'],
]

const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/
const WHOLE = /^\d{1,9}$/
/** `65,000` and `65 000` as one may type them. */
const digitsOf = (typed: string): string => typed.replace(/[\s,.'\u2009]/g, '')

export default function RechargePage({ query }: PageProps) {
  const { route } = useLocation()
  const address = useSignal(query.address ?? '')
  const energy = useSignal(query.energy ?? String(PRESETS[0]![0]))
  const offer = useOffer()
  const set = (change: { address?: string; energy?: string }) => {
    address.value = change.address ?? address.value
    energy.value = change.energy ?? energy.value
    const is_whole = ADDRESS.test(address.value) && WHOLE.test(energy.value)
    if (is_whole) route(path.recharge({ address: address.value, energy: energy.value }), true)
  }
  const payer = address.value
  const found = useRecharges(ADDRESS.test(payer) ? payer : undefined).value
  // The sum within an address is for the service to check: nothing is to be paid before.
  const is_payer = found !== undefined && !found.is_wrong
  const is_answered = is_payer && !(found.is_old && found.recharges.length === 0)
  const is_wrong = payer !== '' && (!ADDRESS.test(payer) || found?.is_wrong === true)
  return (
    <>
      <Title title={say('recharge')} />
      <div class="stack">
        <p>{say('recharge.sentence')}</p>
        <Answer question={offer} lines={12}>
          {(offered) => {
            const payment = WHOLE.test(energy.value)
              ? paymentFor(offered.rates, Number(energy.value))
              : undefined
            return (
              <div class="panels">
                <section class="panel" aria-label={say('recharge.what')}>
                  <h2>{say('recharge.what')}</h2>
                  <Wish address={payer} is_wrong={is_wrong} energy={energy.value} set={set} />
                  {payment ? (
                    <Price payment={payment} burning={offered.burning} />
                  ) : (
                    <Bounds {...offered} />
                  )}
                </section>
                {payment && is_answered && <Pay payer={payer} to={offered.address} {...payment} />}
                {is_payer && <Recharges {...found} />}
              </div>
            )
          }}
        </Answer>
      </div>
    </>
  )
}

type WishProps = {
  address: string
  is_wrong: boolean
  energy: string
  set: (change: { address?: string; energy?: string }) => void
}

function Wish({ address, is_wrong, energy, set }: WishProps) {
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <TextField
        label={say('recharge.payer')}
        hint={say('recharge.payer_hint')}
        wrong={is_wrong ? say('buy.wrong_address') : undefined}
        value={address}
        onText={(text) => set({ address: text.trim() })}
      />
      <p class="actions">
        <Paste onText={(text) => set({ address: text })} />
      </p>
      <TextField
        label={say('buy.energy')}
        inputMode="numeric"
        wrong={energy === '' || WHOLE.test(energy) ? undefined : say('buy.wrong_amount')}
        value={energy}
        onText={(text) => set({ energy: digitsOf(text) })}
      />
      <p class="actions">
        {PRESETS.map(([amount, what]) => (
          <button
            key={amount}
            type="button"
            class="small"
            aria-pressed={energy === String(amount)}
            onClick={() => set({ energy: String(amount) })}
          >
            {say(what, { n: amount })}
          </button>
        ))}
      </p>
    </form>
  )
}

function Price({ payment, burning }: { payment: Payment; burning: number | undefined }) {
  const { trx, energy } = payment
  const saved = burning === undefined ? 0 : savedPercent(payment, burning)
  return (
    <div role="status">
      <p class="headline">
        <Money trx={trx} />
      </p>
      <p>{say('recharge.buys', { energy: count(energy) })}</p>
      {burning !== undefined && saved > 0 && (
        <p class="quiet">
          {say('recharge.saves', { n: saved, burning: moneyText(burningCost(burning, energy)) })}
        </p>
      )}
    </div>
  )
}

/** From where to where one may buy. */
function Bounds({ rates }: Offer) {
  const least = rates[0]?.min_energy ?? 0
  const most = rates.at(-1)?.max_energy ?? 0
  return (
    <p class="note warn" role="status">
      {say('recharge.bounds', { least: count(least), most: count(most) })}
    </p>
  )
}

function Pay({ payer, to, trx }: Payment & { payer: string; to: string }) {
  const text = moneyText(trx).replaceAll('\u2009', '')
  return (
    <section class="panel" aria-label={say('recharge.pay')}>
      <h2>{say('recharge.pay')}</h2>
      <p>{say('recharge.send', { trx: text })}</p>
      <p class="headline">
        <Money trx={trx} /> <Copy text={text} what={say('recharge.amount')} />
      </p>
      <p>
        <Address address={to} whole />
      </p>
      <QrCode text={to} title={say('recharge.qr')} />
      <p>{say('recharge.from')}</p>
      <p>
        <Address address={payer} whole />
      </p>
      <p class="note warn">{say('recharge.own_wallet')}</p>
    </section>
  )
}
