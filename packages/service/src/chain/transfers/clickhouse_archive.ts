// The archive of the log in ClickHouse. Table `transfer_by_block` has the transfers by block,
// `transfer_by_address` each of them twice (its legs), by the address that sent or received it. A
// row that is put again is the same row: the engine drops the second some time, and statements pass
// it over until then. On several machines both are tables of the engine Distributed, over tables of
// the same columns (deploy/clickhouse).

import type { Address } from 'penstock-tron/address.ts'
import { Outage, refusal } from '../../lib/fault.ts'
import { addressOfBare, bareAddress } from './bare_addresses.ts'
import { type ClickHouse, type ClickHouseServer, clickHouse, TooManyRows } from './clickhouse.ts'
import { countTransfers, RECORD_BYTES, transferAt } from './packed.ts'
import type {
  BlockContents,
  Counterparty,
  CounterpartyPage,
  TransferArchive,
} from './transfer_archive.ts'

const ID_BYTES = 32
const ADDRESS_BYTES = 20
/** Number of the block, place in it, the packed transfer, the id of its transaction. */
const ROW_BYTES = 8 + 4 + RECORD_BYTES + ID_BYTES
/** Address, other, asset, block, place, whether it was sent, amount. */
const LEG_BYTES = 2 * ADDRESS_BYTES + 4 + 8 + 4 + 1 + 8
const COUNTERPARTY_BYTES = ADDRESS_BYTES + 4 + 4 * 8 + 3 * 8
/** Blocks that one statement asks for: some 20 kB each on the main network. */
const BLOCKS_AT_ONCE = 500
/** Rows of an address that one statement may read. */
const LEGS_READ_MAX = 40_000

const TABLES = [
  `create table if not exists transfer_by_block (
     number UInt64, place UInt32, asset UInt32, sender FixedString(20), receiver FixedString(20),
     amount UInt64, tx_id FixedString(32)
   ) engine = ReplacingMergeTree partition by intDiv(number, 1000000) order by (number, place)
   settings index_granularity = 1024`,
  `create table if not exists transfer_by_address (
     address FixedString(20), other FixedString(20), asset UInt32, number UInt64, place UInt32,
     sent UInt8, amount UInt64
   ) engine = ReplacingMergeTree order by (address, other, asset, number, place, sent)
   settings index_granularity = 1024`,
  `create table if not exists log_id (id String) engine = MergeTree order by id`,
]

/** The archive on a server; undefined without one. */
export const archiveOn = (server: ClickHouseServer | undefined) =>
  server && clickHouseArchive(clickHouse(server))

export function clickHouseArchive(
  clickhouse: ClickHouse,
  { legs_read_max = LEGS_READ_MAX } = {},
): TransferArchive {
  return {
    async prepare(log_id) {
      for (const statement of TABLES) await clickhouse.run(statement)
      if ((await logIds(clickhouse)).length === 0)
        await clickhouse.run('insert into log_id format CSV', {
          rows: Buffer.from(`"${log_id}"\n`),
        })
      if ((await logIds(clickhouse)).join() !== log_id)
        throw refusal('The tables in ClickHouse belong to another log: give this one its own.')
    },
    async verify(log_id) {
      if ((await logIds(clickhouse)).join() !== log_id)
        throw new Outage('The tables in ClickHouse are not those of this log.')
    },
    async put(blocks) {
      // The legs first: what is there by block is complete.
      const legs = Buffer.concat(blocks.map(legRows))
      const by_block = Buffer.concat(blocks.map(blockRows))
      await clickhouse.run('insert into transfer_by_address format RowBinary', { rows: legs })
      await clickhouse.run('insert into transfer_by_block format RowBinary', { rows: by_block })
    },
    async contents(numbers) {
      const found = new Map<number, BlockContents>()
      for (let at = 0; at < numbers.length; at += BLOCKS_AT_ONCE) {
        const portion = numbers.slice(at, at + BLOCKS_AT_ONCE)
        const rows = await clickhouse.run(
          `select number, place, asset, sender, receiver, amount, tx_id from transfer_by_block
           where number in (${portion.join()}) order by number, place limit 1 by number, place
           format RowBinary`,
        )
        for (const block of readBlocks(rows)) found.set(block.number, block)
      }
      return found
    },
    async hasSomeLegs(block) {
      const wanted = sampleOf(block)
      const rows = await clickhouse.run(
        `select place, sent, amount from transfer_by_address
         where (address, other, asset, number, place, sent)
           in (${wanted.map((leg) => `(${leg.key})`).join()})
         order by place, sent limit 1 by place, sent format CSV`,
      )
      return rows.toString() === wanted.map((leg) => `${leg.value}\n`).join('')
    },
    counterparties: (address, range, page) =>
      counterpartiesOf(clickhouse, address, { range, page, legs_read_max }),
  }
}

async function logIds({ run }: ClickHouse): Promise<string[]> {
  const rows = await run('select distinct id from log_id order by id limit 2 format TabSeparated', {
    bytes_max: 1_000,
  })
  return rows.toString().split('\n').slice(0, -1)
}

function blockRows({ number, transfers, tx_ids }: BlockContents): Buffer {
  const count = countTransfers(transfers)
  const rows = Buffer.allocUnsafe(count * ROW_BYTES)
  for (let place = 0, at = 0; place < count; place++) {
    at = rows.writeBigUInt64LE(BigInt(number), at)
    at = rows.writeUInt32LE(place, at)
    rows.set(transfers.subarray(place * RECORD_BYTES, (place + 1) * RECORD_BYTES), at)
    at += RECORD_BYTES
    rows.set(tx_ids.subarray(place * ID_BYTES, (place + 1) * ID_BYTES), at)
    at += ID_BYTES
  }
  return rows
}

/** Both legs of a transfer, what was sent first. */
function legRows({ number, transfers }: BlockContents): Buffer {
  const count = countTransfers(transfers)
  const rows = Buffer.allocUnsafe(2 * count * LEG_BYTES)
  let at = 0
  for (let place = 0; place < count; place++) {
    const { asset, from, to, amount } = transferAt(transfers, place)
    for (const sent of [1, 0]) {
      rows.set(sent ? from : to, at)
      rows.set(sent ? to : from, at + ADDRESS_BYTES)
      at = rows.writeUInt32LE(asset, at + 2 * ADDRESS_BYTES)
      at = rows.writeBigUInt64LE(BigInt(number), at)
      at = rows.writeUInt32LE(place, at)
      at = rows.writeUInt8(sent, at)
      at = rows.writeBigUInt64LE(amount, at)
    }
  }
  return rows
}

function readBlocks(rows: Buffer): BlockContents[] {
  if (rows.length % ROW_BYTES !== 0) throw new Outage('ClickHouse answers with half a row.')
  const blocks: BlockContents[] = []
  for (let first = 0; first < rows.length; ) {
    const number = rows.readBigUInt64LE(first)
    let end = first
    while (end < rows.length && rows.readBigUInt64LE(end) === number) end += ROW_BYTES
    blocks.push(readBlock(Number(number), rows.subarray(first, end)))
    first = end
  }
  return blocks
}

function readBlock(number: number, rows: Buffer): BlockContents {
  const count = rows.length / ROW_BYTES
  const transfers = new Uint8Array(count * RECORD_BYTES)
  const tx_ids = new Uint8Array(count * ID_BYTES)
  for (let place = 0; place < count; place++) {
    const record = place * ROW_BYTES + 12
    const id = record + RECORD_BYTES
    transfers.set(rows.subarray(record, id), place * RECORD_BYTES)
    tx_ids.set(rows.subarray(id, id + ID_BYTES), place * ID_BYTES)
  }
  return { number, transfers, tx_ids }
}

/** Transfers of a block that are looked for by their addresses. */
const SAMPLE = 16

function sampleOf({ number, transfers }: BlockContents) {
  const count = countTransfers(transfers)
  const each = Math.max(1, Math.ceil(count / SAMPLE))
  return Array.from({ length: Math.ceil(count / each) }, (_, i) => i * each).flatMap((place) => {
    const { asset, from, to, amount } = transferAt(transfers, place)
    const key = (one: Uint8Array, two: Uint8Array, sent: number) =>
      [literal(one), literal(two), asset, number, place, sent].join()
    return [
      { key: key(to, from, 0), value: `${place},0,${amount}` },
      { key: key(from, to, 1), value: `${place},1,${amount}` },
    ]
  })
}

const literal = (bytes: Uint8Array) =>
  `toFixedString(unhex('${Buffer.from(bytes).toString('hex')}'), ${ADDRESS_BYTES})`

type LegQuery = {
  range: { first: number; last: number }
  page: CounterpartyPage
}

/** All those of an address in one statement, where they are few. Where they are many, those of a
 *  part of all addresses, which is narrowed until they are few enough: hubs have millions. What
 *  cannot be narrowed is read whole: two services with millions of transfers between them. */
async function counterpartiesOf(
  clickhouse: ClickHouse,
  address: Address,
  { range, page, legs_read_max }: LegQuery & { legs_read_max: number },
): Promise<Counterparty[]> {
  const found: Counterparty[] = []
  let from = page.after ? firstBytes(bareAddress(page.after.other)) : 0
  let width = PREFIXES
  let rows_read_max = legs_read_max
  let statements = 0
  while (found.length < page.limit && from < PREFIXES) {
    const until = Math.min(PREFIXES, from + width)
    const statement = statementFor(address, { range, page, prefixes: { from, until } })
    if (++statements > STATEMENTS_MAX)
      throw new Outage('ClickHouse does not come to an end with the counterparties of an address.')
    const limits = { rows_read_max, bytes_max: page.limit * COUNTERPARTY_BYTES }
    const rows = await clickhouse.run(statement, limits).catch((thrown: unknown) => {
      if (thrown instanceof TooManyRows) return undefined
      throw thrown
    })
    if (rows) {
      found.push(...readCounterparties(rows))
      if (!isInOrder(found, page))
        throw new Outage('ClickHouse answers with other rows than asked.')
      from = until
      width *= 4
    } else if (width > NARROWEST) width /= 16
    else rows_read_max *= 4
  }
  return found.slice(0, page.limit)
}

/** Of what addresses begin with. */
const PREFIX_BYTES = 4
const PREFIXES = 2 ** (8 * PREFIX_BYTES)
/** For one page: far more than the busiest address takes. */
const STATEMENTS_MAX = 100
/** A millionth of all addresses. */
const NARROWEST = 2 ** 12
const firstBytes = (bytes: Uint8Array) => Buffer.from(bytes).readUInt32BE(0)

function bound(prefix: number, rest: number): string {
  const bytes = Buffer.alloc(ADDRESS_BYTES, rest)
  bytes.writeUInt32BE(prefix, 0)
  return literal(bytes)
}

function statementFor(
  address: Address,
  { range, page, prefixes }: LegQuery & { prefixes: { from: number; until: number } },
): string {
  const { after, limit } = page
  const last = after && literal(bareAddress(after.other))
  // Sums in two halves: those of 64 bits would wrap.
  return `
    select other, asset,
      sumIf(bitShiftRight(amount, 32), sent = 0), sumIf(bitAnd(amount, 4294967295), sent = 0),
      sumIf(bitShiftRight(amount, 32), sent = 1), sumIf(bitAnd(amount, 4294967295), sent = 1),
      count(), min(number), max(number)
    from (
      select other, asset, number, place, sent, any(amount) as amount from transfer_by_address
      where address = ${literal(bareAddress(address))}
        and other >= ${bound(prefixes.from, 0)} and other <= ${bound(prefixes.until - 1, 255)}
        and number >= ${range.first} and number <= ${range.last}
        ${last ? `and (other > ${last} or (other = ${last} and asset > ${after.asset}))` : ''}
      group by other, asset, number, place, sent)
    group by other, asset order by other, asset limit ${limit} format RowBinary`
}

/** Each after the one before it, and all of them after the last of the page before. */
function isInOrder(found: readonly Counterparty[], { after }: CounterpartyPage): boolean {
  const keys = [...(after ? [after] : []), ...found].map(({ other, asset }) =>
    Buffer.from([...bareAddress(other), asset >>> 8, asset & 255]),
  )
  return keys.every((key, i) => i === 0 || Buffer.compare(keys[i - 1]!, key) < 0)
}

function readCounterparties(rows: Buffer): Counterparty[] {
  if (rows.length % COUNTERPARTY_BYTES !== 0)
    throw new Outage('ClickHouse answers with half a row.')
  return Array.from({ length: rows.length / COUNTERPARTY_BYTES }, (_, i) => {
    const row = rows.subarray(i * COUNTERPARTY_BYTES, (i + 1) * COUNTERPARTY_BYTES)
    const word = (n: number) => row.readBigUInt64LE(ADDRESS_BYTES + 4 + 8 * n)
    return {
      other: addressOfBare(row.subarray(0, ADDRESS_BYTES)),
      asset: row.readUInt32LE(ADDRESS_BYTES),
      received: (word(0) << 32n) + word(1),
      sent: (word(2) << 32n) + word(3),
      transfers: word(4),
      first_number: word(5),
      last_number: word(6),
    }
  })
}
