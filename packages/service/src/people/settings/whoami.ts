// Who calls, with which key, and which service answers: the first call of somebody who sets one up.

import { Type } from 'typebox'
import { type Clock, dayOf, wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Endpoint, endpoint, Money, UNNAMED_SCOPES } from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'

/** What does not change while a process runs. `network`: the name of the chain that it sells on, or
 *  undefined while no node has said. */
export type ServiceFacts = {
  version: string
  public_url: string | undefined
  network(): Promise<string | undefined>
}

type KeyFacts = {
  customer_name: string
  name: string
  scopes: string[] | null
  allowed_networks: string[] | null
  receivers: string[] | null
  daily_cap_sun: bigint | null
  expires_at: Date | null
  spent_sun: bigint | null
  head_time: Date | null
}

const WhoForm = Type.Object({
  customer: Type.Object({ id: Type.String(), name: Type.String() }),
  key: Type.Object({
    id: Type.String(),
    name: Type.String(),
    scopes: Type.Array(Type.String()),
    networks: OrNull(Type.Array(Type.String())),
    receivers: OrNull(Type.Array(Type.String())),
    daily_cap: OrNull(Money({ description: 'TRX' })),
    spent_today: OrNull(Money({ description: 'TRX, as in /v1/keys/list' })),
    ends_at: OrNull(Type.String()),
  }),
  service: Type.Object({
    version: Type.String(),
    network: OrNull(Type.String({ description: 'mainnet, nile, shasta, or private' })),
    time: Type.String({ description: 'By the clock of the service' }),
    head_time: OrNull(Type.String({ description: 'Of the newest block that it has read' })),
    public_url: OrNull(Type.String()),
  }),
})

export const whoami = ({
  sql,
  clock,
  service,
}: {
  sql: Sql
  clock: Clock
  service: ServiceFacts
}): Endpoint =>
  endpoint({
    path: '/v1/whoami',
    auth: 'signature',
    scope: 'read',
    summary: 'Whose key this is, what it may do, and who answers',
    body: Type.Object({}),
    reply: WhoForm,
    faults: [],
    async handle({ customer: { customer_id, key_id } }) {
      const now = clock.now()
      const [[found], network] = await Promise.all([
        sql<KeyFacts>`
          select c.name as customer_name, k.name, k.scopes, k.allowed_networks, k.receivers,
            k.daily_cap_sun, k.expires_at, api_key_spent_on(k.id, ${dayOf(now)}::date) as spent_sun,
            (select head_time from chain) as head_time
          from api_key as k join customer as c on c.id = k.customer_id
          where k.id = ${key_id}`,
        service.network(),
      ])
      const key = found!
      return {
        customer: { id: customer_id, name: key.customer_name },
        key: {
          id: key_id,
          name: key.name,
          scopes: key.scopes ?? [...UNNAMED_SCOPES],
          networks: key.allowed_networks,
          receivers: key.receivers,
          daily_cap: key.daily_cap_sun === null ? null : money(key.daily_cap_sun),
          spent_today: key.spent_sun === null ? null : money(key.spent_sun),
          ends_at: key.expires_at && wireTime(key.expires_at),
        },
        service: {
          version: service.version,
          network: network ?? null,
          time: wireTime(now),
          head_time: key.head_time && wireTime(key.head_time),
          public_url: service.public_url ?? null,
        },
      }
    },
  })
