// Calls a webhook once with a sample, and shows what it answered.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { ChoiceField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import { EVENT_TYPES } from '../developers/event_types.ts'
import { CallFacts } from './calls.tsx'
import type { Webhook } from './wire.ts'

export function SendTest({ webhook, is_main = false }: { webhook: Webhook; is_main?: boolean }) {
  const { id, types } = webhook
  const choices = types ?? EVENT_TYPES
  const type = useSignal(choices.includes('order.succeeded') ? 'order.succeeded' : choices[0]!)
  const answered = useSignal<Result<'/v1/webhook/test'> | undefined>(undefined)
  const submission = useSubmission()
  const send = () =>
    submission.run(async () => {
      answered.value = undefined
      answered.value = await ask('/v1/webhook/test', { id, type: type.value })
    })
  return (
    <section class="panel">
      <h2>{say('webhook.try')}</h2>
      <div class="filters">
        <ChoiceField
          label={say('event.type')}
          value={type.value}
          choices={choices.map((value) => ({ value, text: value }))}
          onChoice={(value) => {
            type.value = value
          }}
        />
        <button
          type="button"
          class={is_main ? 'main' : ''}
          disabled={submission.is_busy.value}
          onClick={send}
        >
          {say('webhook.test')}
        </button>
      </div>
      <div role="status">
        {submission.is_busy.value && <p>{say('busy')}</p>}
        {answered.value && <CallFacts call={answered.value.call} />}
      </div>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
    </section>
  )
}
