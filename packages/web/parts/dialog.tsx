// A dialog over the page: the browser's own, with its focus and its Escape.

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { say } from '../words/words.ts'

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
