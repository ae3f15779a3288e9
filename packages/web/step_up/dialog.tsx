// The dialog that asks for a proof of presence; it is loaded when the first call needs one.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useDoing } from '../calls/doing.ts'
import type { Proofs } from '../calls/presence.ts'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { say } from '../words/words.ts'

/** Loaded when it is needed. */
const presence = () => import('../calls/presence.ts')

/** `settle` is told whether the proof was given. */
export type StepUpProps = { settle: (is_proven: boolean) => void }

export function StepUpDialog({ settle }: StepUpProps) {
  const proofs = useSignal<Proofs | undefined>(undefined)
  const { is_busy, fault, run } = useDoing()
  const prove = (by: () => Promise<unknown>) =>
    run(async () => {
      await by()
      settle(true)
    })
  useEffect(() => {
    void run(async () => {
      proofs.value = await (await presence()).askProofs()
    })
  }, [])
  return (
    <Dialog title={say('step_up')} onClose={() => settle(false)}>
      <p>{say('step_up.why')}</p>
      {fault.value && <FaultNote fault={fault.value} />}
      {!proofs.value && !fault.value && <Skeleton lines={3} />}
      {Boolean(proofs.value?.passkey) && (
        <p class="actions">
          <button
            type="button"
            class="main"
            disabled={is_busy.value}
            onClick={() => prove(async () => (await presence()).proveByPasskey())}
          >
            {say('step_up.passkey')}
          </button>
        </p>
      )}
      {proofs.value?.password && <PasswordProof is_busy={is_busy.value} prove={prove} />}
    </Dialog>
  )
}

type PasswordProofProps = { is_busy: boolean; prove: (by: () => Promise<unknown>) => unknown }

function PasswordProof({ is_busy, prove }: PasswordProofProps) {
  const password = useSignal('')
  const code = useSignal('')
  const send = async () =>
    (await presence()).proveByPassword({
      password: password.value,
      code: code.value.replaceAll(' ', ''),
    })
  return (
    <Form onSubmit={() => prove(send)}>
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
      <Submit is_busy={is_busy}>{say('step_up.password')}</Submit>
    </Form>
  )
}
