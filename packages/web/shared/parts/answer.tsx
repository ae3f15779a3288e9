// What is shown of a question: nothing for a moment, then a skeleton; the answer; what went wrong
// with a way to try again, while the rest of the page stays.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Fault } from '../calls/ask.ts'
import { heard_at, live_state } from '../calls/live.ts'
import type { Question } from '../calls/question.ts'
import { Icon } from '../icons/icon.tsx'
import { nameIfKnown, say } from '../words/words.ts'
import { Copy } from './address.tsx'
import { now_ms, timeText } from './time.tsx'

const SKELETON_AFTER_MS = 150
const STALE_AFTER_MS = 10_000

/** What a fault means: the words for its key or the one it is a part of, else what the service
 *  said. */
export function faultText({ key, message }: Fault): string {
  const [base = key] = key.split('.')
  return nameIfKnown('refusal', key) ?? nameIfKnown('refusal', base) ?? message
}

/** A refusal, with what the service said and the id to ask about it. */
export function FaultNote({ fault, again }: { fault: Fault; again?: () => void }) {
  const text = faultText(fault)
  const { message } = fault
  return (
    <div class="note bad" role="alert">
      {/* The service speaks English. */}
      {text === message ? <p lang="en">{text}</p> : <p>{text}</p>}
      {message !== '' && message !== text && (
        <p class="quiet" lang="en">
          {message}
        </p>
      )}
      {fault.request_id && (
        <p class="quiet">
          {say('fault.request')} <code>{fault.request_id}</code>{' '}
          <Copy text={fault.request_id} what={say('fault.request')} />
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          {say('retry')}
        </button>
      )}
    </div>
  )
}

export type AnswerProps<Result> = {
  question: Question<Result>
  /** Lines of the skeleton: as high as what comes. */
  lines?: number
  children: (result: Result) => ComponentChildren
}

/** The answer to a question, or the state it is in. */
export function Answer<Result>({ question, lines = 3, children }: AnswerProps<Result>) {
  const { answer, fault, again } = question
  const result = answer.value
  if (result === undefined && fault.value)
    return <FaultNote fault={fault.value} again={() => void again()} />
  if (result === undefined) return <Skeleton lines={lines} />
  return (
    <>
      {fault.value && <FaultNote fault={fault.value} again={() => void again()} />}
      {children(result)}
    </>
  )
}

/** Lines of the height that text will have. Nothing is drawn for what comes at once. */
export function Skeleton({ lines }: { lines: number }) {
  const is_late = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => {
      is_late.value = true
    }, SKELETON_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class={is_late.value ? 'skeleton is-late' : 'skeleton'} aria-busy="true">
      <span class="for-ears">{is_late.value && say('loading')}</span>
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} class="skeleton-line" />
      ))}
    </div>
  )
}

/** Something is done and takes its time. */
export const Progress = ({ text }: { text: string }) => (
  <span role="status" class="progress">
    <progress aria-label={text} /> {text}
  </span>
)

/** Says that nothing is heard of the service any more, and since when. */
export function StaleNote() {
  const silent_ms = now_ms.value - heard_at.value
  if (live_state.value !== 'away' || silent_ms < STALE_AFTER_MS) return null
  const at = timeText(new Date(heard_at.value))
  return (
    <p class="note warn" role="status">
      {say('stale', { at })}
    </p>
  )
}

export type EmptyProps = { children: ComponentChildren }

/** What stands where nothing is: a sentence, why, and one thing to do. */
export const Empty = ({ children }: EmptyProps) => (
  <div class="empty">
    <Icon name="inbox" />
    {children}
  </div>
)
