// What somebody with a password proves by: the password, and the code that the app shows now.

import { type Signal, useSignal } from '@preact/signals'
import { TextField } from '../parts/field.tsx'
import { say } from '../words/words.ts'

export type PasswordProof = { password: Signal<string>; code: Signal<string> }

export const usePasswordProof = (): PasswordProof => ({
  password: useSignal(''),
  code: useSignal(''),
})

/** As it is sent: people type the code with a space in the middle. */
export const typedProof = ({ password, code }: PasswordProof) => ({
  password: password.value,
  code: code.value.replaceAll(' ', ''),
})

export const PasswordFields = ({ proof: { password, code } }: { proof: PasswordProof }) => (
  <>
    <TextField
      label={say('sign_in.password')}
      type="password"
      autocomplete="current-password"
      value={password.value}
      onText={(typed) => {
        password.value = typed
      }}
    />
    <TextField
      label={say('sign_in.code')}
      inputMode="numeric"
      autocomplete="one-time-code"
      value={code.value}
      onText={(typed) => {
        code.value = typed
      }}
    />
  </>
)
