// Tells a webhook once more what it was told, or should have been: from a time or a number on.

import { useSignal } from '@preact/signals'
import type { Body } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { ChoiceField, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import type { Webhook } from './wire.ts'

type Which = 'dead' | 'all'
const NUMBER = /^\d{1,15}$/
const HOURS_24_MS = 86_400_000

/** A time without fractions, as the wire takes it. */
const wireTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** Since it fails; else since a day ago. */
const beginning = ({ failing_since }: Webhook): string =>
  failing_since?.replace(/\.\d+/, '') ?? wireTime(Date.now() - HOURS_24_MS)

export function Replay({ webhook, onDone }: { webhook: Webhook; onDone: () => void }) {
  const from = useSignal(beginning(webhook))
  const which = useSignal<Which>('all')
  const made_due = useSignal<number | undefined>(undefined)
  const submission = useSubmission()
  const text = from.value.trim()
  const where = NUMBER.test(text) ? { after: Number(text) } : { since: text }
  const body: Body<'/v1/webhook/replay'> = { id: webhook.id, ...where, which: which.value }
  const replay = () =>
    submission.run(async () => {
      made_due.value = undefined
      made_due.value = (await ask('/v1/webhook/replay', body)).notices
      onDone()
    })
  const [[option, value]] = Object.entries(where) as [[string, string | number]]
  return (
    <section class="panel">
      <h2>{say('replay.title')}</h2>
      <div class="filters">
        <TextField
          label={say('replay.from')}
          hint={say('replay.from_hint')}
          value={from.value}
          onText={(typed) => {
            from.value = typed
          }}
        />
        <ChoiceField
          label={say('replay.which')}
          value={which.value}
          choices={[
            { value: 'all', text: say('replay.all') },
            { value: 'dead', text: say('replay.dead') },
          ]}
          onChoice={(chosen) => {
            which.value = chosen as Which
          }}
        />
        <button type="button" disabled={submission.is_busy.value} onClick={replay}>
          {say('replay')}
        </button>
      </div>
      <p role="status">
        {made_due.value !== undefined && say('replay.done', { n: made_due.value })}
      </p>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <CodeSamples
        sdk={`penstock.webhooks.replay(${JSON.stringify(body, null, 2)})`}
        cli={`penstock webhooks replay ${webhook.id} --${option} ${value} --which ${which.value}`}
      />
    </section>
  )
}
