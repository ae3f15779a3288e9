// A button that asks why, and then runs one operation.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { say } from '../../shared/words/words.ts'
import { isAdmin, mayChange } from './calls.ts'
import { Reason } from './reason.tsx'

export type ReasonButtonProps<Result> = {
  text: string
  /** Whom or what it is about, for those who hear the button without its row. */
  about?: string
  words: string
  options?: object
  for_admins?: boolean
  onDone?: (result: Result) => void
  /** What is about to be done, or fields of it. */
  children?: ComponentChildren
}

export function ReasonButton<Result>(props: ReasonButtonProps<Result>) {
  const { text, about, words, options = {}, for_admins = false, onDone, children } = props
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
        <Reason<Result>
          title={text}
          words={words}
          options={options}
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
