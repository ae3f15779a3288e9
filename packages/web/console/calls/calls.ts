// What the console's pages call: the operators' operations, by the words of the command line.

import { post } from '../../shared/calls/ask.ts'
import { type Question, type QuestionOptions, usePosted } from '../../shared/calls/question.ts'
import { session } from '../../shared/calls/session.ts'

const pathOf = (words: string) => `/run/${words.replaceAll(' ', '/')}`

/** Runs `prices set`. Options by their keys, amounts in TRX. Throws a Fault. */
export const run = <Result>(words: string, options: object = {}): Promise<Result> =>
  post<Result>(pathOf(words), options)

/** Asks what only looks, for as long as the component is there. */
export const useRun = <Result>(
  words: string,
  options: object = {},
  more: QuestionOptions<Result> = {},
): Question<Result> => usePosted<Result>(pathOf(words), options, more)

/** Whether the one who is signed in may change things. */
export const mayChange = (): boolean => session.value?.user.role !== 'auditor'

/** Whether the one who is signed in may do what is for admins. */
export const isAdmin = (): boolean => session.value?.user.role === 'admin'

/** Sun as the number of TRX that is shown. */
export const trx = (sun: number): number => sun / 1_000_000
