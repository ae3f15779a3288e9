// The facts of an answer, read back from its evidence, so that it can be scored again under
// another policy without the index. Amounts by asset are whole there; what is counted besides
// stands in cents, and as shares of four decimals.

import { valueIn } from '../engine/findings.ts'
import type { Policy } from '../engine/policy.ts'
import {
  type Exposure,
  noExposure,
  readUsd,
  type Subject,
  VALUE_PER_USD,
} from '../engine/scoring.ts'
import { CATEGORY_COUNT, categoryNumber } from '../flow/categories.ts'
import type { Asset } from '../tracing/flow_log.ts'

type Portions = Record<string, { share: string; usd: string }>

/** The evidence of the embedded engine, as far as scores are of it. */
export type KeptFacts = {
  engine: string
  asked: { type: string; direction: string | null }
  notes: string[]
  policy: { version: string; trx_micro_usd: string }
  screened: {
    address: string
    in_force: { category: string; confidence: string; terminal: boolean } | null
  }
  entries: { kind: string }[]
  factors: { category: string; usd: string; direct_usd: string; units: Record<string, string> }[]
  destinations: { sent_usd: string; to: Record<string, string> } | null
  counted?: { net_new?: Portions; recent?: Portions }
  sent?: { direct: Portions; ended: Portions } | null
  blacklisted_by: string[]
}

/** Parts of a policy for which evidence has no facts, by the policy's own names. */
export type EvidenceGap = 'net_new' | 'recent' | 'sent' | 'index_rules'

export type KeptSubject = { subject: Subject; lacking: EvidenceGap[] }

const NOT_KEPT = 'It is not kept any more what the transfer carried'

/** The subject of an answer, to be scored under a policy. `before`: the policy of the answer. */
export function keptSubject(
  facts: KeptFacts,
  { before, policy, assets }: { before: Policy; policy: Policy; assets: readonly Asset[] },
): KeptSubject {
  const { asked, notes, screened, entries, destinations, counted, sent } = facts
  const withdrawal = asked.direction === 'withdrawal'
  const by_transfer =
    asked.type === 'hash' && !withdrawal && !notes.some((note) => note.startsWith(NOT_KEPT))
  const own = screened.in_force
  const confidence = Number(own?.confidence)
  const lacking = new Set<EvidenceGap>()
  if (policy.index_rules !== before.index_rules) lacking.add('index_rules')
  const countedOf = (name: 'net_new' | 'recent') => {
    if (by_transfer || !policy.counts.includes(name)) return undefined
    if (!before.counts.includes(name)) lacking.add(name)
    return exposureOf(counted?.[name])
  }
  const looks = policy.sent && !by_transfer
  if (looks && !before.sent) lacking.add('sent')
  return {
    subject: {
      exposure: receivedOf(facts, { before, policy, assets }),
      net_new: countedOf('net_new'),
      recent: countedOf('recent'),
      own: own ? { category: categoryNumber(own.category)!, confidence } : undefined,
      by_transfer,
      destinations:
        destinations && (withdrawal || policy.sent) ? destinationsOf(destinations) : undefined,
      ended: looks && sent ? endedOf(sent) : undefined,
      blacklisted_by: facts.blacklisted_by,
      allowed: entries.some(({ kind }) => kind === 'allow'),
    },
    lacking: [...lacking],
  }
}

/** Value received, or carried, from the units of each asset; the direct part of it in the same
 *  proportion as then. */
function receivedOf(
  { factors }: KeptFacts,
  { before, policy, assets }: { before: Policy; policy: Policy; assets: readonly Asset[] },
): Exposure {
  const exposure = noExposure()
  for (const { category, direct_usd, units } of factors) {
    const k = categoryNumber(category)
    if (k === undefined) continue
    let value = 0n
    for (const [symbol, amount] of Object.entries(units)) {
      const asset = assets.find((one) => one.symbol === symbol)
      if (!asset) continue
      exposure.amounts[k]! += valueIn(policy, asset, BigInt(amount))
      value += valueIn(before, asset, BigInt(amount))
    }
    exposure.direct[k] = directOf(readUsd(direct_usd), { before: value, now: exposure.amounts[k]! })
  }
  return exposure
}

/** From this on cents are finer than shares are. */
const CENTS_FROM = 100n * VALUE_PER_USD

/** Of cents that were cut off nothing is made: what was all direct stays so. */
const directOf = (direct: bigint, { before, now }: { before: bigint; now: bigint }): bigint =>
  before === 0n || direct > before - VALUE_PER_USD / 100n ? now : (direct * now) / before

function exposureOf(portions: Portions | undefined): Exposure | undefined {
  if (!portions) return undefined
  const exposure = noExposure()
  const all = Object.entries(portions)
  const total = all.reduce((sum, [, { usd }]) => sum + readUsd(usd), 0n)
  for (const [name, { share, usd }] of all) {
    const k = categoryNumber(name)
    if (k === undefined) continue
    const shared = (BigInt(share.replace('.', '')) * (total || VALUE_PER_USD)) / 10_000n
    exposure.amounts[k] = total < CENTS_FROM ? shared : readUsd(usd)
  }
  return exposure
}

function endedOf({ direct, ended }: { direct: Portions; ended: Portions }): Exposure {
  const all = exposureOf(ended) ?? noExposure()
  for (const [name, { usd }] of Object.entries(direct)) {
    const k = categoryNumber(name)
    if (k !== undefined) all.direct[k] = readUsd(usd)
  }
  return all
}

function destinationsOf({ sent_usd, to }: { sent_usd: string; to: Record<string, string> }) {
  const amounts = Array<bigint>(CATEGORY_COUNT).fill(0n)
  for (const [name, usd] of Object.entries(to)) {
    const k = categoryNumber(name)
    if (k !== undefined) amounts[k] = readUsd(usd)
  }
  return { amounts, sent: readUsd(sent_usd) }
}
