// The proof of presence that a careful call asks for: a dialog over the page, which keeps what was
// typed. Several calls wait for the same dialog.

import { signal, useSignal } from '@preact/signals'
import { Fault } from '../calls/ask.ts'
import { beginning } from '../calls/session.ts'
import { FaultNote } from '../parts/answer.tsx'
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
  const password = useSignal('')
  const code = useSignal('')
  const fault = useSignal<Fault | undefined>(undefined)
  const is_busy = useSignal(false)
  async function prove(by: () => Promise<unknown>) {
    is_busy.value = true
    fault.value = undefined
    try {
      await by()
      settle(true)
    } catch (thrown) {
      fault.value = Fault.of(thrown)
    }
    is_busy.value = false
  }
  return (
    <Dialog title={say('step_up')} onClose={() => settle(false)}>
      <p>{say('step_up.why')}</p>
      {fault.value && <FaultNote fault={fault.value} />}
      {beginning.value?.passkeys_possible && (
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
      <Form
        onSubmit={() =>
          prove(async () =>
            (await presence()).proveByPassword({ password: password.value, code: code.value }),
          )
        }
      >
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
        <Submit is_busy={is_busy.value}>{say('step_up.password')}</Submit>
      </Form>
    </Dialog>
  )
}
