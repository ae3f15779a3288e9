// Ends what a key or a user has made when its maker is ended: open invitations always, for nobody
// has come by them yet; the rest, down the whole tree, when it is asked for. Users who could do
// more than the one who asks stay, as for user/remove, and are told: a thief of a narrow key ends
// no owner by it. The operator may end all. The last owner is no exception here: a key or the
// operator lets in another.

import { recordedWebhook } from '../../events/webhooks/forms.ts'
import { lockWebhook, removeWebhook } from '../../events/webhooks/webhooks.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import type { Tx } from '../../platform/database/sql.ts'
import type { Customer } from '../../platform/wire/endpoint.ts'
import { recordedKey } from '../keys/forms.ts'
import { lockKeys, revokeKey } from '../keys/keys.ts'
import {
  type Creation,
  type EndAction,
  type EndSubscriptions,
  type EvictionReport,
  findMade,
  KEY_REVOKED,
  type MakerEnd,
  printMade,
} from '../keys/made.ts'
import { couldDoMore, recordedUser } from './managing.ts'
import { endOpenLinks, lockUser, lockUsersOf, removeUser, type UserReport } from './users.ts'

export type Needs = { endSubscriptions: EndSubscriptions }

/** Nobody makes, and nobody buys, with what is about to be ended. In this order, as everywhere. */
async function lockMade(
  tx: Tx,
  { customer_id, ids, things }: { customer_id: string; ids: string[]; things: readonly Creation[] },
) {
  await lockAccounts(tx, [customerAccount(customer_id)])
  const makers = things.flatMap((one) => (one.kind === 'webhook' ? [] : one.id))
  return lockKeys(tx, [...ids, ...makers])
}

/** Ends what a key or a user has made. Its caller ends the maker itself, in the same transaction,
 *  and then records. `asks`: the one who does that for the customer; undefined: the operator. */
export async function endMade(
  tx: Tx,
  needs: Needs,
  asks: Customer | undefined,
  { customer_id, id, with_made, keep_subscriptions, at }: MakerEnd,
): Promise<EvictionReport> {
  await lockUsersOf(tx, customer_id)
  const asking_id = asks?.key_id ?? id
  const things = await findMade(tx, { customer_id, id, except: asking_id })
  const keys = await lockMade(tx, { customer_id, ids: [asking_id, id], things })
  await endOpenLinks(tx, id)
  const mayEnd: MayEnd = (user) => {
    if (user.joined_at === null) return true
    const asking = keys.get(asking_id)
    return with_made && (!asks || (asking !== undefined && !couldDoMore(user, asking)))
  }
  const ended = new Map<string, EndAction>()
  let ended_subscriptions = 0
  for (const thing of things) {
    if (!with_made && thing.kind !== 'user') continue
    const action = await endThing(tx, { customer_id, thing, keys, mayEnd, at })
    if (!action) continue
    ended.set(thing.id, action)
    if (thing.kind === 'webhook' || keep_subscriptions) continue
    const of = { customer_id, key_id: thing.id }
    const gone = await needs.endSubscriptions(tx, of, { reason: KEY_REVOKED, now: at })
    ended_subscriptions += gone.length
  }
  const made = printMade(things, new Set(ended.keys()))
  return { made, ended_subscriptions, ended: [...ended.values()] }
}

type MayEnd = (user: UserReport) => boolean

/** Undefined: it stays. */
async function endThing(
  tx: Tx,
  given: {
    customer_id: string
    thing: Creation
    keys: Awaited<ReturnType<typeof lockKeys>>
    mayEnd: MayEnd
    at: Date
  },
): Promise<EndAction | undefined> {
  const { customer_id, thing, keys, mayEnd, at } = given
  const { kind, id } = thing
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
  if (!user || !mayEnd(user)) return undefined
  const after = await removeUser(tx, { user, at, even_last: true })
  const [was, is] = [recordedUser(user), recordedUser(after)]
  return { action: 'user/remove', subject: `user:${id}`, before: was, after: is }
}
