// The dialog before a change: what is about to be done, and why, which goes into the record.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useSubmission } from '../../shared/calls/submission.ts'
import { toast } from '../../shared/frame/toasts.tsx'
import { FaultNote } from '../../shared/parts/answer.tsx'
import { Dialog } from '../../shared/parts/dialog.tsx'
import { Form, Submit, TextField } from '../../shared/parts/field.tsx'
import { say } from '../../shared/words/words.ts'
import { type Body, type Reply, run, type Words } from './calls.ts'

type DialogProps<Result> = {
  title: string
  onClose: () => void
  /** Called with the answer when it is done. */
  onDone?: (result: Result) => void
  /** The word of the button that does it; the title when left out. */
  action?: string
  /** Why it cannot be done yet. */
  off?: string | undefined
  /** It cannot be taken back, or hurts at once. */
  is_danger?: boolean
  children?: ComponentChildren
}

/** An operation, and what it takes beside the reason. */
export type Change<W extends Words> = { words: W; body: Omit<Body<W>, 'reason'> }

export type ReasonProps<W extends Words> = DialogProps<Reply<W>> & Change<W>

/** Asks why, and runs one operation. */
export const Reason = <W extends Words>({ words, body, ...dialog }: ReasonProps<W>) => (
  <ReasonDialog {...dialog} act={(reason) => run(words, { ...body, reason } as Body<W>)} />
)

export type ReasonDialogProps<Result> = DialogProps<Result> & {
  /** Does it. Throws a Fault. */
  act: (reason: string) => Promise<Result>
}

/** Asks why before anything else is done. */
export function ReasonDialog<Result>(props: ReasonDialogProps<Result>) {
  const { title, action = title, onClose, onDone, children, ...form } = props
  const finish = (result: Result) => {
    onDone?.(result)
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <ReasonForm {...form} action={action} onDone={finish}>
        {children}
      </ReasonForm>
    </Dialog>
  )
}

export type ReasonFormProps<Result> = {
  action: string
  act: (reason: string) => Promise<Result>
  onDone: (result: Result) => void
  off?: string | undefined
  is_danger?: boolean
  children?: ComponentChildren
}

/** The same in the page, where what is about to be done is seen already. */
export function ReasonForm<Result>(props: ReasonFormProps<Result>) {
  const { action, act, onDone, off, is_danger = false, children } = props
  const reason = useSignal('')
  const submission = useSubmission()
  const submit = async () => {
    let result: Result | undefined
    const is_done = await submission.run(async () => {
      result = await act(reason.value)
    })
    if (!is_done) return
    toast(say('done'))
    onDone(result!)
  }
  return (
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
      {submission.fault.value && <FaultNote fault={submission.fault.value} />}
      <Submit
        is_busy={submission.is_busy.value}
        kind={is_danger ? 'danger' : 'main'}
        off={off ?? (reason.value.trim() === '' ? say('reason.needed') : undefined)}
      >
        {action}
      </Submit>
    </Form>
  )
}
