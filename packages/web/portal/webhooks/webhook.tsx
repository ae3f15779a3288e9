// One webhook: how it does, what it was told, and what can be done about it.

import { useSignal } from '@preact/signals'
import { useLocation } from 'preact-iso/router'
import { ask } from '../../shared/calls/ask.ts'
import { useQuestion } from '../../shared/calls/question.ts'
import { type Submission, useSubmission } from '../../shared/calls/submission.ts'
import type { PageProps } from '../../shared/frame/face.ts'
import { Title } from '../../shared/frame/title.tsx'
import { toast } from '../../shared/frame/toasts.tsx'
import { Answer, FaultNote } from '../../shared/parts/answer.tsx'
import { AskFirst, useTask } from '../../shared/parts/dialog.tsx'
import { path } from '../../shared/paths/portal.ts'
import { say } from '../../shared/words/words.ts'
import { Notices } from '../notices/notices.tsx'
import { Replay } from '../notices/replay.tsx'
import { SendTest } from '../notices/send_test.tsx'
import type { Webhook } from '../notices/wire.ts'
import { Receivers } from './receivers.tsx'
import { ChangeWebhook, RemoveWebhook, RotateWebhook } from './webhook_dialogs.tsx'
import { nameOf, WebhookFacts } from './webhook_facts.tsx'

export default function WebhookPage({ params, query }: PageProps) {
  const id = params.id!
  const version = useSignal(0)
  const question = useQuestion(
    '/v1/webhook/check',
    { id },
    { patch: (known, { type }) => (type.startsWith('webhook.') ? 'again' : known) },
  )
  const again = () => {
    version.value++
    void question.again()
  }
  const webhook = question.answer.value
  return (
    <>
      <Title title={webhook ? nameOf(webhook) : say('webhook')} section={say('webhooks')} />
      <Answer question={question} lines={10}>
        {(webhook) => (
          <div class="stack">
            <Actions webhook={webhook} again={again} />
            <WebhookFacts webhook={webhook} />
            <div class="panels">
              <SendTest webhook={webhook} />
              <Replay webhook={webhook} onDone={again} />
            </div>
            <Notices webhook={webhook} query={query} version={version.value} onDone={again} />
            <Receivers />
          </div>
        )}
      </Answer>
    </>
  )
}

type Task = 'change' | 'rotate' | 'remove'
const TASKS = [
  ['change', 'key.change'],
  ['rotate', 'key.rotate'],
  ['remove', 'webhook.remove'],
] as const

function Actions({ webhook, again }: { webhook: Webhook; again: () => void }) {
  const { route } = useLocation()
  const { task, begin, on } = useTask<Task>()
  const submission = useSubmission()
  const props = { webhook, ...on, onDone: again }
  return (
    <>
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <p class="actions">
        <Switch webhook={webhook} again={again} submission={submission} />
        {TASKS.map(([what, word]) => (
          <button key={what} type="button" onClick={() => begin(what)}>
            {say(word)}
          </button>
        ))}
      </p>
      {task === 'change' && <ChangeWebhook {...props} />}
      {task === 'rotate' && <RotateWebhook {...props} />}
      {task === 'remove' && <RemoveWebhook {...props} onDone={() => route(path.webhooks, true)} />}
    </>
  )
}

type SwitchProps = { webhook: Webhook; again: () => void; submission: Submission }

/** Off, or on again from where it stopped or from now. */
function Switch({ webhook, again, submission }: SwitchProps) {
  const { id, state } = webhook
  const asks = useSignal(false)
  const turn = async (change: { state: 'on' | 'off'; from_now?: boolean }) => {
    const is_done = await submission.run(() => ask('/v1/webhook/change', { id, ...change }))
    if (!is_done) return false
    toast(change.state === 'on' ? say('webhook.is_on') : say('webhook.is_off'))
    again()
    return true
  }
  const button = (word: string, act: () => void) => (
    <button type="button" disabled={submission.is_busy.value} onClick={act}>
      {word}
    </button>
  )
  if (state !== 'on')
    return (
      <>
        {button(say('webhook.on'), () => void turn({ state: 'on' }))}
        {button(say('webhook.on_from_now'), () => void turn({ state: 'on', from_now: true }))}
        <span class="quiet">{say('webhook.on_hint')}</span>
      </>
    )
  return (
    <>
      {button(say('webhook.off'), () => {
        asks.value = true
      })}
      {asks.value && (
        <AskFirst
          title={say('webhook.off_title', { name: nameOf(webhook) })}
          sentence={say('webhook.off_sentence')}
          action={say('webhook.off')}
          run={() => turn({ state: 'off' })}
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
