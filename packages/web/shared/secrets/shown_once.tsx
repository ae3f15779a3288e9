// What is shown once and never again, such as a secret: for a minute, so that nobody reads it from
// a screen that was left alone.

import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { LongText } from '../parts/address.tsx'
import { now_ms } from '../parts/time.tsx'
import { say } from '../words/words.ts'

const SHOWN_MS = 60_000

export type ShownOnceProps = {
  texts: readonly { name: string; text: string }[]
  /** What has them in it, and goes with them. */
  children?: ComponentChildren
}

/** The texts with Copy, and how long they are still shown. */
export function ShownOnce({ texts, children }: ShownOnceProps) {
  const until_ms = useMemo(() => Date.now() + SHOWN_MS, [texts[0]?.text])
  const left_ms = until_ms - now_ms.value
  if (left_ms <= 0) return <p class="note warn">{say('once.gone')}</p>
  const note = (
    <div class="note good">
      <p>{say('once.sentence')}</p>
      {texts.map(({ name, text }) => (
        <p key={name}>
          <strong>{name}</strong> <LongText text={text} what={name} whole worded />
        </p>
      ))}
      <p class="quiet">{say('once.left', { n: Math.ceil(left_ms / 1_000) })}</p>
    </div>
  )
  return (
    <>
      {note}
      {children}
    </>
  )
}
