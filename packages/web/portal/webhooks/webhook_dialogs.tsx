// What is done to a webhook, each in a dialog over its page.

import { ask } from '../../shared/calls/ask.ts'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { Form, Submit } from '../../shared/parts/field.tsx'
import { Rotation } from '../../shared/secrets/rotation.tsx'
import { say } from '../../shared/words/words.ts'
import type { Webhook } from '../notices/wire.ts'
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
        <Submit is_busy={submission.is_busy.value} kind="danger">
          {say('webhook.remove')}
        </Submit>
      </Form>
    </Dialog>
  )
}
