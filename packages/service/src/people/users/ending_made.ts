// Ends what a key or a user has made when its maker is ended: open invitations always, for nobody
// has come by them yet; the rest, down the whole tree, when it is asked for. Users who could do
// more than the one who asks stay, as for user/remove, and are told: a thief of a narrow key ends
// no owner by it. The last owner is no exception here: a key or the operator lets in another.

import { recordedWebhook } from '../../events/webhooks/forms.ts'
import { lockWebhook, removeWebhook } from '../../events/webhooks/webhooks.ts'
import {
  type CustomerAction,
  recordCustomerActions,
} from '../../ledger/accounts/customer_actions.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { recordedKey } from '../keys/forms.ts'
import { lockKeys, revokeKey } from '../keys/keys.ts'
import {
  type Creation,
  type EndSubscriptions,
  type EvictionReport,
  findMade,
  KEY_REVOKED,
  type MakerEnd,
  printMade,
} from '../keys/made.ts'
import { couldDoMore, recordedUser } from './managing.ts'
import { endOpenLinks, lockUser, lockUsersOf, removeUser } from './users.ts'

export type Needs = { endSubscriptions: EndSubscriptions }

/** Nobody makes, and nobody buys, with what is about to be ended. In this order, as everywhere. */
async function lockMade(
  tx: Tx,
  { customer_id, key_id }: Customer,
  { id, things }: { id: string; things: readonly Creation[] },
) {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const makers = things.flatMap((one) => (one.kind === 'webhook' ? [] : one.id))
  return lockKeys(tx, [key_id, id, ...makers])
}

/** Ends what a key or a user of the customer has made. Its caller ends the maker itself, in the
 *  same transaction, and then records. */
export async function endMade(
  tx: Tx,
  needs: Needs,
  asks: Customer,
  { id, with_made, keep_subscriptions, at }: MakerEnd,
): Promise<EvictionReport> {
  const { customer_id } = asks
  await lockUsersOf(tx, customer_id)
  const things = await findMade(tx, { customer_id, id, except: asks.key_id })
  const keys = await lockMade(tx, asks, { id, things })
  await endOpenLinks(tx, id)
  const ended = new Set<string>()
  const actions: CustomerAction[] = []
  let ended_subscriptions = 0
  for (const thing of things) {
    if (!with_made && thing.kind !== 'user') continue
    const action = await endThing(tx, asks, { thing, keys, with_made, at })
    if (!action) continue
    ended.add(thing.id)
    actions.push({ actor: asks, ...action })
    if (thing.kind === 'webhook' || keep_subscriptions) continue
    const of = { customer_id, key_id: thing.id }
    const gone = await needs.endSubscriptions(tx, of, { reason: KEY_REVOKED, now: at })
    ended_subscriptions += gone.length
  }
  const record = () => recordCustomerActions(tx, at, actions)
  return { made: printMade(things, ended), ended_subscriptions, record }
}

type Act = Omit<CustomerAction, 'actor'>

/** Undefined: it stays. */
async function endThing(
  tx: Tx,
  asks: Customer,
  given: {
    thing: Creation
    keys: Awaited<ReturnType<typeof lockKeys>>
    with_made: boolean
    at: Date
  },
): Promise<Act | undefined> {
  const { thing, keys, with_made, at } = given
  const { kind, id } = thing
  const { customer_id } = asks
  if (kind === 'webhook') {
    const before = await lockWebhook(tx, { customer_id, id })
    await removeWebhook(tx, { customer_id, id })
    const [action, subject] = ['webhook/remove', `webhook:${id}`]
    return { action, subject, before: recordedWebhook(before), after: null }
  }
  if (kind === 'key') {
    const key = keys.get(id)!
    await revokeKey(tx, { customer_id, key_id: id, at })
    const [before, after] = [key, { ...key, revoked_at: at }].map((one) => recordedKey(one, at))
    return { action: 'key/revoke', subject: `key:${id}`, before: before!, after: after! }
  }
  const user = await lockUser(tx, { id, customer_id })
  const asking = keys.get(asks.key_id)
  if (!user || !asking || !(with_made || user.joined_at === null)) return undefined
  if (user.joined_at !== null && couldDoMore(user, asking)) return undefined
  const after = await removeUser(tx, { user, at, even_last: true })
  const [was, is] = [recordedUser(user), recordedUser(after)]
  return { action: 'user/remove', subject: `user:${id}`, before: was, after: is }
}
