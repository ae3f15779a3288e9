// What solid blocks say of watched addresses, read once: freezes are told, money that moved makes
// an address due to be screened again, and the rules of its watches about single transfers are
// asked.

import type { Address } from 'penstock-tron/address.ts'
import type { StoredBlock } from '../../chain/follow/blocks.ts'
import type { Move } from '../../chain/follow/contents.ts'
import { isBehind, type ReadStep, readSolidBlocks } from '../../chain/follow/cursors.ts'
import { noteEvents } from '../../events/log/notes.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { severeTerminals } from '../engine/barred.ts'
import { valueIn } from '../engine/findings.ts'
import { currentPolicy, type Policy } from '../engine/policy.ts'
import { printUsd, VALUE_PER_USD } from '../engine/scoring.ts'
import { type Asset, readAssets } from '../tracing/flow_log.ts'
import { noteAlerts, type WatchAlert } from './watch_rules.ts'
import { WATCH_COLUMNS, type Watch } from './watches.ts'

type BlockFreeze = { address: Address; token: string; frozen: boolean; block: StoredBlock }

/** Reads what confirmed blocks say of watched addresses, each block once: tells of freezes and of
 *  their ends, and notes that money moved, for which an address is screened again. */
export function watchBlocksStep({ sql }: { sql: Sql }): ReadStep {
  const reads = { name: 'freezes', side: 'solid', work: noteBlocks } as const
  return {
    name: 'watch_blocks',
    rest_ms: 3_000,
    due: (sql) => isBehind(sql, reads),
    duty: 'blocks',
    after: ['follow', 'confirm'],
    before: ['publish'],
    reads,
    run: () => readSolidBlocks(sql, reads.name, noteBlocks),
  }
}

async function noteBlocks(tx: Tx, blocks: readonly StoredBlock[]): Promise<void> {
  const freezes = blocks.flatMap((block) =>
    block.contents.freezes.flatMap(({ kind, token, address }) =>
      kind === 'destroyed' ? [] : [{ address, token, frozen: kind === 'added', block }],
    ),
  )
  const newest = newestMoves(blocks)
  const addresses = [...newest.keys(), ...freezes.map(({ address }) => address)]
  if (addresses.length === 0) return
  const watches = await tx<Watch>`
    select ${WATCH_COLUMNS} from aml_watch where address = any(${addresses})
    order by customer_id, address for update`
  if (watches.length === 0) return
  await noteMoves(tx, blocks, { newest, watches })
  await noteFreezes(tx, freezes, watches)
}

type BlockMove = Move & { block: StoredBlock }

/** The newest block in which money was moved to or from an address. */
function newestMoves(blocks: readonly StoredBlock[]): ReadonlyMap<Address, number> {
  const newest = new Map<Address, number>()
  for (const { number, contents } of blocks)
    for (const { from, to, amount } of contents.moves) {
      if (amount === 0n || from === to) continue
      newest.set(from, number)
      newest.set(to, number)
    }
  return newest
}

/** Makes the watched addresses due that money was moved to or from, once a minute after their
 *  newest answer was asked for, and asks their rules. */
async function noteMoves(
  tx: Tx,
  blocks: readonly StoredBlock[],
  { newest, watches }: { newest: ReadonlyMap<Address, number>; watches: readonly Watch[] },
): Promise<void> {
  const touched = watches.filter(({ address }) => newest.has(address))
  if (touched.length === 0) return
  const addresses = [...new Set(touched.map(({ address }) => address))]
  await tx`
    update aml_watch as w set moved_number = m.number,
      due_at = least(w.due_at, coalesce(
        (select created_at from aml_check where id = w.check_id) + interval '1 minute',
        '-infinity'))
    from unnest(${addresses}::text[], ${addresses.map((one) => newest.get(one)!)}::bigint[])
      as m (address, number)
    where w.address = m.address`
  const ruled = touched.filter((one) => one.any_incoming_usd !== null || one.sent_to)
  if (ruled.length > 0) noteAlerts(tx, await alertsOf(tx, ruled, blocks))
}

/** What the rules about single transfers find: of each block, the largest transfer for each. */
async function alertsOf(
  tx: Tx,
  watches: readonly Watch[],
  blocks: readonly StoredBlock[],
): Promise<WatchAlert[]> {
  const [assets, policy] = await Promise.all([readAssets(tx), currentPolicy(tx)])
  const pricing = { policy, assets: new Map(assets.map((one) => [one.contract, one])) }
  const watched = new Set(watches.map(({ address }) => address))
  const moves = blocks.flatMap((block) =>
    block.contents.moves
      .filter(({ from, to, amount }) => amount > 0n && from !== to)
      .filter(({ from, to }) => watched.has(from) || watched.has(to))
      .map((move) => valued({ ...move, block }, pricing)),
  )
  const incoming = Map.groupBy(moves, ({ move }) => move.to)
  const outgoing = Map.groupBy(moves, ({ move }) => move.from)
  const senders = watches.filter(({ sent_to }) => sent_to).map(({ address }) => address)
  const receivers = senders.flatMap((one) => (outgoing.get(one) ?? []).map(({ move }) => move.to))
  const at = blocks.at(-1)!.time
  const severe =
    receivers.length === 0
      ? new Map<Address, string>()
      : await severeTerminals(tx, receivers, { at, severe: policy.severe })
  return watches.flatMap((watch) => [
    ...incomingAlerts(watch, incoming.get(watch.address) ?? []),
    ...sentAlerts(watch, outgoing.get(watch.address) ?? [], severe),
  ])
}

type Prices = { policy: Policy; assets: ReadonlyMap<string, Asset> }

/** What a transfer is worth; less than nothing where the asset is not followed. */
type ValuedMove = { move: BlockMove; value: bigint; asset: Asset | undefined }

function valued(move: BlockMove, { policy, assets }: Prices): ValuedMove {
  const asset = assets.get(move.asset)
  return { move, value: asset ? valueIn(policy, asset, move.amount) : -1n, asset }
}

function incomingAlerts(watch: Watch, moves: readonly ValuedMove[]): WatchAlert[] {
  const { any_incoming_usd } = watch
  if (any_incoming_usd === null) return []
  const least = any_incoming_usd * VALUE_PER_USD
  const large = moves.filter(({ value }) => value >= least)
  return largestOfBlocks(large).map((found) =>
    alertOf(watch, { rule: 'any_incoming_usd', threshold: String(any_incoming_usd) }, found),
  )
}

function sentAlerts(
  watch: Watch,
  moves: readonly ValuedMove[],
  severe: ReadonlyMap<Address, string>,
): WatchAlert[] {
  if (!watch.sent_to) return []
  const bad = moves.filter(({ move }) => severe.has(move.to))
  return largestOfBlocks(bad).map((found) => {
    const category = severe.get(found.move.to) ?? null
    return alertOf(watch, { rule: 'sent_to', threshold: null, category }, found)
  })
}

type BlockFinding = { move: BlockMove; value: bigint; asset: Asset; transfers: number }

function largestOfBlocks(moves: readonly ValuedMove[]): BlockFinding[] {
  return [...Map.groupBy(moves, ({ move }) => move.block.number).values()].flatMap((all) => {
    const { asset, ...largest } = all.reduce((a, b) => (b.value > a.value ? b : a))
    return asset ? { ...largest, asset, transfers: all.length } : []
  })
}

function alertOf(
  { customer_id, address, reference, check_id }: Watch,
  rule: Pick<WatchAlert['data'], 'rule' | 'threshold'> & { category?: string | null },
  { move, value, asset, transfers }: BlockFinding,
): WatchAlert {
  const { tx_id, block, amount, from, to } = move
  const { category = null, ...said } = rule
  const transfer = {
    tx_id,
    block_number: block.number,
    asset: asset.symbol,
    amount: amount.toString(),
    usd: printUsd(value),
    counterparty: from === address ? to : from,
    category,
  }
  const data = { address, reference, ...said, transfer, transfers, before: null, after: null }
  return { customer_id, at: block.time, data: { ...data, check_id } }
}

async function noteFreezes(
  tx: Tx,
  freezes: readonly BlockFreeze[],
  watches: readonly Watch[],
): Promise<void> {
  if (freezes.length === 0) return
  const watches_of = Map.groupBy(watches, ({ address }) => address)
  await tx`
    update aml_watch set label_set = -1
    where address = any(${freezes.map(({ address }) => address)})`
  noteEvents(
    tx,
    freezes.flatMap(({ address, token, frozen, block }) =>
      (watches_of.get(address) ?? []).map(({ customer_id }) => ({
        type: frozen ? ('freeze.executed' as const) : ('freeze.lifted' as const),
        subject: `freeze:${address}`,
        customer_id,
        at: block.time,
        data: { address, token, block_number: block.number },
      })),
    ),
  )
}
