// Energy for transfers of tokens, from our own pool: a customer of the house buys it for the
// addresses, and pays as any customer does, so that pool, signer and books know one kind of order.
//
//   asked for -> ordered | no need | given up        by the name of the transfer, once
//
// It lasts for an hour, so it is asked for when the signed file is at hand.

import type { Address } from 'penstock-tron/address.ts'
import type { Node } from '../../chain/node/node.ts'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { Fault, refusal } from '../../lib/fault.ts'
import type { OrderPlacer } from '../../market/orders/placing.ts'
import { charge, type Prices, tierFor } from '../../market/prices/prices.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Node
  prices: () => Promise<Prices>
  tryOrder: OrderPlacer['tryOrder']
}

const AT_ONCE = 20
const AGAIN_MS = 10_000
/** An order that could not be placed in this time is given up, and can be asked for again. */
const TRIED_MS_MAX = 600_000
/** Less time than this before the file expires, energy is not asked for, and none is bought. */
const ASKED_LEFT_MS_MIN = 300_000
const BOUGHT_LEFT_MS_MIN = 120_000

type OpenTransfer = {
  tx_id: string
  address: Address
  energy: bigint
  energy_by: string
  energy_at: Date
  energy_amount: bigint | null
  expires_at: Date
  /** The customer is active. */
  may_buy: boolean
}

/** Orders the energy that is asked for. */
export function energizeStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'energize',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from collection_transfer
      where energy_by is not null and energy_order is null and state = 'made'
        and energy_due_at <= ${clock.now()}`,
    duty: 'upkeep',
    before: ['delegate'],
    async run() {
      const open = await sql<OpenTransfer>`
        select tx_id, address, energy, energy_by, energy_at, energy_amount, expires_at,
          (select state = 'active' from customer where id = energy_by) as may_buy
        from collection_transfer
        where energy_by is not null and energy_order is null and state = 'made'
          and energy_due_at <= ${clock.now()}
        order by energy_due_at, tx_id limit ${AT_ONCE}`
      return eachRow(
        open,
        (one) => orderEnergy(needs, one),
        ({ tx_id }) => postpone(sql, tx_id, later(clock, AGAIN_MS)),
      )
    },
  }
}

async function postpone(sql: Sql, tx_id: string, due_at: Date, said?: string): Promise<void> {
  await sql`
    update collection_transfer set energy_due_at = ${due_at},
      energy_said = coalesce(${said ?? null}, energy_said)
    where tx_id = ${tx_id}`
}

async function orderEnergy(needs: Needs, open: OpenTransfer): Promise<boolean> {
  const { sql, clock, tryOrder } = needs
  const { tx_id, address, energy_by, energy_at } = open
  const why_not = whyNot(open, clock.now())
  const amount = open.energy_amount ?? (await noteAmount(needs, open))
  if (amount === 0n) return giveUp(sql, open, 'the address has enough')
  if (amount === undefined) return false
  const placed = await tryOrder({
    customer_id: energy_by,
    external_id: `collect:${tx_id}:${energy_at.getTime()}`,
    service: 'energy',
    address,
    energy: Number(amount),
    bandwidth: 0,
    activate: false,
    // What was ordered before is found all the same.
    refusal: why_not === undefined ? undefined : ServiceUnavailable(undefined, why_not),
  })
  if (placed instanceof Fault) {
    if (why_not !== undefined || clock.now().getTime() - energy_at.getTime() > TRIED_MS_MAX)
      return giveUp(sql, open, placed.message)
    await postpone(sql, tx_id, later(clock, AGAIN_MS), placed.message)
    return false
  }
  await sql`
    update collection_transfer set energy_order = ${placed.order.id}, energy_said = null
    where tx_id = ${tx_id} and energy_at = ${energy_at}`
  return true
}

/** Why nothing is bought any more; undefined: it is. */
function whyNot(
  { expires_at, may_buy }: Pick<OpenTransfer, 'expires_at' | 'may_buy'>,
  now: Date,
): string | undefined {
  if (!may_buy) return 'the customer is not active'
  const is_late = expires_at.getTime() - now.getTime() < BOUGHT_LEFT_MS_MIN
  return is_late ? 'the file expires within minutes' : undefined
}

/** The amount that is written down, which is also that of another process that was first; 0: none
 *  is needed. Undefined: it is not asked for any more. */
async function noteAmount(needs: Needs, open: OpenTransfer): Promise<bigint | undefined> {
  const amount = await amountFor(needs, open)
  if (amount === 0n) return amount
  const [noted] = await needs.sql<{ energy_amount: bigint }>`
    update collection_transfer set energy_amount = coalesce(energy_amount, ${amount})
    where tx_id = ${open.tx_id} and energy_at = ${open.energy_at} and energy_by is not null
    returning energy_amount`
  return noted?.energy_amount
}

/** Where another process has placed the order meanwhile, that one counts. */
async function giveUp(
  sql: Sql,
  { tx_id, energy_at }: Pick<OpenTransfer, 'tx_id' | 'energy_at'>,
  why: string,
): Promise<boolean> {
  await sql`
    update collection_transfer set energy_by = null, energy_said = ${why}
    where tx_id = ${tx_id} and energy_at = ${energy_at} and energy_order is null`
  return true
}

/** The energy to buy: what the address lacks, and the least that is sold. 0: it has enough. */
async function amountFor(
  { node, prices }: Pick<Needs, 'node' | 'prices'>,
  { address, energy }: Pick<OpenTransfer, 'address' | 'energy'>,
): Promise<bigint> {
  const { left } = await node.resource(address, 'energy')
  if (left >= energy) return 0n
  const { tiers } = await prices()
  return leastSold(tiers, energy - left)
}

function leastSold(tiers: Prices['tiers'], lacking: bigint): bigint {
  const sold = tiers.filter(({ resource }) => resource === 'energy')
  const least = Math.min(...sold.map(({ min_amount }) => min_amount))
  return Number.isFinite(least) && lacking < BigInt(least) ? BigInt(least) : lacking
}

export type EnergyChoice = {
  transfers: number
  energy: bigint
  /** Burned of the TRX at the addresses, with --burn. */
  burning_sun: bigint
  /** At the prices in force; null: no tier has such an amount. */
  buying_sun: bigint | null
}

/** Transfers of tokens that may still be sent, and what either way of paying for them costs. */
export async function energyChoice(
  sql: Sql,
  node: Node,
  { collection_id, prices }: { collection_id: string; prices: Prices },
): Promise<EnergyChoice> {
  const rows = await sql<{ address: Address; energy: bigint }>`
    select address, energy from collection_transfer
    where collection_id = ${collection_id} and state = 'made' and token is not null`
  const fee_sun = (await node.parameters()).get('getEnergyFee') ?? 100n
  const choice = { transfers: 0, energy: 0n, burning_sun: 0n, buying_sun: 0n as bigint | null }
  for (const row of rows) {
    const { left } = await node.resource(row.address, 'energy')
    if (left >= row.energy) continue
    const lacking = row.energy - left
    const amount = leastSold(prices.tiers, lacking)
    const tier = tierFor(prices, 'energy', Number(amount))
    choice.transfers += 1
    choice.energy += lacking
    choice.burning_sun += lacking * fee_sun
    choice.buying_sun =
      tier && choice.buying_sun !== null ? choice.buying_sun + charge(tier.price_sun, amount) : null
  }
  return choice
}

/** (nothing) -> asked for, of those that may still be sent and have no order that was placed within
 *  the hour. Throws Refused when there is none, or no time is left. */
export async function askForEnergy(
  tx: Tx,
  { collection_id, customer_id }: { collection_id: string; customer_id: string },
  at: Date,
): Promise<Change<number>> {
  const [customer] = await tx`select 1 from customer where id = ${customer_id} and state = 'active'`
  if (!customer) throw refusal(`There is no active customer ${customer_id}.`)
  const [collection] = await tx<{ expires_at: Date }>`
    select expires_at from collection where id = ${collection_id}`
  if (!collection) throw refusal(`There is no collection ${collection_id}.`)
  if (collection.expires_at.getTime() - at.getTime() < ASKED_LEFT_MS_MIN)
    throw refusal('The file expires within minutes: make another, and ask then.')
  const asked = await tx`
    update collection_transfer set energy_by = ${customer_id}, energy_at = ${at},
      energy_due_at = ${at}, energy_amount = null, energy_order = null, energy_said = null
    where collection_id = ${collection_id} and state = 'made' and token is not null
      and (energy_by is null
        or energy_order is not null and energy_at < ${at}::timestamptz - interval '1 hour'
        or exists (select 1 from orders where id = energy_order and state = 'failed'))
    returning 1`
  const subject = `collection:${collection_id}`
  const after = { energy_by: customer_id, transfers: asked.length }
  const action: Action = { subject, before: null, after }
  return { result: asked.length, actions: asked.length === 0 ? [] : [action] }
}
