// What is said of a subscription in more than one place, and Stop.

import { useSignal } from '@preact/signals'
import { ask } from '../../shared/calls/ask.ts'
import { may } from '../../shared/calls/session.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { AskFirst } from '../../shared/parts/dialog.tsx'
import { moneyText } from '../../shared/parts/money.tsx'
import { State } from '../../shared/parts/state.tsx'
import { count, named, say } from '../../shared/words/words.ts'

/** 0 on the wire is no limit. */
export const limitText = (limit: number): string =>
  limit === 0 ? say('subscription.unlimited') : count(limit)

type StateProps = { status: string; reason?: string; resting?: string; held?: number }

/** Its state, and why it has ended or is not supplied for now. */
export const SubscriptionState = ({ status, reason, resting, held }: StateProps) => (
  <>
    <State state={status} />
    {resting !== undefined && <span class="quiet"> {named('rest', resting)}</span>}
    {reason !== undefined && <span class="quiet"> {named('said', reason)}</span>}
    {held !== undefined && (
      <span class="quiet"> {say('subscription.held', { trx: moneyText(held) })}</span>
    )}
  </>
)

const RUNNING = ['new', 'pending', 'active']

export const isRunning = ({ status }: { status: string }): boolean => RUNNING.includes(status)

type StopProps = {
  id: string
  address: string
  can_stop: boolean
  onStopped: () => void
}

/** Nothing where it cannot be stopped: only one that runs, and has no limit of transactions. */
export function Stop({ id, address, can_stop, onStopped }: StopProps) {
  const submission = useSubmission()
  const asks = useSignal(false)
  if (!may('buy') || !can_stop) return null
  const stop = async () => {
    const is_done = await submission.run(() => ask('/v1/subscription/stop', { id }))
    if (is_done) onStopped()
    return is_done
  }
  return (
    <>
      <button
        type="button"
        class="small"
        aria-label={`${say('subscription.stop')} ${address}`}
        onClick={() => {
          asks.value = true
        }}
      >
        {say('subscription.stop')}
      </button>
      {asks.value && (
        <AskFirst
          title={say('subscription.stop_title')}
          sentence={say('subscription.stop_sentence', { address })}
          action={say('subscription.stop')}
          run={stop}
          fault={submission.fault.value}
          is_busy={submission.is_busy.value}
          onClose={() => {
            asks.value = false
          }}
        />
      )}
    </>
  )
}
