// What a key or a user has made, and what that has made in turn: keys, users and webhooks. Of a key
// counts, too, who was last shown its secret, of a user who was shown a link that was followed, of
// a webhook who has last said where it calls: each of them knows a way in.

import { type Static, Type } from 'typebox'
import type { CustomerAction } from '../../ledger/accounts/customer_actions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { InvalidParams, refuses } from '../../platform/wire/endpoint.ts'

export type Creation = {
  kind: 'key' | 'user' | 'webhook'
  id: string
  /** Of a webhook: the host that it calls. */
  name: string
  /** The key, or the user, that has made it. */
  made_by: string
}

/** All of a customer that is still of use and was made by a key or a user, or by what that has
 *  made, oldest first. `except`: one that asks, which is not listed, nor what only it has made. */
export function findMade(
  sql: Sql | Tx,
  { customer_id, id, except = id }: { customer_id: string; id: string; except?: string },
): Promise<Creation[]> {
  return sql<Creation>`
    with recursive made_by (kind, id, maker) as (
      select 'key', id, made_by_key from api_key
      where customer_id = ${customer_id} and user_id is null and made_by_key is not null
      union all
      select 'key', id, secret_by_key from api_key
      where customer_id = ${customer_id} and user_id is null and secret_by_key is not null
      union all
      select 'user', id, invited_by from service_user where customer_id = ${customer_id}
      union all
      select 'user', l.user_id, l.made_by_key
      from user_link as l join service_user as u on u.id = l.user_id
      where u.customer_id = ${customer_id} and l.made_by_key is not null and l.used_at is not null
      union all
      select 'webhook', id, made_by_key from webhook
      where customer_id = ${customer_id} and made_by_key is not null
    ), made (kind, id, maker) as (
      select kind, id, maker from made_by where maker = ${id} and id not in (${id}, ${except})
      union
      select m.kind, m.id, m.maker from made join made_by as m on m.maker = made.id
      where m.id not in (${id}, ${except})
    ), things as (
      select kind, id, min(maker) as made_by from made group by kind, id
    )
    select t.kind, t.id, t.made_by,
      coalesce(k.name, u.name, substring(w.url from '^[a-z]+://([^/?#]+)'), '') as name
    from things as t
      left join api_key as k on t.kind = 'key' and k.id = t.id
      left join service_user as u on t.kind = 'user' and u.id = t.id
      left join webhook as w on t.kind = 'webhook' and w.id = t.id
    where k.revoked_at is null and u.ended_at is null and w.state is distinct from 'removed'
    order by t.id`
}

export const WithMadeField = Type.Optional(
  Type.Boolean({
    description: 'What it has made ends, too, and what that has made',
    fault: () => InvalidParams('with_made', 'Invalid with_made'),
  }),
)
export const WITH_MADE_REFUSED = refuses(
  InvalidParams,
  '`with_made` is neither true nor false',
  'with_made',
)

const ThingForm = Type.Object({
  id: Type.String(),
  name: Type.String({ description: 'Of a webhook: the host that it calls' }),
  made_by: Type.String({ description: 'The key or the user, whose key has the same id' }),
  ended: Type.Boolean({ description: 'Whether this call has ended it' }),
})

/** What is said of the subscriptions that end with the key that has started them. */
export const KEY_REVOKED = 'the key that started it was revoked'

/** Ends the subscriptions that a key has started, whose account it locks; says which. */
export type EndSubscriptions = (
  tx: Tx,
  of: { customer_id: string; key_id: string },
  end: { reason: string; now: Date },
) => Promise<readonly unknown[]>

/** The end of a key or of a user. */
export type MakerEnd = {
  customer_id: string
  id: string
  with_made: boolean
  /** The subscriptions go on that the keys have started. */
  keep_subscriptions: boolean
  at: Date
}

/** The end of one thing, as it is recorded; by whom, the one who asks knows. */
export type EndAction = Omit<CustomerAction, 'actor' | 'ends'>

/** What was found and ended, and how many subscriptions ended with it. Recorded last of all. */
export type EvictionReport = {
  made: Creations
  ended_subscriptions: number
  ended: readonly EndAction[]
}

/** In the wire's form. */
export const MadeForm = Type.Object({
  keys: Type.Array(ThingForm),
  users: Type.Array(ThingForm),
  webhooks: Type.Array(ThingForm),
})
export type Creations = Static<typeof MadeForm>

/** `ended`: the ids of those that were ended just now. */
export function printMade(things: readonly Creation[], ended: ReadonlySet<string>): Creations {
  const of = (wanted: Creation['kind']) =>
    things.flatMap(({ kind, id, name, made_by }) =>
      kind === wanted ? [{ id, name, made_by, ended: ended.has(id) }] : [],
    )
  return { keys: of('key'), users: of('user'), webhooks: of('webhook') }
}
