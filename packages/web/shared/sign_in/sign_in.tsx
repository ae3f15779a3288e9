// Where one signs in: with a passkey, or a password and a code. It stands in the place of the page
// that was asked for, which is shown when that is done.

import { useSignal } from '@preact/signals'
import { Fault, post } from '../calls/ask.ts'
import { begin, beginning } from '../calls/session.ts'
import { startData } from '../calls/start_data.ts'
import { type Submission, useSubmission } from '../calls/submission.ts'
import { Title } from '../frame/title.tsx'
import { FaultNote } from '../parts/answer.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { PasswordFields, typedProof, usePasswordProof } from '../step_up/password_fields.tsx'
import { say } from '../words/words.ts'
import { RecoveryForm } from './recovery.tsx'

export function SignIn() {
  const submission = useSubmission()
  const said = beginning.value
  const withPasskey = () =>
    submission.run(async () => {
      const { signInByPasskey } = await import('../calls/presence.ts')
      await signInByPasskey()
      await begin()
    })
  return (
    <>
      <Title title={say('sign_in')} />
      <div class="panel narrow">
        {!said && <FaultNote fault={NOT_HEARD} again={() => location.reload()} />}
        {said?.why_not && <p class="note warn">{said.why_not}</p>}
        {submission.fault.value && <FaultNote fault={submission.fault.value} />}
        {said?.passkeys_possible && (
          <p class="actions">
            <button
              type="button"
              class="main"
              disabled={submission.is_busy.value}
              onClick={withPasskey}
            >
              {say('sign_in.with_passkey')}
            </button>
          </p>
        )}
        {said?.passkeys_possible ? (
          <details open={localStorage.getItem(BY_PASSWORD) === 'yes'}>
            <summary>{say('join.password_instead')}</summary>
            <PasswordForm submission={submission} />
          </details>
        ) : (
          <PasswordForm submission={submission} />
        )}
        <RecoveryForm />
        {said?.sign_up_possible && (
          <p>
            <a href={`${startData().base}/sign-up`}>{say('sign_up')}</a>
          </p>
        )}
      </div>
    </>
  )
}

/** That somebody has signed in here with a password: the form stands open from then on. */
const BY_PASSWORD = 'penstock-by-password'

const NOT_HEARD = new Fault({ code: -1, key: 'offline', error: '' })

function PasswordForm({ submission }: { submission: Submission }) {
  const name = useSignal('')
  const proof = usePasswordProof()
  const enter = () =>
    submission.run(async () => {
      await post('/session/password', {
        sign_in_name: name.value.trim(),
        ...typedProof(proof),
      })
      localStorage.setItem(BY_PASSWORD, 'yes')
      await begin()
    })
  return (
    <Form onSubmit={enter}>
      <TextField
        label={say('sign_in.name')}
        name="username"
        autocomplete="username"
        value={name.value}
        onText={(typed) => {
          name.value = typed
        }}
      />
      <PasswordFields proof={proof} />
      <Submit
        is_busy={submission.is_busy.value}
        kind={beginning.value?.passkeys_possible ? 'minor' : 'main'}
      >
        {say('sign_in.with_password')}
      </Submit>
    </Form>
  )
}
