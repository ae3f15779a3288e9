// A dialog over the page: the browser's own, with its focus and its Escape.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Fault } from '../calls/ask.ts'
import { say } from '../words/words.ts'
import { FaultNote, Progress } from './answer.tsx'

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

export type AskFirstProps = {
  /** What is about to be done, and to what. */
  title: string
  /** What follows from it. */
  sentence: string
  /** The word of the button that does it. */
  action: string
  /** Answers whether it went well: the dialog closes then. */
  run: () => Promise<boolean>
  fault: Fault | undefined
  is_busy: boolean
  onClose: () => void
}

/** Asks before something is done that is not undone by a click. */
export function AskFirst(props: AskFirstProps) {
  const { title, sentence, action, run, fault, is_busy, onClose } = props
  const go = async () => {
    if (await run()) onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{sentence}</p>
      {fault && <FaultNote fault={fault} />}
      <p class="actions">
        <button type="button" class="main" disabled={is_busy} onClick={() => void go()}>
          {action}
        </button>
        <button type="button" onClick={onClose}>
          {say('cancel')}
        </button>
        {is_busy && <Progress text={say('busy')} />}
      </p>
    </Dialog>
  )
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
    const { activeElement: opener } = document
    current?.showModal()
    return () => {
      current?.close()
      // The browser does it for a dialog that stays in the page: this one is taken out.
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
    }
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
