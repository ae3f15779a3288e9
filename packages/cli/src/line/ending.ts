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
import { Misuse, NotSignedIn, Refusal } from './errors.ts'

export const EXIT = {
  done: 0,
  refused: 1,
  misuse: 2,
  not_allowed: 3,
  unavailable: 4,
  unknown: 5,
  interrupted: 130,
} as const

export type Ending = { code: number; sentence: string; error?: PenstockError }

/** What an error means to the one who has typed the line. */
export function endingOf(thrown: unknown, command: Command | undefined, line: string): Ending {
  if (thrown instanceof Misuse) return { code: EXIT.misuse, sentence: thrown.message }
  if (thrown instanceof Refusal) return { code: EXIT.refused, sentence: thrown.message }
  if (thrown instanceof NotSignedIn) return { code: EXIT.not_allowed, sentence: thrown.message }
  if (thrown instanceof UnknownOutcome) {
    const again = `${line} ${command?.repeat_by ?? '--external-id'} ${thrown.external_id}`
    const unknown = 'No answer came, so it is not known whether this was done. To find out:'
    const sentence = `${unknown}\n${again}`
    return { code: EXIT.unknown, sentence, error: thrown }
  }
  if (thrown instanceof PenstockError) return ofService(thrown, command)
  const { message } = thrown as Error
  return { code: EXIT.refused, sentence: message || String(thrown) }
}

function ofService(error: PenstockError, command: Command | undefined): Ending {
  const { message, key, request_id } = error
  const more = [key, request_id && `request ${request_id}`].filter(Boolean).join(', ')
  const said = more === '' ? message : `${message} (${more})`
  const changes = command?.path !== undefined && ENDPOINTS[command.path]?.changes
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
