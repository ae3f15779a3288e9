// A button that asks why, and then runs one operation.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { say } from '../../shared/words/words.ts'
import { isAdmin, mayChange, type Reply, type Words } from './calls.ts'
import { type Change, Reason } from './reason.tsx'

export type ReasonButtonProps<W extends Words> = Change<W> & {
  text: string
  /** Whom or what it is about, for those who hear the button without its row. */
  about?: string
  for_admins?: boolean
  /** It cannot be taken back. */
  is_danger?: boolean
  /** Why it cannot be done yet. */
  off?: string | undefined
  onDone?: (result: Reply<W>) => void
  /** What is about to be done, or fields of it. */
  children?: ComponentChildren
}

export function ReasonButton<W extends Words>(props: ReasonButtonProps<W>) {
  const { text, about, words, body, for_admins = false, off, onDone, children } = props
  const { is_danger = false } = props
  const is_open = useSignal(false)
  const may = for_admins ? isAdmin() : mayChange()
  const why_not = for_admins ? say('operators.admin_needed') : say('role.needed')
  return (
    <>
      <button
        type="button"
        class={about === undefined ? '' : 'small'}
        disabled={!may}
        {...(!may && { title: why_not })}
        {...(about !== undefined && { 'aria-label': `${text} ${about}` })}
        onClick={() => {
          is_open.value = true
        }}
      >
        {text}
      </button>
      {is_open.value && (
        <Reason<W>
          title={text}
          words={words}
          body={body}
          off={off}
          is_danger={is_danger}
          {...(onDone && { onDone })}
          onClose={() => {
            is_open.value = false
          }}
        >
          {children}
        </Reason>
      )}
    </>
  )
}
