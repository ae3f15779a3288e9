// Cases: what officers look into, from an alert or an answer that waits until it is closed.

import { createHash } from 'node:crypto'
import { type TObject, type TProperties, Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  address,
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  moment,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  whole,
} from '../../platform/wire/schemas.ts'
import { addSubject, listCases, readFile, showCase } from '../../screening/cases/case_subjects.ts'
import {
  addEntry,
  assignCase,
  CASE_STATES,
  type Case as CaseFound,
  CLOSING_CODES,
  changeCase,
  closeCase,
  escalateCase,
  insertCase,
  letsGo,
  PRIORITIES,
  reopenCase,
  requireCase,
  waitCase,
} from '../../screening/cases/cases.ts'
import { findDeposits } from '../../treasury/deposits/deposits.ts'
import { change, LIMIT, look, momentOf, paging, reasonOf } from '../table/operation.ts'

/** Characters. */
const NAME_MAX = 100
const REFERENCE_MAX = 200
const NOTE_MAX = 4_000
const FILE_MAX = 100_000
const DUE_DAYS_MAX = 366

const id = text('CASE', 'the id of the case')

const Case = {
  id: Text,
  customer_id: OrNull(Text),
  address: Text,
  state: Text,
  priority: Text,
  risk_level: OrNull(Text),
  owner: OrNull(Text),
  escalated_by: OrNull(Text),
  due_at: Moment,
  reminded_at: OrNull(Moment),
  report_reference: OrNull(Text),
  opened_at: Moment,
  opened_by: Text,
  closed_at: OrNull(Moment),
  closed_by: OrNull(Text),
  code: OrNull(Text),
}
const Entry = {
  number: Count,
  kind: Text,
  at: Moment,
  made_by: Text,
  text: Text,
  name: OrNull(Text),
  sha256: OrNull(Text),
}
const Added = Type.Object({ case: Text, number: Count })

/** Refuses a text that is empty or too long. Throws Misuse. */
function bounded(given: string, name: string, max: number): string {
  const written = given.trim()
  if (written === '') throw misuse(`${name} is empty.`)
  if (written.length > max) throw misuse(`${name} has more than ${max} characters.`)
  return written
}

/** A day that is still to come, within a year. Throws Misuse. */
function dueDay(given: string, name: string, now: Date): Date {
  const day = momentOf(given)!
  if (day <= now) throw misuse(`${name} ${given}: that is over already.`)
  if (day.getTime() - now.getTime() > DUE_DAYS_MAX * 86_400_000)
    throw misuse(`${name} ${given}: that is more than a year from now.`)
  return day
}

type CaseBody = { case: string }
type CaseChange = Promise<Awaited<ReturnType<typeof assignCase>>>

/** One arrow of a case, for which a reason must be given: it stands in the case as well. */
const moving = <Fields extends TProperties>(
  word: string,
  summary: string,
  {
    fields,
    move,
    ...more
  }: {
    fields: Fields
    move: (
      tx: Tx,
      step: { id: string; by: string; at: Date; text: string },
      body: Record<keyof Fields, string>,
    ) => CaseChange
    description?: string
    second?: (body: CaseBody & Record<keyof Fields, string>, found: CaseFound) => boolean
  },
) =>
  change({
    path: `/operator/aml/cases/${word}`,
    summary,
    ...(more.description !== undefined && { description: more.description }),
    body: Type.Object({ case: id, ...fields }) as TObject,
    reply: Type.Object(Case),
    cli: { operands: ['case', ...Object.keys(fields)] as ['case'] },
    ...(more.second && {
      second: async ({ sql, body }) =>
        more.second!(body as never, await requireCase(sql, (body as CaseBody).case)),
    }),
    async handle({ tx, by, at, reason, body }) {
      const step = { id: (body as CaseBody).case, by, at, text: reasonOf(reason) }
      const { result, actions } = await move(tx, step, body as never)
      return { result: { value: result }, actions }
    },
  })

export const caseOperations = [
  look({
    path: '/operator/aml/cases/list',
    summary: 'what is looked into, or was, the newest first',
    body: Type.Object({
      state: optional(oneOf(CASE_STATES, 'only those in this state')),
      owner: optional(text('NAME', 'only those that are with this operator')),
      customer: optional(text('CUSTOMER', 'only those about this customer')),
      late: flag('only those that are not closed and were due'),
      ...paging,
    }),
    reply: ListOf({ ...Case, is_late: Flag }),
    handle: async ({ sql, clock, body: { late = false, limit = LIMIT, ...filter } }) => ({
      value: await listCases(sql, { ...filter, late, limit, now: clock.now() }),
    }),
  }),
  look({
    path: '/operator/aml/cases/show',
    summary: 'one case: what it is about, what waits in it, and all that was done and said',
    body: Type.Object({ case: id }),
    reply: Type.Object({
      ...Case,
      is_late: Flag,
      subjects: ListOf({ kind: Text, subject: Text, added_at: Moment, added_by: Text }),
      reviews: ListOf({
        check_id: Text,
        state: Text,
        risk_score: Text,
        decision: OrNull(Text),
        decided_by: OrNull(Text),
      }),
      entries: ListOf(Entry),
      earlier: ListOf({
        id: Text,
        customer_id: OrNull(Text),
        state: Text,
        code: OrNull(Text),
        opened_at: Moment,
      }),
    }),
    cli: { operands: ['case'] },
    handle: async ({ sql, clock, body }) => ({
      value: await showCase(sql, body.case, clock.now()),
    }),
  }),
  change({
    path: '/operator/aml/cases/open',
    summary: 'look into an address; answers that wait and alerts open a case by themselves',
    description: 'An address of a customer has one case that is not closed.',
    body: Type.Object({
      address: address('the address'),
      customer: optional(text('CUSTOMER', 'whose it is; of nobody when left out')),
      priority: optional(oneOf(PRIORITIES, 'how soon it is due: 7 days, 3 days, a day, 4 hours')),
    }),
    reply: Type.Object(Case),
    cli: { operands: ['address'] },
    async handle({ tx, new_id, by, at, reason, body }) {
      const { address, customer, priority = 'normal' } = body
      const customer_id = customer === undefined ? null : (await requireCustomer(tx, customer)).id
      const wanted = { id: new_id(), customer_id, address, priority, risk_level: null }
      const made = await insertCase(tx, wanted, { by, at, text: reasonOf(reason) })
      if (!made) throw refusal(`${address} has a case that is not closed.`)
      return {
        result: { value: made },
        actions: [{ subject: `case:${made.id}`, before: null, after: made }],
      }
    },
  }),
  moving('assign', 'say with whom a case is, who alone can close it', {
    fields: { owner: text('NAME', 'the operator') },
    move: (tx, step, { owner }) =>
      assignCase(tx, { ...step, owner: bounded(owner, 'NAME', NAME_MAX) }),
  }),
  moving('wait', 'let a case wait for something from outside, until a day', {
    fields: { until: moment('when it is due then') },
    move: (tx, step, { until }) => waitCase(tx, { ...step, until: dueDay(until, 'TIME', step.at) }),
  }),
  moving('escalate', 'hand a case on to somebody else: you can neither take nor close it then', {
    fields: {},
    move: escalateCase,
  }),
  change({
    path: '/operator/aml/cases/set',
    summary: 'change how urgent a case is, when it is due, or the reference of its report',
    body: Type.Object({
      case: id,
      priority: optional(oneOf(PRIORITIES, 'how urgent it is')),
      due: optional(moment('when it is due')),
      report: optional(text('REFERENCE', 'what the authority calls the report made to it')),
    }),
    reply: Type.Object(Case),
    cli: { operands: ['case'] },
    async handle({ tx, by, at, body: { case: id, priority, due, report } }) {
      const settings = {
        ...(priority !== undefined && { priority }),
        ...(due !== undefined && { due_at: dueDay(due, '--due', at) }),
        ...(report !== undefined && {
          report_reference: bounded(report, '--report', REFERENCE_MAX),
        }),
      }
      if (Object.keys(settings).length === 0)
        throw misuse('aml cases set: --priority, --due or --report is missing.')
      const { result, actions } = await changeCase(tx, { id, by, at, settings })
      return { result: { value: result }, actions }
    },
  }),
  change({
    path: '/operator/aml/cases/add',
    summary: 'add a check, a deposit or another address to a case',
    body: Type.Object({
      case: id,
      check: optional(text('CHECK', 'the id of a check of its customer')),
      deposit: optional(text('TX_ID', 'the transaction of a deposit')),
      address: optional(address('another address')),
    }),
    reply: Type.Object(Case),
    cli: { operands: ['case'] },
    async handle({ tx, by, at, body: { case: id, check, deposit, address } }) {
      const given = Object.entries({ check, deposit, address }).flatMap(([kind, subject]) =>
        subject === undefined ? [] : { kind: kind as 'check' | 'deposit' | 'address', subject },
      )
      const [one] = given
      if (!one || given.length > 1)
        throw misuse('aml cases add: one of --check, --deposit and --address.')
      if (deposit !== undefined && (await findDeposits(tx, deposit)).length === 0)
        throw refusal(`There is no deposit ${deposit}.`)
      const { result, actions } = await addSubject(tx, { id, by, at, ...one })
      return { result: { value: result }, actions }
    },
  }),
  change({
    path: '/operator/aml/cases/note',
    summary: 'write something down in a case; it is never changed',
    body: Type.Object({ case: id, text: text('TEXT', `at most ${NOTE_MAX} characters`) }),
    reply: Added,
    cli: { operands: ['case', 'text'] },
    async handle({ tx, by, at, body }) {
      const entry = { kind: 'note', text: bounded(body.text, 'TEXT', NOTE_MAX) }
      const { number } = await addEntry(tx, { id: body.case, by, at, entry })
      const value = { case: body.case, number }
      const action = { subject: `case:${body.case}`, before: null, after: { number } }
      return { result: { value }, actions: [action] }
    },
  }),
  change({
    path: '/operator/aml/cases/attach',
    summary: 'put a file of text into a case, with its SHA-256; it is never changed',
    description: `At most ${FILE_MAX} characters of UTF-8.`,
    body: Type.Object({
      case: id,
      name: text('NAME', 'what it is called'),
      text: text('TEXT', 'what is in it'),
    }),
    reply: Type.Object({ case: Text, number: Count, sha256: Text }),
    cli: {
      operands: ['case', 'file'],
      extras: Type.Object({ file: text('FILE', 'the file') }),
      filled: ['name', 'text'],
      before: async ({ file }, { readFile }) => ({
        name: file.replace(/^.*[/\\]/, ''),
        text: await readFile(file),
      }),
    },
    async handle({ tx, by, at, body: { case: id, text: given, name } }) {
      if (/[^\P{Cc}\t\n\r]|\uFFFD/u.test(given)) throw misuse('FILE is no text in UTF-8.')
      if (given.length > FILE_MAX) throw misuse(`FILE has more than ${FILE_MAX} characters.`)
      const sha256 = createHash('sha256').update(given).digest('hex')
      const file = { kind: 'file', text: given, name: bounded(name, 'NAME', REFERENCE_MAX), sha256 }
      const { number } = await addEntry(tx, { id, by, at, entry: file })
      const after = { number, name: file.name, sha256 }
      const action = { subject: `case:${id}`, before: null, after }
      return { result: { value: { case: id, number, sha256 } }, actions: [action] }
    },
  }),
  look({
    path: '/operator/aml/cases/file',
    summary: 'a file of a case, as it was attached',
    body: Type.Object({ case: id, number: whole('NUMBER', 'of the entry') }),
    reply: Type.Object(Entry),
    cli: { operands: ['case', 'number'], text: (file) => file.text },
    handle: async ({ sql, body }) => ({ value: await readFile(sql, body.case, body.number) }),
  }),
  moving('close', 'close a case that is with you, when no answer in it waits any more', {
    description:
      'Where approvals set wants a second operator, `false_positive` and `explained` want one, ' +
      'unless the level is known and not high. `reported` wants the reference of the report.',
    fields: { code: oneOf(CLOSING_CODES, 'what came of it') },
    second: ({ code }, found) => letsGo(found, code as (typeof CLOSING_CODES)[number]),
    move: (tx, step, { code }) =>
      closeCase(tx, { ...step, code: code as (typeof CLOSING_CODES)[number] }),
  }),
  moving('reopen', 'look again into what was closed', { fields: {}, move: reopenCase }),
]
