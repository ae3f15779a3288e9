// The operators' operations, as entries of the same kind of table as the customers' endpoints: a
// path, who may, a schema of the body and of the reply, and what it does. The command line is
// printed from them. What runs an operation makes the record of a change: no operation can
// forget it.

import type { Static, TObject, TSchema } from 'typebox'
import type { Node } from '../../chain/node/node.ts'
import type { TransferArchive } from '../../chain/transfers/transfer_archive.ts'
import type { OwnWallets } from '../../chain/wallets/permissions.ts'
import { perform } from '../../events/log/changes.ts'
import type { ChainView } from '../../health/books/chain.ts'
import type { Change, Operator } from '../../ledger/accounts/actions.ts'
import { type Clock, readMoment } from '../../lib/clock.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import type { NewId, Random } from '../../lib/ids.ts'
import { sunOf } from '../../lib/json.ts'
import type { DepositAddress } from '../../people/customers/deposit_addresses.ts'
import type { HouseRole } from '../../people/users/roles.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { StepName } from '../../platform/steps/step.ts'
import { bodyReader } from '../../platform/wire/body.ts'
import type { Entry } from '../../platform/wire/endpoint.ts'
import { NOTHING, optional, text, whole } from '../../platform/wire/schemas.ts'
import type { ProcessRole } from '../../run/program/roles.ts'
import type { Download } from '../../screening/labels/lists.ts'
import { readApprovalRule } from '../../treasury/corrections/approvals.ts'
import { proposeOperation, useAllowance } from '../../treasury/corrections/second_operators.ts'

/** How far a long work is. */
export type Progress = {
  what?: string
  done: number
  /** Undefined: nobody knows. */
  whole: number | undefined
  unit: string
}

/** The settings of a process of the service that can be tried before it is started. */
export type StartSettings = {
  data_dir: string
  /** Undefined: that of the private PostgreSQL under data_dir. */
  database_url: string | undefined
  api_database_url: string | undefined
  console_database_url: string | undefined
  console_port: number | undefined
  role: ProcessRole
  standbys: number | undefined
  loosened: readonly string[]
  wallets_file: string | undefined
  secret_key: string | undefined
}

/** Settings as a process would read them, with a sentence for each mistake. */
export type Configuration = {
  config: StartSettings
  mistakes: string[]
  /** Undefined: none is named. */
  node: Node | undefined
}

/** What operations work on that is not about the database. What is made only when it is asked for
 *  throws Refused for what is missing. */
export type LocalNeeds = {
  clock: Clock
  random: Random
  new_id: NewId
  wait(ms: number): Promise<void>
  /** Whether a file in the data folder stops signing on this machine; puts it there or takes it
   *  away when told to. */
  stopHere(stopped?: boolean, by?: string): Promise<boolean>
  /** The nodes to work with. Throws Refused when there is none. */
  node(): Node
  /** The configuration of this machine, for a process of that role. */
  configuration?(role: ProcessRole | undefined): Configuration
  /** Where the database is, with what opens it, on the machine of the person who types. Throws
   *  Refused when none is named. */
  databaseUrl?(): Promise<string>
  /** With the sealing keys of the machine of the person who types; undefined: it has none. */
  findSeal?(): Promise<Seal | undefined>
  /** The folder of PostgreSQL's programs; left out: those that come through npm. */
  postgres_bin?: string | undefined
  /** A node to compare with; undefined when none is named. */
  chain(): ChainView | undefined
  /** Where customers reach the service: PENSTOCK_PUBLIC_URL, else a port of this machine. */
  publicUrl(): string
  /** Where operators reach the console: PENSTOCK_CONSOLE_URL, else a port of this machine. */
  consoleUrl(): string
  /** The file of wallets that PENSTOCK_WALLETS names. */
  wallets(): Promise<OwnWallets>
  /** Opens a publisher's list. */
  download: Download
  /** Where transfers of older blocks can be moved; undefined: no ClickHouse is named. */
  archive(): TransferArchive | undefined
  /** Without an argument: it is over. */
  progress(at?: Progress): void
}

export type Needs = LocalNeeds & {
  sql: Sql
  /** The database, for reading: host, port and name. */
  database: string
  seal(): Promise<Seal>
  /** Of the operator's extended public key; throws when it is not the one that this database's
   *  addresses are from. */
  depositAddress(): Promise<DepositAddress>
  /** Wakes a step of those processes that run them; a hint. */
  wake(step: StepName): void
}

/** A file that is read while the work goes on. */
export type Upload = { origin: string; bytes: AsyncIterable<Uint8Array>; bytes_expected: number }

/** What comes along with the body and is no JSON. */
export type Attachments = {
  upload?: Upload
  /** Keys or passwords. They are in no log, no record and no reply. */
  secret?: string
}

/** What an operation found or made. */
export type Answer<Value = unknown> = {
  value: Value
  /** A line for reading after the value. */
  note?: string | undefined
  /** False: something is wrong, and the exit code says so. */
  ok?: boolean
  /** Texts to keep as files, by name; made when somebody wants them. */
  documents?: Readonly<Record<string, () => string>>
}

/** The files of the person who types, and the key that is typed. */
export type Terminal = {
  readFile(name: string): Promise<string>
  /** Undefined: there is no such file. */
  findFile(name: string): Promise<string | undefined>
  /** Readable by its owner only, in place of what was there. */
  writeFile(name: string, text: string | Uint8Array): Promise<void>
  /** At the end of what was there. */
  appendFile(name: string, text: string): Promise<void>
  openFile(name: string): Promise<Upload>
  /** Standard input, to its end. */
  readInput(): Promise<string>
}

/** What the command line has of an operation beside the fields of its body. */
export type CommandLine = {
  /** `prices set`: the path without `/operator`. */
  words: string
  /** Fields that are typed without their names, in this order; the last may be a list. */
  operands: readonly string[]
  /** How a field is read whose schema does not say it. Throws Misuse. */
  read: Readonly<Record<string, (given: string, name: string) => unknown>>
  /** Operands and options that are no part of the body: files, and how the answer is shown. */
  extras: TObject
  /** Whether nodes can be named: `solid`, with their solid sides. */
  node: 'plain' | 'solid' | undefined
  /** It runs although the configuration is wrong. */
  checks_configuration: boolean
  /** Fields of the body that nobody types: before() fills them. */
  filled: readonly string[]
  /** Fields of the body, made of the extras. */
  before?(extras: Row, terminal: Terminal): Promise<Row>
  /** Writes the files that were asked for, and says so. */
  after?(answer: Answer, extras: Row, terminal: Terminal): Promise<TerminalAnswer>
  /** The value for reading, where a table of it would not do. */
  text?(value: unknown): string
  /** What `--json` prints where that is not the reply. */
  prints: TSchema | undefined
}

type Row = Record<string, unknown>
/** An answer with the text that is shown instead of its value. */
export type TerminalAnswer = Answer & { text?: string }

/** One operation as those see it who run and print them. */
export type Operation = Entry & {
  readonly auth: 'operator'
  readonly role: HouseRole
  readonly changes: boolean
  /** Wants a proof that the person is there, where people sign in. */
  readonly careful: boolean
  /** A field that makes it careful where it is true. */
  readonly careful_with: string | undefined
  readonly cli: CommandLine
  /** What must come along with the body. */
  readonly takes: keyof Attachments | undefined
  /** It works without a database, on the machine of the person who asks: nobody serves it. */
  readonly local: boolean
  run(needs: LocalNeeds, call: Call): Promise<Answer>
}

export type Call = { body: unknown; operator: Operator } & Attachments

type Cli<Body extends TObject, Reply extends TSchema, Extras extends TObject> = {
  operands?: readonly (keyof (Static<Body> & Static<Extras>) & string)[]
  read?: { [Field in keyof Static<Body>]?: (given: string, name: string) => unknown }
  extras?: Extras
  node?: 'plain' | 'solid'
  checks_configuration?: boolean
  filled?: readonly (keyof Static<Body> & string)[]
  before?(extras: Static<Extras>, terminal: Terminal): Promise<Partial<Static<Body>>>
  after?(
    answer: Answer<Static<Reply>>,
    extras: Static<Extras>,
    terminal: Terminal,
  ): Promise<TerminalAnswer>
  text?(value: Static<Reply>): string
  prints?: TSchema
}

type Description<Body extends TObject, Reply extends TSchema, Extras extends TObject> = {
  path: `/operator/${string}`
  role?: HouseRole
  careful?: boolean
  careful_with?: string
  /** `upload`: a file, typed as the operand FILE; `secret`: standard input. */
  takes?: keyof Attachments
  summary: string
  description?: string
  body: Body
  reply: Reply
  cli?: Cli<Body, Reply, Extras>
}

/** Whether an operation, with this body, wants a second operator where the rule is for two. */
type SecondNeed<Body extends TObject> = (asked: {
  sql: Sql
  at: Date
  body: Static<Body>
}) => Promise<boolean> | boolean

type None = TObject<Record<never, never>>
/** Who changes something, when and why: the same as in the record. */
export type Authorship = { by: string; at: Date; reason: string | null }
type Work<Value> = (tx: Tx, at: Date) => Promise<Change<Value>>

/** Declares an operation that only looks. */
export function look<Body extends TObject, Reply extends TSchema, Extras extends TObject = None>(
  spec: Description<Body, Reply, Extras> & {
    handle(asked: Needs & Attachments & { body: Static<Body> }): Promise<Answer<Static<Reply>>>
  },
): Operation {
  const { role = 'auditor' } = spec
  return entry({ ...spec, role, changes: false }, (needs, { body, operator: _, ...attached }) =>
    spec.handle({ ...(needs as Needs), ...attached, body: body as Static<Body> }),
  )
}

/** Declares an operation that changes something. It runs in a transaction, which also records what
 *  it says it has done. */
export function change<Body extends TObject, Reply extends TSchema, Extras extends TObject = None>(
  spec: Description<Body, Reply, Extras> & {
    second?: SecondNeed<Body>
    handle(
      asked: Needs & Authorship & { tx: Tx; body: Static<Body> },
    ): Promise<Change<Answer<Static<Reply>>>>
  },
): Operation {
  return entry({ ...spec, changes: true }, async (needs, { body, operator }) => {
    const allowance = await allowanceOf(needs as Needs, spec, { body, operator })
    return performAndPublish(
      needs as Needs,
      { operator, action: wordsOf(spec) },
      async (tx, at) => {
        if (allowance !== undefined) await useAllowance(tx, allowance, at)
        return spec.handle({
          ...(needs as Needs),
          tx,
          at,
          by: operator.made_by,
          reason: operator.reason,
          body: body as Static<Body>,
        })
      },
    )
  })
}

/** What a second operator has allowed of this; undefined: it wants none. Where it does and nobody
 *  has, it is proposed. Throws Refused then. */
async function allowanceOf<Body extends TObject>(
  needs: Needs,
  spec: { path: string; second?: SecondNeed<Body> },
  { body, operator }: { body: unknown; operator: Operator },
): Promise<string | undefined> {
  const { sql, clock, new_id } = needs
  const at = clock.now()
  if (!spec.second || (await readApprovalRule(sql, at)).second === 'none') return undefined
  if (!(await spec.second({ sql, at, body: body as Static<Body> }))) return undefined
  const action = wordsOf(spec)
  const intention = { action, body: JSON.stringify(body), by: operator.made_by }
  const found = await performAndPublish(needs, { operator, action }, async (tx) => {
    const proposal = { id: new_id(), reason: operator.reason, at }
    const result = await proposeOperation(tx, intention, proposal)
    const { id, is_new } = result
    const recorded = { subject: `proposal:${id}`, before: null, after: { action, body } }
    return { result, actions: is_new ? [recorded] : [] }
  })
  if (found.allowed) return found.id
  throw refusal(
    `That wants a second operator: penstock-admin approvals allow ${found.id}. ` +
      'Then do the same again, within the hour.',
  )
}

/** Declares an operation that changes something after work that no transaction should wait for:
 *  what it changes, it changes through record(), in a transaction with its record. */
export function undertaking<
  Body extends TObject,
  Reply extends TSchema,
  Extras extends TObject = None,
>(
  spec: Description<Body, Reply, Extras> & {
    second?: SecondNeed<Body>
    handle(
      asked: Needs &
        Omit<Authorship, 'at'> &
        Attachments & {
          body: Static<Body>
          record<Value>(work: Work<Value>): Promise<Value>
        },
    ): Promise<Answer<Static<Reply>>>
  },
): Operation {
  return entry({ ...spec, changes: true }, async (needs, { body, operator, ...attached }) => {
    const allowance = await allowanceOf(needs as Needs, spec, { body, operator })
    let is_used = allowance === undefined
    return spec.handle({
      ...(needs as Needs),
      ...attached,
      by: operator.made_by,
      reason: operator.reason,
      body: body as Static<Body>,
      record: (work) =>
        performAndPublish(
          needs as Needs,
          { operator, action: wordsOf(spec) },
          async (tx, made_at) => {
            if (!is_used) await useAllowance(tx, allowance!, made_at)
            const done = await work(tx, made_at)
            is_used = true
            return done
          },
        ),
    })
  })
}

/** Declares an operation that needs no database, and records nothing there. */
export function local<Body extends TObject, Reply extends TSchema, Extras extends TObject = None>(
  spec: Description<Body, Reply, Extras> & {
    handle(asked: LocalNeeds & Attachments & { body: Static<Body> }): Promise<Answer<Static<Reply>>>
  },
): Operation {
  const run: Operation['run'] = (needs, { body, operator: _, ...attached }) =>
    spec.handle({ ...needs, ...attached, body: body as Static<Body> })
  return { ...entry({ ...spec, changes: false }, run), local: true }
}

/** Makes a change and records it; what it told somebody is numbered at once. */
async function performAndPublish<Result>(
  needs: Needs,
  by: { operator: Operator; action: string },
  work: (tx: Tx, made_at: Date) => Promise<Change<Result>>,
): Promise<Result> {
  const result = await perform(needs, by, work)
  needs.wake('publish')
  return result
}

const wordsOf = ({ path }: { path: string }) =>
  path.replace(/^\/operator\//, '').replaceAll('/', ' ')

/** Throws at once when the schema of the body cannot be enforced. */
function entry<Body extends TObject, Reply extends TSchema, Extras extends TObject>(
  spec: Description<Body, Reply, Extras> & { changes: boolean },
  run: Operation['run'],
): Operation {
  const { path, role = 'operator', changes, careful = false, takes, summary, description } = spec
  const { operands = [], filled = [], read = {}, extras, node, prints, ...more } = spec.cli ?? {}
  const { checks_configuration = false, ...hooks } = more
  // The hooks are called with what was read by the schemas of this very operation.
  const cli = {
    words: wordsOf(spec),
    operands,
    filled,
    read,
    extras: extras ?? NOTHING,
    node,
    prints,
    checks_configuration,
    ...hooks,
  } as CommandLine
  return {
    path,
    auth: 'operator',
    role,
    changes,
    careful,
    careful_with: spec.careful_with,
    takes,
    summary,
    description,
    body: spec.body,
    reply: spec.reply,
    read: bodyReader(spec.body),
    cli,
    local: false,
    run,
  }
}

/** How many rows a list shows, newest first, and where it goes on. */
export const LIMIT = 50
export const limit = optional(whole('N', `how many at most (${LIMIT})`, { max: 10_000 }))
export const paging = {
  limit,
  before: optional(text('ID', 'only those listed after this one: the next page')),
}

/** The moment that a field names; undefined when it was left out. */
export const momentOf = (given: string | undefined): Date | undefined =>
  given === undefined ? undefined : readMoment(given)

/** What was typed as an amount of TRX, in sun. Throws Misuse. */
export function readTrx(given: string, name: string): number {
  const sun = sunOf(given)
  if (sun !== undefined && sun <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(sun)
  throw misuse(`${name} ${given}: it is an amount of TRX with at most 6 decimals, like 12.5.`)
}

/** Why, which must be said where money moves by hand. Throws Misuse. */
export function reasonOf(reason: string | null): string {
  if (reason === null || reason.trim() === '')
    throw misuse('--reason is missing: why, for the record.')
  return reason
}
