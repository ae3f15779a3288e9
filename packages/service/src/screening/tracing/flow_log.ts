// The log of what moved: every solid block that the follower has stored, packed, with its transfers
// numbered through. The flow index of every process and every generation is computed from this log
// alone, so that all agree. What is not real stays out: transfers of nothing, to oneself, and of
// more of a token than there is.

import { type Address, addressFromBytes, addressToBytes } from 'penstock-tron/address.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import { isBehind, type ReadStep, readSolidBlocks } from '../../chain/follow/cursors.ts'
import type { Node } from '../../chain/node/node.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Freeze } from '../flow/flow_index.ts'
import { type LoggedBlock, type LoggedTransfer, packTransfers } from '../flow/log.ts'

export type Needs = { sql: Sql; node: Node; tokens: ReadonlySet<Address> }

export type Asset = { number: number; contract: string; symbol: string; decimals: number }

const AMOUNT_MAX = 2n ** 64n - 1n
/** Any valid address will do to ask a contract with. */
const NOBODY = addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20)))

/** An address as the index keeps it: without its prefix. */
export const bareAddress = (address: Address): Uint8Array => addressToBytes(address).subarray(1)
export const bareHex = (address: Address): string =>
  Buffer.from(bareAddress(address)).toString('hex')
export const addressOfBare = (bytes: Uint8Array): Address =>
  addressFromBytes(Uint8Array.of(0x41, ...bytes))

/** Records solid blocks. */
export function recordStep(needs: Needs): ReadStep {
  const { sql } = needs
  const supplies = new Map<Address, bigint>()
  let assets: ReadonlyMap<string, Asset> | undefined
  async function prepare() {
    assets ??= await assetsOf(needs)
    for (const token of needs.tokens)
      if (!supplies.has(token)) supplies.set(token, await supplyOf(needs.node, token))
  }
  const recordUnless = (doubtful: Set<Address> | undefined) => (tx: Tx, blocks: StoredBlock[]) =>
    recordBlocks(tx, blocks, { assets: assets!, supplies, doubtful })
  return {
    name: 'record',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, { name: 'flow', side: 'solid' }),
    duty: 'blocks',
    after: ['follow', 'confirm'],
    reads: {
      name: 'flow',
      side: 'solid',
      prepare,
      work: (tx, blocks) => recordUnless(new Set())(tx, blocks),
    },
    async run() {
      await prepare()
      const doubtful = new Set<Address>()
      const moved = await readSolidBlocks(sql, 'flow', recordUnless(doubtful)).catch(
        (thrown: unknown) => {
          if (doubtful.size > 0) return 'doubtful' as const
          throw thrown
        },
      )
      if (moved !== 'doubtful') return moved
      // More was moved than there was when we last asked: a token may have been issued since. What
      // was destroyed since was real when it moved, so the largest supply ever seen counts.
      for (const token of doubtful) {
        const supply = await supplyOf(needs.node, token)
        supplies.set(token, supply > supplies.get(token)! ? supply : supplies.get(token)!)
      }
      return readSolidBlocks(sql, 'flow', recordUnless(undefined))
    },
  }
}

export type FlowBasis = {
  assets: ReadonlyMap<string, Asset>
  supplies: ReadonlyMap<Address, bigint>
  /** Collects tokens of which more moved than is known to be there, and nothing is recorded;
   *  undefined: that is dropped. */
  doubtful: Set<Address> | undefined
}

async function recordBlocks(
  tx: Tx,
  blocks: readonly StoredBlock[],
  judging: FlowBasis,
): Promise<void> {
  const rows = blocks.map((block) => rowOf(block, judging))
  if (judging.doubtful !== undefined && judging.doubtful.size > 0)
    throw new Outage('more of a token moved than there is')
  let sequence = 0n
  for (const row of rows) {
    row.first_sequence = sequence
    sequence += BigInt(row.transfers.length / 52)
  }
  await insertRows(tx, rows, { after_last: true })
  const changes = latestFreezes(rows)
  if (changes.length === 0) return
  await tx`
    insert into flow_freeze (token, address, frozen, number)
    select * from unnest(${changes.map((one) => one.token)}::text[],
                         ${changes.map((one) => one.address)}::text[],
      ${changes.map((one) => one.frozen)}::boolean[], ${changes.map((one) => one.number)}::bigint[])
    on conflict (address, token) do update set frozen = excluded.frozen, number = excluded.number`
}

/** Puts blocks that are older than all of the log before them, in the order of the chain. */
export async function recordEarlier(
  tx: Tx,
  blocks: readonly StoredBlock[],
  judging: Omit<FlowBasis, 'doubtful'>,
): Promise<void> {
  const [first] = await tx<{ first_sequence: bigint }>`
    select first_sequence from flow_block order by number limit 1`
  const rows = blocks.map((block) => rowOf(block, { ...judging, doubtful: undefined }))
  let sequence = first!.first_sequence
  for (const row of rows.toReversed()) {
    sequence -= BigInt(row.transfers.length / 52)
    row.first_sequence = sequence
  }
  await insertRows(tx, rows, { after_last: false })
  const changes = latestFreezes(rows)
  if (changes.length === 0) return
  // What later blocks said is known already.
  await tx`
    insert into flow_freeze (token, address, frozen, number)
    select * from unnest(${changes.map((one) => one.token)}::text[],
                         ${changes.map((one) => one.address)}::text[],
      ${changes.map((one) => one.frozen)}::boolean[], ${changes.map((one) => one.number)}::bigint[])
    on conflict do nothing`
}

type NewRow = Omit<Row, 'number' | 'id'> & { number: number; id: string }

function rowOf(block: StoredBlock, judging: FlowBasis): NewRow {
  const { transfers, tx_ids } = realTransfers(block, judging)
  const freezes = block.contents.freezes
    .filter(({ kind, token }) => kind !== 'destroyed' && judging.assets.has(token))
    .map(({ token, address, kind }): Row['freezes'][number] => [token, address, kind === 'added'])
  return {
    number: block.number,
    id: block.id,
    time: block.time,
    first_sequence: 0n,
    freezes,
    transfers: packTransfers(transfers),
    tx_ids: Buffer.from(tx_ids.join(''), 'hex'),
  }
}

/** `after_last`: their sequences are counted from the end of the log. */
async function insertRows(
  tx: Tx,
  rows: readonly NewRow[],
  { after_last }: { after_last: boolean },
): Promise<void> {
  await tx`
    insert into flow_block (number, id, time, first_sequence, transfers, tx_ids, freezes)
    select number, id, time, first_sequence + case when ${after_last}::boolean then coalesce((
        select last.first_sequence + octet_length(last.transfers) / 52 from flow_block as last
        order by last.number desc limit 1), 1) else 0 end,
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

/** The last change of each token's list about each address. */
function latestFreezes(rows: readonly NewRow[]) {
  const latest = new Map<
    string,
    { token: string; address: Address; frozen: boolean; number: number }
  >()
  for (const { number, freezes } of rows) {
    for (const [token, address, frozen] of freezes) {
      latest.set(`${token} ${address}`, { token, address, frozen, number })
    }
  }
  return [...latest.values()]
}

function realTransfers(block: StoredBlock, { assets, supplies, doubtful }: FlowBasis) {
  const transfers: LoggedTransfer[] = []
  const tx_ids: string[] = []
  for (const { tx_id, asset, from, to, amount } of block.contents.moves) {
    const known = assets.get(asset)
    if (known === undefined || amount === 0n || from === to || amount > AMOUNT_MAX) continue
    const supply = supplies.get(asset)
    if (supply !== undefined && amount > supply) {
      doubtful?.add(asset)
      continue
    }
    transfers.push({ asset: known.number, from: bareAddress(from), to: bareAddress(to), amount })
    tx_ids.push(tx_id)
  }
  return { transfers, tx_ids }
}

/** The assets by contract; followed tokens that are new get the next numbers. */
export async function assetsOf({ sql, node, tokens }: Needs): Promise<ReadonlyMap<string, Asset>> {
  const known = new Map((await readAssets(sql)).map((asset) => [asset.contract, asset]))
  for (const contract of [...tokens].sort()) {
    if (known.has(contract)) continue
    const decimals = Number(await uintOf(node, contract, 'decimals()'))
    if (decimals > 18) throw new Error(`token ${contract} has ${decimals} decimals`)
    const symbol = (await symbolOf(node, contract)) ?? contract
    await sql`
      insert into flow_asset (number, contract, symbol, decimals)
      select max(number) + 1, ${contract}, ${symbol}, ${decimals}::smallint from flow_asset
        on conflict (contract) do nothing`
  }
  return new Map((await readAssets(sql)).map((asset) => [asset.contract, asset]))
}

export async function readAssets(sql: Sql | Tx): Promise<Asset[]> {
  return sql<Asset>`select number, contract, symbol, decimals from flow_asset order by number`
}

/** How much of a token there is now. */
export const supplyOf = (node: Node, token: Address): Promise<bigint> =>
  uintOf(node, token, 'totalSupply()')

async function uintOf(node: Node, contract: Address, selector: string): Promise<bigint> {
  const { succeeded, result } = await node.constantCall({
    owner: NOBODY,
    contract,
    selector,
    parameter: '',
  })
  if (!succeeded || result.length < 64)
    throw new Outage(`token ${contract} does not answer ${selector}`)
  return BigInt(`0x${result.slice(0, 64)}`)
}

/** The symbol, when the contract has a sensible one. */
async function symbolOf(node: Node, contract: Address): Promise<string | undefined> {
  const { succeeded, result } = await node.constantCall({
    owner: NOBODY,
    contract,
    selector: 'symbol()',
    parameter: '',
  })
  if (!succeeded || result.length < 192) return undefined
  const length = Number(BigInt(`0x${result.slice(64, 128)}`))
  const symbol = Buffer.from(result.slice(128, 128 + 2 * length), 'hex').toString('latin1')
  return /^[A-Za-z0-9.$-]{1,20}$/.test(symbol) ? symbol : undefined
}

/** A block of the log with what is needed to explain it. */
export type RecordedBlock = LoggedBlock & { id: string; tx_ids: Uint8Array }
/** What transfers carried is written down once for all generations that have the same of it: a
 *  generation has its own, and what others had up to a block. */
export type CarriedRange = { generation: number; until: bigint }
/** With what its transfers carried in a generation, when that is kept. */
export type ExplainedBlock = RecordedBlock & { carried: Uint8Array | undefined }

type Row = {
  number: bigint
  id: string
  time: Date
  first_sequence: bigint
  transfers: Uint8Array
  tx_ids: Uint8Array
  freezes: [token: string, address: Address, frozen: boolean][]
}

/** Transfers are numbered from `base`: the first of all that an index is computed from is 1 for
 *  it. */
function recordedOf(row: Row, base: bigint): RecordedBlock {
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

/** The blocks of the log after one, in order, up to another at most. */
export async function blocksAfter(
  sql: Sql,
  after: number,
  options: { limit: number; until?: number; base: bigint },
): Promise<RecordedBlock[]> {
  const rows = await sql<Row>`
    select number, id, time, first_sequence, transfers, tx_ids, freezes from flow_block
    where number > ${after} and number <= ${options.until ?? Number.MAX_SAFE_INTEGER}
      order by number limit ${options.limit}`
  return rows.map((row) => recordedOf(row, options.base))
}

/** The blocks of the log before one, the newest first, down to another. */
export async function blocksBefore(
  sql: Sql,
  before: number,
  options: { limit: number; from: number; base: bigint },
): Promise<RecordedBlock[]> {
  const rows = await sql<Row>`
    select number, id, time, first_sequence, transfers, tx_ids, freezes from flow_block
    where number < ${before} and number >= ${options.from}
      order by number desc limit ${options.limit}`
  return rows.map((row) => recordedOf(row, options.base))
}

/** The blocks that have the given transfers, by the transfers' numbers from `base`. */
export async function blocksOfTransfers(
  sql: Sql,
  sequences: readonly number[],
  { carried, base }: { carried: readonly CarriedRange[]; base: bigint },
): Promise<ExplainedBlock[]> {
  const wanted = sequences.map((sequence) => BigInt(sequence) + base)
  const rows = await sql<Row & { carried: Uint8Array | null }>`
    select distinct on (b.number) b.number, b.id, b.time, b.first_sequence, b.transfers, b.tx_ids,
      b.freezes, c.carried
    from unnest(${wanted}::bigint[]) as wanted (sequence)
    cross join lateral (
      select * from flow_block where first_sequence <= wanted.sequence
        and octet_length(transfers) > 0
      order by first_sequence desc limit 1) as b
    left join lateral (
      select c.carried
      from unnest(${carried.map((one) => one.generation)}::integer[],
                  ${carried.map((one) => one.until)}::bigint[]) as k (generation, until)
      join flow_carried as c on c.generation = k.generation and c.number = b.number
      where b.number <= k.until limit 1) as c on true`
  return rows.map((row) => ({ ...recordedOf(row, base), carried: row.carried ?? undefined }))
}

/** Blocks by their numbers, as far as the log has them. */
export async function recordedBlocks(
  sql: Sql | Tx,
  numbers: readonly number[],
  { carried, base }: { carried: readonly CarriedRange[]; base: bigint },
): Promise<ExplainedBlock[]> {
  const rows = await sql<Row & { carried: Uint8Array | null }>`
    select b.number, b.id, b.time, b.first_sequence, b.transfers, b.tx_ids, b.freezes, c.carried
    from flow_block as b left join lateral (
      select c.carried
      from unnest(${carried.map((one) => one.generation)}::integer[],
                  ${carried.map((one) => one.until)}::bigint[]) as k (generation, until)
      join flow_carried as c on c.generation = k.generation and c.number = b.number
      where b.number <= k.until limit 1) as c on true
    where b.number = any(${numbers})
    order by b.number`
  return rows.map((row) => ({ ...recordedOf(row, base), carried: row.carried ?? undefined }))
}

/** What transfers are numbered from when the first of a block is 1. */
export async function baseOf(sql: Sql | Tx, first_number: number): Promise<bigint> {
  const [row] = await sql<{ first_sequence: bigint }>`
    select first_sequence from flow_block where number = ${first_number}`
  return (row?.first_sequence ?? 1n) - 1n
}
