// A new webhook: its secret is shown once, and it can be tried at once.

import { useSignal } from '@preact/signals'
import type { Result } from 'penstock-sdk'
import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { CodeSamples } from '../../shared/parts/code.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { Form, Submit } from '../../shared/parts/field.tsx'
import { path } from '../../shared/paths/portal.ts'
import { ShownOnce } from '../../shared/secrets/shown_once.tsx'
import { say } from '../../shared/words/words.ts'
import { SendTest } from '../notices/send_test.tsx'
import { useWebhookFields, WebhookFieldsView } from './webhook_form.tsx'

export type NewWebhookProps = { onDone: () => void; onClose: () => void }

export function NewWebhook({ onDone, onClose }: NewWebhookProps) {
  const fields = useWebhookFields()
  const made = useSignal<Result<'/v1/webhook/new'> | undefined>(undefined)
  const was_sent = useSignal(false)
  const submission = useSubmission()
  const make = () => {
    was_sent.value = true
    if (Object.keys(fields.wrong).length > 0) return
    void submission.run(async () => {
      made.value = await ask('/v1/webhook/new', fields.body)
      onDone()
    })
  }
  const { value } = made
  if (value)
    return (
      <Dialog title={say('webhook.made')} onClose={onClose}>
        <ShownOnce texts={[{ name: say('key.secret'), text: value.secret }]} />
        <SendTest webhook={value.webhook} is_main />
        <p>
          <a href={path.webhook(value.webhook.id)}>{say('webhook.open')}</a>
        </p>
      </Dialog>
    )
  const { url, types = [] } = fields.body
  const only = types.length === 0 ? '' : ` --types ${types.join(',')}`
  return (
    <Dialog title={say('webhook.new')} onClose={onClose}>
      <Form
        onSubmit={make}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <WebhookFieldsView fields={fields} shows_wrong={was_sent.value} />
        <Submit is_busy={submission.is_busy.value}>{say('webhook.create')}</Submit>
        <CodeSamples
          sdk={`penstock.webhooks.create(${JSON.stringify({ url, types }, null, 2)})`}
          cli={`penstock webhooks create ${url || 'https://shop.example/penstock'}${only}`}
        />
      </Form>
    </Dialog>
  )
}
