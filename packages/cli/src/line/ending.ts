// How a command ends: the sentence for people and the exit code for scripts.

import {
  AuthError,
  ConnectionError,
  Forbidden,
  InvalidRequest,
  PenstockError,
  ServerError,
  TimeoutError,
  UnknownOutcome,
} from 'penstock-sdk'
import type { Command } from './command.ts'
import { ENDPOINTS } from './endpoints.ts'
import { EndNotSeen, Misuse, NotSignedIn, Refusal } from './errors.ts'

export const EXIT = {
  done: 0,
  refused: 1,
  misuse: 2,
  not_allowed: 3,
  unavailable: 4,
  unknown: 5,
  interrupted: 130,
} as const

export type Ending = {
  code: number
  sentence: string
  error?: PenstockError
  /** What the same call is to be repeated with. */
  external_id?: string
}

/** The line that was typed: for a shell, with more options, and without an id that it had. */
type TypedLine = {
  command: Command | undefined
  /** The endpoint that was called, as far as the line says. */
  path: string | undefined
  lineWith: (more: readonly string[]) => string
}

/** What an error means to the one who has typed the line. */
export function endingOf(thrown: unknown, { command, path, lineWith }: TypedLine): Ending {
  if (thrown instanceof Misuse) return { code: EXIT.misuse, sentence: thrown.message }
  if (thrown instanceof Refusal) return { code: EXIT.refused, sentence: thrown.message }
  if (thrown instanceof NotSignedIn) return { code: EXIT.not_allowed, sentence: thrown.message }
  if (thrown instanceof UnknownOutcome || thrown instanceof EndNotSeen) {
    const { external_id } = thrown
    const again = lineWith([command?.repeat_by ?? '--external-id', external_id])
    if (thrown instanceof EndNotSeen)
      return { code: EXIT.unknown, sentence: `${thrown.message}\n${again}`, external_id }
    const unknown = 'No answer came, so it is not known whether this was done. To find out:'
    return { code: EXIT.unknown, sentence: `${unknown}\n${again}`, error: thrown, external_id }
  }
  // What has an id is an UnknownOutcome when its answer is lost: then only reading has failed.
  const has_id = command?.path !== undefined && command.repeat_by !== undefined
  const changes = !has_id && path !== undefined && ENDPOINTS[path]?.changes === true
  if (thrown instanceof PenstockError) return ofService(thrown, changes)
  const { message } = thrown as Error
  return { code: EXIT.refused, sentence: message || String(thrown) }
}

function ofService(error: PenstockError, changes: boolean): Ending {
  const { message, key, request_id } = error
  const more = [key, request_id && `request ${request_id}`].filter(Boolean).join(', ')
  const said = more === '' ? message : `${message} (${more})`
  if (changes && isLost(error)) {
    const sentence = `${said}\nIt is not known whether this was done: look before you do it again.`
    return { code: EXIT.unknown, sentence, error }
  }
  return { code: codeOf(error), sentence: said, error }
}

/** Whether it may have been done all the same. */
function isLost(error: PenstockError): boolean {
  const { cause } = error as { cause?: { code?: unknown; cause?: { code?: unknown } } }
  const reason = String(cause?.cause?.code ?? cause?.code)
  const never_sent = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN)$/.test(reason)
  return (
    !never_sent &&
    (error instanceof ConnectionError ||
      error instanceof TimeoutError ||
      (error instanceof ServerError && error.code !== 503))
  )
}

function codeOf(error: PenstockError): number {
  if (error instanceof AuthError || error instanceof Forbidden) return EXIT.not_allowed
  if (error instanceof InvalidRequest) return EXIT.misuse
  const passing = error instanceof ConnectionError || error instanceof TimeoutError
  return error.retryable || passing ? EXIT.unavailable : EXIT.refused
}
