// What a seed is about: how many instances and customers, which troubles and how often. Drawn
// first, so that a seed has a character; most are short, and each kind of trouble is rare in most
// and frequent in some.

import { LIES, type Lie } from '../harness/liars.ts'
import type { Dice } from './dice.ts'
import type { Troubles } from './network.ts'

export type Events = {
  deposit: number
  recharge: number
  fork: number
  detour: number
  node_down: number
  solid_lag: number
  wall_jump: number
  chain_jump: number
  hour: number
  blocks: number
  outsider_activates: number
  drift: number
  stake_leaves: number
  crash: number
  use: number
  day: number
  dust: number
  spam: number
  /** A contract sends to a deposit address, or delegates to it. */
  contract: number
}

export type Plan = {
  name: string
  instances: number
  nodes: number
  /** In which manner the first node lies about blocks, if it does. */
  lie: Lie | undefined
  recharge_at: 'inclusion' | 'solid'
  customers: number
  wishes: number
  /** How many things happen before the troubles end. */
  moments: number
  /** How likely the next thing that passes is what follows from the last. */
  momentum: number
  skew_ms: number
  wish_rate: number
  /** How many are asked for at most, and how often: none in many runs. */
  subscriptions: { most: number; rate: number }
  checks: { most: number; rate: number }
  /** Whether deposits are screened before they are booked, and money of high risk is held. */
  screens_deposits: boolean
  /** How often operators move money by hand, and blacklist somebody: never in most runs. */
  by_hand: number
  /** How often an operator collects deposits: never in most runs. */
  collects: number
  /** Whether the stake of the pool votes. */
  votes: boolean
  /** Whether customers want to be told, by webhooks. */
  webhooks: boolean
  /** Whether customers pay in so little that it is soon spent. */
  poor: boolean
  event_rate: number
  audits: number
  /** In so many rounds on the way to rest the chain still forks. */
  late_forks: number
  /** For each thing that passes the gate. */
  crashes: number
  outages: number
  /** How often the server is lost with a commit that no standby has, for each that passes. */
  promotions: number
  troubles: Troubles
  events: Events
}

/** What some runs are about: something is frequent that hardly ever meets what it would disturb
 *  otherwise. */
export const EMPHASES = [
  'nothing',
  'rivals',
  'forked_uses',
  'webhooks',
  'poor',
  'promoted',
  'collecting',
  'voting',
  'screened_deposits',
] as const
export type Emphasis = (typeof EMPHASES)[number]

/** `emphasis`: drawn too when left out. */
export function drawPlan(dice: Dice, emphasis?: Emphasis): Plan {
  const level = dice.weighted({ calm: 1, rough: 4, storm: 2 })
  const rate = { calm: 0, rough: 1, storm: 4 }[level]
  const instances = dice.weighted({ '1': 1, '2': 1 }) === '1' ? 1 : 2
  // Drawn by a die of its own: what customers do besides buying.
  const more = dice.fork('more')
  const theme = more.weighted({ purchases: 4, subscriptions: 4, checks: 1, everything: 1 })
  const subscribes = theme === 'subscriptions' || theme === 'everything'
  const screens = theme === 'checks' || theme === 'everything'
  const hands = dice.fork('by hand')
  const by_hand = hands.chance(0.35) ? hands.pick([0.2, 0.5]) : 0
  const screens_deposits = dice.fork('mixers').chance(0.1)
  const often = (probability: number) => (dice.chance(0.5) ? rate * probability : 0)
  const fork = often(2)
  const plan: Plan = {
    name: [
      `${level}, ${theme}`,
      ...(by_hand > 0 ? ['by hand'] : []),
      ...(screens_deposits ? ['screened deposits'] : []),
    ].join(', '),
    instances,
    nodes: dice.between(1, 2),
    lie: undefined,
    recharge_at: dice.pick(['inclusion', 'solid'] as const),
    customers: dice.between(1, 3),
    wishes: dice.between(2, 8),
    // Many short runs find more than few long ones.
    moments: dice.chance(0.15) ? dice.between(150, 400) : dice.between(30, 150),
    momentum: dice.pick([0.3, 0.8, 0.9, 0.97]),
    skew_ms: dice.pick([0, 0, 500, 3_000]),
    wish_rate: dice.pick([0.3, 0.6, 1]),
    subscriptions: subscribes
      ? { most: more.between(2, 5), rate: more.pick([0.2, 0.4, 0.8]) }
      : { most: 0, rate: 0 },
    checks: screens
      ? { most: more.between(2, 8), rate: more.pick([0.3, 0.6]) }
      : { most: 0, rate: 0 },
    screens_deposits,
    by_hand,
    collects: dice.fork('collects').chance(0.12) ? 0.4 : 0,
    votes: dice.fork('votes').chance(0.1),
    webhooks: false,
    poor: false,
    event_rate: dice.pick([0.4, 1, 2]),
    audits: 0.015,
    late_forks: fork > 0 ? more.pick([1, 2, 3]) : 0,
    crashes: often(0.006),
    outages: often(0.01),
    promotions: 0,
    troubles: {
      lost_request: often(0.02),
      lost_answer: often(0.03),
      busy: often(0.05),
      false_duplicate: often(0.05),
      dropped: often(0.1),
      delayed: often(0.1),
      doubled: often(0.05),
      behind: often(0.05),
    },
    events: {
      deposit: 1,
      recharge: by_hand > 0 ? 5 : dice.chance(0.4) ? 2 : 0,
      fork,
      detour: often(0.5),
      node_down: often(0.5),
      solid_lag: often(0.5),
      wall_jump: often(0.7),
      chain_jump: often(0.7),
      hour: often(0.4) + 0.2,
      blocks: 3,
      outsider_activates: often(0.5),
      drift: often(0.3),
      stake_leaves: often(0.2),
      crash: often(0.3),
      use: subscribes ? more.pick([2, 5]) : 0,
      day: subscribes && more.chance(0.5) ? 0.15 : 0,
      dust: by_hand > 0 ? 1 : 0,
      spam: by_hand > 0 ? 0.2 : 0,
      contract: 0,
    },
  }
  return lying(sharpened(plan, emphasis ?? drawEmphasis(plan, more)), dice.fork('lies'))
}

/** In some runs contracts send TRX, and in some the first of several nodes lies. */
function lying(plan: Plan, dice: Dice): Plan {
  const events = { ...plan.events, contract: dice.chance(0.15) ? 2 : 0 }
  if (!dice.chance(0.15)) return { ...plan, events }
  const lie = dice.pick(LIES)
  return { ...plan, events, lie, nodes: dice.between(2, 3), name: `${plan.name}, a node ${lie}` }
}

const drawEmphasis = (plan: Plan, dice: Dice): Emphasis =>
  dice.weighted({
    nothing: 8,
    rivals: 1,
    forked_uses: plan.subscriptions.most > 0 ? 2 : 0,
    webhooks: 2,
    poor: 1,
  })

function sharpened(plan: Plan, emphasis: Emphasis): Plan {
  const { events, troubles } = plan
  const name = `${plan.name}, ${emphasis.replaceAll('_', ' ')}`
  if (emphasis === 'rivals') {
    // Others activate the addresses that we activate, and ours comes too late.
    return {
      ...plan,
      name,
      events: { ...events, outsider_activates: 3 },
      troubles: { ...troubles, dropped: 0.3 },
    }
  }
  if (emphasis === 'forked_uses') {
    const often = { event_rate: 5, late_forks: 3, wishes: 2, moments: plan.moments + 50 }
    return { ...plan, ...often, name, events: { ...events, fork: 2, use: 8 } }
  }
  if (emphasis === 'webhooks') {
    // They are called while processes die and statements fail.
    const rough = { instances: 2, crashes: 0.01, outages: 0.03, momentum: 0.3 }
    return { ...plan, ...rough, name, webhooks: true, moments: Math.min(plan.moments + 40, 150) }
  }
  if (emphasis === 'voting') return { ...plan, name, votes: true, late_forks: 3 }
  if (emphasis === 'screened_deposits') {
    return { ...plan, name, screens_deposits: true, events: { ...events, deposit: 3 } }
  }
  if (emphasis === 'collecting') {
    // Files are made, signed and sent while more is paid in, and forks take back what has left.
    const often = { collects: 1.5, event_rate: 2, moments: plan.moments + 60, late_forks: 2 }
    return { ...plan, ...often, name, events: { ...events, deposit: 3, fork: events.fork + 0.5 } }
  }
  if (emphasis === 'promoted') {
    return { ...plan, name, promotions: 0.05, crashes: 0, moments: plan.moments + 40 }
  }
  if (emphasis === 'poor') {
    // Two processes sell to one customer at a time, whose money is enough for one purchase.
    const rush = { instances: 2, customers: 1, wishes: 8, wish_rate: 4, momentum: 0.3 }
    return { ...plan, ...rush, name, poor: true, event_rate: 0.4 }
  }
  return { ...plan, name }
}
