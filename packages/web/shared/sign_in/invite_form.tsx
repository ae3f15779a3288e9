// Choosing a name and what to sign in with: a passkey, or a password with the codes of a phone.

import { type Signal, useSignal } from '@preact/signals'
import { Fault } from '../calls/ask.ts'
import { useSubmission } from '../calls/submission.ts'
import { FaultNote } from '../parts/answer.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { named, say } from '../words/words.ts'
import { type Invite, joinBy, showLink } from './joining.ts'
import { TotpSecret } from './totp_secret.tsx'

export type InviteFormProps = {
  token: string
  invite: Signal<Invite | undefined>
  onJoined: (recovery_codes: readonly string[]) => void
}

export function InviteForm({ token, invite, onJoined }: InviteFormProps) {
  const { passkey, totp, why_not, sign_in_name } = invite.value!
  const by_passkey = useSignal(passkey !== null)
  const typed_name = useSignal(sign_in_name ?? '')
  const password = useSignal('')
  const code = useSignal('')
  const submission = useSubmission()
  const join = async () => {
    const sign_in_name = typed_name.value.trim().toLowerCase()
    await submission.run(async () => {
      requireName(sign_in_name)
      if (by_passkey.value) onJoined(await joinByPasskey(token, sign_in_name))
      else {
        const shown = { password: password.value, code: code.value.replaceAll(' ', '') }
        onJoined(await joinBy(token, { sign_in_name, ...shown, offer: totp!.offer }))
      }
    })
    // The secret was shown too long ago: here is a new one.
    if (isAbout(submission.fault.value, 'offer')) invite.value = await showLink(token)
  }
  const fault = submission.fault.value
  return (
    <div class="panel narrow">
      <Greeting {...invite.value!} />
      {why_not && <p class="note warn">{why_not}</p>}
      <Form onSubmit={join} wrong={fault && <FaultNote fault={fault} />}>
        <TextField
          label={say('sign_in.name')}
          hint={say('join.name_hint')}
          name="username"
          autocomplete="username"
          wrong={isAbout(fault, 'sign_in_name') ? say('join.name_wrong') : undefined}
          value={typed_name.value}
          onText={(typed) => {
            typed_name.value = typed
          }}
        />
        {!by_passkey.value && (
          <>
            <TextField
              label={say('sign_in.password')}
              hint={say('join.password_hint')}
              type="password"
              autocomplete="new-password"
              wrong={isAbout(fault, 'password') ? say('join.password_wrong') : undefined}
              value={password.value}
              onText={(typed) => {
                password.value = typed
              }}
            />
            <TotpSecret {...totp!} />
            <TextField
              label={say('sign_in.code')}
              inputMode="numeric"
              autocomplete="one-time-code"
              wrong={isAbout(fault, 'code') ? say('join.code_wrong') : undefined}
              value={code.value}
              onText={(typed) => {
                code.value = typed
              }}
            />
          </>
        )}
        <Submit is_busy={submission.is_busy.value}>
          {by_passkey.value ? say('join.with_passkey') : say('join.with_password')}
        </Submit>
      </Form>
      {passkey !== null && (
        <p>
          <button
            type="button"
            onClick={() => {
              by_passkey.value = !by_passkey.value
              submission.fault.value = undefined
            }}
          >
            {by_passkey.value ? say('join.password_instead') : say('join.passkey_instead')}
          </button>
        </p>
      )}
    </div>
  )
}

function Greeting({ name, role, customer }: Invite) {
  const words = { name, role: named('role', role) }
  return (
    <p>
      {customer
        ? say('join.as', { ...words, customer: customer.name })
        : say('join.as_operator', words)}
    </p>
  )
}

/** Whether a field is what was refused. */
const isAbout = (fault: Fault | undefined, field: string): boolean =>
  fault?.key.endsWith(`.${field}`) ?? false

/** Throws before the browser makes a passkey for a name that the service would refuse. */
function requireName(sign_in_name: string): void {
  if (!/^[a-z0-9._@+-]{3,64}$/.test(sign_in_name))
    throw new Fault({ code: 2, key: 'invalid_service_or_params.sign_in_name', error: '' })
}

/** Each try needs a challenge of its own, and is for a name that nobody else has. */
async function joinByPasskey(token: string, sign_in_name: string): Promise<readonly string[]> {
  const { makePasskey } = await import('../calls/presence.ts')
  const { passkey } = await showLink(token, sign_in_name)
  return joinBy(token, { sign_in_name, passkey: await makePasskey(passkey, sign_in_name) })
}
