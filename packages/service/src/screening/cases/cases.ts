// Cases: what an officer of the house looks into, about one address, for one customer or for none.
//
//   -> open -> assigned <-> waiting      (with its owner; assigned again when its day comes)
//      open | assigned | waiting -> escalated -> assigned      (to another than who escalated)
//      assigned | waiting -> closed (with a code) -> open      (reopened)
//
// The row says how it stands; what was done and said, with whom and when, is appended and never
// changed. Only its owner closes a case, never the one who has escalated it, and not while an
// answer in it waits for a decision.

import { type Static, Type } from 'typebox'
import { HOUSE } from '../../events/log/events.ts'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { type EventType, noteEvents } from '../../events/log/notes.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Query, Tx } from '../../platform/database/sql.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { OrNull } from '../../platform/wire/schemas.ts'

export const CASE_STATES = ['open', 'assigned', 'waiting', 'escalated', 'closed'] as const
export type CaseState = (typeof CASE_STATES)[number]

export const PRIORITIES = ['low', 'normal', 'high', 'urgent'] as const
export type Priority = (typeof PRIORITIES)[number]

/** The outcome: nothing was there, there is an explanation, the address was barred, or it was
 *  reported to an authority. */
export const CLOSING_CODES = ['false_positive', 'explained', 'barred', 'reported'] as const
export type ClosingCode = (typeof CLOSING_CODES)[number]

const LEVELS = ['low', 'medium', 'high'] as const
export type Level = (typeof LEVELS)[number]

export type Case = {
  id: string
  /** Null: it is about no customer. */
  customer_id: string | null
  address: string
  state: CaseState
  priority: Priority
  /** The worst of its checks; null: not known. */
  risk_level: Level | null
  owner: string | null
  escalated_by: string | null
  due_at: Date
  /** The time of the event that says that it is late. */
  reminded_at: Date | null
  /** The authority's name of the report that was made to it. */
  report_reference: string | null
  opened_at: Date
  opened_by: string
  closed_at: Date | null
  closed_by: string | null
  code: ClosingCode | null
}

export const CASE_COLUMNS = columnsOf<Case>()([
  'id',
  'customer_id',
  'address',
  'state',
  'priority',
  'risk_level',
  'owner',
  'escalated_by',
  'due_at',
  'reminded_at',
  'report_reference',
  'opened_at',
  'opened_by',
  'closed_at',
  'closed_by',
  'code',
])

export type CaseEntry = {
  number: number
  kind: string
  at: Date
  made_by: string
  text: string
  /** Of a file, with the SHA-256 of its text in UTF-8. */
  name: string | null
  sha256: string | null
}
export type NewEntry = Pick<CaseEntry, 'kind' | 'text'> &
  Partial<Pick<CaseEntry, 'name' | 'sha256'>>

/** Who does something, and when. */
export type By = { by: string; at: Date }

const ENTRIES_MAX = 2_000
const FILES_MAX = 50
const HOUR_MS = 3_600_000
const DUE_HOURS: Record<Priority, number> = { urgent: 4, high: 24, normal: 72, low: 168 }

const dueOf = (priority: Priority, at: Date): Date =>
  new Date(at.getTime() + DUE_HOURS[priority] * HOUR_MS)

/** Two spellings of one name are one operator. */
const isSameName = (a: string | null, b: string | null) =>
  a !== null && b !== null && a.trim().toLowerCase() === b.trim().toLowerCase()

const CaseForm = Type.Object({
  id: Type.String(),
  customer_id: OrNull(Type.String()),
  address: Type.String(),
  state: Type.String(),
  priority: Type.String(),
  risk_level: OrNull(Type.String()),
  owner: OrNull(Type.String()),
  due_at: Type.String(),
  code: OrNull(Type.String()),
})

const SAMPLE: Static<typeof CaseForm> = {
  id: '01m7xps0ca8ksnnfg71x89vdp8',
  customer_id: '01m7xps0ca8ksnnfg71x89vdp7',
  address: EXAMPLE.address,
  state: 'open',
  priority: 'high',
  risk_level: 'high',
  owner: null,
  due_at: '2026-11-22T00:05:57Z',
  code: null,
}

const kindOf = (type: EventType, when: string, sample: Partial<typeof SAMPLE>): EventKind =>
  eventKind(type, { data: CaseForm, when, scope: 'house', sample: { ...SAMPLE, ...sample } })

const ASSIGNED = { state: 'assigned', owner: 'olga' }
export const caseKinds: readonly EventKind[] = [
  kindOf('case.opened', 'an address has to be looked into', {}),
  kindOf('case.changed', 'a case has another state or owner', ASSIGNED),
  kindOf('case.late', 'a case is not closed when it was due', ASSIGNED),
]

function note(tx: Tx, type: EventType, one: Case, at: Date): void {
  const { id, customer_id, address, state, priority, risk_level, owner, due_at, code } = one
  const plain = { id, customer_id, address, state, priority, risk_level, owner, code }
  const data: Static<typeof CaseForm> = { ...plain, due_at: wireTime(due_at) }
  noteEvents(tx, [{ type, subject: `case:${id}`, customer_id: HOUSE, at, data }])
}

const noCase = (id: string) => refusal(`There is no case ${id}.`)

export async function requireCase(sql: Query, id: string): Promise<Case> {
  const [found] = await sql<Case>`select ${CASE_COLUMNS} from aml_case where id = ${id}`
  if (!found) throw noCase(id)
  return found
}

/** The case, locked until the transaction ends. Throws Refused. */
async function lockCase(tx: Tx, id: string): Promise<Case> {
  const [found] = await tx<Case>`select ${CASE_COLUMNS} from aml_case where id = ${id} for update`
  if (!found) throw noCase(id)
  return found
}

/** The same of one that is not closed. Throws Refused. */
export async function lockOpenCase(tx: Tx, id: string): Promise<Case> {
  const found = await lockCase(tx, id)
  if (found.state === 'closed')
    throw refusal(`${found.closed_by} has closed it (${found.code}): it can be reopened.`)
  return found
}

/** The case of an address that is not closed, locked. */
export async function findOpenCase(
  tx: Tx,
  customer_id: string | null,
  address: string,
): Promise<Case | undefined> {
  const [found] = await tx<Case>`
    select ${CASE_COLUMNS} from aml_case
    where coalesce(customer_id, '') = ${customer_id ?? ''} and address = ${address}
      and state <> 'closed'
    for update`
  return found
}

/** Appends to what was done and said. The caller has locked the case. */
async function appendEntry(
  tx: Tx,
  case_id: string,
  { kind, text, name = null, sha256 = null }: NewEntry,
  { by, at }: By,
): Promise<number> {
  const [made] = await tx<{ number: number }>`
    insert into aml_case_entry (case_id, number, kind, at, made_by, text, name, sha256)
    select ${case_id}, coalesce(max(number), 0) + 1, ${kind}, ${at}, ${by}, ${text}, ${name},
      ${sha256}
    from aml_case_entry where case_id = ${case_id}
    returning number`
  return made!.number
}

type NewCase = Pick<Case, 'id' | 'customer_id' | 'address' | 'priority' | 'risk_level'>

/** -> open. Undefined: the address has a case that is not closed. */
export async function insertCase(
  tx: Tx,
  { id, customer_id, address, priority, risk_level }: NewCase,
  { by, at, text }: By & { text: string },
): Promise<Case | undefined> {
  const [made] = await tx<Case>`
    insert into aml_case (id, customer_id, address, priority, risk_level, due_at, opened_at,
      opened_by)
    values (${id}, ${customer_id}, ${address}, ${priority}, ${risk_level}, ${dueOf(priority, at)},
      ${at}, ${by})
    on conflict do nothing
    returning ${CASE_COLUMNS}`
  if (!made) return undefined
  await appendEntry(tx, id, { kind: 'opened', text }, { by, at })
  note(tx, 'case.opened', made, at)
  return made
}

/** Writes how a case stands now, with what was done. */
async function save(
  tx: Tx,
  before: Case,
  changed: Partial<Case>,
  { by, at, ...entry }: By & NewEntry,
): Promise<Change<Case>> {
  const after: Case = { ...before, ...changed }
  await tx`
    update aml_case set state = ${after.state}, priority = ${after.priority},
      risk_level = ${after.risk_level}, owner = ${after.owner},
      escalated_by = ${after.escalated_by}, due_at = ${after.due_at},
      reminded_at = ${after.reminded_at}, report_reference = ${after.report_reference},
      closed_at = ${after.closed_at}, closed_by = ${after.closed_by}, code = ${after.code}
    where id = ${after.id}`
  await appendEntry(tx, after.id, entry, { by, at })
  if (after.state !== before.state || after.owner !== before.owner)
    note(tx, 'case.changed', after, at)
  return { result: after, actions: [{ subject: `case:${after.id}`, before, after }] }
}

export type Step = By & { id: string; text: string }

/** -> assigned: with one person, who alone can close it. Throws Refused. */
export async function assignCase(
  tx: Tx,
  { id, owner, by, at, text }: Step & { owner: string },
): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  if (isSameName(owner, before.escalated_by))
    throw refusal(`${before.escalated_by} has escalated it: it goes to another.`)
  if (before.state === 'assigned' && before.owner === owner) return { result: before, actions: [] }
  return save(tx, before, { state: 'assigned', owner }, { kind: 'assigned', text, by, at })
}

/** assigned -> waiting: for something from outside, until a day. Throws Refused. */
export async function waitCase(
  tx: Tx,
  { id, until, by, at, text }: Step & { until: Date },
): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  if (before.owner === null) throw refusal('It is with nobody: assign it first.')
  const waiting = { state: 'waiting' as const, due_at: until, reminded_at: null }
  return save(tx, before, waiting, { kind: 'waiting', text, by, at })
}

/** -> escalated: another one has to take it. Throws Refused. */
export async function escalateCase(tx: Tx, { id, by, at, text }: Step): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  if (before.state === 'escalated')
    throw refusal(`${before.escalated_by} has escalated it already.`)
  const priority: Priority = before.priority === 'urgent' ? 'urgent' : 'high'
  const sooner = dueOf(priority, at)
  const escalated = {
    state: 'escalated' as const,
    owner: null,
    escalated_by: by,
    priority,
    due_at: sooner < before.due_at ? sooner : before.due_at,
  }
  return save(tx, before, escalated, { kind: 'escalated', text, by, at })
}

/** Whether closing with this code lets go what was, or may have been, high: that is for two. */
export const letsGo = ({ risk_level }: Pick<Case, 'risk_level'>, code: ClosingCode): boolean =>
  (code === 'false_positive' || code === 'explained') &&
  (risk_level === 'high' || risk_level === null)

/** assigned | waiting -> closed. Throws Refused when it is not with this person, an answer in it
 *  waits, or a report has no reference. */
export async function closeCase(
  tx: Tx,
  { id, code, by, at, text }: Step & { code: ClosingCode },
): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  if (isSameName(by, before.escalated_by))
    throw refusal(`${by} has escalated it: another one closes it.`)
  if (before.owner === null) throw refusal('It is with nobody: assign it first.')
  if (!isSameName(by, before.owner))
    throw refusal(`It is with ${before.owner}, who alone can close it: assign it to yourself.`)
  const [waiting] = await tx<{ check_id: string }>`
    select r.check_id
    from aml_case_subject as s join aml_review as r on r.check_id = s.subject
    where s.case_id = ${id} and s.kind = 'check' and r.state = 'open' limit 1`
  if (waiting) throw refusal(`The answer of check ${waiting.check_id} waits: decide it first.`)
  if (code === 'reported' && before.report_reference === null)
    throw refusal('It has no reference of a report: aml cases set --report.')
  const closed = { state: 'closed' as const, closed_at: at, closed_by: by, code }
  return save(tx, before, closed, { kind: 'closed', text, by, at })
}

/** closed -> open. Throws Refused when the address has another case by now. */
export async function reopenCase(tx: Tx, { id, by, at, text }: Step): Promise<Change<Case>> {
  const before = await lockCase(tx, id)
  if (before.state !== 'closed') throw refusal(`It is not closed: it is ${before.state}.`)
  const other = await findOpenCase(tx, before.customer_id, before.address)
  if (other) throw refusal(`The address has case ${other.id}, which is not closed.`)
  const opened = {
    state: 'open' as const,
    owner: null,
    escalated_by: null,
    due_at: dueOf(before.priority, at),
    reminded_at: null,
    closed_at: null,
    closed_by: null,
    code: null,
  }
  return save(tx, before, opened, { kind: 'reopened', text, by, at })
}

export type CaseSettings = Partial<Pick<Case, 'priority' | 'due_at' | 'report_reference'>>

/** Changes what is not its state. A new day has an event of its own when it is missed. Throws
 *  Refused. */
export async function changeCase(
  tx: Tx,
  { id, by, at, settings }: By & { id: string; settings: CaseSettings },
): Promise<Change<Case>> {
  const before = await lockOpenCase(tx, id)
  const changed = settings.due_at === undefined ? settings : { ...settings, reminded_at: null }
  const said = [
    settings.priority && `priority ${settings.priority}`,
    settings.due_at && `due ${wireTime(settings.due_at)}`,
    settings.report_reference && `report ${settings.report_reference}`,
  ]
  return save(tx, before, changed, {
    kind: 'changed',
    text: said.filter(Boolean).join(', '),
    by,
    at,
  })
}

/** Notes or attaches something. Closed cases take no more. Throws Refused. */
export async function addEntry(
  tx: Tx,
  { id, by, at, entry }: By & { id: string; entry: NewEntry },
): Promise<{ number: number }> {
  await lockOpenCase(tx, id)
  const [counted] = await tx<{ entries: number; files: number }>`
    select count(*)::int as entries, (count(*) filter (where kind = 'file'))::int as files
    from aml_case_entry where case_id = ${id}`
  if (counted!.entries >= ENTRIES_MAX) throw refusal(`The case has ${ENTRIES_MAX} entries already.`)
  if (entry.kind === 'file' && counted!.files >= FILES_MAX)
    throw refusal(`The case has ${FILES_MAX} files already.`)
  return { number: await appendEntry(tx, id, entry, { by, at }) }
}

const worse = (a: Level | null, b: Level | null): Level | null =>
  LEVELS.findLast((level) => level === a || level === b) ?? null

/** A case has what was found anew; it is more urgent when that is. The caller has locked it. */
export async function joinCase(
  tx: Tx,
  before: Case,
  { priority, risk_level }: Pick<Case, 'priority' | 'risk_level'>,
  entry: By & NewEntry,
): Promise<void> {
  const more = PRIORITIES.indexOf(priority) > PRIORITIES.indexOf(before.priority)
  const sooner = dueOf(priority, entry.at)
  await save(
    tx,
    before,
    {
      priority: more ? priority : before.priority,
      risk_level: worse(before.risk_level, risk_level),
      ...(more && sooner < before.due_at && { due_at: sooner, reminded_at: null }),
    },
    entry,
  )
}

/** Says once that a case is late. One that waited is with its owner again. */
export async function remindCase(tx: Tx, id: string, now: Date): Promise<boolean> {
  const [before] = await tx<Case>`
    select ${CASE_COLUMNS} from aml_case
    where id = ${id} and state <> 'closed' and reminded_at is null and due_at <= ${now}
    for update skip locked`
  if (!before) return false
  const state = before.state === 'waiting' ? 'assigned' : before.state
  await tx`update aml_case set state = ${state}, reminded_at = ${now} where id = ${id}`
  const text = `It was due at ${wireTime(before.due_at)}.`
  await appendEntry(tx, id, { kind: 'late', text }, { by: 'screening', at: now })
  note(tx, 'case.late', { ...before, state }, now)
  return true
}
