// The log of transfers in PostgreSQL: all statements that read it or write to it. What other
// statements need of it, its ends and the times of its blocks, are the views flow_log_ends and
// flow_log_time. Blocks always have their rows here; their transfers can lie in an archive.

import { Outage } from '../../lib/fault.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { bareHex } from './bare_addresses.ts'
import { countTransfers, type Freeze } from './packed.ts'
import {
  type BlockContents,
  isWhole,
  requireArchive,
  type TransferArchive,
} from './transfer_archive.ts'
import type {
  BlockPlace,
  CarriedRange,
  FreezeWord,
  NewBlock,
  RecordedBlock,
  TransferLog,
} from './transfer_log.ts'

/** `contents_sha256`: of its transfers, when they lie in the archive. */
type Row = {
  number: bigint
  id: string
  time: Date
  first_sequence: bigint
  transfers: Uint8Array | null
  tx_ids: Uint8Array | null
  contents_sha256: Buffer | null
  freezes: FreezeWord[]
}
const BLOCK_COLUMNS = columnsOf<Row>()([
  'number',
  'id',
  'time',
  'first_sequence',
  'transfers',
  'tx_ids',
  'contents_sha256',
  'freezes',
])
type WholeRow = Row & Omit<BlockContents, 'number'>
type CarriedColumn = { carried: Uint8Array | null }
type ExplainedRow = Row & CarriedColumn

/** With the transfers of those that lie in the archive. */
async function wholeRows<Read extends Row>(
  rows: readonly Read[],
  archive: TransferArchive | undefined,
): Promise<(Read & WholeRow)[]> {
  const moved = rows.filter((row) => row.transfers === null).map(({ number }) => Number(number))
  const contents = moved.length === 0 ? undefined : await requireArchive(archive).contents(moved)
  return rows.map((row) => {
    const { number, transfers, tx_ids, contents_sha256: sha256 } = row
    if (transfers && tx_ids) return { ...row, transfers, tx_ids }
    const found = contents?.get(Number(number))
    if (!sha256 || !isWhole(found, sha256))
      throw new Outage(`The archive does not have the transfers of block ${number} as they were.`)
    return { ...row, transfers: found.transfers, tx_ids: found.tx_ids }
  })
}

function recordedOf(row: WholeRow, base: bigint): RecordedBlock {
  const freezes = row.freezes.map(
    ([token, address, frozen]): Freeze => ({ token, address: bareHex(address), frozen }),
  )
  return {
    id: row.id,
    transfers: row.transfers,
    tx_ids: row.tx_ids,
    freezes,
    number: Number(row.number),
    time_ms: row.time.getTime(),
    first_sequence: Number(row.first_sequence - base),
  }
}

const explainedOf = (row: WholeRow & CarriedColumn, base: bigint) => ({
  ...recordedOf(row, base),
  carried: row.carried ?? undefined,
})

type PlaceRow = Omit<BlockPlace, 'number'> & { number: bigint }

const placeOf = (row: PlaceRow | undefined): BlockPlace | undefined =>
  row && { ...row, number: Number(row.number) }

/** The log in a database, or as one transaction sees it: there it is written. Without the archive,
 *  transfers that lie there cannot be read. */
export function transferLog(sql: Sql | Tx, archive?: TransferArchive): TransferLog {
  return {
    ...writing(sql),
    ...places(sql),
    ...blocks(sql, archive),
    ...explained(sql, archive),
    ...about(sql),
  }
}

/** Of the transfers of a block, and the ids of their transactions. */
export type BlockHash = { number: bigint; contents_sha256: Buffer }

/** Empties blocks whose transfers lie in the archive. Those without any stay: null means that there
 *  are some, elsewhere. Never the last block: its transfers are counted for the next one. */
export async function emptyBlocks(tx: Tx, blocks: readonly BlockHash[]): Promise<void> {
  await tx`
    update flow_block as b set transfers = null, tx_ids = null, contents_sha256 = moved.sha256
    from unnest(${blocks.map((block) => block.number)}::bigint[],
      ${blocks.map((block) => block.contents_sha256)}::bytea[]) as moved (number, sha256)
    where b.number = moved.number and octet_length(b.transfers) > 0`
}

/** The blocks from one to another whose transfers lie in the archive, with the hashes of these. */
export const releasedBlocks = (sql: Sql, { first, last }: { first: bigint; last: bigint }) =>
  sql<BlockHash>`
    select number, contents_sha256 from flow_block
    where number between ${first} and ${last} and transfers is null order by number`

/** Puts the transfers of blocks back that lie in the archive. */
export async function refillBlocks(tx: Tx, blocks: readonly BlockContents[]): Promise<void> {
  await tx`
    update flow_block as b
    set transfers = back.transfers, tx_ids = back.tx_ids, contents_sha256 = null
    from unnest(${blocks.map((block) => block.number)}::bigint[],
      ${blocks.map((block) => Buffer.from(block.transfers))}::bytea[],
      ${blocks.map((block) => Buffer.from(block.tx_ids))}::bytea[])
      as back (number, transfers, tx_ids)
    where b.number = back.number and b.transfers is null`
}

/** Their transfers numbered through. */
const numbered = (blocks: readonly NewBlock[], from: bigint) => {
  let sequence = from
  return blocks.map((block) => {
    const first_sequence = sequence
    sequence += BigInt(countTransfers(block.transfers))
    return { ...block, first_sequence }
  })
}

const writing = (sql: Sql | Tx): Pick<TransferLog, 'append' | 'prepend' | 'fill'> => ({
  append: (blocks) => insertRows(sql, numbered(blocks, 0n), { after_last: true }),
  fill: (blocks, from) => insertRows(sql, numbered(blocks, from), { after_last: false }),
  async prepend(blocks) {
    const first = await places(sql).first()
    let sequence = first!.first_sequence
    const rows = blocks.toReversed().map((block) => {
      sequence -= BigInt(countTransfers(block.transfers))
      return { ...block, first_sequence: sequence }
    })
    await insertRows(sql, rows.reverse(), { after_last: false })
  },
})

/** `after_last`: their sequences are counted from the end of the log. */
async function insertRows(
  sql: Sql | Tx,
  rows: readonly (NewBlock & { first_sequence: bigint })[],
  { after_last }: { after_last: boolean },
): Promise<void> {
  await sql`
    insert into flow_block (number, id, time, first_sequence, transfers, tx_ids, freezes)
    select number, id, time, first_sequence + case when ${after_last}::boolean then (
        select next.sequence from (
          (select last.first_sequence + octet_length(last.transfers) / 52 as sequence
            from flow_block as last order by last.number desc limit 1)
          union all select 1 where not exists (select from flow_block)) as next) else 0 end,
      transfers, tx_ids, freezes
    from unnest(${rows.map((row) => row.number)}::bigint[],
      ${rows.map((row) => row.id)}::text[],
      ${rows.map((row) => row.time)}::timestamptz[],
      ${rows.map((row) => row.first_sequence)}::bigint[],
      ${rows.map((row) => Buffer.from(row.transfers))}::bytea[],
      ${rows.map((row) => Buffer.from(row.tx_ids))}::bytea[],
      ${rows.map((row) => JSON.stringify(row.freezes))}::jsonb[])
      as t (number, id, time, first_sequence, transfers, tx_ids, freezes)`
}

const places = (sql: Sql | Tx): Pick<TransferLog, 'first' | 'last' | 'block'> => ({
  async first() {
    const [row] = await sql<PlaceRow>`
      select number, id, time, first_sequence from flow_block order by number limit 1`
    return placeOf(row)
  },
  async last() {
    const [row] = await sql<PlaceRow>`
      select number, id, time, first_sequence from flow_block order by number desc limit 1`
    return placeOf(row)
  },
  async block(number) {
    const [row] = await sql<PlaceRow>`
      select number, id, time, first_sequence from flow_block where number = ${number}`
    return placeOf(row)
  },
})

const blocks = (
  sql: Sql | Tx,
  archive: TransferArchive | undefined,
): Pick<TransferLog, 'after' | 'before'> => ({
  async after(number, { limit, until, base }) {
    const rows = await sql<Row>`
      select ${BLOCK_COLUMNS} from flow_block
      where number > ${number} and number <= ${until ?? Number.MAX_SAFE_INTEGER}
        order by number limit ${limit}`
    return (await wholeRows(rows, archive)).map((row) => recordedOf(row, base))
  },
  async before(number, { limit, from, base }) {
    const rows = await sql<Row>`
      select ${BLOCK_COLUMNS} from flow_block
      where number < ${number} and number >= ${from}
        order by number desc limit ${limit}`
    return (await wholeRows(rows, archive)).map((row) => recordedOf(row, base))
  },
})

const generationsOf = (carried: readonly CarriedRange[]) => carried.map((one) => one.generation)
const untilOf = (carried: readonly CarriedRange[]) => carried.map((one) => one.until)

const explained = (
  sql: Sql | Tx,
  archive: TransferArchive | undefined,
): Pick<TransferLog, 'ofTransfers' | 'at' | 'isNoted'> => ({
  async ofTransfers(sequences, { carried, base }) {
    const wanted = sequences.map((sequence) => BigInt(sequence) + base)
    const rows = await sql<ExplainedRow>`
      select distinct on (b.number) b.number, b.id, b.time, b.first_sequence, b.transfers,
        b.tx_ids, b.contents_sha256, b.freezes, c.carried
      from unnest(${wanted}::bigint[]) as wanted (sequence)
      cross join lateral (
        select * from flow_block where first_sequence <= wanted.sequence
          and (transfers is null or octet_length(transfers) > 0)
        order by first_sequence desc limit 1) as b
      left join lateral (
        select c.carried
        from unnest(${generationsOf(carried)}::integer[], ${untilOf(carried)}::bigint[])
          as k (generation, until)
        join flow_carried as c on c.generation = k.generation and c.number = b.number
        where b.number <= k.until limit 1) as c on true`
    return (await wholeRows(rows, archive)).map((row) => explainedOf(row, base))
  },
  async at(numbers, { carried, base }) {
    const rows = await sql<ExplainedRow>`
      select b.number, b.id, b.time, b.first_sequence, b.transfers, b.tx_ids, b.contents_sha256,
        b.freezes, c.carried
      from flow_block as b left join lateral (
        select c.carried
        from unnest(${generationsOf(carried)}::integer[], ${untilOf(carried)}::bigint[])
          as k (generation, until)
        join flow_carried as c on c.generation = k.generation and c.number = b.number
        where b.number <= k.until limit 1) as c on true
      where b.number = any(${numbers})
      order by b.number`
    return (await wholeRows(rows, archive)).map((row) => explainedOf(row, base))
  },
  async isNoted(carried, { first, last }) {
    const missing = await sql`
      select 1 from flow_block as b
      where number between ${first} and ${last}
        and (transfers is null or octet_length(transfers) > 0) and not exists (
        select 1
        from unnest(${generationsOf(carried)}::integer[], ${untilOf(carried)}::bigint[])
          as k (generation, until)
        join flow_carried as c on c.generation = k.generation and c.number = b.number
        where b.number <= k.until)
      limit 1`
    return missing.length === 0
  },
})

const about = (sql: Sql | Tx): Pick<TransferLog, 'between' | 'freezeWords' | 'bytes'> => ({
  async between(first, last) {
    const [row] = await sql<{ transfers: bigint | null }>`
      select (select first_sequence from flow_block where number <= ${last} order by number desc
        limit 1)
        - (select first_sequence from flow_block where number >= ${first} order by number
          limit 1) as transfers`
    return row?.transfers ?? 0n
  },
  async freezeWords(address, { first, last }) {
    return sql<{ token: string; frozen: boolean; block: bigint }>`
      select distinct on (f ->> 0) f ->> 0 as token, (f ->> 2)::boolean as frozen,
        b.number as block
      from flow_block as b cross join lateral jsonb_array_elements(b.freezes) with ordinality
        as e (f, i)
      where b.number between ${first} and ${last} and b.freezes <> '[]' and f ->> 1 = ${address}
      order by f ->> 0, b.number desc, i desc`
  },
  async bytes() {
    const [row] = await sql<{ bytes: bigint }>`
      select pg_total_relation_size('flow_block') as bytes`
    return row!.bytes
  },
})
