// What an order got on the chain, for anybody to check: its parts with the stake that was delegated
// and what that gave, the transactions and their blocks, the entries of the ledger that paid for
// it, and the seal of the journal that covers them.

import { type Static, Type } from 'typebox'
import { wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { OrNull, RESOURCES, SERVICES, word } from '../../platform/wire/schemas.ts'
import { Params, printParams } from '../orders/forms.ts'
import type { Order } from '../orders/orders.ts'
import { type Ratio, unitsOf } from '../pool/pool.ts'

/** `typ` in the header of the JWS. */
export const RECEIPT_TYPE = 'penstock-receipt+json'

const Place = {
  hash: Type.String(),
  block_number: Type.Integer(),
  block_id: OrNull(Type.String()),
  block_time: Type.String(),
}

export const ReceiptForm = Type.Object({
  receipt: Type.Literal(1),
  state: word(['delivered', 'solid', 'ended'], {
    description: 'solid: irreversible; ended: all of it was taken back irreversibly',
  }),
  service: Type.String(),
  network: OrNull(Type.String()),
  issued_at: Type.String(),
  order: Type.Object({
    id: Type.String(),
    external_id: OrNull(Type.String()),
    service: word(SERVICES),
    params: Params,
    amount: Money({ description: 'TRX' }),
    created_at: Type.String(),
  }),
  activation: OrNull(Type.Object(Place, { description: 'Of the address, when it was bought' })),
  parts: Type.Array(
    Type.Object({
      resource: word(RESOURCES),
      amount: Type.Integer(),
      stake_sun: Type.Integer(),
      units_of_stake: OrNull(
        Type.Integer({ description: 'What that stake gave by the ratio of the network then' }),
      ),
      ...Place,
      expires_at: Type.String(),
      reclaim_hash: OrNull(Type.String()),
      reclaim_block_number: OrNull(Type.Integer()),
    }),
  ),
  entries: Type.Array(
    Type.Object({
      id: Type.String(),
      kind: word(['move', 'hold', 'capture', 'release']),
      amount: Money({ description: 'TRX' }),
      number: Type.Integer(),
    }),
  ),
  seal: OrNull(Type.Object({ number: Type.Integer(), sha256: Type.String() })),
})
export type Receipt = Static<typeof ReceiptForm>

type PlaceRow = {
  tx_id: string
  block_number: bigint
  block_id: string | null
  block_time: Date
  solid: boolean
}
type PartRow = PlaceRow & {
  resource: string
  amount: bigint
  stake_sun: bigint
  total_limit: bigint | null
  total_weight: bigint | null
  expires_at: Date
  reclaim_tx_id: string | null
  reclaim_block_number: bigint | null
  reclaim_solid: boolean
}
type EntryRow = { id: string; kind: string; amount_sun: bigint; number: bigint }
type SealRow = { number: bigint; sha256: string }

/** The receipt of an order that was delivered; undefined while a part of it is in no block, as
 *  after a fork. */
export async function receiptOf(
  sql: Sql,
  order: Order,
  issuer: Pick<Receipt, 'service' | 'network' | 'issued_at'>,
): Promise<Receipt | undefined> {
  const [parts, activation, entries] = await Promise.all([
    partsOf(sql, order.id),
    activationOf(sql, order),
    entriesOf(sql, order.id),
  ])
  const sums = (['energy', 'bandwidth'] as const).map((resource) =>
    parts.reduce((sum, one) => sum + (one.resource === resource ? one.amount : 0n), 0n),
  )
  const whole = sums[0] === order.energy && sums[1] === order.bandwidth
  if (!whole || activation === 'missing') return undefined
  const { id, external_id, service, amount_sun, created_at } = order
  return {
    receipt: 1,
    state: stateOf(parts, activation),
    ...issuer,
    order: {
      id,
      external_id,
      service,
      params: printParams(order),
      amount: money(amount_sun),
      created_at: wireTime(created_at),
    },
    activation: activation ? printPlace(activation) : null,
    parts: parts.map(printPart),
    entries: entries.map(({ amount_sun: sun, number, ...entry }) => ({
      ...entry,
      amount: money(sun),
      number: Number(number),
    })),
    seal: await sealOf(sql, entries),
  }
}

function stateOf(parts: readonly PartRow[], activation: PlaceRow | null): string {
  const solid = parts.every((part) => part.solid) && activation?.solid !== false
  if (!solid) return 'delivered'
  return parts.length > 0 && parts.every((part) => part.reclaim_solid) ? 'ended' : 'solid'
}

const printPlace = ({ tx_id, block_number, block_id, block_time }: PlaceRow) => ({
  hash: tx_id,
  block_number: Number(block_number),
  block_id,
  block_time: wireTime(block_time),
})

function printPart(part: PartRow): Receipt['parts'][number] {
  const { resource, amount, stake_sun, total_limit, total_weight } = part
  const ratio: Ratio | undefined =
    total_limit !== null && total_weight !== null ? { total_limit, total_weight } : undefined
  const { reclaim_block_number } = part
  return {
    resource,
    amount: Number(amount),
    stake_sun: Number(stake_sun),
    units_of_stake: ratio ? unitsOf(stake_sun, ratio) : null,
    ...printPlace(part),
    expires_at: wireTime(part.expires_at),
    reclaim_hash: reclaim_block_number === null ? null : part.reclaim_tx_id,
    reclaim_block_number: reclaim_block_number === null ? null : Number(reclaim_block_number),
  }
}

async function partsOf(sql: Sql, order_id: string): Promise<PartRow[]> {
  return sql<PartRow>`
    select d.resource, d.amount, d.stake_sun, d.total_limit, d.total_weight, d.expires_at,
      a.tx_id, a.block_number, a.block_id, a.block_time, a.state = 'solid' as solid,
      r.tx_id as reclaim_tx_id, r.block_number as reclaim_block_number,
      coalesce(r.state = 'solid', false) as reclaim_solid
    from delegation as d join attempt as a on a.id = d.attempt_id
      left join attempt as r on r.id = d.reclaim_id
    where d.order_id = ${order_id} and d.state in ('active', 'reclaiming', 'ended')
      and a.block_number is not null
    order by d.resource desc, d.id`
}

/** The transaction that has activated the address, if the order paid for that; null when it did
 *  not, or when somebody else was quicker; missing while it is in no block. */
async function activationOf(
  sql: Sql,
  { activation_id, activate, service }: Order,
): Promise<PlaceRow | null | 'missing'> {
  if (activation_id === null || !activate) return null
  const [row] = await sql<{ state: string; attempt_id: string | null } & PlaceRow>`
    select activation.state, attempt_id, a.tx_id, a.block_number, a.block_id, a.block_time,
      a.state = 'solid' as solid
    from activation left join attempt as a on a.id = attempt_id
    where activation.id = ${activation_id}`
  if (row?.state !== 'active') return 'missing'
  if (row.attempt_id === null) return service === 'activate_address' ? 'missing' : null
  return row.block_number === null ? 'missing' : row
}

async function entriesOf(sql: Sql, order_id: string): Promise<EntryRow[]> {
  return sql<EntryRow>`
    select id, kind, amount_sun, number from transfer
    where id = 'order:' || ${order_id}::text or hold_id = 'order:' || ${order_id}::text
    order by number`
}

/** The row of the journal that seals the last of the entries; null while none does. */
async function sealOf(
  sql: Sql,
  entries: readonly EntryRow[],
): Promise<{ number: number; sha256: string } | null> {
  const last = entries.at(-1)
  if (!last) return null
  const [seal] = await sql<SealRow>`
    select number, sha256 from journal where last_entry >= ${last.number}
    order by number limit 1`
  return seal ? { number: Number(seal.number), sha256: seal.sha256 } : null
}
