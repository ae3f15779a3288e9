// Short words on what was done, in a region that is read aloud when there is time; some with what
// takes it back.

import { signal } from '@preact/signals'
import { say } from '../words/words.ts'

type Toast = { id: number; text: string; undo: (() => void) | undefined }
const toasts = signal<readonly Toast[]>([])
let newest = 0
const SHOWN_MS = 6_000
/** One must have the time to think better of it. */
const UNDOABLE_MS = 15_000

export function toast(text: string, undo?: () => void): void {
  const id = ++newest
  toasts.value = [...toasts.value, { id, text, undo }]
  setTimeout(() => forget(id), undo ? UNDOABLE_MS : SHOWN_MS)
}

function forget(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text, undo }) => (
      <p key={id}>
        {text}
        {undo && (
          <>
            {' '}
            <button
              type="button"
              class="small"
              onClick={() => {
                forget(id)
                undo()
              }}
            >
              {say('undo')}
            </button>
          </>
        )}
      </p>
    ))}
  </div>
)
