// What a customer's keys and users do with its users. One who asks lets in, changes and takes out
// only such as can do no more than itself, and gives nobody more than it has: so a thief of a key
// gets nothing more by it. A user can come from anywhere and for ever: a key that may not, or that
// ends, manages no users; one that is bound to receivers only such as are bound to them, too. What
// limits the one who asks is read under its lock, not as it was when the request was let in.

import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { dayOf } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'
import {
  type Customer,
  Forbidden,
  lacksScope,
  mayDo,
  NotFound,
  unauthenticated,
} from '../../platform/wire/endpoint.ts'
import { type KeyRow, reportKeys } from '../keys/forms.ts'
import { isWider, requireSameSum } from '../keys/grants.ts'
import { lockKey } from '../keys/keys.ts'
import { type CustomerRole, keyScopesOf } from './roles.ts'
import {
  changeUser,
  inviteUser,
  lockUser,
  lockUsersOf,
  makeLink,
  type NewUser,
  recoverUser,
  removeUser,
  type UserChange,
  type Needs as UserNeeds,
  type UserReport,
} from './users.ts'

export type Needs = UserNeeds & {
  /** Takes away all that a locked user signs in with. */
  forgetProofs(tx: Tx, user_id: string): Promise<void>
}

type Terms = Pick<UserReport, 'role' | 'daily_cap_sun' | 'receivers'>

/** Whether a user could do anything that the one who asks cannot. */
export function couldDoMore({ role, daily_cap_sun, receivers }: Terms, asking: KeyRow): boolean {
  const { require_external_id } = asking
  const careful = { require_v2: true, require_external_id }
  const anywhere = { allowed_networks: null, expires_at: null }
  const limits = { scopes: [...keyScopesOf(role)], daily_cap_sun, receivers }
  return isWider({ ...limits, ...anywhere, ...careful }, asking)
}

function requireNarrow(terms: Terms, asking: KeyRow): void {
  if (couldDoMore(terms, asking))
    throw Forbidden('wider', 'That user could do more than the one who asks')
}

/** Locks the one who asks. Throws Unauthenticated and Forbidden when it may do that no more. */
async function lockAsking(tx: Tx, asks: Customer): Promise<KeyRow> {
  const asking = await lockKey(tx, asks.key_id)
  if (!asking || asking.revoked_at) throw unauthenticated('unknown_token', asks.key_id)
  const scopes = asking.scopes ?? undefined
  if (!mayDo({ scopes }, ['manage'])) throw lacksScope(['manage'], asks)
  return asking
}

/** Locks a user of the customer, and the one who asks. Throws NotFound and Forbidden. */
async function lockBoth(tx: Tx, asks: Customer, id: string): Promise<[UserReport, KeyRow]> {
  const user = await lockUser(tx, { id, customer_id: asks.customer_id })
  if (!user) throw NotFound('user', 'There is no such user').absent('id', 'user of yours')
  const asking = await lockAsking(tx, asks)
  requireNarrow(user, asking)
  return [user, asking]
}

/** Records what has become of a user. */
function record(
  tx: Tx,
  asks: Customer,
  change: { action: string; before?: UserReport; after: UserReport; at: Date; more?: object },
): Promise<void> {
  const { action, before, after, at, more } = change
  return recordCustomerAction(tx, at, {
    actor: asks,
    action,
    subject: `user:${after.id}`,
    before: before ? recordedUser(before) : null,
    after: { ...recordedUser(after), ...more },
  })
}

/** What the record of a customer says of a user. */
export const recordedUser = ({ name, role, daily_cap_sun, receivers, ended_at }: UserReport) => ({
  name,
  role,
  daily_cap: daily_cap_sun === null ? null : money(daily_cap_sun),
  receivers,
  ended: ended_at !== null,
})

/** A link whose token is shown once. */
export type MadeLink = Awaited<ReturnType<typeof makeLink>>

/** Lets somebody in, whose cap and receivers are those of the one who asks when nothing is said,
 *  and whose spending counts against it. Throws LimitReached and Forbidden. */
export async function inviteByCustomer(
  tx: Tx,
  needs: Needs,
  asks: Customer,
  wanted: Pick<NewUser, 'name' | 'daily_cap_sun' | 'receivers'> & { role: CustomerRole },
): Promise<{ id: string; link: MadeLink }> {
  const { customer_id } = asks
  await lockUsersOf(tx, customer_id)
  const asking = await lockAsking(tx, asks)
  const { name, role, daily_cap_sun = asking.daily_cap_sun } = wanted
  const receivers = wanted.receivers === undefined ? asking.receivers : wanted.receivers
  const terms = { role, daily_cap_sun, receivers: receivers && [...receivers] }
  requireNarrow(terms, asking)
  const spends_from = asking.daily_cap_sun === null ? null : (asking.spends_from ?? asking.id)
  const user = { customer_id, name, ...terms, spends_from, invited_by: asks.key_id }
  const after = await inviteUser(tx, needs, user)
  const link = await makeLink(tx, needs, {
    user_id: after.id,
    purpose: 'join',
    made_by: asks.key_id,
  })
  await record(tx, asks, { action: 'user/invite', after, at: after.invited_at })
  return { id: after.id, link }
}

/** Changes a user; one whose role changes has to sign in again. Throws NotFound, Forbidden, and
 *  Conflict for the last owner. */
export async function changeByCustomer(
  tx: Tx,
  asks: Customer,
  { id, at, change }: { id: string; at: Date; change: UserChange },
): Promise<void> {
  const [before, asking] = await lockBoth(tx, asks, id)
  const { name = before.name, role = before.role, daily_cap_sun = before.daily_cap_sun } = change
  const receivers = change.receivers === undefined ? before.receivers : change.receivers
  const terms = { role, daily_cap_sun, receivers: receivers && [...receivers] }
  requireNarrow(terms, asking)
  const is_same =
    name === before.name &&
    role === before.role &&
    daily_cap_sun === before.daily_cap_sun &&
    isSameList(terms.receivers, before.receivers)
  if (is_same) return
  const after = await changeUser(tx, { user: before, change: { name, ...terms }, at })
  await record(tx, asks, { action: 'user/change', before, after, at })
}

const isSameList = (one: readonly string[] | null, other: readonly string[] | null): boolean =>
  one === null || other === null
    ? one === other
    : one.length === other.length && one.every((item, place) => item === other[place])

/** Takes a user out, with all sessions. Throws NotFound, Forbidden, and Conflict for the last
 *  owner. */
export async function removeByCustomer(
  tx: Tx,
  asks: Customer,
  { id, at }: { id: string; at: Date },
): Promise<void> {
  const [before] = await lockBoth(tx, asks, id)
  const after = await removeUser(tx, { user: before, at })
  await record(tx, asks, { action: 'user/remove', before, after, at })
}

/** A new link for a user who has lost everything, or never came: nothing else signs in then, and
 *  all sessions end. An owner who has joined gets one from the operator alone, so that nobody
 *  becomes an owner by it. Throws NotFound and Forbidden. */
export async function recoverByCustomer(
  tx: Tx,
  needs: Needs,
  asks: Customer,
  id: string,
): Promise<MadeLink> {
  const [user, asking] = await lockBoth(tx, asks, id)
  if (user.role === 'owner' && user.joined_at !== null)
    throw Forbidden('owner', 'An owner gets a new link from the operator')
  // Whoever changes what it spends from locks its customer first.
  const [key] = await reportKeys(tx, { ids: [id], limit: 1, day: dayOf(needs.clock.now()) })
  requireSameSum(key!, asking)
  await needs.forgetProofs(tx, id)
  const link = await recoverUser(tx, needs, user, asks.key_id)
  const change = { action: 'user/recover', before: user, after: user, at: needs.clock.now() }
  await record(tx, asks, { ...change, more: { link: 'new' } })
  return link
}
