// What the console's pages call: the operators' operations, by the words of the command line.

import { post } from '../../shared/calls/ask.ts'
import { type Question, type QuestionOptions, usePosted } from '../../shared/calls/question.ts'
import { session } from '../../shared/calls/session.ts'
import type { Operations } from './operations.ts'

/** The words of an operation. */
export type Words = keyof Operations
export type Body<W extends Words> = Operations[W]['body']
export type Reply<W extends Words> = Operations[W]['reply']
/** One row of what an operation lists. */
export type Row<W extends Words> = Reply<W> extends readonly (infer One)[] ? One : never

const pathOf = (words: string) => `/run/${words.replaceAll(' ', '/')}`

/** Runs `prices set`. Throws a Fault. */
export const run = <W extends Words>(words: W, body: Body<W>): Promise<Reply<W>> =>
  post<Reply<W>>(pathOf(words), body)

/** Asks what only looks, for as long as the component is there. */
export const useRun = <W extends Words>(
  words: W,
  body: Body<W>,
  more: QuestionOptions<Reply<W>> = {},
): Question<Reply<W>> => usePosted<Reply<W>>(pathOf(words), body, more)

/** Whether the one who is signed in may change things. */
export const mayChange = (): boolean => session.value?.user.role !== 'auditor'

/** Whether the one who is signed in may do what is for admins. */
export const isAdmin = (): boolean => session.value?.user.role === 'admin'

/** Sun as the number of TRX that is shown. */
export const trx = (sun: number): number => sun / 1_000_000

/** An amount of TRX that was typed, in sun; undefined when it is none. */
export function sunOf(text: string): number | undefined {
  const [, whole, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? []
  return whole === undefined ? undefined : Number(whole + decimals.padEnd(6, '0'))
}
