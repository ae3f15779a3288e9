// Users: people who sign in, of a customer or of the house. Nobody is ever deleted, since orders
// and records name them.
//
//   (invited) -> (joined) -> (ended)
//
// A link leads to each arrow into "joined": it works once, and a new one puts out those before.

import { HOUSE } from '../../events/log/events.ts'
import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { type Clock, DAY_MS } from '../../lib/clock.ts'
import { firstIdAt, type NewId, type Random } from '../../lib/ids.ts'
import { brokenConstraint, type Sql, type Tx } from '../../platform/database/sql.ts'
import { Conflict, LimitReached } from '../../platform/wire/endpoint.ts'
import { ERASED, lockCustomer } from '../customers/customers.ts'
import { changeUserKey, endUserKey, eraseKeyNames, openUserKey } from '../keys/user_keys.ts'
import { printUser, reportUsers, type UserReport, type UserRow } from './forms.ts'
import { keyScopesOf } from './roles.ts'
import { endSessions, newToken, userTokenHash } from './sessions.ts'

export type { UserReport } from './forms.ts'

export type Needs = { clock: Clock; random: Random; new_id: NewId }

export type NewUser = {
  /** Null: of the house. */
  customer_id: string | null
  name: string
  role: string
  daily_cap_sun?: bigint | null | undefined
  /** For which alone the user buys; null, or left out: any address. */
  receivers?: readonly string[] | null | undefined
  /** A key whose spending of a day the user's counts as. */
  spends_from?: string | null | undefined
  /** Who asks for it: a user, a key, or what an operator typed. */
  invited_by: string
}

/** What a customer, or the house, may have. */
export const USERS_MAX = 50
/** What it may invite in a day: one who was removed stays as a row. */
export const USERS_A_DAY = 200
const LINK_MS = 72 * 3_600_000

/** Puts a user there who has not joined. Throws LimitReached. */
export async function inviteUser(tx: Tx, needs: Needs, wanted: NewUser): Promise<UserReport> {
  const { customer_id, name, role, invited_by, spends_from, receivers } = wanted
  const daily_cap_sun = wanted.daily_cap_sun ?? null
  const at = needs.clock.now()
  await lockUsersOf(tx, customer_id)
  const [count] = await tx<{ users: bigint }>`
    select count(*) as users from service_user
    where customer_id is not distinct from ${customer_id} and ended_at is null`
  if (count!.users >= BigInt(USERS_MAX))
    throw LimitReached('user', `There are ${USERS_MAX} users already`)
  const a_day_ago = firstIdAt(new Date(at.getTime() - DAY_MS))
  const [lately] = await tx<{ users: bigint }>`
    select count(*) as users from service_user
    where customer_id is not distinct from ${customer_id} and id >= ${a_day_ago}`
  if (lately!.users >= BigInt(USERS_A_DAY))
    throw LimitReached('user', `${USERS_A_DAY} users were invited within a day`)
  const id = needs.new_id()
  await tx`
    insert into service_user (id, customer_id, name, role, invited_at, invited_by)
    values (${id}, ${customer_id}, ${name}, ${role}, ${at}, ${invited_by})`
  if (customer_id !== null) {
    const scopes = keyScopesOf(role)
    const key = { user_id: id, customer_id, name, scopes, daily_cap_sun, receivers, spends_from }
    await openUserKey(tx, key, at)
  }
  return noteUser(tx, 'user.invited', id, at)
}

/** Nobody else adds or takes out users of this customer meanwhile, or of the house. */
export async function lockUsersOf(tx: Tx, customer_id: string | null): Promise<void> {
  if (customer_id === null) await tx`select pg_advisory_xact_lock(720461510)`
  else await lockCustomer(tx, customer_id)
}

/** The user, which stays as it is until the transaction ends, with the others of its customer.
 *  Undefined: there is none that is not ended. `customer_id`: whose it must be. */
export async function lockUser(
  tx: Tx,
  { id, customer_id }: { id: string; customer_id?: string | null | undefined },
): Promise<UserReport | undefined> {
  const [found] = await tx<Pick<UserRow, 'customer_id'>>`
    select customer_id from service_user where id = ${id}`
  if (!found || (customer_id !== undefined && found.customer_id !== customer_id)) return undefined
  await lockUsersOf(tx, found.customer_id)
  await tx`select 1 from service_user where id = ${id} for no key update`
  const [user] = await reportUsers(tx, { ids: [id], limit: 1 })
  return user?.ended_at === null ? user : undefined
}

/** Undefined: as it was; null: no limit. */
export type UserChange = {
  name?: string | undefined
  role?: string | undefined
  daily_cap_sun?: bigint | null | undefined
  receivers?: readonly string[] | null | undefined
}

/** Changes a locked user. One whose role changes has to sign in again. Throws Conflict for the last
 *  owner. */
export async function changeUser(
  tx: Tx,
  { user, change, at }: { user: UserReport; change: UserChange; at: Date },
): Promise<UserReport> {
  const { id, customer_id } = user
  const { name = user.name, role = user.role, receivers } = change
  const daily_cap_sun =
    change.daily_cap_sun === undefined ? user.daily_cap_sun : change.daily_cap_sun
  if (role !== user.role) await requireAnotherOwner(tx, user)
  await tx`update service_user set name = ${name}, role = ${role} where id = ${id}`
  if (customer_id !== null)
    await changeUserKey(
      tx,
      { user_id: id, name, scopes: keyScopesOf(role), daily_cap_sun, receivers },
      at,
    )
  if (role !== user.role) await endSessions(tx, { user_id: id, at })
  return noteUser(tx, 'user.changed', id, at)
}

/** Ends a locked user and all sessions of the user. Throws Conflict for the last owner, unless that
 *  one may go, too. */
export async function removeUser(
  tx: Tx,
  { user, at, even_last = false }: { user: UserReport; at: Date; even_last?: boolean },
): Promise<UserReport> {
  if (!even_last) await requireAnotherOwner(tx, user)
  await tx`update service_user set ended_at = ${at} where id = ${user.id}`
  await tx`delete from user_link where user_id = ${user.id} and used_at is null`
  await endUserKey(tx, user.id, at)
  await endSessions(tx, { user_id: user.id, at })
  return noteUser(tx, 'user.removed', user.id, at)
}

const HIGHEST: readonly string[] = ['owner', 'admin']

/** Throws Conflict when this is the last one who has joined and can let others in. */
async function requireAnotherOwner(tx: Tx, user: UserReport): Promise<void> {
  if (!HIGHEST.includes(user.role) || user.joined_at === null) return
  const [other] = await tx`
    select 1 from service_user
    where customer_id is not distinct from ${user.customer_id} and role = ${user.role}
      and ended_at is null and joined_at is not null and id <> ${user.id} limit 1`
  if (!other) throw Conflict(`last_${user.role}`, `${user.name} is the last ${user.role}`)
}

/** join: to choose a name and what to sign in with. sign_in: to be signed in at once. */
export type LinkPurpose = 'join' | 'sign_in'

/** Makes a link of a locked user: its token is in the answer and nowhere else. Those before do not
 *  work any more. `made_by`: the key or the user who is shown it; left out: an operator. */
export async function makeLink(
  tx: Tx,
  needs: Needs,
  wanted: { user_id: string; purpose: LinkPurpose; made_by?: string | undefined },
): Promise<{ token: string; ends_at: Date }> {
  const { user_id, purpose, made_by = null } = wanted
  const token = newToken(needs)
  await tx`delete from user_link where user_id = ${user_id} and used_at is null`
  const ends_at = await keepLink(tx, needs, { token, user_id, purpose, made_by })
  return { token, ends_at }
}

/** Makes a token that somebody has already a link of a locked user. Returns when that ends. */
export async function keepLink(
  tx: Tx,
  { clock }: Pick<Needs, 'clock'>,
  wanted: { token: string; user_id: string; purpose: LinkPurpose; made_by: string | null },
): Promise<Date> {
  const { token, user_id, purpose, made_by } = wanted
  const now = clock.now()
  const ends_at = new Date(now.getTime() + LINK_MS)
  await tx`
    insert into user_link (token_hash, user_id, purpose, made_at, ends_at, made_by_key)
    values (${userTokenHash(token)}, ${user_id}, ${purpose}, ${now}, ${ends_at}, ${made_by})`
  return ends_at
}

/** The links that a key or a user was shown, and that nobody has followed, work no more. */
export async function endOpenLinks(tx: Tx, made_by: string): Promise<void> {
  await tx`delete from user_link where made_by_key = ${made_by} and used_at is null`
}

/** The users with an open link that this operator was shown, by the records. */
export async function usersLinkedBy(tx: Tx, operator: string): Promise<string[]> {
  const rows = await tx<{ user_id: string }>`
    select l.user_id from user_link as l
    where l.used_at is null and l.made_by_key is null and ${operator} = (
      select made_by from operator_action
      where subject = 'user:' || l.user_id
        and action in ('operators invite', 'operators recover', 'users invite', 'users recover')
      order by number desc limit 1)
    order by l.user_id`
  return rows.map(({ user_id }) => user_id)
}

/** The open link of a user works no more. */
export async function endLinkOf(tx: Tx, user_id: string): Promise<void> {
  await tx`delete from user_link where user_id = ${user_id} and used_at is null`
}

/** Where a link leads: in the fragment, which no server and no log sees. */
export const linkUrl = (base: string, token: string): string => `${base}/join#${token}`

/** Gives a locked user who has lost everything a new link, and ends all sessions of the user. */
export async function recoverUser(
  tx: Tx,
  needs: Needs,
  user: UserReport,
  made_by?: string,
): Promise<{ token: string; ends_at: Date }> {
  const at = needs.clock.now()
  await endSessions(tx, { user_id: user.id, at })
  await noteUser(tx, user.joined_at === null ? 'user.invited' : 'user.recovered', user.id, at)
  return makeLink(tx, needs, { user_id: user.id, purpose: 'join', made_by })
}

export type Link = { user_id: string; customer_id: string | null; purpose: LinkPurpose }

/** What a link is for. Undefined: it is unknown, used, or too old. */
export async function findLink(tx: Tx, token: string, now: Date): Promise<Link | undefined> {
  const [link] = await tx<Link>`
    select l.user_id, l.purpose, u.customer_id
    from user_link as l join service_user as u on u.id = l.user_id
    where l.token_hash = ${userTokenHash(token)} and l.used_at is null and l.ends_at > ${now}
      and u.ended_at is null`
  return link
}

/** Uses up a link of a locked user. False: somebody else was faster. */
export async function useLink(tx: Tx, token: string, now: Date): Promise<boolean> {
  const used = await tx`
    update user_link set used_at = ${now}
    where token_hash = ${userTokenHash(token)} and used_at is null and ends_at > ${now}
    returning 1`
  return used.length > 0
}

/** Throws Conflict when somebody else signs in with the name. */
export async function requireFreeName(
  sql: Sql | Tx,
  user_id: string,
  sign_in_name: string | null,
): Promise<void> {
  const [taken] = await sql`
    select 1 from service_user where sign_in_name = ${sign_in_name} and id <> ${user_id}`
  if (taken) throw Conflict('sign_in_name', 'Somebody else has that name')
}

/** (invited) -> (joined), of a locked user; one who has joined gets another name to sign in with.
 *  Throws Conflict when that name is somebody else's. */
export async function joinUser(
  tx: Tx,
  { user, sign_in_name, at }: { user: UserReport; sign_in_name: string | null; at: Date },
): Promise<void> {
  await tx`select pg_advisory_xact_lock(720461511, hashtext(${sign_in_name}))`
  await requireFreeName(tx, user.id, sign_in_name)
  await tx`
    update service_user set sign_in_name = ${sign_in_name}, joined_at = coalesce(joined_at, ${at})
    where id = ${user.id}`.catch((thrown: unknown) => {
    // Who signs in to another face is not seen from here.
    if (brokenConstraint(thrown) === 'service_user_sign_in_name_once')
      throw Conflict('sign_in_name', 'Somebody else has that name')
    throw thrown
  })
}

/** Replaces the name of a user who has ended; the one that was typed to sign in is free again. */
export async function eraseName(tx: Tx, id: string): Promise<void> {
  await tx`update service_user set name = ${ERASED}, sign_in_name = null where id = ${id}`
  await tx`delete from user_link where user_id = ${id}`
  await eraseKeyNames(tx, { user_id: id })
}

/** Tells what has become of a user. */
export async function noteUser(tx: Tx, type: EventType, id: string, at: Date): Promise<UserReport> {
  const [user] = await reportUsers(tx, { ids: [id], limit: 1 })
  const { customer_id } = user!
  const data = printUser(user!)
  noteEvents(tx, [{ type, subject: `user:${id}`, customer_id: customer_id ?? HOUSE, at, data }])
  return user!
}
