// The proof of presence that a careful call asks for: a dialog over the page, which keeps what was
// typed. Several calls wait for the same dialog.

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import type { StepUpProps } from '../step_up/dialog.tsx'

type ProofListener = (is_proven: boolean) => void
const waiting = signal<readonly ProofListener[]>([])
const dialog = signal<FunctionComponent<StepUpProps> | undefined>(undefined)

/** Asks for a proof of presence; whether it was given. */
export const stepUp = (): Promise<boolean> =>
  new Promise((resolve) => {
    waiting.value = [...waiting.value, resolve]
    import('../step_up/dialog.tsx').then(
      ({ StepUpDialog }) => {
        dialog.value = StepUpDialog
      },
      () => settle(false),
    )
  })

function settle(is_proven: boolean): void {
  const all = waiting.value
  waiting.value = []
  for (const resolve of all) resolve(is_proven)
}

/** The dialog, while somebody waits for it. */
export function StepUp() {
  const Dialog = dialog.value
  return waiting.value.length > 0 && Dialog ? <Dialog settle={settle} /> : null
}
