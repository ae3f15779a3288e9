// The price that binds for a while, what it is made of, and Confirm.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import type { ComponentChildren } from 'preact'
import { ask, NOT_ANSWERED } from '../../shared/calls/ask.ts'
import { isUnknown } from '../../shared/calls/outcome.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote, Progress } from '../../shared/parts/answer.tsx'
import { lessBy, Money } from '../../shared/parts/money.tsx'
import { Facts } from '../../shared/parts/table.tsx'
import { now_ms } from '../../shared/parts/time.tsx'
import { path } from '../../shared/paths/portal.ts'
import { count, named, say } from '../../shared/words/words.ts'
import { percentBelow } from '../recharge/payment.ts'
import { amountsText } from './order_facts.tsx'

export type Quote = Result<'/v1/quote/new'>

export type QuotePanelProps = {
  quote: Quote
  /** Under which it is bought, however often it is tried. */
  external_id: string
  /** It is being bought, or the answer was lost; false: it was refused. */
  onTried: (is_tried: boolean) => void
  onBought: (order_id: string) => void
  /** Asks for a new price. */
  again: () => void
}

export function QuotePanel(props: QuotePanelProps) {
  const { quote, external_id, onTried, onBought, again } = props
  const balance = useQuestion(
    '/v1/balance',
    {},
    { patch: (known, { type }) => (type.startsWith('deposit.') ? 'again' : known) },
  )
  const submission = useSubmission()
  const is_unknown = useSignal(false)
  const confirm = async () => {
    onTried(true)
    const is_done = await submission.run(async () => {
      const { id } = await ask('/v1/quote/accept', { id: quote.id, external_id })
      onBought(id)
    })
    const { code } = submission.fault.value ?? { code: 0 }
    is_unknown.value = isUnknown(is_unknown.value, code)
    onTried(is_done || is_unknown.value)
  }
  const left_ms = new Date(quote.expires_at).getTime() - now_ms.value
  const is_over = left_ms <= 0 && !is_unknown.value
  const has = balance.answer.value?.balance
  const lacks = has === undefined ? 0 : Math.max(0, lessBy(quote.amount, has))
  const is_busy = submission.is_busy.value
  const fault = submission.fault.value
  return (
    <section class="panel" aria-label={say('quote')}>
      <h2>{say('quote')}</h2>
      <p class="headline">
        <Money trx={quote.amount} />
      </p>
      <Saving quote={quote} />
      <Facts facts={factsOf(quote, has)} />
      <Room quote={quote} />
      {lacks > 0 && !is_unknown.value && <Lacking trx={lacks} />}
      {is_unknown.value && <p class="note warn">{say('quote.unknown')}</p>}
      {fault && fault.code !== NOT_ANSWERED && <FaultNote fault={fault} />}
      <p class="actions">
        {is_over ? (
          <>
            <span>{say('quote.over')}</span>
            <button type="button" onClick={again}>
              {say('quote.again')}
            </button>
          </>
        ) : (
          <button
            type="button"
            class="main"
            disabled={is_busy || (lacks > 0 && !is_unknown.value)}
            ref={focusOnce}
            onClick={confirm}
          >
            {say('confirm')}
          </button>
        )}
        {is_busy && <Progress text={say('quote.buying')} />}
        {left_ms > 0 && !is_busy && (
          <span class="quiet figure">{say('quote.binds', { n: Math.ceil(left_ms / 1_000) })}</span>
        )}
      </p>
    </section>
  )
}

/** How much less it is than burning TRX, in whole percent. */
function Saving({ quote: { amount, burning_costs } }: { quote: Quote }) {
  const n = burning_costs === null ? 0 : percentBelow(amount, burning_costs)
  return n > 0 && <p class="quiet">{say('quote.saves', { n })}</p>
}

/** What is missing of the price, and where to pay it in. */
const Lacking = ({ trx }: { trx: number }) => (
  <p class="note warn" role="alert">
    <span>
      {say('quote.lacks')} <Money trx={trx} />. <a href={path.money}>{say('deposit')}</a>
    </span>
  </p>
)

/** The price was asked for: the next key is for it. */
const focusOnce = (button: HTMLButtonElement | null) => {
  if (button && !button.dataset.focused) {
    button.dataset.focused = 'yes'
    button.focus()
  }
}

function factsOf(quote: Quote, has: number | undefined): [string, ComponentChildren][] {
  const { service, params, amount, fee, fee_limit, burning_costs } = quote
  const facts: [string, ComponentChildren][] = [
    [say('order.bought'), amountsText(params.amounts) || named('service', service)],
    [say('quote.price'), <Money key="price" trx={lessBy(amount, fee)} />],
  ]
  if (fee > 0) facts.push([say('quote.fee'), <Money key="fee" trx={fee} />])
  if (burning_costs !== null)
    facts.push([say('quote.burning'), <Money key="burning" trx={burning_costs} />])
  if (fee_limit !== undefined)
    facts.push([say('quote.fee_limit'), say('quote.sun', { n: fee_limit })])
  if (has !== undefined && has >= amount)
    facts.push([say('quote.after'), <Money key="after" trx={lessBy(has, amount)} />])
  return facts
}

/** What can be delivered now; nothing where the house does not say. */
function Room({ quote }: { quote: Quote }) {
  const resource = quote.energy > 0 ? 'energy' : 'bandwidth'
  const { answer } = useQuestion('/v1/pool-forecast', { resource, hours: 1 })
  const now = answer.value?.now
  if (!now || (quote.energy === 0 && quote.bandwidth === 0)) return null
  return (
    <p class="quiet">
      {say('quote.room', { room: count(now.room), resource: named('resource', resource) })}
    </p>
  )
}
