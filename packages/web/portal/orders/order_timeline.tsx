// What happened to an order and what is to come, from the top down. What has not come yet is
// hollow, with the time at which it is expected.

import type { Result } from 'penstock-sdk'
import { Hash } from '../../shared/parts/address.tsx'
import { type Mark, Shape } from '../../shared/parts/state.tsx'
import { timeText } from '../../shared/parts/time.tsx'
import { spanText } from '../../shared/words/span.ts'
import { count, named, say } from '../../shared/words/words.ts'

export type OrderTimeline = Result<'/v1/transaction/timeline'>
type Step = OrderTimeline['steps'][number]

/** Where it is and why, in a sentence: of what has happened and of what is next. */
export function sentenceOf({ transaction, steps }: OrderTimeline): string {
  const happened = (what: string) =>
    steps.findLast((step) => step.what === what && step.at !== null)
  const next = steps.find(({ at }) => at === null)
  if (transaction.status === 'failed') return say('order.sentence.failed')
  if (transaction.status !== 'success')
    return next
      ? say('order.sentence.next', { step: named('step', next.what) })
      : say('order.sentence.open')
  const ends = transaction.delegations.map(({ expires_at }) => new Date(expires_at))
  // By the clock of the service: that of a chain may lie ahead.
  const charged = happened('charged')?.at
  if (steps.at(-1)?.what === 'ended' && steps.at(-1)?.at) return say('order.sentence.ended')
  if (happened('over')) return say('order.sentence.over')
  const took = charged
    ? new Date(charged).getTime() - new Date(transaction.created_at).getTime()
    : undefined
  const [end] = ends.sort((a, b) => a.getTime() - b.getTime())
  if (!end) return say('order.sentence.active')
  return took === undefined
    ? say('order.sentence.until', { end: timeText(end) })
    : say('order.sentence.delivered', { took: spanText(took), end: timeText(end) })
}

const WARNINGS: Readonly<Record<string, Mark>> = {
  reverted: 'look',
  dead: 'look',
  refunded: 'failed',
}

/** The first that is to come is under way, the others are not yet. */
function markOf(step: Step, steps: readonly Step[]): Mark {
  if (step.at !== null) return WARNINGS[step.what] ?? 'done'
  return steps.find(({ at }) => at === null) === step ? 'busy' : 'waiting'
}

type TimelineProps = Pick<OrderTimeline, 'steps' | 'chain_ahead_seconds'>

export function Timeline({ steps, chain_ahead_seconds }: TimelineProps) {
  return (
    <>
      {chain_ahead_seconds > 0 && (
        <p class="note">{say('timeline.ahead', { span: spanText(1_000 * chain_ahead_seconds) })}</p>
      )}
      <Steps steps={steps} />
    </>
  )
}

function Steps({ steps }: Pick<OrderTimeline, 'steps'>) {
  return (
    <ol class="timeline">
      {steps.map((step, i) => (
        <li key={`${step.what} ${step.at ?? step.expected} ${i}`}>
          <Shape mark={markOf(step, steps)} />
          <span class="figure timeline-time">
            <StepTime step={step} before={steps[i - 1]} />
          </span>
          <span>
            {named('step', step.what)} <Detail step={step} />
          </span>
        </li>
      ))}
    </ol>
  )
}

/** The first with its time of day, the others by how long after the one before they came. */
function StepTime({ step, before }: { step: Step; before: Step | undefined }) {
  const { at, expected } = step
  if (at === null) return expected ? <>~ {timeText(new Date(expected))}</> : say('timeline.open')
  const ms = before?.at ? new Date(at).getTime() - new Date(before.at).getTime() : undefined
  // Of two clocks: a span between them says nothing.
  if (ms === undefined || ms < 0) return <>{timeText(new Date(at), { milliseconds: true })}</>
  return (
    <time dateTime={at} title={at}>
      + {spanText(ms)}
    </time>
  )
}

function Detail({ step }: { step: Step }) {
  const { resource, amount, tx_id, block_number, detail } = step
  return (
    <>
      {amount !== undefined && resource !== undefined && (
        <span class="quiet">
          {count(amount)} {named('resource', resource)}{' '}
        </span>
      )}
      {block_number !== undefined && (
        <span class="quiet">{say('timeline.block', { block: count(block_number) })} </span>
      )}
      {detail && <span class="quiet">{detail} </span>}
      {tx_id && <Hash tx_id={tx_id} />}
    </>
  )
}
