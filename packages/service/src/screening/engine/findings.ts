// What is found about an address or a transaction, for one screening. What is read from the index
// is read in one go, so that a block that arrives meanwhile cannot mix in; the rest comes from rows
// that never change. Nothing is judged here.

import type { Address } from 'penstock-tron/address.ts'
import { bareHex } from '../../chain/transfers/bare_addresses.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { CATEGORY_COUNT } from '../flow/categories.ts'
import { isTerminal, type Label } from '../flow/labels.ts'
import { type Entry, entriesFor } from '../labels/entries.ts'
import { type LabelEntry, namedLabels } from '../labels/label_sets.ts'
import type { Asset } from '../tracing/flow_log.ts'
import type { Generation } from '../tracing/generations.ts'
import { type PathStep, pathsBack, type Transfer } from '../tracing/paths.ts'
import type { SentIndex } from '../tracing/sent.ts'
import { type AssetHolding, readHoldings } from './asset_holdings.ts'
import type { Bars, Party } from './bars.ts'
import type { Policy } from './policy.ts'
import { type Exposure, noExposure, VALUE_PER_USD, worth } from './scoring.ts'

/** What a check asks. */
export type Question = {
  type: 'address' | 'hash'
  network: string
  address: Address
  hash: string | null
  direction: 'deposit' | 'withdrawal' | null
  customer_id: string
  created_at: Date
}

/** What a screening rests on. `carried_blocks`: for how many blocks before the newest it looks at
 *  what transfers carried. */
export type Basis = {
  sql: Sql
  generation: Generation
  policy: Policy
  carried_blocks: number
  /** Reads what bars an address by the newest rows; undefined: the generation's labels and freezes
   *  say that, as they did in answers of the engine before. */
  bars: ((party: Party) => Promise<Bars>) | undefined
  /** Where what addresses sent has ended, as far as the last night; undefined: that is not known,
   *  or not looked at under the policy. */
  sent?: SentIndex | undefined
}

/** So many categories at most are followed back. */
const PATHS_MAX = 6

/** What of an address goes into a screening. */
export type AddressFacts = {
  address: Address
  labels: Label[]
  in_force: Label | undefined
  holdings: AssetHolding[]
}

/** The exposure with where it is from: for each category, units by asset, mean hops, and the
 *  transfer to follow back. */
export type Source = {
  exposure: Exposure
  /** Of what an address received; undefined for what transfers carried. */
  net_new?: Exposure
  recent?: Exposure
  units: Map<number, bigint>[]
  hops: (number | undefined)[]
  starts: (number | undefined)[]
}

/** What is found in the index, before anything else is read. */
type IndexFindings = {
  screened: AddressFacts
  source: Source
  /** The money of the transfers is judged, and not what the address has ever received. */
  by_transfer: boolean
  destinations: { amounts: bigint[]; sent: bigint } | undefined
  /** Where what it sent has ended; undefined: not known, or not looked at. */
  ended: Exposure | undefined
  transfers: readonly Transfer[]
  /** The block that the index had reached, and the one from which on it is known what transfers
   *  carried. */
  index: { first: number; number: number; id: string | null; time_ms: number; since: number }
}

/** Where money came from: the way back of one category's largest transfer. */
export type Path = { category: number; steps: readonly PathStep[] }

export type Findings = IndexFindings & {
  /** What the customer or the operator has decided about the address. */
  entries: readonly Entry[]
  bars: Bars | undefined
  paths: readonly Path[]
  /** What the lists say about the address and about where the paths end. */
  named: readonly LabelEntry[]
}

/** Why a transaction is not judged: it moved nothing, or nothing from or to the address that was
 *  named with it. */
export type NothingToJudge = 'no_transfer' | 'not_in_transaction'

/** What is found about an address. */
export async function findAboutAddress(basis: Basis, question: Question): Promise<Findings> {
  const { address } = question
  const seen = { transfers: [], with_destinations: basis.policy.sent }
  return addReadings(basis, question, await readAllOf(basis, address, seen))
}

/** Reads all that an address ever received, and where what it sent went, as of one block. */
async function readAllOf(
  basis: Basis,
  address: Address,
  how: { transfers: readonly Transfer[]; with_destinations: boolean },
): Promise<IndexFindings> {
  // First: this is of the last night, and does not change.
  const ended = await endedOf(basis, address)
  return readHoldings(basis.generation, [address], (holdingsOf) => {
    const screened = knownOf(basis.generation, address, holdingsOf(address))
    return {
      screened,
      source: sourceOfHoldings(basis, screened),
      by_transfer: false,
      destinations: how.with_destinations ? destinationsOf(basis, screened) : undefined,
      ended,
      transfers: withinWindow(basis, how.transfers),
      index: indexAt(basis),
    }
  })
}

/** To be taken while the index is read: later, a block may have arrived. */
const indexAt = ({ generation, carried_blocks }: Basis): IndexFindings['index'] => {
  const { index, first_block, block_id } = generation
  return {
    first: first_block,
    number: index.block_number,
    id: block_id ?? null,
    time_ms: index.block_time_ms,
    since: index.block_number - carried_blocks,
  }
}

/** What is found about the counterparty of the transfers that a transaction made: for a deposit the
 *  money that they carried, for a withdrawal the recipient. Or why there is nothing to judge. */
export async function findAboutTransaction(
  basis: Basis,
  question: Question & { hash: string },
  block_number: number,
): Promise<Findings | NothingToJudge> {
  const { address, direction, hash } = question
  const transfers = await basis.generation.transfers.ofTransaction(block_number, hash)
  if (transfers.length === 0) return 'no_transfer'
  const matching = matchingTransfers(address, transfers)
  if (matching.length === 0) return 'not_in_transaction'
  const { from, to } = largest(basis, matching)
  const indexed =
    direction === 'withdrawal'
      ? await readAllOf(basis, to, { transfers: matching, with_destinations: true })
      : await readMoney(basis, from, matching)
  return addReadings(basis, question, indexed)
}

/** Reads the money of transfers of one sender, as of one block. */
async function readMoney(
  basis: Basis,
  from: Address,
  matching: readonly Transfer[],
): Promise<IndexFindings> {
  return readHoldings(basis.generation, [from], (holdingsOf) => {
    const transfers = withinWindow(basis, matching)
    return {
      ...moneyOf(basis, transfers, { from, holdings: holdingsOf(from) }),
      destinations: undefined,
      ended: undefined,
      transfers,
      index: indexAt(basis),
    }
  })
}

/** What transfers before the window carried may or may not be forgotten yet: it must not matter
 *  which. */
function withinWindow(
  { generation, carried_blocks }: Basis,
  transfers: readonly Transfer[],
): Transfer[] {
  const since = generation.index.block_number - carried_blocks
  return transfers.map((one) => (one.block_number < since ? { ...one, carried: undefined } : one))
}

/** Whom a check of a transaction is about; undefined when there is nothing to judge. */
export async function counterpartyOf(
  basis: Basis,
  { address, direction, hash }: Question & { hash: string },
  block_number: number,
): Promise<Address | undefined> {
  const transfers = await basis.generation.transfers.ofTransaction(block_number, hash)
  const matching = matchingTransfers(address, transfers)
  if (matching.length === 0) return undefined
  const { from, to } = largest(basis, matching)
  return direction === 'withdrawal' ? to : from
}

/** The money of transfers of one sender. What those of long ago carried is not kept: then it is
 *  what the sender has received, and the evidence says so. */
export function moneyOf(
  basis: Basis,
  transfers: readonly Transfer[],
  { from, holdings }: { from: Address; holdings: AssetHolding[] },
): Pick<IndexFindings, 'screened' | 'source' | 'by_transfer'> {
  const screened = knownOf(basis.generation, from, holdings)
  const by_transfer = transfers.every((transfer) => transfer.carried !== undefined)
  const source = by_transfer
    ? sourceOfTransfers(basis, transfers)
    : sourceOfHoldings(basis, screened)
  return { screened, source, by_transfer }
}

/** Adds what rows say: entries, the paths back, and the labels' names. */
async function addReadings(
  basis: Basis,
  question: Question,
  indexed: IndexFindings,
): Promise<Findings> {
  const { sql, generation } = basis
  const { screened, source, index } = indexed
  const { label_set, lists } = generation
  const starts = mostImportant(source.exposure.amounts, source.starts)
  const party = { address: screened.address, customer_id: question.customer_id }
  const [bars, ways] = await Promise.all([
    basis.bars?.(party),
    pathsBack(generation.transfers, starts, index.since),
  ])
  const paths = ways.map((steps, i) => ({ category: starts[i]!.category, steps }))
  const origins = ways.flatMap((steps) => steps.at(-1)?.transfer.from ?? [])
  const addresses = [screened.address, ...origins]
  const [named, [entries = []]] = await Promise.all([
    lists.length === 0 ? [] : namedLabels(sql, label_set, addresses),
    bars ? [bars.entries] : entriesFor(sql, [party], question.created_at),
  ])
  return { ...indexed, entries, bars, paths, named }
}

const microUsd = (policy: Policy, asset: Asset) =>
  asset.number === 0 ? policy.trx_micro_usd : policy.token_micro_usd

/** What units of an asset are worth under a policy. */
export const valueIn = (policy: Policy, asset: Asset, units: bigint): bigint =>
  worth(units, { decimals: asset.decimals, micro_usd: microUsd(policy, asset) })

export function assetOf({ generation }: Basis, number: number): Asset {
  const asset = generation.assets.find((one) => one.number === number)
  if (!asset) throw new Error(`there is no asset ${number}`)
  return asset
}

/** The transfers that the supplied address took part in: as the receiver, else as the sender. */
function matchingTransfers(address: Address, transfers: readonly Transfer[]): Transfer[] {
  const received = transfers.filter(({ to }) => to === address)
  return received.length > 0 ? received : transfers.filter(({ from }) => from === address)
}

/** The largest by value; among equals the first. */
function largest(basis: Basis, transfers: readonly Transfer[]): Transfer {
  const value = ({ asset, amount }: Transfer) =>
    valueIn(basis.policy, assetOf(basis, asset), amount)
  return transfers.reduce((best, one) => (value(one) > value(best) ? one : best))
}

function knownOf({ index }: Generation, address: Address, holdings: AssetHolding[]): AddressFacts {
  const bare = bareHex(address)
  return {
    address,
    labels: index.validLabelsOf(bare),
    in_force: index.labelOf(bare),
    holdings,
  }
}

const noSource = (): Source => ({
  exposure: noExposure(),
  units: Array.from({ length: CATEGORY_COUNT }, () => new Map()),
  hops: Array(CATEGORY_COUNT).fill(undefined),
  starts: Array(CATEGORY_COUNT).fill(undefined),
})

/** All that an address ever received, by category. */
function sourceOfHoldings({ policy }: Basis, { holdings }: AddressFacts): Source {
  const [net_new, recent] = [noExposure(), noExposure()]
  const source = { ...noSource(), net_new, recent }
  const most = Array<bigint>(CATEGORY_COUNT).fill(0n)
  const weighed = Array<number>(CATEGORY_COUNT).fill(0)
  for (const { asset, holding } of holdings) {
    for (const { category, received, direct, hops, witness, ...portion } of holding.portions) {
      if (received === 0n) continue
      net_new.amounts[category]! += valueIn(policy, asset, portion.net_new)
      net_new.direct[category]! += valueIn(policy, asset, direct)
      // How much of it came directly is known of all, not of a time.
      recent.amounts[category]! += valueIn(policy, asset, portion.recent)
      const value = valueIn(policy, asset, received)
      source.exposure.amounts[category]! += value
      source.exposure.direct[category]! += valueIn(policy, asset, direct)
      source.units[category]!.set(asset.number, received)
      weighed[category]! += hops * (Number(value) / Number(VALUE_PER_USD))
      source.hops[category] =
        weighed[category]! / (Number(source.exposure.amounts[category]!) / Number(VALUE_PER_USD))
      if (value > most[category]! && witness > 0) {
        most[category] = value
        source.starts[category] = witness
      }
    }
  }
  return source
}

/** What the given transfers carried. It is direct where the sender was a terminal: then it began
 *  there. */
function sourceOfTransfers(basis: Basis, transfers: readonly Transfer[]): Source {
  const source = noSource()
  const most = Array<bigint>(CATEGORY_COUNT).fill(0n)
  for (const transfer of transfers) {
    const asset = assetOf(basis, transfer.asset)
    const label = basis.generation.index.labelAt(bareHex(transfer.from), transfer.block_time_ms)
    const terminal = label !== undefined && isTerminal(label)
    for (const { category, amount } of transfer.carried ?? []) {
      const value = valueIn(basis.policy, asset, amount)
      const units = source.units[category]!
      source.exposure.amounts[category]! += value
      if (terminal && category === label.category) source.exposure.direct[category]! += value
      units.set(asset.number, (units.get(asset.number) ?? 0n) + amount)
      if (value > most[category]!) {
        most[category] = value
        source.starts[category] = transfer.sequence
      }
    }
  }
  return source
}

function destinationsOf(
  { policy }: Basis,
  { holdings }: AddressFacts,
): { amounts: bigint[]; sent: bigint } {
  const { amounts } = noExposure()
  let sent = 0n
  for (const { asset, holding } of holdings) {
    sent += valueIn(policy, asset, holding.sent)
    for (const { category, destination } of holding.portions)
      amounts[category]! += valueIn(policy, asset, destination)
  }
  return { amounts, sent }
}

/** Where what an address sent has ended, in value; direct is what it sent to terminals itself. */
async function endedOf(
  { sent, policy, generation: { assets } }: Basis,
  address: Address,
): Promise<Exposure | undefined> {
  if (!sent || !policy.sent) return undefined
  const ended = noExposure()
  const { state } = sent
  const holdings = await readHoldings({ state, assets }, [address], (of) => of(address))
  for (const { asset, holding } of holdings) {
    for (const { category, received, direct } of holding.portions) {
      ended.amounts[category]! += valueIn(policy, asset, received)
      ended.direct[category]! += valueIn(policy, asset, direct)
    }
  }
  return ended
}

/** The categories with the most value, of those that can be followed back. */
export function mostImportant(amounts: readonly bigint[], starts: Source['starts']) {
  return starts
    .flatMap((sequence, category) =>
      sequence === undefined ? [] : [{ sequence, category, value: amounts[category]! }],
    )
    .sort((a, b) => (a.value === b.value ? a.category - b.category : a.value > b.value ? -1 : 1))
    .slice(0, PATHS_MAX)
}
