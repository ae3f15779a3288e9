// The money of deposits by where it came from: for each that is booked. Where the policy
// holds money of high risk a deposit is booked when it is screened (deposit_step.ts); elsewhere no
// deposit waits for it.
//
//   queued -> screened           its shares and level, when the index has its block
//          -> with its ways      when it is booked: of what is not low, or was held

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { allOrEach, eachRow, type Step } from '../../platform/steps/step.ts'
import type { Money, MoneyReader, MoneyReading, MoneyWay } from '../../screening/engine/money.ts'
import { currentPolicy, type Policy, readPolicy } from '../../screening/engine/policy.ts'
import { type Place, placeOf } from './forms.ts'

/** The findings about a deposit. `reading` is null while it is queued, and where the log does not
 *  have it. */
export type DepositFindings = Place & {
  screened_at: Date | null
  reading: MoneyReading | null
  ways: MoneyWay[] | null
}

type ScreeningInput = Place & { block_number: number; reading?: MoneyReading | undefined }

/** Queues deposits that are booked; those with a reading are screened. */
export async function noteScreenings(
  tx: Tx,
  booked: readonly ScreeningInput[],
  now: Date,
): Promise<void> {
  if (booked.length === 0) return
  const read = booked.map(({ reading }) => reading)
  await tx`
    insert into deposit_screening (tx_id, position, block_number, queued_at, screened_at,
                                   risk_level, reading)
    select tx_id, position, block_number, ${now},
      case when reading is null then null else ${now}::timestamptz end, risk_level, reading
    from unnest(${booked.map((one) => one.tx_id)}::text[],
                ${booked.map((one) => one.position)}::integer[],
                ${booked.map((one) => one.block_number)}::bigint[],
                ${read.map((one) => one?.risk_level ?? null)}::text[],
                ${read.map((one) => (one ? JSON.stringify(one) : null))}::jsonb[])
      as t (tx_id, position, block_number, risk_level, reading)
    on conflict (tx_id, position) do nothing`
}

/** Those that are queued or screened, by their places. A reading is null until then, and where the
 *  log does not have it. */
export async function screeningsAt(
  tx: Tx,
  places: readonly Place[],
): Promise<Map<string, Pick<DepositFindings, 'screened_at' | 'reading'>>> {
  if (places.length === 0) return new Map()
  const rows = await tx<Pick<DepositFindings, 'tx_id' | 'position' | 'screened_at' | 'reading'>>`
    select tx_id, position, screened_at, reading from deposit_screening
    join unnest(${places.map(({ tx_id }) => tx_id)}::text[],
                ${places.map(({ position }) => position)}::integer[]) as t (tx_id, position)
      using (tx_id, position)`
  return new Map(rows.map((row) => [placeOf(row), row]))
}

const AT_ONCE = 200

type OpenRow = Place & {
  block_number: bigint
  from_address: Address
  to_address: Address
  amount_sun: bigint | null
  token: string | null
  token_amount: bigint | null
  customer_id: string | null
  state: string
  reading: MoneyReading | null
}

const moneyOf = (row: OpenRow): Money => ({
  tx_id: row.tx_id,
  block_number: Number(row.block_number),
  from: row.from_address,
  to: row.to_address,
  asset: row.token ?? 'TRX',
  amount: row.amount_sun ?? row.token_amount!,
  customer_id: row.customer_id ?? DIRECT_RECHARGE,
})

type Needs = { sql: Sql; clock: Clock; money: Pick<MoneyReader, 'height' | 'read' | 'ways'> }

/** queued -> screened, and screened -> with its ways when it is booked. Each process with an index
 *  does both, and the first counts. */
export function screenDepositsStep(needs: Needs): Step {
  const { money } = needs
  return {
    name: 'screen_deposits',
    rest_ms: 3_000,
    needs_index: true,
    due: (sql) => sql`
      select from deposit_screening
      where ways is null and screened_at is null and block_number <= ${money.height() ?? -1}
      union all
      select from deposit_screening as s join deposit using (tx_id, position)
      where ways is null and screened_at is not null and s.block_number <= ${money.height() ?? -1}
        and solid_at is not null`,
    after: ['credit', 'holdings', 'index'],
    // A way that cannot be found holds up no booking.
    run: () =>
      eachRow(
        [screenQueued, findWays],
        (part) => part(needs),
        async () => {},
      ),
  }
}

/** Queued ones of blocks that the index has, or screened ones that are booked and have no ways. */
const openRows = ({ sql, money }: Needs, screened: boolean): Promise<OpenRow[]> => sql<OpenRow>`
  select tx_id, position, s.block_number, from_address, to_address, amount_sun, token,
    token_amount, customer_id, state, reading
  from deposit_screening as s join deposit using (tx_id, position)
  where ways is null and s.block_number <= ${money.height() ?? -1}
    and case when ${screened}::boolean then screened_at is not null and solid_at is not null
      else screened_at is null end
  order by s.block_number, tx_id, position limit ${AT_ONCE}`

async function screenQueued(needs: Needs): Promise<boolean> {
  const { sql, clock, money } = needs
  const queued = await openRows(needs, false)
  if (queued.length === 0) return false
  const read = await money.read(sql, await currentPolicy(sql), queued.map(moneyOf))
  const rows = queued.map((row, i) => ({ ...row, reading: read[i] ?? null }))
  await storeReadings(sql, clock.now(), rows)
  return true
}

async function findWays(needs: Needs): Promise<boolean> {
  const { sql } = needs
  const booked = await openRows(needs, true)
  if (booked.length === 0) return false
  const policy = await currentPolicy(sql)
  return allOrEach(
    booked,
    async (rows) => {
      await storeWays(sql, await withWays(needs, policy, rows))
      return true
    },
    async () => {},
  )
}

type WholeRow = OpenRow & { ways: MoneyWay[] }

/** With the ways of those that somebody will look at. */
async function withWays(
  { sql, money }: { sql: Sql; money: Pick<MoneyReader, 'ways'> },
  newest: Policy,
  rows: readonly OpenRow[],
): Promise<WholeRow[]> {
  const looked_at = rows.filter(
    ({ reading, state }) => reading && (reading.risk_level !== 'low' || state === 'held'),
  )
  const versions = [...new Set(looked_at.map(({ reading }) => reading!.policy))]
  const ways_of = new Map<OpenRow, MoneyWay[]>()
  for (const version of versions) {
    const mine = looked_at.filter(({ reading }) => reading!.policy === version)
    const policy = version === newest.version ? newest : await readPolicy(sql, version)
    const ways = await money.ways(policy, mine.map(moneyOf))
    for (const [i, row] of mine.entries()) ways_of.set(row, ways[i]!)
  }
  return rows.map((row) => ({ ...row, ways: ways_of.get(row) ?? [] }))
}

async function storeReadings(sql: Sql, now: Date, rows: readonly OpenRow[]): Promise<void> {
  await sql`
    update deposit_screening as s
    set screened_at = ${now}, risk_level = t.risk_level, reading = t.reading
    from unnest(${rows.map((row) => row.tx_id)}::text[],
                ${rows.map((row) => row.position)}::integer[],
                ${rows.map(({ reading }) => reading?.risk_level ?? null)}::text[],
                ${rows.map(({ reading }) => (reading ? JSON.stringify(reading) : null))}::jsonb[])
      as t (id, place, risk_level, reading), (
      select tx_id, position from deposit_screening
      where tx_id = any(${rows.map((row) => row.tx_id)}) and screened_at is null
      order by tx_id, position for update) as open
    where s.tx_id = t.id and s.position = t.place and s.screened_at is null
      and open.tx_id = t.id and open.position = t.place`
}

async function storeWays(sql: Sql, rows: readonly WholeRow[]): Promise<void> {
  await sql`
    update deposit_screening as s set ways = t.ways
    from unnest(${rows.map((row) => row.tx_id)}::text[],
                ${rows.map((row) => row.position)}::integer[],
                ${rows.map(({ ways }) => JSON.stringify(ways))}::jsonb[]) as t (id, place, ways), (
      select tx_id, position from deposit_screening
      where tx_id = any(${rows.map((row) => row.tx_id)}) and ways is null
      order by tx_id, position for update) as open
    where s.tx_id = t.id and s.position = t.place and s.ways is null
      and open.tx_id = t.id and open.position = t.place`
}

/** The findings about the deposits of a transaction. */
export async function findScreenings(sql: Sql, tx_id: string): Promise<DepositFindings[]> {
  return sql<DepositFindings>`
    select tx_id, position, screened_at, reading, ways from deposit_screening
    where tx_id = ${tx_id} order by position`
}
