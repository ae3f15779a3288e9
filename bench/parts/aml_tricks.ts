// Ways in which a score was bought, or severe money hidden, and what each is worth under the two
// shipped policies: the score without the trick beside the one with it. What cannot be seen through
// stands here as well.

import {
  type Policy,
  SHIPPED_NEWEST,
  SHIPPED_POLICY,
} from 'penstock-service/screening/engine/policy.ts'
import {
  type Exposure,
  noExposure,
  scoreOf,
  worth,
} from 'penstock-service/screening/engine/scoring.ts'
import { categoryNumber } from 'penstock-service/screening/flow/categories.ts'
import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { readHolding } from 'penstock-service/screening/flow/holdings.ts'
import type { Label } from 'penstock-service/screening/flow/labels.ts'
import { addressWords } from 'penstock-service/screening/flow/memory.ts'

/** In whole dollars of a token. `tx`: transfers of one transaction have the same. */
type Step = { from: string; to: string; usd: number; tx?: string }
type Trick = {
  what: string
  /** Names by category, beside those that all have. */
  labels?: Record<string, string>
  /** Names that have dealt with more others than a person does. */
  hubs?: readonly string[]
  /** Who is judged, when that is not the last receiver. */
  judged?: string
  plain: readonly Step[]
  tricked: readonly Step[]
}

const LABELS = { exchange: 'exchange_licensed', thief: 'stolen_coins' }
const LOOT = 100_000
const stolen: Step = { from: 'thief', to: 'mule', usd: LOOT }
const cash = (usd: number): Step => ({ from: 'exchange', to: 'mule', usd })
const brought: Step = { from: 'mule', to: 'end', usd: LOOT }

const toAndFro = (rounds: number): Step[] =>
  Array.from({ length: rounds }, () => [
    { from: 'mule', to: 'own', usd: 10_000 },
    { from: 'own', to: 'mule', usd: 10_000 },
  ]).flat()

const TRICKS: readonly Trick[] = [
  {
    what: '300 round trips of 10,000 of his own',
    judged: 'mule',
    plain: [stolen, brought, cash(10_000)],
    tricked: [stolen, brought, cash(10_000), ...toAndFro(300)],
  },
  {
    what: 'a swap at a labelled pool',
    labels: { pool: 'liquidity_pools' },
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'pool', usd: LOOT, tx: 'swap' },
      { from: 'pool', to: 'mule', usd: LOOT, tx: 'swap' },
      brought,
    ],
  },
  {
    what: 'a swap over two transactions',
    labels: { pool: 'liquidity_pools' },
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'pool', usd: LOOT },
      { from: 'pool', to: 'end', usd: LOOT },
    ],
  },
  {
    what: 'through a service without a label',
    hubs: ['hub'],
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'hub', usd: LOOT },
      { from: 'hub', to: 'end', usd: LOOT },
    ],
  },
  {
    what: 'over a bridge and back',
    labels: { bridge: 'bridge' },
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'bridge', usd: LOOT },
      { from: 'bridge', to: 'end', usd: LOOT },
    ],
  },
  {
    what: 'an exchange takes it and pays out',
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'exchange', usd: LOOT },
      { from: 'exchange', to: 'end', usd: LOOT },
    ],
  },
  {
    what: 'nine times as much clean money of his own',
    plain: [stolen, brought],
    tricked: [stolen, cash(9 * LOOT), brought],
  },
  {
    what: 'ten addresses of his own in a row',
    plain: [stolen, brought],
    tricked: [
      stolen,
      { from: 'mule', to: 'own 0', usd: LOOT },
      ...Array.from({ length: 9 }, (_, i) => ({
        from: `own ${i}`,
        to: `own ${i + 1}`,
        usd: LOOT,
      })),
      { from: 'own 9', to: 'end', usd: LOOT },
    ],
  },
]

const addressOf = (name: string) => {
  const bytes = Buffer.alloc(20)
  bytes.write(name)
  return bytes
}

function labelsOf({ labels = {}, hubs = [] }: Trick, policy: Policy): Label[] {
  const always = { from_ms: Number.NEGATIVE_INFINITY, to_ms: Number.POSITIVE_INFINITY }
  const label = (name: string, category: string) => ({
    address: addressOf(name).toString('hex'),
    category: categoryNumber(category)!,
  })
  return [
    ...Object.entries({ ...LABELS, ...labels }).map(
      ([name, category]): Label => ({
        ...label(name, category),
        confidence: 100,
        kind: 'curated',
        ...always,
      }),
    ),
    // As generations have them.
    ...hubs.map(
      (name): Label => ({
        ...label(name, 'unidentified_service'),
        confidence: policy.index_rules >= 3 ? 49 : 50,
        kind: 'heuristic',
        ...always,
      }),
    ),
  ]
}

const UNITS_PER_USD = 1_000_000
const VALUED = { decimals: 6, micro_usd: 1_000_000 }

/** The score of who is judged. */
function scoreAt(trick: Trick, steps: readonly Step[], policy: Policy): string {
  const rules = { net: true, swaps: policy.index_rules >= 2 }
  const index = new FlowIndex(labelsOf(trick, policy), undefined, rules)
  index.beginBlock(1, 0)
  for (const [i, { from, to, usd, tx }] of steps.entries()) {
    if (tx === undefined || tx !== steps[i - 1]?.tx) index.beginTransaction()
    const units = usd * UNITS_PER_USD
    const slot = (name: string) => index.slot(1, addressWords(addressOf(name)))
    const words = { low: units % 2 ** 32, high: Math.floor(units / 2 ** 32) }
    index.transfer(slot(from), slot(to), words, i + 1)
  }
  const [exposure, net_new, recent] = [noExposure(), noExposure(), noExposure()]
  const value = (units: bigint) => worth(units, VALUED)
  const note = (to: Exposure, category: number, units: bigint, direct: bigint) => {
    to.amounts[category]! += value(units)
    to.direct[category]! += value(direct)
  }
  const portions =
    readHolding(index, 1, addressOf(trick.judged ?? steps.at(-1)!.to))?.portions ?? []
  for (const { category, received, direct, net_new: fresh, recent: lately } of portions) {
    note(exposure, category, received, direct)
    note(net_new, category, fresh, direct)
    note(recent, category, lately, 0n)
  }
  return scoreOf(policy, {
    exposure,
    net_new,
    recent,
    own: undefined,
    by_transfer: false,
    destinations: undefined,
    blacklisted_by: [],
    allowed: false,
  }).score
}

/** Scores under each policy, without and with each trick. */
export function scoreTricks() {
  const policies = [SHIPPED_POLICY, { ...SHIPPED_NEWEST, version: 2 }]
  return TRICKS.map((trick) => ({
    trick: trick.what,
    ...Object.fromEntries(
      policies.map((policy) => [
        policy.name,
        `${scoreAt(trick, trick.plain, policy)} -> ${scoreAt(trick, trick.tricked, policy)}`,
      ]),
    ),
  }))
}
