// Another password, with a secret of its own for the codes of a phone. All other sessions end.

import { useSignal } from '@preact/signals'
import { post } from '../calls/ask.ts'
import { usePosted } from '../calls/question.ts'
import { useSubmission } from '../calls/submission.ts'
import { toast } from '../frame/toasts.tsx'
import { Answer, FaultNote } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { TotpSecret } from '../sign_in/totp_secret.tsx'
import { say } from '../words/words.ts'

type Offer = { secret: string; uri: string; offer: string }

export function NewPassword({ onClose }: { onClose: () => void }) {
  const question = usePosted<{ totp: Offer }>('/session/totp', {})
  return (
    <Dialog title={say('settings.password_new')} onClose={onClose}>
      <Answer question={question} lines={8}>
        {({ totp }) => <PasswordForm totp={totp} onDone={onClose} />}
      </Answer>
    </Dialog>
  )
}

function PasswordForm({ totp, onDone }: { totp: Offer; onDone: () => void }) {
  const password = useSignal('')
  const code = useSignal('')
  const submission = useSubmission()
  const { value: fault } = submission.fault
  const isAbout = (field: string) => fault?.key.endsWith(`.${field}`) ?? false
  const change = async () => {
    const typed = { password: password.value, code: code.value.replaceAll(' ', '') }
    const body = { ...typed, offer: totp.offer }
    if (!(await submission.run(() => post('/session/totp', body)))) return
    toast(say('settings.password_changed'))
    onDone()
  }
  return (
    <Form onSubmit={() => void change()} wrong={fault && <FaultNote fault={fault} />}>
      <TextField
        label={say('sign_in.password')}
        hint={say('join.password_hint')}
        type="password"
        autocomplete="new-password"
        wrong={isAbout('password') ? say('join.password_wrong') : undefined}
        value={password.value}
        onText={(text) => {
          password.value = text
        }}
      />
      <TotpSecret secret={totp.secret} uri={totp.uri} />
      <TextField
        label={say('sign_in.code')}
        inputMode="numeric"
        autocomplete="one-time-code"
        wrong={isAbout('code') ? say('join.code_wrong') : undefined}
        value={code.value}
        onText={(text) => {
          code.value = text
        }}
      />
      <Submit is_busy={submission.is_busy.value}>{say('save')}</Submit>
    </Form>
  )
}
