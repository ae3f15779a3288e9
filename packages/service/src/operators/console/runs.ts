// Runs operations for people who are signed in. What was given is read as if it were typed, so that
// a wrong value is refused in the words of the command line, and the answer is what `--json`
// prints. What only the person's machine has is not here: files come along with the call and none
// is written, and the nodes are those that the service follows.

import type { Clock } from '../../lib/clock.ts'
import { misuse, refusal, TooManyRequests } from '../../lib/fault.ts'
import type { Json } from '../../lib/json.ts'
import type { HouseRole } from '../../people/users/roles.ts'
import { Turns } from '../../platform/limits/turns.ts'
import { Forbidden } from '../../platform/wire/endpoint.ts'
import type { CheckReply } from '../../platform/wire/replies.ts'
import { readOptions } from '../command_line/arguments.ts'
import { jsonOf } from '../command_line/printing.ts'
import {
  type Operation,
  type Needs as OperationNeeds,
  type Progress,
  reasonOf,
  type Terminal,
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
  /** Operands and options by their keys, the reason, and files by their names. */
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
  const { stepped_up_until } = by.session
  const is_there = stepped_up_until !== null && stepped_up_until > now
  if (careful && !is_there) throw Forbidden('step_up', `${cli.words} needs a proof that it is you`)
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
  const { cli, path, reply, changes } = operation
  const { files, options } = readGiven(given)
  const { body, extras, reason = null } = readOptions(operation, options)
  if (changes) reasonOf(reason)
  const terminal = terminalOf(files)
  const { body: filled, ...attached } = (await cli.before?.(extras, terminal)) ?? {}
  const answer = await operation.run({ ...operation_needs, progress } as OperationNeeds, {
    body: { ...body, ...filled },
    operator: { made_by: by.by, reason },
    ...attached,
  })
  const {
    value,
    ok = true,
    note = null,
  } = cli.after ? await cli.after(answer, extras, terminal) : answer
  const result = jsonOf(value)
  check?.({ path, reply: cli.prints ?? reply }, result)
  return { result, ok, note }
}

type Files = Readonly<Record<string, string>>

/** Throws Misuse when the call is not made of options and files. */
function readGiven(given: Json): { files: Files; options: Record<string, Json> } {
  if (!isRecord(given)) throw misuse('What is given is an object: options by their names.')
  const { files = {}, ...options } = given
  const texts = isRecord(files) ? Object.values(files) : [undefined]
  if (texts.some((text) => typeof text !== 'string'))
    throw misuse('files is an object: texts by the names of the files.')
  return { files: files as Files, options }
}

const isRecord = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** The files that came along, in place of those of a machine. */
function terminalOf(files: Files): Terminal {
  const find = (name: string) => (Object.hasOwn(files, name) ? files[name] : undefined)
  const require = (name: string) => {
    const text = find(name)
    if (text === undefined) throw refusal(`There is no file ${name}.`)
    return text
  }
  const refuse = () => Promise.reject(refusal('The console writes no files: copy the answer.'))
  return {
    readFile: async (name) => require(name),
    findFile: async (name) => find(name),
    async openFile(name) {
      const bytes = Buffer.from(require(name))
      return { origin: name, bytes: onePiece(bytes), bytes_expected: bytes.length }
    },
    writeFile: refuse,
    appendFile: refuse,
    readInput: async () => {
      throw refusal('The console has no standard input.')
    },
  }
}

async function* onePiece(bytes: Uint8Array) {
  yield bytes
}
