// What is done to a webhook, each in a dialog over its page.

import { ask } from '../calls/ask.ts'
import { useSubmission } from '../calls/submission.ts'
import { toast } from '../frame/toasts.tsx'
import { FaultNote } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit } from '../parts/field.tsx'
import type { Webhook } from '../portal_notices/wire.ts'
import { Rotation } from '../secrets/rotation.tsx'
import { say } from '../words/words.ts'
import { nameOf } from './webhook_facts.tsx'
import { useWebhookFields, WebhookFieldsView } from './webhook_form.tsx'

type DialogProps = { webhook: Webhook; onDone: () => void; onClose: () => void }

export function ChangeWebhook({ webhook, onDone, onClose }: DialogProps) {
  const { id, url } = webhook
  const fields = useWebhookFields(webhook)
  const submission = useSubmission()
  const change = async () => {
    if (Object.keys(fields.wrong).length > 0) return
    const { url: typed, ...rest } = fields.body
    // Where it leads is the careful part: it is named only when it is another.
    const body = { id, ...rest, ...(typed !== url && { url: typed }) }
    if (!(await submission.run(() => ask('/v1/webhook/change', body)))) return
    toast(say('webhook.changed'))
    onDone()
    onClose()
  }
  return (
    <Dialog title={say('webhook.change_title')} onClose={onClose}>
      <Form
        onSubmit={change}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <WebhookFieldsView fields={fields} shows_wrong />
        <Submit is_busy={submission.is_busy.value}>{say('save')}</Submit>
      </Form>
    </Dialog>
  )
}

export function RotateWebhook({ webhook, onDone, onClose }: DialogProps) {
  const { id } = webhook
  return (
    <Rotation
      title={say('key.rotate_title', { name: nameOf(webhook) })}
      rotate={async (overlap_hours) => {
        const { secret } = await ask('/v1/webhook/rotate', { id, overlap_hours })
        onDone()
        return secret
      }}
      samples={(hours) => ({
        sdk: `penstock.webhooks.rotate(${JSON.stringify({ id, overlap_hours: hours })})`,
        cli: `penstock webhooks rotate ${id} --overlap-hours ${hours}`,
      })}
      onClose={onClose}
    />
  )
}

export function RemoveWebhook({ webhook, onDone, onClose }: DialogProps) {
  const submission = useSubmission()
  const remove = async () => {
    if (!(await submission.run(() => ask('/v1/webhook/remove', { id: webhook.id })))) return
    onClose()
    onDone()
  }
  return (
    <Dialog title={say('webhook.remove_title', { name: nameOf(webhook) })} onClose={onClose}>
      <p>{say('webhook.remove_sentence')}</p>
      <Form
        onSubmit={remove}
        wrong={submission.fault.value && <FaultNote fault={submission.fault.value} />}
      >
        <Submit is_busy={submission.is_busy.value}>{say('webhook.remove')}</Submit>
      </Form>
    </Dialog>
  )
}
