// How near screenings come to the truth, where the truth is known: a simulated economy in which
// every unit of money is a thing with an origin, and people spend by habits of their own. The
// engine and simpler ways of following money see only the transfers. Compared are the error of the
// shares, how many innocents are flagged for each theft, how well the tainted are told from the
// others, and what it costs to move one's own score. Then the engine alone where the world is
// worse: a third of the labels missing, half of the past; the tricks that once worked, with the
// score under both shipped policies; and what addresses sent, beside where it ended.

import { SHIPPED_POLICY } from 'penstock-service/screening/engine/policy.ts'
import {
  CATEGORY_COUNT,
  categoryNumber,
  UNIDENTIFIED,
} from 'penstock-service/screening/flow/categories.ts'
import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { readHolding } from 'penstock-service/screening/flow/holdings.ts'
import type { Label } from 'penstock-service/screening/flow/labels.ts'
import { addressWords } from 'penstock-service/screening/flow/memory.ts'
import { measureSent } from './parts/aml_sent.ts'
import { scoreTricks } from './parts/aml_tricks.ts'

const SEEDS = [1, 2, 3, 4, 5]
const PEOPLE = 600
const ROUNDS = 14_000

const EXCHANGE = categoryNumber('exchange_licensed')!
const STOLEN = categoryNumber('stolen_coins')!
const MIXER = categoryNumber('mixer')!
const SEVERE = new Set(SHIPPED_POLICY.severe.map((name) => categoryNumber(name)!))

type Draw = () => number
function drawer(seed: number): Draw {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export type Move = { from: number; to: number; amount: number }

/** Who is what. Services and thieves come first; people after them. */
type Cast = {
  exchanges: number[]
  mixer: number
  victims: number[]
  thieves: number[]
  people: number[]
}

type World = {
  cast: Cast
  moves: Move[]
  labels: Map<number, number>
  /** Everything each address ever received, by true origin. */
  truth: Map<number, Float64Array>
  /** Innocents: people who never dealt with thieves or the mixer on purpose. */
  innocents: number[]
  thefts: number
}

/** What somebody holds: units by origin, the oldest first. */
type Bag = { units: Uint8Array; start: number; end: number }

/** How people pick what they spend. Nobody who only sees transfers can know. */
type Habit = 'at random' | 'oldest first' | 'newest first'

/** Every unit of money is a thing with an origin. */
class Economy {
  readonly moves: Move[] = []
  readonly truth = new Map<number, Float64Array>()
  private readonly bags = new Map<number, Bag>()
  private readonly terminals: Map<number, number>
  private readonly draw: Draw
  private readonly habitOf: (address: number) => Habit
  constructor(draw: Draw, terminals: Map<number, number>, habitOf: (address: number) => Habit) {
    this.draw = draw
    this.terminals = terminals
    this.habitOf = habitOf
  }

  size(of: number): number {
    if (this.terminals.has(of)) return Number.POSITIVE_INFINITY
    const bag = this.bags.get(of)
    return bag ? bag.end - bag.start : 0
  }

  send(from: number, to: number, wanted: number): void {
    const amount = Math.min(Math.floor(wanted), this.size(from))
    if (amount <= 0 || from === to) return
    this.moves.push({ from, to, amount })
    const category = this.terminals.get(from)
    for (let i = 0; i < amount; i++) this.add(to, category ?? this.take(from))
  }

  private add(to: number, origin: number): void {
    const truth = this.truth.get(to) ?? new Float64Array(CATEGORY_COUNT)
    truth[origin]! += 1
    this.truth.set(to, truth)
    if (this.terminals.has(to)) return
    const bag = this.bags.get(to) ?? { units: new Uint8Array(256), start: 0, end: 0 }
    if (bag.end === bag.units.length) {
      const larger = new Uint8Array(Math.max(256, 2 * (bag.end - bag.start)))
      larger.set(bag.units.subarray(bag.start, bag.end))
      Object.assign(bag, { units: larger, start: 0, end: bag.end - bag.start })
    }
    bag.units[bag.end++] = origin
    this.bags.set(to, bag)
  }

  private take(from: number): number {
    const bag = this.bags.get(from)!
    const habit = this.habitOf(from)
    if (habit === 'oldest first') return bag.units[bag.start++]!
    if (habit === 'newest first') return bag.units[--bag.end]!
    const at = bag.start + Math.floor(this.draw() * (bag.end - bag.start))
    const unit = bag.units[at]!
    bag.units[at] = bag.units[--bag.end]!
    return unit
  }
}

/** People whose habits are known to nobody: 40 % spend at random, 30 % the oldest, 30 % the newest
 *  first. */
const mixedHabits = (address: number): Habit => {
  const n = (Math.imul(address + 1, 0x9e3779b1) >>> 0) % 10
  return n < 4 ? 'at random' : n < 7 ? 'oldest first' : 'newest first'
}

function makeWorld(seed: number): World {
  const draw = drawer(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(draw() * all.length)]!
  let next = 0
  const some = (count: number) => Array.from({ length: count }, () => next++)
  const cast: Cast = {
    exchanges: some(6),
    mixer: next++,
    victims: some(8),
    thieves: some(8),
    people: some(PEOPLE),
  }
  const labels = new Map<number, number>([
    ...cast.exchanges.map((one) => [one, EXCHANGE] as const),
    ...cast.victims.map((one) => [one, STOLEN] as const),
    [cast.mixer, MIXER],
  ])
  const economy = new Economy(draw, labels, mixedHabits)
  const fresh = () => next++
  const dealt = new Set<number>()
  const innocents = new Set(cast.people)
  const amount = () => Math.floor(20 * 10 ** (1.2 * draw()))
  let thefts = 0
  for (let round = 0; round < ROUNDS; round++) {
    const kind = draw()
    const person = pick(cast.people)
    if (kind < 0.25) economy.send(pick(cast.exchanges), person, 3 * amount())
    else if (kind < 0.45) economy.send(person, pick(cast.exchanges), economy.size(person) * draw())
    else if (kind < 0.97)
      economy.send(person, pick(cast.people), Math.min(amount(), economy.size(person)))
    else if (kind < 0.975) {
      // Somebody mixes: he is no innocent, and the mixer pays him later from its pool.
      innocents.delete(person)
      economy.send(person, cast.mixer, amount())
      economy.send(cast.mixer, person, amount())
    } else if (kind < 0.978) {
      thefts += 1
      steal(economy, {
        draw,
        cast,
        thief: cast.thieves[thefts % cast.thieves.length]!,
        fresh,
        dealt,
      })
    } else if (kind < 0.985) dust(economy, pick(cast.thieves), cast.people, draw)
  }
  return {
    cast,
    moves: economy.moves,
    labels,
    truth: economy.truth,
    innocents: [...innocents],
    thefts,
  }
}

type Theft = { draw: Draw; cast: Cast; thief: number; fresh: () => number; dealt: Set<number> }

/** A theft, and then one of the usual ways on: a peel chain, spreading out and gathering again, or
 *  dilution. */
function steal(economy: Economy, { draw, cast, thief, fresh }: Theft): void {
  const victim = cast.victims[Math.floor(draw() * cast.victims.length)]!
  const loot = 400 + Math.floor(1_200 * draw())
  economy.send(victim, thief, loot)
  const way = draw()
  if (way < 0.4) {
    let at = thief
    for (let hop = 0; hop < 12 && economy.size(at) > 40; hop++) {
      const to = fresh()
      economy.send(at, cast.people[Math.floor(draw() * cast.people.length)]!, 15)
      economy.send(at, to, economy.size(at))
      at = to
    }
    economy.send(at, cast.exchanges[0]!, economy.size(at))
  } else if (way < 0.7) {
    const legs = Array.from({ length: 8 }, fresh)
    const end = fresh()
    for (const leg of legs) economy.send(thief, leg, loot / 8)
    for (const leg of legs) economy.send(leg, end, economy.size(leg))
    economy.send(end, cast.exchanges[1]!, economy.size(end) * 0.8)
  } else {
    const pot = fresh()
    economy.send(cast.exchanges[2]!, pot, loot * 4)
    economy.send(thief, pot, economy.size(thief))
    for (let i = 0; i < 6; i++)
      economy.send(pot, cast.people[Math.floor(draw() * cast.people.length)]!, 30)
    economy.send(pot, cast.exchanges[3]!, economy.size(pot))
  }
}

/** Tiny amounts of stolen money sent to many, to make them look bad. */
function dust(economy: Economy, thief: number, people: readonly number[], draw: Draw): void {
  for (let i = 0; i < 10; i++) economy.send(thief, people[Math.floor(draw() * people.length)]!, 1)
}

/** What a way of following money says: shares of what an address received, by category. */
export type Shares = Float64Array
type Method = (world: World) => (address: number) => Shares

const addressOf = (n: number) => {
  const bytes = Buffer.alloc(20)
  bytes.writeUInt32LE(Math.imul(n + 1, 0x9e3779b1) >>> 0, 0)
  bytes.writeUInt32LE(n, 4)
  return bytes
}

function labelsOf(world: World): Label[] {
  return [...world.labels].map(([address, category]) => ({
    address: addressOf(address).toString('hex'),
    category,
    confidence: 100,
    kind: 'curated',
    from_ms: -Infinity,
    to_ms: Infinity,
  }))
}

/** The engine as it runs in the service: units are a million times smaller, as on the chain. */
const UNIT = 1_000_000
const engine: Method = (world) => {
  const index = new FlowIndex(labelsOf(world))
  index.beginBlock(1, 0)
  let sequence = 0
  for (const { from, to, amount } of world.moves) {
    const units = amount * UNIT
    const words = { low: units % 2 ** 32, high: Math.floor(units / 2 ** 32) }
    const slot = (n: number) => index.slot(0, addressWords(addressOf(n)))
    index.transfer(slot(from), slot(to), words, ++sequence)
  }
  return (address) => {
    const shares = new Float64Array(CATEGORY_COUNT)
    for (const { category, received } of readHolding(index, 0, addressOf(address))?.portions ??
      []) {
      shares[category] = Number(received)
    }
    return normal(shares)
  }
}

function normal(amounts: Shares): Shares {
  const total = amounts.reduce((a, b) => a + b, 0)
  if (total === 0) {
    amounts[UNIDENTIFIED] = 1
    return amounts
  }
  return amounts.map((amount) => amount / total)
}

type Parcel = { origin: number; amount: number }

/** First in, first out (or last in, first out): each account is a queue. */
const queued =
  (first_in: boolean): Method =>
  (world) => {
    const queues = new Map<number, Parcel[]>()
    const received = new Map<number, Float64Array>()
    const note = (to: number, { origin, amount }: Parcel) => {
      const all = received.get(to) ?? new Float64Array(CATEGORY_COUNT)
      all[origin]! += amount
      received.set(to, all)
      if (world.labels.has(to)) return
      const queue = queues.get(to) ?? []
      queue.push({ origin, amount })
      queues.set(to, queue)
    }
    for (const { from, to, amount } of world.moves) {
      const category = world.labels.get(from)
      if (category !== undefined) {
        note(to, { origin: category, amount })
        continue
      }
      const queue = queues.get(from) ?? []
      for (let left = amount; left > 0; ) {
        const parcel = first_in ? queue[0] : queue.at(-1)
        if (!parcel) break
        const part = Math.min(left, parcel.amount)
        note(to, { origin: parcel.origin, amount: part })
        parcel.amount -= part
        left -= part
        if (parcel.amount === 0) first_in ? queue.shift() : queue.pop()
      }
    }
    return (address) => normal((received.get(address) ?? new Float64Array(CATEGORY_COUNT)).slice())
  }

/** Poison: anyone who received anything bad is wholly bad. */
const poison: Method = (world) => {
  const bad = new Map<number, number>()
  const plain = engine(world)
  for (const { from, to } of world.moves) {
    const category = world.labels.get(from) ?? bad.get(from)
    if (category !== undefined && SEVERE.has(category) && !world.labels.has(to) && !bad.has(to))
      bad.set(to, category)
  }
  return (address) => {
    const category = bad.get(address)
    if (category === undefined) return plain(address)
    const shares = new Float64Array(CATEGORY_COUNT)
    shares[category] = 1
    return shares
  }
}

/** A walk back from the address, each sender weighed by what it sent, no further than so many
 *  transfers. */
const walk =
  (depth_max: number): Method =>
  (world) => {
    const inflows = new Map<number, Map<number, number>>()
    for (const { from, to, amount } of world.moves) {
      const flows = inflows.get(to) ?? new Map<number, number>()
      flows.set(from, (flows.get(from) ?? 0) + amount)
      inflows.set(to, flows)
    }
    return (address) => {
      const shares = new Float64Array(CATEGORY_COUNT)
      let front = new Map([[address, 1]])
      for (let depth = 0; depth < depth_max; depth++) {
        const next = new Map<number, number>()
        for (const [at, weight] of front) {
          const flows = inflows.get(at)
          const total = flows ? [...flows.values()].reduce((a, b) => a + b, 0) : 0
          if (!flows) shares[UNIDENTIFIED]! += weight
          for (const [from, amount] of flows ?? []) {
            const share = (weight * amount) / total
            const category = world.labels.get(from)
            if (category === undefined) next.set(from, (next.get(from) ?? 0) + share)
            else shares[category]! += share
          }
        }
        front = next
      }
      for (const weight of front.values()) shares[UNIDENTIFIED]! += weight
      return shares
    }
  }

const METHODS: Record<string, Method> = {
  engine,
  fifo: queued(true),
  lifo: queued(false),
  poison,
  'walk, depth 3': walk(3),
  'walk, depth 5': walk(5),
}

const severeShare = (shares: Shares) => [...SEVERE].reduce((sum, k) => sum + shares[k]!, 0)
const FLAG = 0.05

type Figures = {
  /** Mean over addresses of half the sum of differences of shares: 0 is the truth, 1 is all
   *  wrong. */
  share_error: number
  /** The same for the severe categories together. */
  severe_error: number
  /** Addresses of people whose severe share is really below 1 %, flagged at 5 %, for each theft. */
  innocents_flagged_per_theft: number
  /** How often one whose true severe share is 5 % or more is ranked above one whose is below 1
   *  %. */
  auroc: number
  /** Value, for each unit one holds, that has to be sent around to lower the mean weight by 10
   *  points; null: no way found. */
  manipulation_cost: number | null
}

/** `seen`: what whoever follows the money knows of the world; the truth is of all of it. */
function compare(
  world: World,
  method: Method,
  seen: World = world,
): Omit<Figures, 'manipulation_cost'> {
  const say = method(seen)
  let share_error = 0
  let severe_error = 0
  let flagged = 0
  let count = 0
  const bad: number[] = []
  const good: number[] = []
  for (const address of world.truth.keys()) {
    if (world.labels.has(address)) continue
    const truth = normal(world.truth.get(address)!.slice())
    const said = say(address)
    share_error += truth.reduce((sum, share, k) => sum + Math.abs(share - said[k]!), 0) / 2
    const [true_severe, said_severe] = [severeShare(truth), severeShare(said)]
    severe_error += Math.abs(true_severe - said_severe)
    count += 1
    if (true_severe >= FLAG) bad.push(said_severe)
    if (true_severe < 0.01) good.push(said_severe)
  }
  for (const address of world.innocents) {
    const truth = world.truth.get(address)
    if (truth && severeShare(normal(truth.slice())) < 0.01 && severeShare(say(address)) >= FLAG)
      flagged += 1
  }
  return {
    share_error: share_error / count,
    severe_error: severe_error / count,
    innocents_flagged_per_theft: flagged / Math.max(1, world.thefts),
    auroc: auroc(bad, good),
  }
}

function auroc(bad: readonly number[], good: readonly number[]): number {
  const sorted = good.toSorted((a, b) => a - b)
  const below = (x: number) => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sorted[middle]! < x) low = middle + 1
      else high = middle
    }
    return low
  }
  const upTo = (x: number) => below(x + 1e-15)
  const wins = bad.reduce((sum, x) => sum + below(x) + (upTo(x) - below(x)) / 2, 0)
  return bad.length * good.length === 0 ? 1 : wins / (bad.length * good.length)
}

const score = (shares: Shares) =>
  shares.reduce((sum, share, k) => sum + share * Object.values(SHIPPED_POLICY.weights)[k]!, 0)

/** A thief with 1,000 stolen units tries to lower the score of the money that he then brings to
 *  somebody: he may send it around among addresses of his own, and add clean money first or last.
 *  What he moves in clean money is the cost. */
function manipulationCost(method: Method): number | null {
  const [exchange, victim, thief, own, end] = [0, 1, 2, 3, 4] as const
  const labels = new Map([
    [exchange, EXCHANGE],
    [victim, STOLEN],
  ])
  const tricks: ((clean: number) => Move[])[] = [
    // Clean money comes before the loot, or after it, and part is brought.
    (clean) => [
      { from: exchange, to: thief, amount: clean },
      { from: victim, to: thief, amount: 1_000 },
      { from: thief, to: end, amount: Math.min(1_000, clean) },
    ],
    (clean) => [
      { from: victim, to: thief, amount: 1_000 },
      { from: exchange, to: thief, amount: clean },
      { from: thief, to: end, amount: Math.min(1_000, clean) },
    ],
    // A chain of addresses of his own, longer than a walk looks.
    (clean) => [
      { from: victim, to: thief, amount: 1_000 },
      ...Array.from({ length: 8 }, (_, i) => ({
        from: i === 0 ? thief : 9 + i,
        to: 10 + i,
        amount: 1_000,
      })),
      { from: 17, to: own, amount: 1_000 },
      ...(clean > 0 ? [{ from: exchange, to: own, amount: clean }] : []),
      { from: own, to: end, amount: 1_000 },
    ],
  ]
  const before = 100
  const lowered = (clean: number) =>
    tricks.some((trick) => {
      const moves = trick(clean).filter(({ amount }) => amount > 0)
      const world = { moves, labels } as World
      return moves.some(({ to }) => to === end) && score(method(world)(end)) <= before - 10
    })
  for (const clean of [0, 1, 5, 10, 20, 50, 100, 112, 125, 150, 200, 500, 1_000, 5_000, 100_000]) {
    if (lowered(clean)) return clean / 1_000
  }
  return null
}

/** The world as one sees it who has not all labels, or not all of the past. */
const WORSE: Record<string, (world: World, draw: Draw) => World> = {
  'all of it': (world) => world,
  '30 % of the labels missing': (world, draw) => ({
    ...world,
    labels: new Map([...world.labels].filter(() => draw() >= 0.3)),
  }),
  'half of the past missing': (world) => ({
    ...world,
    moves: world.moves.slice(world.moves.length >>> 1),
  }),
}

function inWorseWorlds(worlds: readonly World[]) {
  return Object.entries(WORSE).map(([seen, worsen]) => {
    const each = worlds.map((world, i) => compare(world, engine, worsen(world, drawer(i + 1))))
    const average = (key: keyof (typeof each)[number]) => round(mean(each.map((one) => one[key])))
    return {
      seen,
      share_error: average('share_error'),
      severe_error: average('severe_error'),
      innocents_flagged_per_theft: average('innocents_flagged_per_theft'),
      auroc: average('auroc'),
    }
  })
}

const mean = (all: readonly number[]) => all.reduce((a, b) => a + b, 0) / all.length
const round = (value: number) => Math.round(value * 10_000) / 10_000

export async function run(options: { json: boolean }): Promise<void> {
  const worlds = SEEDS.map(makeWorld)
  const result: Record<string, Figures> = {}
  for (const [name, method] of Object.entries(METHODS)) {
    const each = worlds.map((world) => compare(world, method))
    const average = (key: keyof (typeof each)[number]) => round(mean(each.map((one) => one[key])))
    result[name] = {
      share_error: average('share_error'),
      severe_error: average('severe_error'),
      innocents_flagged_per_theft: average('innocents_flagged_per_theft'),
      auroc: average('auroc'),
      manipulation_cost: manipulationCost(method),
    }
  }
  const simulated = {
    seeds: SEEDS.length,
    transfers: worlds.reduce((sum, { moves }) => sum + moves.length, 0),
    addresses: worlds.reduce((sum, { truth }) => sum + truth.size, 0),
    thefts: worlds.reduce((sum, { thefts }) => sum + thefts, 0),
  }
  const [worse, tricks, sent] = [inWorseWorlds(worlds), scoreTricks(), await measureSent()]
  if (options.json) {
    const found = {
      policy: SHIPPED_POLICY.version,
      simulated,
      methods: result,
      worse,
      tricks,
      sent,
    }
    console.log(JSON.stringify(found))
    return
  }
  const { seeds, transfers, addresses, thefts } = simulated
  console.log(
    `${seeds} worlds, ${transfers} transfers, ${addresses} addresses, ${thefts} thefts; ` +
      `policy version ${SHIPPED_POLICY.version}`,
  )
  console.table(result)
  console.table(worse)
  console.table(tricks)
  console.log(sent)
}
