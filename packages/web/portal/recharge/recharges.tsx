// The payments of an address, as they go on.

import { Hash } from '../../shared/parts/address.tsx'
import { Progress } from '../../shared/parts/answer.tsx'
import { Money } from '../../shared/parts/money.tsx'
import { type Mark, Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { count, type Key, say } from '../../shared/words/words.ts'
import type { Payments, Recharge } from './offer.ts'

/** Each state in a sentence. */
const SEEN = ['busy', 'recharge.is_seen'] as const
const SENTENCES: Readonly<Record<string, readonly [Mark, Key]>> = {
  seen: SEEN,
  unproven: SEEN,
  received: ['busy', 'recharge.is_delivering'],
  delivering: ['busy', 'recharge.is_delivering'],
  delivered: ['done', 'recharge.is_delivered'],
  credited: ['done', 'recharge.is_delivered'],
  returning: ['look', 'recharge.is_returning'],
  refunding: ['look', 'recharge.is_returning'],
  refunded: ['look', 'recharge.is_refunded'],
  held: ['look', 'recharge.is_held'],
  resolved: ['look', 'recharge.is_resolved'],
  ignored: ['failed', 'recharge.is_ignored'],
  gone: ['failed', 'recharge.is_gone'],
}

export function Recharges({ recharges, is_old }: Payments) {
  return (
    <section class="panel" aria-label={say('recharge.payments')} aria-live="polite">
      <h2>{say('recharge.payments')}</h2>
      {is_old && <p class="note warn">{say('recharge.unreachable')}</p>}
      {recharges.length === 0 && !is_old && <Progress text={say('recharge.waiting')} />}
      <ul class="stack">
        {recharges.map((one) => (
          <li key={`${one.tx_id} ${one.amount}`}>
            <One {...one} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function One({ state, amount, energy, tx_id, block_time }: Recharge) {
  const [mark, sentence] = SENTENCES[state] ?? SEEN
  return (
    <>
      <p>
        <Shape mark={mark} /> {say(sentence, { energy: count(energy ?? 0) })}
      </p>
      <p class="quiet">
        {amount !== undefined && <Money trx={amount} />} · <Time at={block_time} /> ·{' '}
        <Hash tx_id={tx_id} />
      </p>
    </>
  )
}
