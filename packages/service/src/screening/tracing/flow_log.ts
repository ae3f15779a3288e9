// The log of what moved: every solid block that the follower has stored, packed, with its transfers
// numbered through. The flow index of every process and every generation is computed from this log
// alone, so that all agree. What is not real stays out: transfers of nothing, to oneself, and of
// more of a token than there is.

import { type Address, addressFromBytes } from 'penstock-tron/address.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import { contentsOf } from '../../chain/follow/contents.ts'
import { isBehind, type ReadStep, readSolidBlocks } from '../../chain/follow/cursors.ts'
import type { Node } from '../../chain/node/node.ts'
import { bareAddress } from '../../chain/transfers/bare_addresses.ts'
import { type LoggedTransfer, packTransfers } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { NewBlock } from '../../chain/transfers/transfer_log.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

export type Needs = { sql: Sql; node: Node; tokens: ReadonlySet<Address> }

export type Asset = { number: number; contract: string; symbol: string; decimals: number }

const AMOUNT_MAX = 2n ** 64n - 1n
/** Any valid address will do to ask a contract with. */
const NOBODY = addressFromBytes(Uint8Array.of(0x41, ...new Uint8Array(20)))

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

/** By what transfers are real. */
export type FlowBasis = {
  assets: ReadonlyMap<string, Asset>
  supplies: ReadonlyMap<Address, bigint>
}

type RecordBasis = FlowBasis & {
  /** Collects tokens of which more moved than is known to be there, and nothing is recorded;
   *  without it that is dropped. */
  doubtful?: Set<Address> | undefined
}

async function recordBlocks(
  tx: Tx,
  blocks: readonly StoredBlock[],
  basis: RecordBasis,
): Promise<void> {
  const rows = blocks.map((block) => rowOf(block, basis))
  if (basis.doubtful !== undefined && basis.doubtful.size > 0)
    throw new Outage('more of a token moved than there is')
  await transferLog(tx).append(rows)
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
  basis: FlowBasis,
): Promise<void> {
  const rows = blocks.map((block) => rowOf(block, basis))
  await transferLog(tx).prepend(rows)
  await noteEarlierFreezes(tx, rows)
}

/** Notes the freezes of blocks that are older than all whose freezes are known: what later blocks
 *  said stays. */
export async function noteEarlierFreezes(tx: Tx, rows: readonly NewBlock[]): Promise<void> {
  const changes = latestFreezes(rows)
  if (changes.length === 0) return
  await tx`
    insert into flow_freeze (token, address, frozen, number)
    select * from unnest(${changes.map((one) => one.token)}::text[],
                         ${changes.map((one) => one.address)}::text[],
      ${changes.map((one) => one.frozen)}::boolean[], ${changes.map((one) => one.number)}::bigint[])
    on conflict do nothing`
}

/** Asks the node what there is of each token. One that is new gets its number in flow_asset. */
export async function readFlowBasis(needs: Needs): Promise<FlowBasis> {
  const supplies = new Map<Address, bigint>()
  for (const token of needs.tokens) supplies.set(token, await supplyOf(needs.node, token))
  return { assets: await assetsOf(needs), supplies }
}

/** A solid block from the node, as the log has it. Undefined: the node does not have it. */
export async function newBlockFromNode(
  { node, tokens }: Pick<Needs, 'node' | 'tokens'>,
  basis: FlowBasis,
  number: number,
): Promise<NewBlock | undefined> {
  const found = await node.blockWithReceipts(number, 'solid')
  if (!found) return undefined
  return rowOf(contentsOf(tokens, found.block, found.receipts), basis)
}

/** A block as the log has it. */
function rowOf(block: StoredBlock, basis: RecordBasis): NewBlock {
  const { transfers, tx_ids } = realTransfers(block, basis)
  const freezes = block.contents.freezes
    .filter(({ kind, token }) => kind !== 'destroyed' && basis.assets.has(token))
    .map(({ token, address, kind }): NewBlock['freezes'][number] => [
      token,
      address,
      kind === 'added',
    ])
  return {
    number: block.number,
    id: block.id,
    time: block.time,
    freezes,
    transfers: packTransfers(transfers),
    tx_ids: Buffer.from(tx_ids.join(''), 'hex'),
  }
}

/** The last change of each token's list about each address. */
function latestFreezes(rows: readonly NewBlock[]) {
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

function realTransfers(block: StoredBlock, { assets, supplies, doubtful }: RecordBasis) {
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
async function assetsOf({ sql, node, tokens }: Needs): Promise<ReadonlyMap<string, Asset>> {
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
const supplyOf = (node: Node, token: Address): Promise<bigint> =>
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

/** What transfers are numbered from when the first of a block is 1. */
export async function baseOf(sql: Sql | Tx, first_number: number): Promise<bigint> {
  const block = await transferLog(sql).block(first_number)
  return (block?.first_sequence ?? 1n) - 1n
}
