// Personal data, on request: a copy of all that is kept of a customer or a user, and erasure.
// Names, sign-in names, the networks and browsers of sessions, and addresses of webhooks are
// replaced or deleted; money, invoices, the record, screenings and cases stay, without the name
// beside them where it is not part of the document. The answer says which is which.

import { type Static, Type } from 'typebox'
import { eraseWebhooks } from '../../events/webhooks/webhooks.ts'
import { customerAccount } from '../../ledger/accounts/ledger.ts'
import { refusal } from '../../lib/fault.ts'
import {
  ERASED,
  eraseCustomerName,
  requireCustomer,
  requireLockedCustomer,
} from '../../people/customers/customers.ts'
import { eraseNotes } from '../../people/customers/notes.ts'
import { eraseKeyNames } from '../../people/keys/user_keys.ts'
import { eraseBilling } from '../../people/settings/settings.ts'
import { forgetProofs } from '../../people/sign_in/joining.ts'
import { forgetTries, nameHashOf } from '../../people/sign_in/tries.ts'
import { eraseSignUps } from '../../people/sign_up/sign_up.ts'
import { reportUsers } from '../../people/users/forms.ts'
import { erasePlaces } from '../../people/users/sessions.ts'
import { eraseName, lockUsersOf, removeUser } from '../../people/users/users.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { Count, flag, ListOf, Moment, Text, text } from '../../platform/wire/schemas.ts'
import { unwatch } from '../../screening/checks/watches.ts'
import { monthToInvoice } from '../../treasury/invoices/issuing.ts'
import { change } from '../table/operation.ts'

type Rows = Promise<object[]>
type Source = (sql: Sql | Tx, of: { id: string; limit: number }) => Rows

/** Newest rows of each kind that an answer has at most. */
const ROWS_MAX = 10_000

const OF_USER: Readonly<Record<string, Source>> = {
  user: (sql, { id }): Rows => sql`
    select id, customer_id, name, role, sign_in_name, invited_at, invited_by, joined_at, ended_at
    from service_user where id = ${id}`,
  passkeys: (sql, { id, limit }): Rows => sql`
    select name, made_at, used_at, off_at from passkey where user_id = ${id}
    order by made_at desc limit ${limit}`,
  sessions: (sql, { id, limit }): Rows => sql`
    select made_at, used_at, ends_at, ended_at, ip, browser from user_session
    where user_id = ${id} order by id desc limit ${limit}`,
  async sign_ins(sql, { id, limit }): Rows {
    const name_hash = await nameHashOf(sql, id)
    return sql`
      select at, face, way, outcome, network, ip, browser from sign_in
      where user_id = ${id} or name_hash = ${name_hash} order by id desc limit ${limit}`
  },
  events: (sql, { id, limit }): Rows => sql`
    select number, type, at, data from event where subject = ${`user:${id}`}
    order by number desc limit ${limit}`,
}

const OF_CUSTOMER: Readonly<Record<string, Source>> = {
  customer: (sql, { id }): Rows => sql`
    select id, name, state, created_at, deposit_address from customer where id = ${id}`,
  settings: (sql, { id }): Rows => sql`
    select balance_low_sun, ending_minutes, billing, changed_at from customer_setting
    where customer_id = ${id}`,
  users: (sql, { id, limit }): Rows => sql`
    select id, name, role, sign_in_name, invited_at, joined_at, ended_at from service_user
    where customer_id = ${id} order by id desc limit ${limit}`,
  sessions: (sql, { id, limit }): Rows => sql`
    select s.user_id, s.made_at, s.used_at, s.ended_at, s.ip, s.browser
    from user_session as s join service_user as u on u.id = s.user_id
    where u.customer_id = ${id} order by s.id desc limit ${limit}`,
  keys: (sql, { id, limit }): Rows => sql`
    select id, name, scopes, allowed_networks, receivers, daily_cap_sun, created_at, expires_at,
      revoked_at, last_used_at from api_key
    where customer_id = ${id} and user_id is null order by id desc limit ${limit}`,
  webhooks: (sql, { id, limit }): Rows => sql`
    select id, url, description, types, state, made_at from webhook
    where customer_id = ${id} order by id desc limit ${limit}`,
  watches: (sql, { id, limit }): Rows => sql`
    select address, made_at, reference from aml_watch
    where customer_id = ${id} order by made_at desc limit ${limit}`,
  checks: (sql, { id, limit }): Rows => sql`
    select id, type, network, address, hash, state, price_sun, created_at, risk_score, risk_level
    from aml_check where customer_id = ${id} order by id desc limit ${limit}`,
  subscriptions: (sql, { id, limit }): Rows => sql`
    select id, external_id, address, state, total_sun, created_at, stopped_at from subscription
    where customer_id = ${id} order by id desc limit ${limit}`,
  orders: (sql, { id, limit }): Rows => sql`
    select id, external_id, service, address, energy, bandwidth, amount_sun, state, created_at
    from orders where customer_id = ${id} order by id desc limit ${limit}`,
  deposits: (sql, { id, limit }): Rows => sql`
    select tx_id, from_address, amount_sun, token, block_time, state from deposit
    where customer_id = ${id} order by block_number desc limit ${limit}`,
  notes: (sql, { id, limit }): Rows => sql`
    select id, at, made_by, text from customer_note
    where customer_id = ${id} order by id desc limit ${limit}`,
  invoices: (sql, { id, limit }): Rows => sql`
    select number, kind, issued_at, total_sun, document from invoice
    where customer_id = ${id} order by number desc limit ${limit}`,
  corrections: (sql, { id, limit }): Rows => sql`
    select id, amount_sun, reason, made_at from correction
    where customer_id = ${id} order by made_at desc limit ${limit}`,
  sign_ups: (sql, { id }): Rows => sql`
    select email, language, network, made_at, sent_at from sign_up where customer_id = ${id}`,
  pairings: (sql, { id, limit }): Rows => sql`
    select name, ip, network, made_at, approved_at, key_id from pairing
    where customer_id = ${id} order by made_at desc limit ${limit}`,
  refusals: (sql, { id, limit }): Rows => sql`
    select at, path, code, key, ip, body from refusal
    where customer_id = ${id} order by at desc limit ${limit}`,
  events: (sql, { id, limit }): Rows => sql`
    select number, type, subject, at, data from event
    where customer_id = ${id} order by number desc limit ${limit}`,
  actions: (sql, { id, limit }): Rows => sql`
    select number, made_at, made_by, action, subject, before, after, ip from customer_action
    where customer_id = ${id} order by number desc limit ${limit}`,
}

/** Kept, and no part of the copy: whoever is looked into must not learn of it. */
const LEFT_OUT = 'cases and reports of screening about this customer'

const Copy = Type.Object({
  of: Text,
  made_at: Moment,
  truncated: Type.Array(Text, { description: `Of these, the newest ${ROWS_MAX} alone` }),
  left_out: Type.Array(Text),
  data: Type.Record(Type.String(), Type.Array(Type.Unknown())),
})

/** A row as JSON has it. No sum of sun is too large for a number of JSON. */
const plain = (row: object): object =>
  JSON.parse(
    JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? Number(value) : value)),
  )

async function copyOf(
  sql: Tx,
  sources: Readonly<Record<string, Source>>,
  { id, subject, at, left_out }: { id: string; subject: string; at: Date; left_out: string[] },
): Promise<Static<typeof Copy>> {
  const truncated: string[] = []
  const data: Record<string, object[]> = {}
  for (const [name, source] of Object.entries(sources)) {
    const rows = await source(sql, { id, limit: ROWS_MAX + 1 })
    if (rows.length > ROWS_MAX) truncated.push(name)
    data[name] = rows.slice(0, ROWS_MAX).map(plain)
  }
  return { of: subject, made_at: at, truncated, left_out, data }
}

/** Replaces or deletes the names of a user who has been removed, and the places. */
async function eraseUser(
  tx: Tx,
  id: string,
): Promise<Record<'sessions' | 'sign_ins' | 'sign_ups', number>> {
  const sign_ins = await forgetTries(tx, id)
  const sign_ups = await eraseSignUps(tx, { user_id: id })
  await eraseName(tx, id)
  await forgetProofs(tx, id)
  return { sessions: await erasePlaces(tx, id), sign_ins, sign_ups }
}

const Erased = Type.Object({
  id: Text,
  users: Count,
  sessions: Count,
  sign_ins: Count,
  keys: Count,
  webhooks: Count,
  watches: Count,
  notes: Count,
  sign_ups: Count,
  stays: ListOf({ what: Text, why: Text }),
})

const RECORD_STAYS = {
  what: 'the record of changes, with the names and networks in it',
  why: 'it is sealed, and proves who changed what',
}
const EVENTS_STAY = {
  what: 'events, and what receivers answered, until their days are over (retention list)',
  why: 'receivers may still ask for them',
}
const REFUSALS_STAY = {
  what: 'refused calls, with their networks and bodies, until their days are over (retention list)',
  why: 'they show what was tried with a key',
}
const MONEY_STAYS = [
  { what: 'orders, deposits and entries of the ledger', why: 'they are the books' },
  { what: 'invoices and credit notes, as they were issued', why: 'they are documents of tax law' },
  { what: 'screenings and cases', why: 'they must be shown to an authority' },
]

/** Throws Refused while the customer could still buy, has money with us, or is to get an invoice,
 *  which is in its name; `nameless`: that may be without one. */
async function requireOver(tx: Tx, customer_id: string, nameless: boolean): Promise<void> {
  const { state } = await requireLockedCustomer(tx, customer_id)
  if (state !== 'closed')
    throw refusal(`Close it first: penstock-admin customers close ${customer_id}.`)
  const [account] = await tx<{ posted_sun: bigint; held_sun: bigint }>`
    select posted_sun, held_sun from account where id = ${customerAccount(customer_id)}`
  if (account && (account.posted_sun !== 0n || account.held_sun !== 0n))
    throw refusal('It has money with us, or something open: first give that back.')
  const month = nameless ? undefined : await monthToInvoice(tx, customer_id)
  if (month !== undefined)
    throw refusal(
      `The invoice of ${month} is not issued yet, and would have no name: it is issued when the ` +
        'month is over. Erase it then, or now with --nameless-invoice.',
    )
}

const customer = text('CUSTOMER', 'the id of the customer')
const user = text('USER', 'the id of the user')

/** The copy, and that it was made: who has handed it to whom can be asked. */
const copied = (copy: Static<typeof Copy>) => {
  const rows = Object.values(copy.data).reduce((sum, { length }) => sum + length, 0)
  return {
    result: { value: copy },
    actions: [{ subject: copy.of, before: null, after: { copied_rows: rows } }],
  }
}

export const customerDataOperations = [
  change({
    path: '/operator/customers/export',
    careful: true,
    summary: 'copy all that is kept of a customer, as JSON',
    description: `For whoever asks what is kept of them. Left out: ${LEFT_OUT}.`,
    body: Type.Object({ customer }),
    reply: Copy,
    cli: { operands: ['customer'], text: (copy) => JSON.stringify(copy, null, 2) },
    async handle({ tx, at, body }) {
      const { id } = await requireCustomer(tx, body.customer)
      const of = { id, subject: `customer:${id}`, at, left_out: [LEFT_OUT] }
      return copied(await copyOf(tx, OF_CUSTOMER, of))
    },
  }),
  change({
    path: '/operator/customers/erase',
    role: 'admin',
    careful: true,
    summary: 'erase the personal data of a closed customer, and of its users',
    description:
      'Names become "erased", proofs, links and the lines on invoices to come are deleted, ' +
      'sessions lose network and browser, keys their networks, webhooks are removed without ' +
      'their addresses, watches end, notes are deleted, and so is the e-mail it signed up with. ' +
      'It cannot be taken back. The answer says what stays, and why. While an invoice of it is ' +
      'still to be issued it is refused: that would have no name.',
    body: Type.Object({
      customer,
      nameless_invoice: flag('now: what is still to be issued is in the name "erased"'),
    }),
    reply: Erased,
    cli: { operands: ['customer'] },
    async handle({ tx, at, body: { customer: id, nameless_invoice = false } }) {
      await requireOver(tx, id, nameless_invoice)
      await lockUsersOf(tx, id)
      const users = await reportUsers(tx, { customer_id: id, limit: 100_000 })
      const counts = { sessions: 0, sign_ins: 0, sign_ups: 0 }
      for (const one of users) {
        if (one.ended_at === null) await removeUser(tx, { user: one, at, even_last: true })
        const erased = await eraseUser(tx, one.id)
        counts.sessions += erased.sessions
        counts.sign_ins += erased.sign_ins
        counts.sign_ups += erased.sign_ups
      }
      await eraseCustomerName(tx, id)
      await eraseBilling(tx, id)
      const value = {
        id,
        users: users.length,
        ...counts,
        keys: await eraseKeyNames(tx, { customer_id: id }),
        webhooks: await eraseWebhooks(tx, id),
        watches: await unwatch(tx, { customer_id: id }),
        notes: await eraseNotes(tx, id),
        sign_ups: counts.sign_ups + (await eraseSignUps(tx, { customer_id: id })),
        stays: [...MONEY_STAYS, RECORD_STAYS, EVENTS_STAY, REFUSALS_STAY],
      }
      const { stays: _, ...after } = value
      const action = { subject: `customer:${id}`, before: null, after: { ...after, name: ERASED } }
      return { result: { value }, actions: [action] }
    },
  }),
]

export const userDataOperations = [
  change({
    path: '/operator/users/export',
    careful: true,
    summary: 'copy all that is kept of a user, of a customer or of the house, as JSON',
    body: Type.Object({ user }),
    reply: Copy,
    cli: { operands: ['user'], text: (copy) => JSON.stringify(copy, null, 2) },
    async handle({ tx, at, body: { user: id } }) {
      const [found] = await tx`select 1 from service_user where id = ${id}`
      if (!found) throw refusal(`There is no user ${id}.`)
      const left_out = ['the record of changes: penstock-admin actions list --by NAME']
      return copied(await copyOf(tx, OF_USER, { id, subject: `user:${id}`, at, left_out }))
    },
  }),
  change({
    path: '/operator/users/erase',
    role: 'admin',
    careful: true,
    summary: 'erase the personal data of a user who was removed',
    description:
      'The name becomes "erased", proofs and links are deleted, sessions lose network and ' +
      'browser. It cannot be taken back. The answer says what stays, and why.',
    body: Type.Object({ user }),
    reply: Erased,
    cli: { operands: ['user'] },
    async handle({ tx, body: { user: id } }) {
      const [found] = await tx<{ ended_at: Date | null; customer_id: string | null }>`
        select ended_at, customer_id from service_user where id = ${id} for update`
      if (!found) throw refusal(`There is no user ${id}.`)
      const noun = found.customer_id === null ? 'operators' : 'users'
      if (found.ended_at === null)
        throw refusal(`Remove that user first: penstock-admin ${noun} remove ${id}.`)
      const counts = await eraseUser(tx, id)
      const none = { keys: 0, webhooks: 0, watches: 0, notes: 0 }
      const value = { id, users: 1, ...counts, ...none, stays: [RECORD_STAYS, EVENTS_STAY] }
      const action = { subject: `user:${id}`, before: null, after: { name: ERASED, ...counts } }
      return { result: { value }, actions: [action] }
    },
  }),
]
