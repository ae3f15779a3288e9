// Whom an address has dealt with, by asset: how much went each way, how often, and when first and
// last. It is kept where an operator has asked for it, for it takes two rows of the database for
// each pair. The log is read upwards as it grows and downwards as history comes, and sums do not
// ask in which order; so it is complete between two blocks at every moment.

import type { Address } from 'penstock-tron/address.ts'
import { archiveEnds } from '../../chain/transfers/archiving.ts'
import { addressOfBare, bareAddress } from '../../chain/transfers/bare_addresses.ts'
import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import {
  type Counterparty,
  type CounterpartyPage,
  requireArchive,
  type TransferArchive,
} from '../../chain/transfers/transfer_archive.ts'
import type { RecordedBlock } from '../../chain/transfers/transfer_log.ts'
import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { LogPlace } from '../tracing/generations.ts'

type Range = { first_number: bigint | null; last_number: bigint | null }

/** Blocks of one run. */
const PORTION = 20

/** Has it kept from now on, with all that the log has. False: it is already. */
export async function keepPairs(tx: Tx, by: { at: Date; by: string }): Promise<boolean> {
  const made = await tx`
    insert into flow_pair_progress (asked_at, asked_by) values (${by.at}, ${by.by})
    on conflict do nothing returning 1`
  return made.length > 0
}

/** Forgets it. False: it was not kept. */
export async function forgetPairs(tx: Tx): Promise<boolean> {
  const gone = await tx`delete from flow_pair_progress returning 1`
  if (gone.length > 0) await tx`delete from flow_pair`
  return gone.length > 0
}

export type Counterparties = Range & { page: Counterparty[] }

/** Those whom an address dealt with, by their addresses, and between which blocks that is known: by
 *  the archive or by the pairs that are kept, whichever has more blocks. Undefined: by neither. */
export async function counterpartiesOf(
  { sql, archive }: LogPlace,
  address: Address,
  page: CounterpartyPage,
): Promise<Counterparties | undefined> {
  const [pairs] = await sql<Range>`select first_number, last_number from flow_pair_progress`
  const there = await archiveEnds(sql)
  if (there && blocksIn(there) > blocksIn(pairs)) {
    const { first_number, last_number } = there
    const range = { first: Number(first_number), last: Number(last_number) }
    const asked = requireArchive(archive)
    await asked.verify(there.id)
    const found = await asked.counterparties(address, range, page)
    return { first_number, last_number, page: found }
  }
  return pairs && { ...pairs, page: await keptPairs(sql, address, page) }
}

function blocksIn(range: Range | undefined): number {
  const { first_number = null, last_number = null } = range ?? {}
  return first_number === null || last_number === null ? 0 : Number(last_number - first_number) + 1
}

async function keptPairs(
  sql: Sql,
  address: Address,
  { after, limit }: CounterpartyPage,
): Promise<Counterparty[]> {
  const rows = await sql<Omit<Counterparty, 'other'> & { other: Uint8Array }>`
    select other, asset, received, sent, transfers,
      first_number, last_number
    from flow_pair
    where address = ${Buffer.from(bareAddress(address))}
      and (other, asset) > (${Buffer.from(after ? bareAddress(after.other) : [])}::bytea,
        ${after?.asset ?? -1}::smallint)
    order by other, asset limit ${limit}`
  return rows.map((row) => ({ ...row, other: addressOfBare(row.other) }))
}

/** Reads the next blocks of the log. */
export function pairStep({ sql, archive }: LogPlace): Step {
  return {
    name: 'pair_addresses',
    rest_ms: 3_000,
    duty: 'blocks',
    after: ['record'],
    due,
    async run() {
      const [range] = await sql<Range>`select first_number, last_number from flow_pair_progress`
      if (!range) return false
      // Read before anything is locked: the archive may take its time.
      const blocks = await nextBlocks(sql, range, archive)
      if (blocks.length === 0) return false
      return sql.begin(async (tx) => {
        const [now] = await tx<Range>`
          select first_number, last_number from flow_pair_progress for update`
        if (now?.first_number !== range.first_number || now?.last_number !== range.last_number)
          return now !== undefined
        await addPairs(tx, blocks)
        const numbers = blocks.map(({ number }) => number)
        await tx`
          update flow_pair_progress
          set first_number = least(first_number, ${Math.min(...numbers)}::bigint),
            last_number = greatest(last_number, ${Math.max(...numbers)}::bigint)`
        return true
      })
    },
  }
}

const due = (sql: WriteFragment): Fragment => sql`
  select from flow_pair_progress as p, flow_log_ends as log
  where log.last_number > coalesce(p.last_number, -1) or log.first_number < p.first_number`

async function nextBlocks(
  sql: Sql,
  { first_number, last_number }: Range,
  archive: TransferArchive | undefined,
): Promise<RecordedBlock[]> {
  const log = transferLog(sql, archive)
  const above = await log.after(Number(last_number ?? -1), { limit: PORTION, base: 0n })
  if (above.length > 0 || first_number === null) return above
  return log.before(Number(first_number), { limit: PORTION, from: 0, base: 0n })
}

type Pair = Omit<Counterparty, 'other' | 'first_number' | 'last_number'> & {
  address: Uint8Array
  other: Uint8Array
  first: number
  last: number
}

function pairsOf(blocks: readonly RecordedBlock[]): Pair[] {
  const pairs = new Map<string, Pair>()
  const note = (asset: number, address: Uint8Array, other: Uint8Array, number: number) => {
    const key = Buffer.concat([Buffer.of(asset), address, other]).toString('latin1')
    const known = pairs.get(key)
    const pair = known ?? {
      address,
      other,
      asset,
      received: 0n,
      sent: 0n,
      transfers: 0n,
      first: number,
      last: number,
    }
    if (!known) pairs.set(key, pair)
    pair.transfers += 1n
    pair.first = Math.min(pair.first, number)
    pair.last = Math.max(pair.last, number)
    return pair
  }
  for (const { number, transfers } of blocks) {
    for (let i = 0; i < countTransfers(transfers); i++) {
      const { asset, from, to, amount } = transferAt(transfers, i)
      note(asset, from, to, number).sent += amount
      note(asset, to, from, number).received += amount
    }
  }
  return [...pairs.values()]
}

/** Rows in one order everywhere, so that nothing waits for each other. */
async function addPairs(tx: Tx, blocks: readonly RecordedBlock[]): Promise<void> {
  const pairs = pairsOf(blocks)
  if (pairs.length === 0) return
  await tx`
    insert into flow_pair
      (address, other, asset, received, sent, transfers, first_number, last_number)
    select * from unnest(${pairs.map((one) => Buffer.from(one.address))}::bytea[],
      ${pairs.map((one) => Buffer.from(one.other))}::bytea[],
      ${pairs.map((one) => one.asset)}::smallint[],
      ${pairs.map((one) => one.received)}::numeric[], ${pairs.map((one) => one.sent)}::numeric[],
      ${pairs.map((one) => one.transfers)}::bigint[], ${pairs.map((one) => one.first)}::bigint[],
      ${pairs.map((one) => one.last)}::bigint[]) as p
    order by 1, 2, 3
    on conflict (address, other, asset) do update set
      received = flow_pair.received + excluded.received, sent = flow_pair.sent + excluded.sent,
      transfers = flow_pair.transfers + excluded.transfers,
      first_number = least(flow_pair.first_number, excluded.first_number),
      last_number = greatest(flow_pair.last_number, excluded.last_number)`
}
