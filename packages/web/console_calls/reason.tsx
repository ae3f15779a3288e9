// The dialog before a change: what is about to be done, and why, which goes into the record.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useDoing } from '../calls/doing.ts'
import { toast } from '../frame/toasts.tsx'
import { FaultNote } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, Submit, TextField } from '../parts/field.tsx'
import { say } from '../words/words.ts'
import { run } from './calls.ts'

export type ReasonProps = {
  title: string
  /** The operation, and what it is given beside the reason. */
  words: string
  options: object
  onClose: () => void
  /** Called when it is done. */
  onDone?: () => void
  children?: ComponentChildren
}

export function Reason({ title, words, options, onClose, onDone, children }: ReasonProps) {
  const reason = useSignal('')
  const doing = useDoing()
  const submit = async () => {
    if (!(await doing.run(() => run(words, { ...options, reason: reason.value })))) return
    toast(say('done'))
    onDone?.()
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={submit}>
        {children}
        <TextField
          label={say('reason')}
          hint={say('reason.hint')}
          value={reason.value}
          onText={(text) => {
            reason.value = text
          }}
          spellcheck
        />
        {doing.fault.value && <FaultNote fault={doing.fault.value} />}
        <Submit
          is_busy={doing.is_busy.value}
          off={reason.value.trim() === '' ? say('reason.needed') : undefined}
        >
          {title}
        </Submit>
      </Form>
    </Dialog>
  )
}
