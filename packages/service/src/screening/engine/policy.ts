// A policy: weights, thresholds and floors, by version. Two are shipped: p1 is version 1 of every
// installation, and p2 is what a new one begins with, as its version 2. An operator publishes
// others, and none is ever changed, because a screening names the one it was made under. Weights
// are hundredths, shares basis points, prices and amounts whole micro-dollars and dollars: no
// fraction is ever rounded before the score is.

import type { Clock } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { recently } from '../../lib/recent.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { CATEGORIES, categoryNumber } from '../flow/categories.ts'
import { NETWORKS } from './networks.ts'

/** A floor acts when a share reaches `share_bp` (hundredths of a percent) and an amount `usd`; it
 *  is points, 0 to 100. */
export type Floor = { share_bp: number; usd: number; points: number }

/** Who answers checks of a type on a network: names of providers, 'embedded' being our own engine.
 *  `first`: in this order, the next one when one fails. `maximum`: all of them, and the worst
 *  answer counts. */
export type Route = { use: string[]; mode: 'first' | 'maximum' }

export const EMBEDDED = 'embedded'

/** Of what an address received: all of it; without what had been there before and came back; and
 *  what of that came lately. */
const COUNTS = ['gross', 'net_new', 'recent'] as const
export type Count = (typeof COUNTS)[number]

const HOLD_DEPOSITS_FROM = ['none', 'blacklisted', 'high'] as const
export type HoldDepositsFrom = (typeof HOLD_DEPOSITS_FROM)[number]

export type Policy = {
  version: number
  name: string
  /** By `network/type`; what is not here is not screened. */
  routes: Record<string, Route>
  /** By category, in hundredths: 100 is the worst. */
  weights: Record<string, number>
  /** Categories in which a share alone raises the score. */
  severe: string[]
  /** Micro-dollars for one whole TRX, and for one whole token. */
  trx_micro_usd: number
  token_micro_usd: number
  /** Points from which a score is medium and high. */
  medium_from: number
  high_from: number
  direct: Floor[]
  indirect: Floor[]
  /** Over all severe categories together. */
  combined: Floor[]
  /** By amount alone, whatever the share. */
  direct_amount: Floor[]
  indirect_amount: Floor[]
  /** For withdrawals: what the recipient sent to severe terminals, as a share of everything it
   *  sent. */
  destination: Floor[]
  /** What is counted of what was received. Floors are those of the worst; the mean, and floors by
   *  amount alone, are of the net new value where that is counted. */
  counts: Count[]
  /** What an address sent is looked at whenever it is judged, and not only for withdrawals. */
  sent: boolean
  /** Of what it sent, by where that ended beyond those it was sent to; nightly. */
  destination_indirect: Floor[]
  /** How the index is computed. 1: by transfers alone. 2: what is swapped at a pool keeps its
   *  origin, and addresses that only forward to a service are the service's. 3: half of what leaves
   *  an unlabelled service keeps its origin. */
  index_rules: number
  /** A label with this confidence or more counts in full for the address that has it. */
  full_confidence: number
  /** Nothing is sold to an address that an official list, a token's issuer or the operator bars. */
  refuse_blacklisted_receivers: boolean
  /** Whose deposits and direct recharges are neither credited nor sold for nor sent back, but held
   *  for the operator. `blacklisted`: of senders who are barred. `high`: of those, and money that
   *  is of high risk by what it carried; no deposit is booked before the index knows its block. */
  hold_deposits_from: HoldDepositsFrom
  /** An answer whose level is high waits for a decision of the house; its customer has it all the
   *  same. */
  review_high_answers: boolean
}

const INDEX_RULES_MAX = 3

/** What older policies do not say, and mean. */
const LATER = {
  refuse_blacklisted_receivers: false,
  hold_deposits_from: 'blacklisted' as HoldDepositsFrom,
  review_high_answers: true,
  indirect_amount: [] as Floor[],
  counts: ['gross'] as Count[],
  sent: false,
  destination_indirect: [] as Floor[],
  index_rules: 1,
}

export const SHIPPED_POLICY: Policy = {
  ...LATER,
  version: 1,
  name: 'p1',
  routes: {
    'TRX/address': { use: [EMBEDDED], mode: 'first' },
    'TRX/hash': { use: [EMBEDDED], mode: 'first' },
  },
  weights: Object.fromEntries(CATEGORIES.map(({ name, weight }) => [name, weight])),
  severe: [
    'sanctions',
    'terrorism_financing',
    'child_exploitation',
    'ransom',
    'stolen_coins',
    'dark_market',
    'dark_service',
    'mixer',
    'scam',
    'illegal_service',
    'issuer_frozen',
  ],
  trx_micro_usd: 300_000,
  token_micro_usd: 1_000_000,
  medium_from: 30,
  high_from: 70,
  direct: [{ share_bp: 50, usd: 100, points: 75 }],
  indirect: [
    { share_bp: 500, usd: 1_000, points: 70 },
    { share_bp: 100, usd: 100, points: 31 },
  ],
  combined: [{ share_bp: 500, usd: 1_000, points: 70 }],
  direct_amount: [{ share_bp: 0, usd: 10_000, points: 31 }],
  destination: [{ share_bp: 50, usd: 100, points: 75 }],
  full_confidence: 60,
}

/** What a new installation begins with, under the next number: nobody can buy a score by sending
 *  the same money around, and severe money counts by its amount too. */
export const SHIPPED_NEWEST: Omit<Policy, 'version'> = {
  ...SHIPPED_POLICY,
  name: 'p2',
  counts: ['gross', 'net_new', 'recent'],
  sent: true,
  destination_indirect: SHIPPED_POLICY.indirect,
  index_rules: INDEX_RULES_MAX,
  direct_amount: [{ share_bp: 0, usd: 1_000, points: 70 }],
  indirect_amount: [{ share_bp: 0, usd: 10_000, points: 70 }],
}

export type Group = 'low' | 'medium' | 'high'

/** The group of a weight: above 0.25 medium, from 0.75 on high. */
export const groupOf = (weight: number): Group =>
  weight >= 75 ? 'high' : weight > 25 ? 'medium' : 'low'

const FLOORS = [
  'direct',
  'indirect',
  'combined',
  'direct_amount',
  'indirect_amount',
  'destination',
  'destination_indirect',
] as const

/** A policy's body with what it means and does not say. Those from before `hold_deposits_from` say
 *  with true or false whether money of blacklisted senders is held. Throws Refused when it says
 *  both. */
export function withLater<Body extends object>(body: Body): typeof LATER & Body {
  type Both = { hold_blacklisted_senders?: unknown; hold_deposits_from?: unknown }
  const { hold_blacklisted_senders: held, ...said } = body as Body & Both
  if (held === undefined) return { ...LATER, ...body }
  if (said.hold_deposits_from !== undefined)
    throw refusal('The policy says both hold_blacklisted_senders and hold_deposits_from.')
  if (typeof held !== 'boolean') throw refusal('The policy has no proper hold_blacklisted_senders.')
  const hold_deposits_from = held ? 'blacklisted' : 'none'
  return { ...LATER, ...(said as unknown as Body), hold_deposits_from }
}

/** Throws Refused when the body is not a whole policy. */
export function requirePolicy(body: unknown, version: number): Policy {
  if (typeof body !== 'object' || body === null) throw refusal('A policy is an object.')
  // Policies from before these could be chosen do without them.
  const policy: Policy = { ...withLater(body as Omit<Policy, keyof typeof LATER>), version }
  for (const name of Object.keys(SHIPPED_POLICY) as (keyof Policy)[]) {
    if (kindOf(policy[name]) !== kindOf(SHIPPED_POLICY[name]))
      throw refusal(`The policy has no proper ${name}.`)
  }
  for (const [key, route] of Object.entries(policy.routes)) {
    if (!isSound(key, route)) throw refusal(`The route ${key} of the policy is not sound.`)
  }
  for (const { name } of CATEGORIES)
    requireWhole(policy.weights[name], 100, `the weight of ${name}`)
  for (const name of policy.severe) {
    if (categoryNumber(name) === undefined) throw refusal(`There is no category ${name}.`)
  }
  for (const name of ['trx_micro_usd', 'token_micro_usd'] as const)
    requireWhole(policy[name], Number.MAX_SAFE_INTEGER, name)
  for (const name of ['medium_from', 'high_from', 'full_confidence'] as const)
    requireWhole(policy[name], 100, name)
  if (policy.full_confidence === 0) throw refusal('full_confidence is 0.')
  if (policy.medium_from > policy.high_from) throw refusal('medium_from is above high_from.')
  if (!HOLD_DEPOSITS_FROM.includes(policy.hold_deposits_from))
    throw refusal(
      `In the policy, hold_deposits_from is not one of ${HOLD_DEPOSITS_FROM.join(', ')}.`,
    )
  requireWhole(policy.index_rules, INDEX_RULES_MAX, 'index_rules')
  if (policy.index_rules === 0) throw refusal('In the policy, index_rules is 0.')
  if (policy.counts.length === 0 || !policy.counts.every((one) => COUNTS.includes(one)))
    throw refusal(`In the policy, counts is not a list of ${COUNTS.join(', ')}.`)
  for (const name of FLOORS) {
    for (const floor of policy[name]) {
      if (kindOf(floor) !== 'object') throw refusal(`The policy has no proper ${name}.`)
      const { share_bp, usd, points } = floor
      requireWhole(share_bp, 10_000, `a share of ${name}`)
      requireWhole(usd, Number.MAX_SAFE_INTEGER, `an amount of ${name}`)
      requireWhole(points, 100, `the points of ${name}`)
    }
  }
  return policy
}

const kindOf = (value: unknown) =>
  value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value

/** Our own engine knows one network alone. */
function isSound(key: string, route: Route): boolean {
  if (!/^[A-Z0-9]+\/(address|hash)$/.test(key) || kindOf(route) !== 'object') return false
  const { use, mode } = route
  if (!Array.isArray(use) || use.length === 0 || !use.every((name) => typeof name === 'string'))
    return false
  return (
    (mode === 'first' || mode === 'maximum') && (key.startsWith('TRX/') || !use.includes(EMBEDDED))
  )
}

function requireWhole(value: unknown, max: number, what: string): void {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > max) {
    throw refusal(`In the policy, ${what} is not a whole number from 0 to ${max}.`)
  }
}

/** What is misspelt or said twice would be in force without a word, or not be. Throws one
 *  sentence. */
function requireNothingOdd(policy: Policy): void {
  requireKnown('The policy', policy, SHIPPED_POLICY)
  requireKnown('The policy, in its weights,', policy.weights, SHIPPED_POLICY.weights)
  if (policy.sent && policy.index_rules < 2)
    throw refusal('A policy that looks at what was sent needs "index_rules": 2.')
  requireOnce('severe', policy.severe)
  requireOnce('counts', policy.counts)
  for (const [key, route] of Object.entries(policy.routes)) {
    requireKnown(`The route ${key}`, route, SHIPPED_POLICY.routes['TRX/address']!)
    requireOnce(key, route.use)
    if (!Object.hasOwn(NETWORKS, key.split('/')[0]!))
      throw refusal(`The route ${key} is for no network known here.`)
  }
  for (const name of FLOORS) {
    for (const floor of policy[name])
      requireKnown(`A floor of ${name}`, floor, SHIPPED_POLICY.direct[0]!)
  }
}

function requireKnown(what: string, given: object, known: object): void {
  const name = Object.keys(given).find((one) => !Object.hasOwn(known, one))
  if (name !== undefined) throw refusal(`${what} has "${name}", which means nothing here.`)
}

function requireOnce(what: string, names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw refusal(`In the policy, ${what} has ${twice} twice.`)
}

/** A policy by its version. Throws when there is none. */
export async function readPolicy(sql: Sql | Tx, version: number): Promise<Policy> {
  if (version === SHIPPED_POLICY.version) return SHIPPED_POLICY
  const [row] = await sql<{ body: unknown }>`select body from policy where version = ${version}`
  if (!row) throw new Error(`there is no policy ${version}`)
  return requirePolicy(row.body, version)
}

/** The newest policy. */
export async function currentPolicy(sql: Sql | Tx): Promise<Policy> {
  const [row] = await sql<{ version: number; body: unknown }>`
    select version, body from policy order by version desc limit 1`
  return row ? requirePolicy(row.body, row.version) : SHIPPED_POLICY
}

/** Puts the newest shipped policy in force where nothing was ever screened, followed or published:
 *  elsewhere the one in force stays until an operator publishes another. Returns whether it did. */
export async function beginWithNewest(sql: Sql, clock: Clock): Promise<boolean> {
  return sql.begin(async (tx) => {
    await tx`lock table policy in exclusive mode`
    const [used] = await tx`
      select where exists (select from policy) or exists (
          select from flow_log_ends where last_number is not null)
        or exists (select from aml_check)`
    if (used) return false
    const version = SHIPPED_POLICY.version + 1
    const policy = requirePolicy(SHIPPED_NEWEST, version)
    await tx`
      insert into policy (version, body, published_at, published_by)
      values (${version}, ${JSON.stringify(policy)}, ${clock.now()}, 'penstock')`
    return true
  })
}

/** How long a new policy may take to be followed in every process. */
const FRESH_MS = 1_000

/** Reads the newest policy at most once a second. */
export function policyReader({ sql, clock }: { sql: Sql; clock: Clock }): () => Promise<Policy> {
  return recently(FRESH_MS, { clock, read: () => currentPolicy(sql) })
}

/** A policy as it could be published. Throws Refused when it is not whole, or has something that a
 *  policy does not have. */
export function judgedPolicy(body: unknown, version: number): Policy {
  const policy = requirePolicy(body, version)
  requireNothingOdd(policy)
  return policy
}

/** Publishes a policy: checks made from now on follow it. Returns its version. Throws Refused
 *  when it is not whole, or has something that a policy does not have. */
export async function publishPolicy(
  tx: Tx,
  wanted: { body: unknown; published_by: string; published_at: Date },
): Promise<number> {
  await tx`lock table policy in exclusive mode`
  const current = await currentPolicy(tx)
  const version = current.version + 1
  const policy = judgedPolicy(wanted.body, version)
  await tx`
    insert into policy (version, body, published_at, published_by)
    values (${version}, ${JSON.stringify(policy)}, ${wanted.published_at}, ${wanted.published_by})`
  return version
}
