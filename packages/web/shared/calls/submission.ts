// One thing at a time: while it is done the buttons rest, and what goes wrong is shown.

import { type Signal, useSignal } from '@preact/signals'
import { Fault } from './ask.ts'

/** What a form or a button does when it is pressed. */
export type Submission = {
  is_busy: Signal<boolean>
  fault: Signal<Fault | undefined>
  /** Does it; answers whether it went well. */
  run(work: () => Promise<unknown>): Promise<boolean>
}

export function useSubmission(): Submission {
  const is_busy = useSignal(false)
  const fault = useSignal<Fault | undefined>(undefined)
  async function run(work: () => Promise<unknown>): Promise<boolean> {
    is_busy.value = true
    fault.value = undefined
    const thrown = await work().then(
      () => undefined,
      (refused: unknown) => Fault.of(refused),
    )
    fault.value = thrown
    is_busy.value = false
    return thrown === undefined
  }
  return { is_busy, fault, run }
}
