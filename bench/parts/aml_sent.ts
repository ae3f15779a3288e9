// Where what addresses sent has ended, beside the truth: an economy in which each unit of money is
// known by its own number, so that it is known through whose hands it went and where it ended. And
// deposit addresses: how many of those that are found are some.

import { type LoggedTransfer, packTransfers } from 'penstock-service/chain/transfers/packed.ts'
import { categoryNumber, UNIDENTIFIED } from 'penstock-service/screening/flow/categories.ts'
import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { readHolding } from 'penstock-service/screening/flow/holdings.ts'
import type { Label } from 'penstock-service/screening/flow/labels.ts'
import { addressWords } from 'penstock-service/screening/flow/memory.ts'
import { MemoryFlow } from 'penstock-service/screening/kept/flow_state.ts'
import { SweepTally, sweeper } from 'penstock-service/screening/tracing/deposit_addresses.ts'
import { drawer } from './flow_traffic.ts'

const PEOPLE = 400
const ROUNDS = 8_000
const EXCHANGES = 6
const SEEDS = [1, 2, 3]
const [EXCHANGE, MIXER, SANCTIONS] = ['exchange_licensed', 'mixer', 'sanctions'].map(
  (name) => categoryNumber(name)!,
) as [number, number, number]
const SEVERE = new Set([MIXER, SANCTIONS])

type Move = { from: number; to: number; amount: number }

/** People hold units by number, and spend by hidden habits. */
class Purses {
  readonly moves: Move[] = []
  /** Of each unit that is about, those who have sent it on. */
  private readonly hands: number[][] = []
  private readonly held = new Map<number, number[]>()
  /** By sender and category, units that ended there after they had left the sender. */
  readonly ended = new Map<number, Map<number, number>>()
  private readonly terminals: ReadonlyMap<number, number>
  private readonly draw: () => number

  constructor(terminals: ReadonlyMap<number, number>, draw: () => number) {
    this.terminals = terminals
    this.draw = draw
  }

  size(of: number): number {
    return this.held.get(of)?.length ?? 0
  }

  send(from: number, to: number, wanted: number): void {
    const terminal = this.terminals.has(from)
    const amount = Math.floor(terminal ? wanted : Math.min(wanted, this.size(from)))
    if (amount <= 0 || from === to) return
    this.moves.push({ from, to, amount })
    for (let i = 0; i < amount; i++) this.hand(terminal ? this.mint() : this.take(from), from, to)
  }

  private mint(): number {
    return this.hands.push([]) - 1
  }

  private take(from: number): number {
    const held = this.held.get(from)!
    const habit = from % 10
    if (habit < 3) return held.shift()!
    if (habit < 6) return held.pop()!
    const at = Math.floor(this.draw() * held.length)
    const unit = held[at]!
    held[at] = held.at(-1)!
    held.pop()
    return unit
  }

  private hand(unit: number, from: number, to: number): void {
    const hands = this.hands[unit]!
    if (!this.terminals.has(from)) hands.push(from)
    const category = this.terminals.get(to)
    if (category !== undefined) {
      this.end(hands, category)
      this.hands[unit] = []
    } else {
      const held = this.held.get(to)
      if (held) held.push(unit)
      else this.held.set(to, [unit])
    }
  }

  private end(hands: readonly number[], category: number): void {
    for (const sender of hands) {
      const ended = this.ended.get(sender) ?? new Map<number, number>()
      ended.set(category, (ended.get(category) ?? 0) + 1)
      this.ended.set(sender, ended)
    }
  }

  /** Units that are still about have ended nowhere. */
  close(): void {
    for (const [, units] of this.held)
      for (const unit of units) this.end(this.hands[unit]!, UNIDENTIFIED)
  }
}

/** People buy at exchanges, pay each other, and pay in at exchanges by addresses of their own; some
 *  have their money mixed, some pay who is sanctioned. */
function makeEconomy(seed: number) {
  const draw = drawer(seed)
  const pick = (from: number, count: number) => from + Math.floor(count * draw())
  const [mixer, sanctioned, first] = [EXCHANGES, EXCHANGES + 1, EXCHANGES + 2]
  const terminals = new Map<number, number>([
    ...Array.from({ length: EXCHANGES }, (_, n) => [n, EXCHANGE] as const),
    [mixer, MIXER],
    [sanctioned, SANCTIONS],
  ])
  const purses = new Purses(terminals, draw)
  /** Each person's own address at an exchange. */
  const depositOf = (person: number) => person + PEOPLE
  const bad = (person: number) => person % 17 === 0
  for (let round = 0; round < ROUNDS; round++) {
    const person = pick(first, PEOPLE)
    const amount = 20 * 10 ** (1.2 * draw())
    const kind = draw()
    if (kind < 0.3) purses.send(pick(0, EXCHANGES), person, 2 * amount)
    else if (kind < 0.55) {
      purses.send(person, depositOf(person), amount)
      purses.send(depositOf(person), person % EXCHANGES, Number.MAX_SAFE_INTEGER)
    } else if (kind < 0.95 || !bad(person)) purses.send(person, pick(first, PEOPLE), amount)
    else purses.send(person, draw() < 0.5 ? mixer : sanctioned, amount)
  }
  purses.close()
  const isDeposit = (n: number) => n >= first + PEOPLE
  return { moves: purses.moves, ended: purses.ended, terminals, isDeposit }
}

const addressOf = (n: number) => {
  const bytes = Buffer.alloc(20)
  bytes.writeUInt32LE(Math.imul(n + 1, 0x9e3779b1) >>> 0, 0)
  bytes.writeUInt32LE(n, 4)
  return bytes
}

function labelsOf(terminals: ReadonlyMap<number, number>): Label[] {
  return [...terminals].map(([n, category]) => ({
    address: addressOf(n).toString('hex'),
    category,
    confidence: 100,
    kind: 'curated',
    from_ms: Number.NEGATIVE_INFINITY,
    to_ms: Number.POSITIVE_INFINITY,
  }))
}

const UNIT = 1_000_000

function indexOf(labels: readonly Label[], moves: readonly Move[], reversed: boolean): FlowIndex {
  const index = new FlowIndex(labels, undefined, { net: false, swaps: false, reversed })
  index.beginBlock(1, 0)
  for (const [i, { from, to, amount }] of moves.entries()) {
    const units = amount * UNIT
    const slot = (n: number) => index.slot(0, addressWords(addressOf(n)))
    index.transfer(
      slot(from),
      slot(to),
      { low: units % 2 ** 32, high: Math.floor(units / 2 ** 32) },
      i + 1,
    )
  }
  return index
}

/** Shares of the severe categories in what somebody sent. */
function severeShare(of: Iterable<readonly [number, number]>): number {
  let [severe, all] = [0, 0]
  for (const [category, amount] of of) {
    all += amount
    if (SEVERE.has(category)) severe += amount
  }
  return all === 0 ? 0 : severe / all
}

/** How far the severe share of what was sent is from the truth, on average and at worst, and how
 *  many of the deposit addresses that are found are some, and the other way round. */
export async function measureSent() {
  const errors: number[] = []
  let [found, right, there, transfers] = [0, 0, 0, 0]
  for (const economy of SEEDS.map(makeEconomy)) {
    const { moves, ended, terminals, isDeposit } = economy
    const labels = labelsOf(terminals)
    const turned = moves.map(({ from, to, amount }) => ({ from: to, to: from, amount })).reverse()
    const index = indexOf(labels, turned, true)
    for (const [n, truth] of ended) {
      const portions = readHolding(index, 0, addressOf(n))?.portions ?? []
      const said = portions.map((one) => [one.category, Number(one.received)] as const)
      errors.push(Math.abs(severeShare(said) - severeShare(truth)))
    }
    const deposits = await findDeposits(labels, moves)
    const swept = [...ended.keys()].filter(isDeposit)
    const names = new Map(swept.map((n) => [addressOf(n).toString('hex'), n]))
    found += deposits.length
    right += deposits.filter(({ address }) => names.has(address)).length
    there += swept.length
    transfers += moves.length
  }
  return {
    transfers,
    senders: errors.length,
    severe_sent_error: round(errors.reduce((a, b) => a + b, 0) / errors.length),
    severe_sent_error_p99: round(
      errors.toSorted((a, b) => a - b)[Math.floor(0.99 * errors.length)]!,
    ),
    deposits_precision: round(found === 0 ? 1 : right / found),
    deposits_recall: round(right / there),
    limits: { severe_sent_error: 0.02, deposits_precision: 0.99 },
  }
}

async function findDeposits(labels: readonly Label[], moves: readonly Move[]) {
  const index = indexOf(labels, moves, false)
  const tally = new SweepTally()
  for (const label of labels) tally.addLabel(label)
  for await (const portion of new MemoryFlow(index).all(sweeper))
    tally.addCandidates(portion, index)
  const logged = moves.map(
    ({ from, to, amount }): LoggedTransfer => ({
      asset: 0,
      from: addressOf(from),
      to: addressOf(to),
      amount: BigInt(amount * UNIT),
    }),
  )
  tally.note(packTransfers(logged))
  return tally.found(new Map())
}

const round = (value: number) => Math.round(value * 10_000) / 10_000
