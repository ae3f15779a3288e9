// The proof of presence that a careful call asks for: a dialog over the page, which keeps what was
// typed. Several calls wait for the same dialog.

import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useDoing } from '../calls/doing.ts'
import type { Proofs } from '../calls/presence.ts'
import { FaultNote, Skeleton } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { say } from '../words/words.ts'

/** Loaded when it is needed. */
const presence = () => import('../calls/presence.ts')

type Waiting = (is_proven: boolean) => void
const waiting = signal<readonly Waiting[]>([])

/** Asks for a proof of presence; whether it was given. */
export const stepUp = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting.value = [...waiting.value, resolve]
  })

function settle(is_proven: boolean): void {
  const all = waiting.value
  waiting.value = []
  for (const resolve of all) resolve(is_proven)
}

/** The dialog, while somebody waits for it. */
export const StepUp = () => (waiting.value.length > 0 ? <StepUpDialog /> : null)

function StepUpDialog() {
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
