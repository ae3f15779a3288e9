// One screening: from an address or a transaction to a score and the evidence for it. What is read
// from the index is read in one go, so that a block that arrives meanwhile cannot mix in; the rest
// comes from rows that never change. The same check, index, labels and policy give the same
// evidence, byte for byte.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql } from '../database/sql.ts'
import { CATEGORIES, CATEGORY_COUNT } from '../flow/categories.ts'
import type { Holding } from '../flow/holdings.ts'
import { isTerminal, type Label } from '../flow/labels.ts'
import { type Entry, entriesFor } from '../labels/entries.ts'
import { type LabelEntry, type LoadedList, namedLabels } from '../labels/label_sets.ts'
import { type Asset, bareHex } from '../tracing/flow_log.ts'
import { type Generation, holdingsOf } from '../tracing/generations.ts'
import { type PathStep, pathsBack, type Transfer, type TransferReader } from '../tracing/paths.ts'
import { canonical, type Fact } from './evidence.ts'
import type { Policy } from './policy.ts'
import {
  type Exposure,
  noExposure,
  type Outcome,
  printPoints,
  publishedShares,
  scoreOf,
  VALUE_PER_USD,
  worth,
} from './scoring.ts'

export const ENGINE = 'penstock 2'

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

/** What a screening works on. */
export type Bench = {
  sql: Sql
  generation: Generation
  policy: Policy
  /** The lists of the generation's label set. */
  lists: readonly LoadedList[]
  reader: TransferReader
  carried_blocks: number
}

/** `index_number`: the last block that the answer knows. */
export type Screened = { outcome: Outcome; evidence: string; index_number: number }

/** Factors whose money is followed back. */
const WAYS_MAX = 6

/** What of an address goes into a screening. */
type Known = {
  address: Address
  labels: Label[]
  in_force: Label | undefined
  holdings: { asset: Asset; holding: Holding }[]
}

/** The exposure with where it is from: for each category, units by asset, mean hops, and the
 *  transfer to follow back. */
type Source = {
  exposure: Exposure
  units: Map<number, bigint>[]
  hops: (number | undefined)[]
  starts: (number | undefined)[]
}

/** Screens an address. */
export async function screenAddress(bench: Bench, question: Question): Promise<Screened> {
  const known = knownOf(bench.generation, question.address)
  const source = sourceOfHoldings(bench, known)
  return conclude(bench, question, {
    screened: known,
    source,
    by_transfer: false,
    destinations: undefined,
    transfers: [],
  })
}

/** Screens the counterparty of transfers that one transaction made, at least one: for a deposit the
 *  money that they carried, for a withdrawal the recipient. */
export async function screenTransfers(
  bench: Bench,
  question: Question,
  transfers: readonly Transfer[],
): Promise<Screened> {
  const { generation } = bench
  // What transfers before that carried may or may not be forgotten yet: it must not matter which.
  const since = generation.index.block_number - bench.carried_blocks
  const known_of = transfers.map((one) =>
    one.block_number < since ? { ...one, carried: undefined } : one,
  )
  const matching = matchingTransfers(bench, question.address, known_of)
  const main = largest(bench, matching)
  if (question.direction === 'withdrawal') {
    const known = knownOf(generation, main.to)
    const source = sourceOfHoldings(bench, known)
    const destinations = destinationsOf(bench, known)
    return conclude(bench, question, {
      screened: known,
      source,
      by_transfer: false,
      destinations,
      transfers: matching,
    })
  }
  const known = knownOf(generation, main.from)
  const carried = matching.every((transfer) => transfer.carried !== undefined)
  // What transfers of long ago carried is not kept: then it is what the sender has received, and
  // the evidence says so.
  const source = carried ? sourceOfTransfers(bench, matching) : sourceOfHoldings(bench, known)
  return conclude(bench, question, {
    screened: known,
    source,
    by_transfer: carried,
    destinations: undefined,
    transfers: matching,
  })
}

const microUsd = (policy: Policy, asset: Asset) =>
  asset.number === 0 ? policy.trx_micro_usd : policy.token_micro_usd

const valueIn = (policy: Policy, asset: Asset, units: bigint) =>
  worth(units, { decimals: asset.decimals, micro_usd: microUsd(policy, asset) })

function assetOf({ generation }: Bench, number: number): Asset {
  const asset = generation.assets.find((one) => one.number === number)
  if (!asset) throw new Error(`there is no asset ${number}`)
  return asset
}

/** The transfers that the supplied address took part in: as the receiver, else as the sender; else
 *  the largest of all. */
function matchingTransfers(
  bench: Bench,
  address: Address,
  transfers: readonly Transfer[],
): Transfer[] {
  const received = transfers.filter(({ to }) => to === address)
  if (received.length > 0) return received
  const sent = transfers.filter(({ from }) => from === address)
  return sent.length > 0 ? sent : [largest(bench, transfers)]
}

/** The largest by value; among equals the first. */
function largest(bench: Bench, transfers: readonly Transfer[]): Transfer {
  const value = ({ asset, amount }: Transfer) =>
    valueIn(bench.policy, assetOf(bench, asset), amount)
  return transfers.reduce((best, one) => (value(one) > value(best) ? one : best))
}

function knownOf(generation: Generation, address: Address): Known {
  const { index } = generation
  const bare = bareHex(address)
  return {
    address,
    labels: index.validLabelsOf(bare),
    in_force: index.labelOf(bare),
    holdings: holdingsOf(generation, address),
  }
}

const noSource = (): Source => ({
  exposure: noExposure(),
  units: Array.from({ length: CATEGORY_COUNT }, () => new Map()),
  hops: Array(CATEGORY_COUNT).fill(undefined),
  starts: Array(CATEGORY_COUNT).fill(undefined),
})

/** All that an address ever received, by category. */
function sourceOfHoldings({ policy }: Bench, { holdings }: Known): Source {
  const source = noSource()
  const most = Array<bigint>(CATEGORY_COUNT).fill(0n)
  const weighed = Array<number>(CATEGORY_COUNT).fill(0)
  for (const { asset, holding } of holdings) {
    for (const { category, received, direct, hops, witness } of holding.portions) {
      if (received === 0n) continue
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
function sourceOfTransfers(bench: Bench, transfers: readonly Transfer[]): Source {
  const source = noSource()
  const most = Array<bigint>(CATEGORY_COUNT).fill(0n)
  for (const transfer of transfers) {
    const asset = assetOf(bench, transfer.asset)
    const label = bench.generation.index.labelAt(bareHex(transfer.from), transfer.block_time_ms)
    const terminal = label !== undefined && isTerminal(label)
    for (const { category, amount } of transfer.carried ?? []) {
      const value = valueIn(bench.policy, asset, amount)
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
  { policy }: Bench,
  { holdings }: Known,
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

type Findings = {
  screened: Known
  source: Source
  by_transfer: boolean
  destinations: { amounts: bigint[]; sent: bigint } | undefined
  transfers: readonly Transfer[]
}

/** Scores what was found, and writes down why. */
async function conclude(bench: Bench, question: Question, findings: Findings): Promise<Screened> {
  const { sql, generation, policy, lists, reader, carried_blocks } = bench
  const { screened, source, by_transfer, destinations } = findings
  // Taken now, before anything is awaited: a block may arrive meanwhile.
  const at = {
    number: generation.index.block_number,
    time_ms: generation.index.block_time_ms,
    id: generation.block_id ?? null,
    first: generation.first_block,
  }
  const since = at.number - carried_blocks
  const followed = mostImportant(source.exposure.amounts, source.starts)
  const [entries, ways] = await Promise.all([
    entriesFor(sql, { ...question, address: screened.address }),
    pathsBack(reader, followed, since),
  ])
  const blacklisted_by = blacklistReasons(screened, entries)
  const allowed = entries.some(({ kind }) => kind === 'allow')
  const own = screened.in_force
  const subject = {
    exposure: source.exposure,
    own,
    by_transfer,
    destinations,
    blacklisted_by,
    allowed,
  }
  const outcome = scoreOf(policy, subject)
  const ends = ways.flatMap((steps) => steps.at(-1)?.transfer.from ?? [])
  const named =
    lists.length === 0
      ? []
      : await namedLabels(sql, generation.label_set, [screened.address, ...ends])
  const facts: Fact = {
    engine: ENGINE,
    asked: askedFact(question),
    index: {
      first_block: String(at.first),
      last_block: String(at.number),
      last_block_id: at.id,
      last_block_time: Number.isFinite(at.time_ms) ? new Date(at.time_ms).toISOString() : null,
      carried_since: String(Math.max(0, since)),
      hubs: String(generation.hubs),
    },
    label_set: String(generation.label_set),
    lists: lists.map(listFact),
    notes: notesOf(lists, findings),
    policy: {
      name: policy.name,
      version: String(policy.version),
      trx_micro_usd: String(policy.trx_micro_usd),
    },
    screened: screenedFact(screened, named),
    entries: entries.map(({ id, kind, reason }) => ({ id, kind, reason })),
    transfers: findings.transfers.map((transfer) => transferFact(bench, transfer)),
    factors: factorFacts(bench, source, { ways, followed, named }),
    destinations: destinations ? destinationFact(destinations) : null,
    floors: outcome.floors.map(({ rule, category, points }) => ({
      rule,
      category,
      points: printPoints(points),
    })),
    blacklisted_by,
    result: {
      base_score: outcome.base_score,
      raw_score: outcome.raw_score,
      risk_score: outcome.score,
      risk_level: outcome.level,
      blacklist: outcome.blacklist,
      risk_factors: outcome.factors.map(({ score, ...factor }) => ({
        ...factor,
        score: score.toFixed(4),
      })),
    },
  }
  return { outcome, evidence: canonical(facts), index_number: at.number }
}

/** Who says, with authority, that the address itself is barred: official lists, the issuer's freeze
 *  list, and the customer's or the operator's own denial. */
function blacklistReasons({ labels }: Known, entries: readonly Entry[]): string[] {
  const reasons = new Set<string>()
  for (const { kind } of labels) {
    if (kind === 'authority') reasons.add('list')
    if (kind === 'ledger') reasons.add('issuer_freeze')
  }
  if (entries.some(({ kind }) => kind === 'deny')) reasons.add('denied')
  return [...reasons].sort()
}

/** The categories with the most value, of those that can be followed back. */
function mostImportant(amounts: readonly bigint[], starts: Source['starts']) {
  return starts
    .flatMap((sequence, category) =>
      sequence === undefined ? [] : [{ sequence, category, value: amounts[category]! }],
    )
    .sort((a, b) => (a.value === b.value ? a.category - b.category : a.value > b.value ? -1 : 1))
    .slice(0, WAYS_MAX)
}

const usd = (value: bigint) => {
  const cents = value / (VALUE_PER_USD / 100n)
  return `${cents / 100n}.${(cents % 100n).toString().padStart(2, '0')}`
}

const askedFact = ({ type, network, address, hash, direction, created_at }: Question): Fact => ({
  ...{ type, network, address, hash, direction },
  at: created_at.toISOString(),
})

const listFact = ({ list, title, sha256, entries, loaded_at }: LoadedList): Fact => ({
  ...{ list, title, sha256 },
  entries: String(entries),
  loaded_at: loaded_at.toISOString(),
})

function notesOf(
  lists: readonly LoadedList[],
  { screened, by_transfer, transfers }: Findings,
): string[] {
  const notes: string[] = []
  if (lists.length === 0)
    notes.push('No list is loaded: nothing is known of who addresses belong to.')
  if (screened.holdings.length === 0) notes.push('The index has no history of this address.')
  if (
    transfers.length > 0 &&
    !by_transfer &&
    transfers.some(({ carried }) => carried === undefined)
  )
    notes.push(
      'It is not kept any more what the transfer carried: what its sender has received stands in for it.',
    )
  notes.push('Received amounts are gross: money that went out and came back counts again.')
  return notes
}

const assetFacts = (units: ReadonlyMap<number, bigint>, bench: Bench): Fact =>
  Object.fromEntries(
    [...units].map(([number, amount]) => [assetOf(bench, number).symbol, amount.toString()]),
  )

function screenedFact(
  { address, labels, in_force, holdings }: Known,
  named: readonly LabelEntry[],
): Fact {
  return {
    address,
    labels: named.filter((label) => label.address === address).map(labelFact),
    frozen_by_issuer: labels.some(({ kind }) => kind === 'ledger'),
    in_force: in_force
      ? {
          category: CATEGORIES[in_force.category]!.name,
          confidence: String(in_force.confidence),
          kind: in_force.kind,
          terminal: isTerminal(in_force),
        }
      : null,
    holdings: holdings.map(({ asset, holding }) => ({
      asset: asset.symbol,
      contract: asset.contract,
      received: holding.portions.reduce((sum, { received }) => sum + received, 0n).toString(),
      sent: holding.sent.toString(),
      held: holding.balance.toString(),
      transfers_in: String(holding.count_in),
      transfers_out: String(holding.count_out),
      first_block: String(holding.first_block),
      last_block: String(holding.last_block),
    })),
  }
}

const labelFact = ({
  category,
  entity,
  kind,
  list,
  reference,
  confidence,
  valid_from,
  valid_to,
}: LabelEntry): Fact => ({
  ...{ category, entity, kind, list, reference },
  confidence: String(confidence),
  valid_from: valid_from?.toISOString() ?? null,
  valid_to: valid_to?.toISOString() ?? null,
})

const transferFact = (
  bench: Bench,
  { tx_id, block_number, asset, from, to, amount }: Transfer,
): Fact => ({
  ...{ tx_id, from, to },
  block: String(block_number),
  asset: assetOf(bench, asset).symbol,
  amount: amount.toString(),
})

type Followed = {
  ways: readonly PathStep[][]
  followed: readonly { category: number }[]
  named: readonly LabelEntry[]
}

function factorFacts(
  bench: Bench,
  { exposure, units, hops }: Source,
  { ways, followed, named }: Followed,
): Fact[] {
  if (exposure.amounts.every((amount) => amount === 0n)) return []
  const shares = publishedShares(exposure.amounts)
  return CATEGORIES.flatMap(({ name }, category) => {
    const value = exposure.amounts[category]!
    if (value === 0n) return []
    const way = ways[followed.findIndex((one) => one.category === category)] ?? []
    const origin = way.at(-1)?.transfer.from
    return {
      category: name,
      share: (shares[category]! / 10_000).toFixed(4),
      usd: usd(value),
      direct_usd: usd(exposure.direct[category]!),
      units: assetFacts(units[category]!, bench),
      mean_hops: hops[category]?.toFixed(2) ?? null,
      origins: named
        .filter((label) => label.address === origin && label.category === name)
        .map(labelFact),
      path: way.map(({ transfer, carried }) => ({
        ...(transferFact(bench, transfer) as Record<string, Fact>),
        carried: carried?.toString() ?? null,
      })),
    }
  })
}

function destinationFact({ amounts, sent }: { amounts: bigint[]; sent: bigint }): Fact {
  return {
    sent_usd: usd(sent),
    to: Object.fromEntries(
      CATEGORIES.flatMap(({ name }, k) => (amounts[k]! > 0n ? [[name, usd(amounts[k]!)]] : [])),
    ),
  }
}
