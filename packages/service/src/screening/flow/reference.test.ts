// The index against a reference that is slow and obviously right: maps, bigint, and the formulas as
// they are written.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Freeze } from '../../chain/transfers/packed.ts'
import {
  CATEGORIES,
  CATEGORY_COUNT,
  categoryNumber,
  ISSUER_FROZEN,
  UNIDENTIFIED,
} from './categories.ts'
import { readCheckpoint, stateHash, writeCheckpoint } from './checkpoint.ts'
import { FlowIndex } from './flow_index.ts'
import { type Holding, readHolding } from './holdings.ts'
import { KINDS, type Label } from './labels.ts'
import { addressWords } from './memory.ts'

const PEOPLE = Array.from({ length: 7 }, (_, i) => `${i}`.repeat(2).padEnd(40, 'abcdef0123456789'))

type Move = { asset: number; from: string; to: string; amount: bigint }
type Block = { time_ms: number; freezes: Freeze[]; moves: Move[] }
type History = { labels: Label[]; blocks: Block[] }

type Account = {
  held: bigint[]
  received: bigint[]
  direct: bigint[]
  destination: bigint[]
  sent: bigint
}

const zeros = () => CATEGORIES.map(() => 0n)
const sum = (amounts: readonly bigint[]) => amounts.reduce((a, b) => a + b, 0n)

/** `q` shared out over `weights`: the floors, then one unit each to the largest remainders, ties in
 *  order. */
function shareOut(weights: readonly bigint[], q: bigint): bigint[] {
  const total = sum(weights)
  const parts = weights.map((weight) => (weight * q) / total)
  const order = weights
    .map((weight, i) => ({ i, rest: (weight * q) % total }))
    .sort((a, b) => (a.rest === b.rest ? a.i - b.i : a.rest > b.rest ? -1 : 1))
  const left = Number(q - sum(parts))
  for (const { i } of order.slice(0, left)) parts[i]! += 1n
  return parts
}

class Reference {
  readonly accounts = new Map<string, Account>()
  readonly labels: Label[]
  readonly frozen: { token: string; address: string; from_ms: number; to_ms: number }[] = []
  now_ms = Number.NEGATIVE_INFINITY
  constructor(labels: readonly Label[]) {
    this.labels = [...labels]
  }

  account(asset: number, address: string): Account {
    const key = `${asset} ${address}`
    let account = this.accounts.get(key)
    if (!account) {
      account = {
        held: zeros(),
        received: zeros(),
        direct: zeros(),
        destination: zeros(),
        sent: 0n,
      }
      this.accounts.set(key, account)
    }
    return account
  }

  label(address: string): { category: number; confidence: number } | undefined {
    const all: Omit<Label, 'address'>[] = this.labels.filter((label) => label.address === address)
    for (const spell of this.frozen) {
      if (spell.address === address)
        all.push({ ...spell, category: ISSUER_FROZEN, confidence: 100, kind: 'ledger' })
    }
    const valid = all.filter(({ from_ms, to_ms }) => from_ms <= this.now_ms && this.now_ms < to_ms)
    const rank = (label: Omit<Label, 'address'>) =>
      KINDS.indexOf(label.kind) * 1e9 +
      (100 - label.confidence) * 1e6 +
      (100 - CATEGORIES[label.category]!.weight) * 1e3 +
      label.category
    return valid.sort((a, b) => rank(a) - rank(b))[0]
  }

  begin(block: Block): void {
    this.now_ms = block.time_ms
    for (const { token, address, frozen } of block.freezes) {
      const open = this.frozen.find(
        (one) => one.token === token && one.address === address && one.to_ms === Infinity,
      )
      if (frozen && !open)
        this.frozen.push({ token, address, from_ms: block.time_ms, to_ms: Infinity })
      if (!frozen && open) open.to_ms = block.time_ms
    }
    for (const [key, account] of this.accounts) {
      const label = this.label(key.split(' ')[1]!)
      if (label && label.confidence >= 50) account.held = zeros()
    }
  }

  move({ asset, from, to, amount: q }: Move): bigint[] | undefined {
    if (from === to || q === 0n) return undefined
    const sender = this.account(asset, from)
    const receiver = this.account(asset, to)
    const label = this.label(from)
    const receiver_label = this.label(to)
    const carried = zeros()
    if (label && label.confidence >= 50) {
      carried[label.category] = q
      receiver.direct[label.category]! += q
    } else {
      const missing = q - sum(sender.held)
      if (missing > 0n) {
        sender.held[UNIDENTIFIED]! += missing
        sender.received[UNIDENTIFIED]! += missing
      }
      const taken = shareOut(sender.held, q)
      for (const [k, part] of taken.entries()) sender.held[k]! -= part
      const turned = label ? (q * BigInt(label.confidence)) / 100n : 0n
      for (const [k, part] of shareOut(taken, q - turned).entries()) carried[k] = part
      if (label) carried[label.category]! += turned
    }
    sender.sent += q
    const terminal = receiver_label !== undefined && receiver_label.confidence >= 50
    if (terminal) sender.destination[receiver_label.category]! += q
    for (const [k, part] of carried.entries()) {
      receiver.received[k]! += part
      if (!terminal) receiver.held[k]! += part
    }
    return carried
  }
}

const address = fc.constantFrom(...PEOPLE)
const amount = fc.oneof(
  fc.bigInt(0n, 10n),
  fc.bigInt(1n, 1_000_000n),
  fc.bigInt(1n, 2n ** 40n),
  fc.bigInt(2n ** 51n, 2n ** 54n),
  fc.bigInt(2n ** 55n, 2n ** 58n),
)
const instant = fc.integer({ min: 0, max: 30 })
const label: fc.Arbitrary<Label> = fc
  .record({
    address,
    category: fc.integer({ min: 0, max: CATEGORY_COUNT - 1 }),
    confidence: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.constantFrom(0, 1, 49, 50, 100)),
    kind: fc.constantFrom(...KINDS),
    from_ms: fc.oneof(fc.constant(Number.NEGATIVE_INFINITY), instant),
    to_ms: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), instant),
  })
  .map((one) => one)
const move: fc.Arbitrary<Move> = fc.record({
  asset: fc.constantFrom(0, 0, 1),
  from: address,
  to: address,
  amount,
})
const freeze: fc.Arbitrary<Freeze> = fc.record({
  token: fc.constantFrom('a', 'b'),
  address,
  frozen: fc.boolean(),
})
const history: fc.Arbitrary<History> = fc.record({
  labels: fc.array(label, { maxLength: 6 }),
  blocks: fc
    .array(
      fc.record({
        moves: fc.array(move, { maxLength: 12 }),
        freezes: fc.array(freeze, { maxLength: 2 }),
      }),
      { maxLength: 12 },
    )
    .map((blocks) => blocks.map((block, i) => ({ ...block, time_ms: i * 3 }))),
})

const bytesOf = (person: string) => Buffer.from(person, 'hex')

function applyMove(
  index: FlowIndex,
  { asset, from, to, amount: q }: Move,
  sequence: number,
): boolean {
  const sender = index.slot(asset, addressWords(bytesOf(from)))
  const receiver = index.slot(asset, addressWords(bytesOf(to)))
  const words = { low: Number(q & 0xffffffffn), high: Number(q >> 32n) }
  return index.transfer(sender, receiver, words, sequence)
}

function applyAll(index: FlowIndex, blocks: readonly Block[], first = 0): FlowIndex {
  for (const [i, block] of blocks.entries()) {
    if (i < first) continue
    index.beginBlock(i + 1, block.time_ms, block.freezes)
    for (const one of block.moves) applyMove(index, one, index.sequence + 1)
  }
  return index
}

const vector = (holding: Holding, field: 'held' | 'received' | 'direct' | 'destination') => {
  const all = zeros()
  for (const portion of holding.portions) all[portion.category] = portion[field]
  return all
}

function assertSame(index: FlowIndex, reference: Reference): void {
  for (const [key, account] of reference.accounts) {
    const [asset, person] = key.split(' ') as [string, string]
    const holding = readHolding(index, Number(asset), bytesOf(person))!
    assert.deepEqual(vector(holding, 'held'), account.held)
    assert.equal(holding.balance, sum(account.held))
    assert.deepEqual(vector(holding, 'received'), account.received)
    assert.deepEqual(vector(holding, 'direct'), account.direct)
    assert.deepEqual(vector(holding, 'destination'), account.destination)
    assert.equal(holding.sent, account.sent)
  }
}

/** What has failed is made smaller for a minute at most: histories are large. */
const RUNS = { numRuns: 300, interruptAfterTimeLimit: 60_000 }

test('every amount equals the reference after every transfer, their sum the balance', () => {
  fc.assert(
    fc.property(history, ({ labels, blocks }) => {
      const index = new FlowIndex(labels, 1)
      const reference = new Reference(labels)
      for (const [i, block] of blocks.entries()) {
        index.beginBlock(i + 1, block.time_ms, block.freezes)
        reference.begin(block)
        for (const one of block.moves) {
          const carried = reference.move(one)
          assert.equal(applyMove(index, one, index.sequence + 1), carried !== undefined)
          if (carried)
            for (const [k, part] of carried.entries()) assert.equal(index.carried.amount(k), part)
          assertSame(index, reference)
        }
      }
    }),
    RUNS,
  )
})

test('a saved and restored index goes on as if it had never stopped', async () => {
  await fc.assert(
    fc.asyncProperty(history, fc.nat(12), async ({ labels, blocks }, cut) => {
      const whole = applyAll(new FlowIndex(labels), blocks)
      const first = applyAll(new FlowIndex(labels), blocks.slice(0, cut))
      const restored = await readCheckpoint(labels, [...writeCheckpoint(first)])
      assert.equal(stateHash(restored), stateHash(first))
      applyAll(restored, blocks, cut)
      assert.equal(stateHash(restored), stateHash(whole))
      // Hops and witnesses too, which the hash leaves out.
      for (const person of PEOPLE)
        assert.deepEqual(
          readHolding(restored, 0, bytesOf(person)),
          readHolding(whole, 0, bytesOf(person)),
        )
    }),
    RUNS,
  )
})

test('sums of gross flow stay exact beyond 64 bits, also in a checkpoint', async () => {
  const [a, b] = PEOPLE as [string, string]
  const amount = 2n ** 63n - 1n
  const index = new FlowIndex([])
  index.beginBlock(1, 0)
  for (let i = 0; i < 6; i++) {
    applyMove(
      index,
      { asset: 0, from: i % 2 === 0 ? a : b, to: i % 2 === 0 ? b : a, amount },
      i + 1,
    )
  }
  for (const one of [index, await readCheckpoint([], writeCheckpoint(index))]) {
    const holding = readHolding(one, 0, bytesOf(a))!
    assert.equal(vector(holding, 'received')[UNIDENTIFIED], 4n * amount)
    assert.equal(holding.sent, 3n * amount)
    assert.equal(holding.balance, amount)
  }
})

/** How often a transfer rounds: when it is shared out; for a sender whose label is believed in
 *  part, also when that part is turned and when the rest is shared out. */
function roundings(labels: readonly Label[], from: string, time_ms: number): number {
  const reference = new Reference(labels)
  reference.now_ms = time_ms
  return reference.label(from) ? 3 : 1
}

test('splitting a transfer changes each category by less than a unit a rounding', () => {
  const parts = fc.array(fc.bigInt(1n, 2n ** 45n), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(
      history,
      parts,
      fc.constantFrom(...PEOPLE.slice(0, 3)),
      ({ labels, blocks }, amounts, from) => {
        const to = 'ff'.repeat(20)
        const send = (pieces: readonly bigint[]) => {
          const index = applyAll(new FlowIndex(labels), blocks)
          for (const piece of pieces)
            applyMove(index, { asset: 0, from, to, amount: piece }, index.sequence + 1)
          return vector(readHolding(index, 0, bytesOf(to))!, 'received')
        }
        // Enough is there before, so that what is not known of is the same however it is sent.
        const total = sum(amounts)
        const enough: Block = {
          time_ms: blocks.length * 3,
          freezes: [],
          moves: [{ asset: 0, from: 'ee'.repeat(20), to: from, amount: total }],
        }
        blocks.push(enough)
        const whole = send([total])
        const split = send(amounts)
        blocks.pop()
        const off = BigInt(roundings(labels, from, enough.time_ms) * (amounts.length + 1))
        for (const [k, part] of whole.entries()) {
          const difference = split[k]! - part
          assert.ok(difference < off && -difference < off, `${k}: ${difference}`)
        }
      },
    ),
    RUNS,
  )
})

test("dust changes a category's share by no more than its own share of the received", () => {
  fc.assert(
    fc.property(
      history,
      fc.bigInt(1n, 1000n),
      fc.constantFrom(...PEOPLE),
      ({ labels, blocks }, dust, victim) => {
        const mixer = 'dd'.repeat(20)
        const marked: Label[] = [
          ...labels,
          {
            address: mixer,
            category: categoryNumber('mixer')!,
            confidence: 100,
            kind: 'curated',
            from_ms: -Infinity,
            to_ms: Infinity,
          },
        ]
        const index = applyAll(new FlowIndex(marked), blocks)
        index.beginBlock(blocks.length + 1, blocks.length * 3)
        const received = () => {
          const holding = readHolding(index, 0, bytesOf(victim))
          return holding ? vector(holding, 'received') : zeros()
        }
        const before = received()
        applyMove(index, { asset: 0, from: mixer, to: victim, amount: dust }, index.sequence + 1)
        const after = received()
        const k = categoryNumber('mixer')!
        assert.equal(after[k]! - before[k]!, dust)
        assert.equal(sum(after) - sum(before), dust)
      },
    ),
    RUNS,
  )
})

test('recomputing from the first transfer that a label touches equals a rebuild', async () => {
  await fc.assert(
    fc.asyncProperty(history, label, async ({ labels, blocks }, added) => {
      const touched = blocks.findIndex(({ moves }) =>
        moves.some(
          ({ from, to, amount: q }) =>
            q > 0n && from !== to && (from === added.address || to === added.address),
        ),
      )
      const relabelled = [...labels, added]
      const rebuilt = applyAll(new FlowIndex(relabelled), blocks)
      const cut = touched < 0 ? blocks.length : touched
      const before = applyAll(new FlowIndex(labels), blocks.slice(0, cut))
      const resumed = await readCheckpoint(relabelled, writeCheckpoint(before))
      assert.equal(stateHash(applyAll(resumed, blocks, cut)), stateHash(rebuilt))
    }),
    RUNS,
  )
})
