// Signing in by a recovery code, which is used up: all other sessions end.

import { useSignal } from '@preact/signals'
import { post } from '../calls/ask.ts'
import { begin } from '../calls/session.ts'
import { useSubmission } from '../calls/submission.ts'
import { FaultNote } from '../parts/answer.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { say } from '../words/words.ts'

export function RecoveryForm() {
  const name = useSignal('')
  const code = useSignal('')
  const submission = useSubmission()
  const { fault, is_busy } = submission
  const enter = () =>
    submission.run(async () => {
      await post('/session/recovery', { sign_in_name: name.value.trim(), code: code.value.trim() })
      await begin()
    })
  return (
    <details>
      <summary>{say('recovery')}</summary>
      <div class="stack">
        <p>{say('recovery.sentence')}</p>
        <Form onSubmit={enter} wrong={fault.value && <FaultNote fault={fault.value} />}>
          <TextField
            label={say('sign_in.name')}
            autocomplete="username"
            value={name.value}
            onText={(typed) => {
              name.value = typed
            }}
          />
          <TextField
            label={say('recovery.code')}
            value={code.value}
            onText={(typed) => {
              code.value = typed
            }}
          />
          <Submit is_busy={is_busy.value}>{say('recovery.enter')}</Submit>
        </Form>
      </div>
    </details>
  )
}
