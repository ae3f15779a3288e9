// What was answered when a webhook was called.

import { Shape } from '../../shared/parts/state.tsx'
import { Time } from '../../shared/parts/time.tsx'
import { spanText } from '../../shared/words/span.ts'
import { named, say } from '../../shared/words/words.ts'
import type { Call } from './wire.ts'

/** Delivered is what is answered with a 2xx. */
const isDelivered = ({ status }: Call): boolean => status !== null && status >= 200 && status <= 299

/** The status, or why there is none, and how long it took. */
export const CallText = ({ call }: { call: Call }) => (
  <span>
    <Shape mark={isDelivered(call) ? 'done' : 'failed'} />{' '}
    {call.status ?? named('call', call.error ?? '')} <span class="quiet">{spanText(call.ms)}</span>
  </span>
)

export const CallFacts = ({ call }: { call: Call }) => (
  <div class="stack">
    <p>
      <Time at={call.at} milliseconds /> <CallText call={call} />
    </p>
    {call.body !== null && call.body !== '' && (
      <pre tabIndex={0} aria-label={say('webhook.answer')}>
        <code>{call.body}</code>
      </pre>
    )}
  </div>
)
