// Runs operations for people who are signed in. The body is that of the operation, with a reason
// and, where it takes one, a file; the answer is its reply. What only the person's machine has is
// not here: no file is read or written, and the nodes are those that the service follows.

import type { Clock } from '../../lib/clock.ts'
import { misuse, refusal, TooManyRequests } from '../../lib/fault.ts'
import { type Json, jsonOf } from '../../lib/json.ts'
import type { HouseRole } from '../../people/users/roles.ts'
import { Turns } from '../../platform/limits/turns.ts'
import { Forbidden } from '../../platform/wire/endpoint.ts'
import type { CheckReply } from '../../platform/wire/replies.ts'
import {
  type Operation,
  type Needs as OperationNeeds,
  type Progress,
  reasonOf,
  type Upload,
} from '../table/operation.ts'
import type { OperatorSession } from './entrance.ts'

export type RunNeeds = {
  clock: Clock
  /** Of an operation, but for whom it tells how far it is. */
  operation_needs: Omit<OperationNeeds, 'progress'>
  /** Compares what is answered with what is documented; left out: nothing does. */
  check?: CheckReply | undefined
}

export type Run = {
  operation: Operation
  /** Who asked for it. */
  by: string
  /** Says who is signed in, asked when its turn has come. Throws when nobody is, or nobody waits
   *  for the answer any more. */
  admit(): Promise<OperatorSession>
  /** The body, the reason, and a file. */
  given: Json
  progress(at?: Progress): void
}

/** What an operation has answered; `result` is JSON. */
export type RunAnswer = { result: string; ok: boolean; note: string | null }

const RANK: Readonly<Record<HouseRole, number>> = { auditor: 0, operator: 1, admin: 2 }
/** Each may hold a connection, and minutes of a processor. */
const RUNS_OF_ONE_MAX = 4
const TURNS = {
  running_max: 16,
  // A page asks for all that it shows at once, and a person has several pages open.
  lane_waiting_max: 32,
  waiting_max: 64,
}

/** Throws Forbidden unless this person may run it now. */
export function requireAllowed(operation: Operation, by: OperatorSession, now: Date): void {
  const { role, careful, cli } = operation
  if (!(RANK[by.role] >= RANK[role]))
    throw Forbidden('role', `${cli.words} needs the role ${role}: yours is ${by.role}`)
  if (careful) requirePresence(cli.words, by, now)
}

function requirePresence(words: string, { session }: OperatorSession, now: Date): void {
  const { stepped_up_until } = session
  const is_there = stepped_up_until !== null && stepped_up_until > now
  if (!is_there) throw Forbidden('step_up', `${words} needs a proof that it is you`)
}

/** What runs operations, a few of each person at once; more of them wait for their turn. Throws
 *  TooManyRequests when too many wait. */
export function operationRunner(needs: RunNeeds): (run: Run) => Promise<RunAnswer> {
  const turns = new Turns(TURNS)
  return async (run) => {
    const turn = turns.begin(run.by, RUNS_OF_ONE_MAX)
    if (typeof turn === 'string') throw new TooManyRequests(2)
    await turn
    try {
      return await answerOf(needs, run)
    } finally {
      turns.end(run.by)
    }
  }
}

async function answerOf(
  { clock, operation_needs, check }: RunNeeds,
  { operation, admit, given, progress }: Run,
): Promise<RunAnswer> {
  // It may have waited for its turn for an hour.
  const by = await admit()
  requireAllowed(operation, by, clock.now())
  const { body, reason, ...attached } = readCall(operation, given)
  const { careful_with, cli } = operation
  if (careful_with !== undefined && (body as Record<string, unknown>)[careful_with] === true)
    requirePresence(`${cli.words} with ${careful_with}`, by, clock.now())
  const operator = { made_by: by.by, reason }
  const needs = { ...operation_needs, progress } as OperationNeeds
  const answer = await operation.run(needs, { body, operator, ...attached })
  const { value, ok = true, note = null } = answer
  const result = jsonOf(value)
  check?.(operation, result)
  return { result, ok, note }
}

/** The body of an operation, and what the console takes beside it: why, and a file. Throws Misuse,
 *  or the fault of the first field that is wrong. */
function readCall({ cli: { words }, body, read, changes, takes }: Operation, given: Json) {
  if (!isRecord(given)) throw misuse('The body is not a JSON object.')
  const more = [...(changes ? ['reason'] : []), ...(takes === 'upload' ? ['file'] : [])]
  const known = [...Object.keys(body.properties), ...more]
  const stray = Object.keys(given).find((name) => !known.includes(name))
  if (stray !== undefined) throw misuse(`${words} takes no ${stray}.`)
  if (takes === 'secret') throw refusal('The console has no standard input.')
  const { reason = null, file = null } = given
  if (reason !== null && typeof reason !== 'string') throw misuse('reason is not a text.')
  if (changes) reasonOf(reason)
  return {
    body: read!(given),
    reason,
    ...(takes === 'upload' && { upload: uploadOf(file) }),
  }
}

function uploadOf(file: Json): Upload {
  if (!isRecord(file) || typeof file.name !== 'string' || typeof file.text !== 'string')
    throw misuse('file is not {"name": …, "text": …}.')
  const bytes = Buffer.from(file.text)
  return { origin: file.name, bytes: onePiece(bytes), bytes_expected: bytes.length }
}

const isRecord = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

async function* onePiece(bytes: Uint8Array) {
  yield bytes
}
