// The dialog that asks for a proof of presence; it is loaded when the first call needs one.

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Proofs } from '../calls/presence.ts'
import { useSubmission } from '../calls/submission.ts'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit } from '../parts/field.tsx'
import { say } from '../words/words.ts'
import { PasswordFields, typedProof, usePasswordProof } from './password_fields.tsx'

/** Loaded when it is needed. */
const presence = () => import('../calls/presence.ts')

/** `settle` is told whether the proof was given. */
export type StepUpProps = { settle: (is_proven: boolean) => void }

export function StepUpDialog({ settle }: StepUpProps) {
  const proofs = useSignal<Proofs | undefined>(undefined)
  const { is_busy, fault, run } = useSubmission()
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
      {proofs.value?.password && <PasswordForm is_busy={is_busy.value} prove={prove} />}
    </Dialog>
  )
}

type PasswordFormProps = { is_busy: boolean; prove: (by: () => Promise<unknown>) => unknown }

function PasswordForm({ is_busy, prove }: PasswordFormProps) {
  const proof = usePasswordProof()
  const send = async () => (await presence()).proveByPassword(typedProof(proof))
  return (
    <Form onSubmit={() => prove(send)}>
      <PasswordFields proof={proof} />
      <Submit is_busy={is_busy}>{say('step_up.password')}</Submit>
    </Form>
  )
}
