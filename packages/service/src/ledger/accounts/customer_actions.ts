// The record of what a customer's users and keys have changed for their customer. A change and its
// record are one transaction; the database numbers the records of a customer without gaps and
// chains their sums, so none can be altered or taken out unseen. Nothing secret goes in.
//
// The database locks the record of a customer until the transaction ends: a record is the last that
// a transaction writes, after everything else is locked.

import { DAY_MS } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { printJson } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'

/** The user or the key that changes something, and the address of the call. */
export type Actor = Pick<Customer, 'customer_id' | 'key_id' | 'user' | 'ip'>

/** What was changed: one subject, as it was and as it is. Either is null where there was or is
 *  nothing, or where it says nothing. */
export type CustomerAction = {
  actor: Actor
  /** The path of the endpoint, without `/v1/`: `key/new`. */
  action: string
  subject: string
  before: object | null
  after: object | null
  /** Whether it ends something; left out: what its path says. */
  ends?: boolean
}

/** What takes rights away, or ends something, is recorded and never refused: else a thief of a key
 *  would make changes until its owner may not revoke it. A new password or new codes on paper end
 *  what was signed in with before. The words are those of the paths
 *  (test/stories/people/endings.test.ts). */
export const ENDING_VERBS = ['revoke', 'rotate', 'remove', 'recover', 'refuse', 'end', 'stop']
const ENDING = new RegExp(`/(${ENDING_VERBS.join('|')})$|^session/(totp|recovery/new)$`)

/** What a key or a user may change in a day beside that: records are kept for ever. */
const ACTIONS_A_DAY = 10_000
const AGAIN_SECONDS = 60

/** Records a change, unless nothing has changed by it. Throws TooManyRequests when there were too
 *  many by this key or user within a day: then nothing is changed either. */
export async function recordCustomerAction(
  tx: Tx,
  made_at: Date,
  action: CustomerAction,
): Promise<void> {
  const { actor, before, after, ends = ENDING.test(action.action) } = action
  if (after !== null && printJson(before) === printJson(after)) return
  const a_day_ago = new Date(made_at.getTime() - DAY_MS)
  if (!ends && (await hasChangedMuch(tx, actor, a_day_ago)))
    throw new TooManyRequests(AGAIN_SECONDS)
  recordCustomerActions(tx, made_at, [action])
}

/** Whether a key or a user has made as many changes since then as it may. They are counted only
 *  where the customer has as many in all, which one row says. */
async function hasChangedMuch(tx: Tx, actor: Actor, since: Date): Promise<boolean> {
  const { customer_id } = actor
  const [many] = await tx`
    select 1 from customer_action
    where customer_id = ${customer_id} and made_at > ${since} and number = 1 + (
      select max(number) from customer_action where customer_id = ${customer_id}
    ) - ${ACTIONS_A_DAY}::bigint`
  if (!many) return false
  const [too_many] = await tx`
    select 1 from customer_action
    where customer_id = ${customer_id} and made_by = ${actorName(actor)}
      and action !~ ${ENDING.source} and number > coalesce((
        select number from customer_action
        where customer_id = ${customer_id} and made_at <= ${since}
        order by made_at desc, number desc limit 1), 0)
    order by number desc offset ${ACTIONS_A_DAY - 1} limit 1`
  return too_many !== undefined
}

/** Records changes of any customers. The transaction waits for the statement. */
export function recordCustomerActions(
  tx: Tx,
  made_at: Date,
  actions: readonly CustomerAction[],
): void {
  if (actions.length === 0) return
  const text = (value: object | null) => (value === null ? null : printJson(value))
  // In the order of the locks that are taken for them, which have the hash of the customer's id.
  tx.send`
    insert into customer_action (customer_id, made_at, made_by, action, subject, before, after, ip)
    select customer_id, ${made_at}, made_by, action, subject, before::jsonb, after::jsonb, ip
    from unnest(${actions.map(({ actor }) => actor.customer_id)}::text[],
      ${actions.map(({ actor }) => actorName(actor))}::text[],
      ${actions.map(({ action }) => action)}::text[],
      ${actions.map(({ subject }) => subject)}::text[],
      ${actions.map(({ before }) => text(before))}::text[],
      ${actions.map(({ after }) => text(after))}::text[],
      ${actions.map(({ actor }) => actor.ip ?? null)}::text[]) with ordinality
      as made (customer_id, made_by, action, subject, before, after, ip, position)
    order by hashtext(customer_id), customer_id, position`
}

/** `user:…` or `key:…`. */
const actorName = ({ user, key_id }: Actor): string => `${user ? 'user' : 'key'}:${key_id}`

export type CustomerActionRow = {
  number: bigint
  made_at: Date
  /** `user:…` or `key:…`. */
  made_by: string
  action: string
  subject: string
  before: unknown
  after: unknown
  ip: string | null
}

/** The record of a customer, newest first. A subject also stands for those that begin with it and
 *  a colon: `key` for every key. */
export function listCustomerActions(
  sql: Sql,
  wanted: {
    customer_id: string
    made_by?: string | undefined
    action?: string | undefined
    subject?: string | undefined
    since?: Date | undefined
    until?: Date | undefined
    before?: bigint | undefined
    limit: number
  },
): Promise<CustomerActionRow[]> {
  const { customer_id, made_by = null, action = null, subject = null, limit } = wanted
  const { since = null, until = null, before = null } = wanted
  return sql<CustomerActionRow>`
    select number, made_at, made_by, action, subject, before, after, ip from customer_action
    where customer_id = ${customer_id} and (${before}::bigint is null or number < ${before})
      and (${made_by}::text is null or made_by = ${made_by})
      and (${action}::text is null or action = ${action})
      and (${subject}::text is null or subject = ${subject}
        or starts_with(subject, ${subject} || ':'))
      and (${since}::timestamptz is null or made_at >= ${since})
      and (${until}::timestamptz is null or made_at < ${until})
    order by number desc limit ${limit}`
}
