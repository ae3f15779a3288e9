// Short words on what was done, in a region that is read aloud when there is time.

import { signal } from '@preact/signals'

type Toast = { id: number; text: string }
const toasts = signal<readonly Toast[]>([])
let newest = 0
const SHOWN_MS = 6_000

export function toast(text: string): void {
  const id = ++newest
  toasts.value = [...toasts.value, { id, text }]
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id)
  }, SHOWN_MS)
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map(({ id, text }) => (
      <p key={id}>{text}</p>
    ))}
  </div>
)
