// A dialog over the page: the browser's own, with its focus and its Escape.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { say } from '../words/words.ts'

/** What a page is about to do in a dialog, if anything, and how often something was done: a list is
 *  asked for again then. */
export function useTask<Task>() {
  const task = useSignal<Task | undefined>(undefined)
  const version = useSignal(0)
  const begin = (next: Task) => {
    task.value = next
  }
  /** For the dialog. */
  const on = {
    onDone: () => {
      version.value++
    },
    onClose: () => {
      task.value = undefined
    },
  }
  return { task: task.value, version: version.value, begin, on }
}

export type DialogProps = {
  title: string
  onClose: () => void
  children: ComponentChildren
}

/** Open for as long as it is drawn. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const { current } = dialog
    current?.showModal()
    return () => current?.close()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={onClose}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="small" onClick={onClose}>
          {say('close')}
        </button>
      </header>
      {children}
    </dialog>
  )
}
