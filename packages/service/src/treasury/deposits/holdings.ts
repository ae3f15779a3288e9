// What deposit addresses hold on the chain, beside what was seen to come and go.
//
//   deposit unproven -> credited | held        a contract sent it, and the balance bears it out
//   deposit unproven -> held                   or not: then it is money for nobody
//
// A contract's transfer is what a node shows, and nothing else; the balance is another thing that a
// node says, and with two nodes or more another node says it. What was seen to come, less what was
// seen to leave, fees included, can never be more than what is there. If less was seen, a node
// hides what contracts send: that is kept as the surplus.

import type { Address } from 'penstock-tron/address.ts'
import type { Node } from '../../chain/node/node.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { Outage, refusal } from '../../lib/fault.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { creditProven, type Needs as DepositNeeds, screenedFirst } from './deposit_step.ts'
import { type Deposit, holdUnproven, placeOf } from './deposits.ts'
import { DEPOSIT_COLUMNS } from './forms.ts'

export type Needs = DepositNeeds & { node: Node }

/** How often an address is looked at without a reason, and the least time between two such
 *  looks. */
const EVERY_MS = 60_000
const BETWEEN_MS = 10_000
/** Customers are looked through for those who have no row yet: the new ones always, all of them so
 *  often. */
const ALL_EVERY_MS = 3_600_000
const YOUNG_MS = 600_000
const AT_ONCE = 5
const FEES_AT_ONCE = 20
/** A fee that no node has told by then is not waited for: what it was counts as still being there,
 *  so that too little is credited, and never too much. */
const FEE_WAITS_MS_MAX = 86_400_000
/** The solid chain goes on every three seconds: a balance is of one block when that is the same
 *  before and after. */
const TRIES = 3

export const UNPROVEN = 'the balance of the address does not bear it out'

export function holdingsStep(needs: Needs): Step {
  const { sql, clock } = needs
  let next_look_at = new Date(0)
  let next_all_at = new Date(0)
  return {
    name: 'holdings',
    rest_ms: 3_000,
    due(sql) {
      const now = clock.now()
      return sql`
        select from deposit_outflow where fee_sun is null and due_at <= ${now}
        union all
        select where ${now >= next_all_at}::boolean
        union all
        select from customer as c where id >= ${firstIdAt(later(clock, -YOUNG_MS))}
          and not exists (select 1 from holding where address = c.deposit_address)
        union all
        select from deposit as d join holding as h on h.address = d.to_address
        where d.state = 'unproven' and coalesce(h.number, -1) < d.block_number and h.compared
        union all
        select from holding
        where compared and due_at <= ${now} and ${now >= next_look_at}::boolean
        union all
        select from holding where not compared and due_at <= ${now}
          and number <= (select number from cursor where name = 'deposits')`
    },
    duty: 'blocks',
    after: ['credit', 'screen_deposits'],
    before: ['publish'],
    // What cannot be asked of a node stops nothing that was asked before.
    run: () =>
      eachRow(
        [askFees, readDue, compareAll],
        (part) => part(needs),
        async () => {},
      ),
  }
  async function readDue(): Promise<boolean> {
    const now = clock.now()
    const all = now >= next_all_at
    if (all) next_all_at = later(clock, ALL_EVERY_MS)
    await addHoldings(needs, now, all ? '' : firstIdAt(later(clock, -YOUNG_MS)))
    const wanted = await dueAddresses(sql, now, now >= next_look_at)
    if (wanted.some(({ needed_number }) => needed_number === null))
      next_look_at = later(clock, BETWEEN_MS)
    return eachRow(
      wanted,
      (due) => read(needs, due),
      ({ address }) => postpone(needs, address),
    )
  }
}

/** What cannot be done at an address now is done later, after the others. */
async function postpone({ sql, clock }: Needs, address: Address, ms = EVERY_MS): Promise<void> {
  await sql`update holding set due_at = ${later(clock, ms)} where address = ${address}`
}

/** The rows of customers whose ids come after one, and that of the published address. */
async function addHoldings(
  { sql, recharge_address }: Needs,
  now: Date,
  from_id: string,
): Promise<void> {
  await sql`
    insert into holding (address, prior_sun, due_at)
    select deposit_address, 0, ${now}::timestamptz from customer as c
    where id >= ${from_id} and not exists (select 1 from holding where address = c.deposit_address)
    union all select ${recharge_address}, null, ${now}::timestamptz
    where not exists (select 1 from holding where address = ${recharge_address})
    on conflict (address) do nothing`
}

type Due = { address: Address; needed_number: bigint | null; givers: string[] }

/** Addresses of which the balance must be known as of a block, and one whose turn it is. */
async function dueAddresses(sql: Sql, now: Date, look: boolean): Promise<Due[]> {
  const urgent = await sql<Due>`
    select d.to_address as address, max(d.block_number) as needed_number,
           coalesce(array_agg(distinct giver) filter (where giver is not null), '{}') as givers
    from deposit as d join holding as h on h.address = d.to_address
      left join block as b on b.number = d.block_number left join unnest(b.read_from) as giver
        on true
    where d.state = 'unproven' and coalesce(h.number, -1) < d.block_number and h.compared
    group by d.to_address order by min(h.due_at), d.to_address limit ${AT_ONCE}`
  if (urgent.length > 0 || !look) return urgent
  return sql<Due>`
    select address, null::bigint as needed_number, '{}'::text[] as givers from holding
    where compared and due_at <= ${now} order by due_at, address limit 1`
}

/** The balance of an address, to be compared when all that came and went by then was seen. */
async function read(needs: Needs, { address, needed_number, givers }: Due): Promise<boolean> {
  const { sql, clock, node } = needs
  const found = await readBalance(node, {
    address,
    from_number: Number(needed_number ?? 0),
    givers,
  })
  if (!found) {
    await postpone(needs, address)
    return false
  }
  const { number, held_sun, name } = found
  await sql`
    update holding set number = ${number}, held_sun = ${held_sun}, read_from = ${name},
      compared = false, due_at = ${clock.now()}
    where address = ${address} and compared`
  return true
}

type BalanceInput = { address: Address; from_number: number; givers: readonly string[] }

/** What an address holds as of one solid block, by a node that did not give the blocks in question,
 *  if there is one. */
async function readBalance(node: Node, { address, from_number, givers }: BalanceInput) {
  const others = node.names.filter((name) => !givers.includes(name))
  for (const name of (others.length > 0 ? others : node.names).toReversed()) {
    const one = node.only(name)
    for (let i = 0; i < TRIES; i++) {
      const found = await balanceNow(one, address).catch((thrown: unknown) => {
        if (thrown instanceof Outage) return undefined
        throw thrown
      })
      if (found && found.number >= from_number) return { ...found, name }
    }
  }
  return undefined
}

async function balanceNow(node: Node, address: Address) {
  const before = await node.solidHead()
  const held_sun = await node.holdings(address)
  const after = await node.solidHead()
  return before.id === after.id ? { number: before.number, held_sun } : undefined
}

/** What the network took for what left. All that is due is asked for at the same time, and what
 *  nobody told is asked for again later, after the others. */
async function askFees({ sql, clock, node }: Needs): Promise<boolean> {
  const due = await sql<{ tx_id: string }>`
    update deposit_outflow set due_at = ${later(clock, BETWEEN_MS)}
    where tx_id in (
      select tx_id from deposit_outflow where fee_sun is null and due_at <= ${clock.now()}
      order by due_at, block_number limit ${FEES_AT_ONCE} for update skip locked)
    returning tx_id`
  const asked = await Promise.allSettled(
    due.map(async ({ tx_id }) => {
      const fee_sun = await node.feeOf(tx_id)
      if (fee_sun === undefined) return false
      await sql`update deposit_outflow set fee_sun = ${fee_sun} where tx_id = ${tx_id}`
      return true
    }),
  )
  const failed = asked.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  return asked.some((one) => one.status === 'fulfilled' && one.value)
}

/** Compares the balances that were read with what was seen up to their blocks, when that has been
 *  seen. */
async function compareAll(needs: Needs): Promise<boolean> {
  const { sql, clock } = needs
  const ready = await comparable(sql, clock)
  return eachRow(
    ready,
    async ({ address }) => {
      const moved = await screenedFirst(needs, () => sql.begin((tx) => compare(tx, needs, address)))
      if (moved === 'queued') await postpone(needs, address, BETWEEN_MS)
      return moved === true
    },
    ({ address }) => postpone(needs, address),
  )
}

/** Addresses with a balance that was read, and of which all that came and went up to its block was
 *  seen, with the fees: those that are due, or one that is named. */
const comparable = (sql: Query, clock: Clock, named: Address | null = null) =>
  sql<{ address: Address }>`
    select address from holding as h
    where not compared and number <= (select number from cursor where name = 'deposits')
      and (address = ${named} or (${named}::text is null and due_at <= ${clock.now()}))
      and not exists (
        select 1 from deposit_outflow as o
        where o.address = h.address and o.block_number <= h.number and fee_sun is null
          and (o.seen_at > ${later(clock, -FEE_WAITS_MS_MAX)} or h.prior_sun is null))
    order by due_at, address limit ${AT_ONCE}`

type Holding = { number: bigint; held_sun: bigint; prior_sun: bigint | null }

async function compare(tx: Tx, needs: Needs, address: Address): Promise<boolean> {
  const [holding] = await tx<Holding>`
    select number, held_sun, prior_sun from holding
    where address = ${address} and not compared for update skip locked`
  // Meanwhile another process may have read a later balance there.
  if (!holding || (await comparable(tx, needs.clock, address)).length === 0) return false
  const { number, held_sun } = holding
  const [seen] = await tx<{ sun: bigint }>`
    select (coalesce((select sum(amount_sun) from deposit
              where to_address = ${address} and solid_at is not null
                and block_number <= ${number}), 0)
            - coalesce((select sum(amount_sun + coalesce(fee_sun, 0)) from deposit_outflow
              where address = ${address} and block_number <= ${number}), 0))::bigint as sun`
  const prior_sun = holding.prior_sun ?? held_sun - seen!.sun
  let surplus_sun = held_sun - seen!.sun - prior_sun
  const unproven = await tx<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit where to_address = ${address} and state = 'unproven'
      and block_number <= ${number}
    order by block_number, tx_id, position desc`
  const proven: Deposit[] = []
  for (const deposit of unproven) {
    if (deposit.amount_sun === null || deposit.amount_sun > surplus_sun) continue
    surplus_sun -= deposit.amount_sun
    proven.push(deposit)
  }
  const credited = proven.length === 0 ? new Set<string>() : await creditProven(tx, needs, proven)
  const others = unproven.filter((one) => !credited.has(placeOf(one)))
  await holdUnproven(tx, others, { reason: UNPROVEN, now: needs.clock.now() })
  await tx`
    update holding set compared = true, prior_sun = ${prior_sun}, surplus_sun = ${surplus_sun},
      due_at = ${later(needs.clock, EVERY_MS)}
    where address = ${address}`
  return true
}

/** From its next look on, the balance of an address then is the beginning. Gives back what was not
 *  explained. Throws Refused. */
export async function recountHolding(tx: Tx, address: Address) {
  const [before] = await tx<{ prior_sun: bigint | null; surplus_sun: bigint }>`
    select prior_sun, surplus_sun from holding where address = ${address} for update`
  if (!before) throw refusal(`${address} is not an address where deposits arrive.`)
  const [doubtful] =
    await tx`select 1 from deposit where to_address = ${address} and state = 'unproven'`
  if (doubtful)
    throw refusal('What a contract has sent there is being compared: try again in a minute.')
  await tx`
    update holding set prior_sun = null, surplus_sun = 0, compared = true, due_at = to_timestamp(0)
    where address = ${address}`
  return before
}
