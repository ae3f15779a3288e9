// One screening: from what is found about an address or a transaction to a score and the evidence
// for it. The same check, index, labels and policy give the same evidence, byte for byte.

import { CATEGORIES } from '../flow/categories.ts'
import { isTerminal } from '../flow/labels.ts'
import type { Entry } from '../labels/entries.ts'
import type { LabelEntry, LoadedList } from '../labels/label_sets.ts'
import type { ImportSource } from '../tracing/imports.ts'
import type { Transfer } from '../tracing/paths.ts'
import { type Bars, barReasons, barsFact, notAsked } from './bars.ts'
import { canonical, type Fact } from './evidence.ts'
import {
  type AddressFacts,
  assetOf,
  type Basis,
  type Findings,
  findAboutAddress,
  findAboutTransaction,
  type NothingToJudge,
  type Question,
} from './findings.ts'
import type { Policy } from './policy.ts'
import {
  type Exposure,
  type Outcome,
  printPoints,
  printUsd,
  publishedShares,
  scoreOf,
} from './scoring.ts'

export const ENGINE = 'penstock 5'
/** Those before, whose answers are still done again. The second took what bars an address from the
 *  generation that answered; the third asked no issuer; the fourth is this one under a policy that
 *  counts all that was received and nothing else. */
export const ENGINES_BEFORE = ['penstock 2', 'penstock 3', 'penstock 4'] as const

function engineOf(bars: Bars | undefined, policy: Policy): string {
  if (bars === undefined) return ENGINES_BEFORE[0]
  if (bars.issuers === undefined) return ENGINES_BEFORE[1]
  return countsMore(policy) ? ENGINE : ENGINES_BEFORE[2]
}

/** Whether the evidence has to show more than all that was received. */
const countsMore = ({ counts, sent }: Policy): boolean =>
  sent || counts.some((one) => one !== 'gross')

/** `index_number`: the last block that the answer knows. */
export type ScreeningResult = {
  outcome: Outcome
  evidence: string
  index_number: number
  bars: Bars | undefined
}

/** Screens an address. */
export async function screenAddress(basis: Basis, question: Question): Promise<ScreeningResult> {
  return conclude(basis, question, await findAboutAddress(basis, question))
}

/** Screens the counterparty of the transfers that a transaction made in a block, or says why there
 *  is nothing to judge. */
export async function screenTransaction(
  basis: Basis,
  question: Question & { hash: string },
  block_number: number,
): Promise<ScreeningResult | NothingToJudge> {
  const findings = await findAboutTransaction(basis, question, block_number)
  return typeof findings === 'string' ? findings : conclude(basis, question, findings)
}

/** Scores what was found, and writes down why. */
function conclude(basis: Basis, question: Question, findings: Findings): ScreeningResult {
  const { screened, source, by_transfer, destinations, ended, entries, bars } = findings
  const blacklisted_by = bars ? barReasons(bars) : blacklistReasons(screened, entries)
  const outcome = scoreOf(basis.policy, {
    exposure: source.exposure,
    net_new: source.net_new,
    recent: source.recent,
    own: screened.in_force,
    by_transfer,
    destinations,
    ended,
    blacklisted_by,
    allowed: entries.some(({ kind }) => kind === 'allow'),
  })
  const facts: Fact = {
    engine: engineOf(bars, basis.policy),
    ...(bars && { bars: barsFact(bars) }),
    asked: questionFact(question),
    ...basisFacts(basis, findings),
    screened: screenedFact(findings),
    entries: entries.map(({ id, kind, reason }) => ({ id, kind, reason })),
    transfers: findings.transfers.map((transfer) => transferFact(basis, transfer)),
    factors: factorFacts(basis, findings),
    destinations: destinations ? destinationFact(destinations) : null,
    ...(countsMore(basis.policy) && { counted: countedFacts(source, basis.policy) }),
    ...(basis.policy.sent && { sent: sentFact(basis, findings) }),
    ...outcomeFacts(outcome),
    blacklisted_by,
  }
  const index_number = findings.index.number
  return { outcome, evidence: canonical(facts), index_number, bars }
}

/** What the screening rests on. */
function basisFacts(basis: Basis, findings: Findings): Record<string, Fact> {
  const { generation, policy } = basis
  const { first, number, id, time_ms, since } = findings.index
  return {
    index: {
      first_block: String(first),
      last_block: String(number),
      last_block_id: id,
      last_block_time: Number.isFinite(time_ms) ? new Date(time_ms).toISOString() : null,
      carried_since: String(Math.max(0, since)),
      hubs: String(generation.hubs),
      // Answers from before history could be imported have no such word.
      ...(generation.imported.length > 0 && { imported: generation.imported.map(importedFact) }),
    },
    label_set: String(generation.label_set),
    lists: generation.lists.map(listFact),
    notes: notesOf(basis, findings),
    policy: {
      name: policy.name,
      version: String(policy.version),
      trx_micro_usd: String(policy.trx_micro_usd),
    },
  }
}

function outcomeFacts(outcome: Outcome): Record<string, Fact> {
  return {
    floors: outcome.floors.map(({ rule, category, points, of }) => ({
      rule,
      category,
      points: printPoints(points),
      ...(of !== undefined && { of }),
    })),
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
}

/** Who says, with authority, that the address itself is barred, as far as the generation knows:
 *  official lists, the issuer's freeze list, and the customer's or the operator's own denial. */
function blacklistReasons({ labels }: AddressFacts, entries: readonly Entry[]): string[] {
  const reasons = new Set<string>()
  for (const { kind } of labels) {
    if (kind === 'authority') reasons.add('list')
    if (kind === 'ledger') reasons.add('issuer_freeze')
  }
  if (entries.some(({ kind }) => kind === 'deny')) reasons.add('denied')
  return [...reasons].sort()
}

const questionFact = ({ type, network, address, hash, direction, created_at }: Question): Fact => ({
  type,
  network,
  address,
  hash,
  direction,
  at: created_at.toISOString(),
})

const importedFact = ({ source, first_block, last_block, files, sha256 }: ImportSource): Fact => ({
  source,
  first_block: String(first_block),
  last_block: String(last_block),
  files: String(files),
  sha256,
})

const listFact = ({ list, title, sha256, entries, loaded_at }: LoadedList): Fact => ({
  list,
  title,
  sha256,
  entries: String(entries),
  loaded_at: loaded_at.toISOString(),
})

/** The age from which on a nightly reading is named as old. */
const SENT_FRESH_MS = 48 * 3_600_000

function notesOf(
  { generation: { lists, label_set }, policy, sent }: Basis,
  { screened, by_transfer, ended, transfers, bars, index }: Findings,
): string[] {
  const notes: string[] = []
  if (bars && bars.label_set !== label_set)
    notes.push(
      `What official lists say of the address is from label set ${bars.label_set}; ` +
        `shares are by label set ${label_set}, for the index of the newer one was not ready.`,
    )
  for (const token of bars ? notAsked(bars) : [])
    notes.push(
      `Whether the issuer of ${token} froze the address before block ${bars?.first_block} ` +
        'is not known: no node could be asked.',
    )
  if (lists.length === 0)
    notes.push('No list is loaded: nothing is known of who addresses belong to.')
  if (screened.holdings.length === 0) notes.push('The index has no history of this address.')
  if (
    transfers.length > 0 &&
    !by_transfer &&
    transfers.some(({ carried }) => carried === undefined)
  )
    notes.push(
      'It is not kept any more what the transfer carried: ' +
        'what its sender has received stands in for it.',
    )
  notes.push('Received amounts are gross: money that went out and came back counts again.')
  if (policy.counts.includes('net_new'))
    notes.push('The score is by what is new: money that was here before and came back is not.')
  if (policy.sent && !by_transfer && !ended)
    notes.push('Where what was sent has ended, beyond its receivers, is not known yet.')
  if (sent && ended && index.time_ms - sent.time_ms > SENT_FRESH_MS)
    notes.push(
      'Where what was sent has ended is known as of ' +
        `${new Date(sent.time_ms).toISOString()} alone: no newer reading is through.`,
    )
  return notes
}

const assetFacts = (basis: Basis, units: ReadonlyMap<number, bigint>): Fact =>
  Object.fromEntries(
    [...units].map(([number, amount]) => [assetOf(basis, number).symbol, amount.toString()]),
  )

function screenedFact({ screened, named }: Findings): Fact {
  const { address, labels, in_force, holdings } = screened
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
  category,
  entity,
  kind,
  list,
  reference,
  confidence: String(confidence),
  valid_from: valid_from?.toISOString() ?? null,
  valid_to: valid_to?.toISOString() ?? null,
})

const transferFact = (
  basis: Basis,
  { tx_id, block_number, asset, from, to, amount }: Transfer,
): Fact => ({
  tx_id,
  from,
  to,
  block: String(block_number),
  asset: assetOf(basis, asset).symbol,
  amount: amount.toString(),
})

function factorFacts(
  basis: Basis,
  { source: { exposure, units, hops }, paths, named }: Findings,
): Fact[] {
  if (exposure.amounts.every((amount) => amount === 0n)) return []
  const shares = publishedShares(exposure.amounts)
  return CATEGORIES.flatMap(({ name }, category) => {
    const value = exposure.amounts[category]!
    if (value === 0n) return []
    const steps = paths.find((path) => path.category === category)?.steps ?? []
    const origin = steps.at(-1)?.transfer.from
    return {
      category: name,
      share: (shares[category]! / 10_000).toFixed(4),
      usd: printUsd(value),
      direct_usd: printUsd(exposure.direct[category]!),
      units: assetFacts(basis, units[category]!),
      mean_hops: hops[category]?.toFixed(2) ?? null,
      origins: named
        .filter((label) => label.address === origin && label.category === name)
        .map(labelFact),
      path: steps.map(({ transfer, carried }) => ({
        ...(transferFact(basis, transfer) as Record<string, Fact>),
        carried: carried?.toString() ?? null,
      })),
    }
  })
}

/** What is new of what was received, and what of that is recent: value and share by category. */
function countedFacts({ net_new, recent }: Findings['source'], { counts }: Policy): Fact {
  const all = { net_new, recent }
  return Object.fromEntries(
    (['net_new', 'recent'] as const).flatMap((count) => {
      const exposure = all[count]
      return counts.includes(count) && exposure ? [[count, exposureFact(exposure)]] : []
    }),
  )
}

/** Where what was sent has ended, and by which reading; null where that is not known. */
function sentFact({ sent }: Basis, { ended }: Findings): Fact {
  if (!sent || !ended) return null
  const { generation, height } = sent
  return {
    generation: String(generation),
    last_block: String(height),
    direct: exposureFact({ ...ended, amounts: ended.direct }),
    ended: exposureFact(ended),
  }
}

function exposureFact({ amounts }: Exposure): Fact {
  if (amounts.every((amount) => amount === 0n)) return {}
  const shares = publishedShares(amounts)
  return Object.fromEntries(
    CATEGORIES.flatMap(({ name }, k) =>
      amounts[k] === 0n
        ? []
        : [[name, { share: (shares[k]! / 10_000).toFixed(4), usd: printUsd(amounts[k]!) }]],
    ),
  )
}

function destinationFact({ amounts, sent }: { amounts: bigint[]; sent: bigint }): Fact {
  return {
    sent_usd: printUsd(sent),
    to: Object.fromEntries(
      CATEGORIES.flatMap(({ name }, k) =>
        amounts[k]! > 0n ? [[name, printUsd(amounts[k]!)]] : [],
      ),
    ),
  }
}
