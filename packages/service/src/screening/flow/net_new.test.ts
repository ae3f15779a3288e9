// What is new of what arrives, by units that are never lost or made: money that was at an address
// before and comes back is not counted there again, however long it was away and through however
// many hands it went.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CATEGORY_COUNT, categoryNumber } from './categories.ts'
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts'
import { FlowIndex, PERIOD_BLOCKS } from './flow_index.ts'
import { readHolding } from './holdings.ts'
import type { Label } from './labels.ts'
import { addressWords } from './memory.ts'

const EXCHANGE = categoryNumber('exchange_licensed')!
const STOLEN = categoryNumber('stolen_coins')!
const TRX = 1_000_000

const addressOf = (n: number): Buffer => {
  const bytes = Buffer.alloc(20)
  for (let i = 0; i < 20; i += 4) bytes.writeUInt32LE(Math.imul(n + 1 + i, 0x9e3779b1) >>> 0, i)
  return bytes
}
const label = (n: number, category: number): Label => ({
  address: addressOf(n).toString('hex'),
  category,
  confidence: 100,
  kind: 'curated',
  from_ms: -Infinity,
  to_ms: Infinity,
})

/** An exchange and a thief; whoever else is named by a number. */
const [EXCHANGE_AT, THIEF_AT] = [1_000, 1_001]
const LABELS = [label(EXCHANGE_AT, EXCHANGE), label(THIEF_AT, STOLEN)]

type Move = { from: number; to: number; amount: number }

class Ledger {
  index = new FlowIndex(LABELS)
  private sequence = 0
  block = 1
  constructor() {
    this.index.beginBlock(this.block, 0)
  }
  move({ from, to, amount }: Move): void {
    const slot = (n: number) => this.index.slot(0, addressWords(addressOf(n)))
    const words = { low: amount % 2 ** 32, high: Math.floor(amount / 2 ** 32) }
    this.index.transfer(slot(from), slot(to), words, ++this.sequence)
  }
  begin(block: number): void {
    this.block = block
    this.index.beginBlock(block, block)
  }
  of(n: number) {
    const holding = readHolding(this.index, 0, addressOf(n))
    const by = (field: 'held' | 'received' | 'net_new' | 'recent') => {
      const all = Array<bigint>(CATEGORY_COUNT).fill(0n)
      for (const portion of holding?.portions ?? []) all[portion.category] = portion[field]
      return all
    }
    return {
      held: by('held'),
      received: by('received'),
      net_new: by('net_new'),
      recent: by('recent'),
    }
  }
}

const total = (all: readonly bigint[]) => all.reduce((a, b) => a + b, 0n)
const severeShare = (all: readonly bigint[]) => Number(all[STOLEN]!) / Number(total(all))

const moves = (people: number) =>
  fc.record({
    from: fc.nat(people - 1),
    to: fc.nat(people - 1),
    amount: fc.integer({ min: 1, max: 2_000 * TRX }),
  })

test('a unit is new where it was not before: never fewer than are held, nor more than came', () => {
  const inflow = fc.record({
    from: fc.constantFrom(EXCHANGE_AT, THIEF_AT),
    to: fc.nat(4),
    amount: fc.integer({ min: 1, max: 5_000 * TRX }),
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(inflow, moves(5)), { maxLength: 60 }), (all) => {
      const ledger = new Ledger()
      for (const move of all) ledger.move(move)
      for (let n = 0; n < 5; n++) {
        const { held, received, net_new, recent } = ledger.of(n)
        for (let k = 0; k < CATEGORY_COUNT; k++) {
          assert.ok(held[k]! <= net_new[k]! && net_new[k]! <= received[k]!)
          assert.equal(recent[k], net_new[k])
        }
      }
    }),
  )
})

test('among addresses of one owner, no more is ever new than twice what they have', () => {
  const capital = fc.array(
    fc.record({
      from: fc.constantFrom(EXCHANGE_AT, THIEF_AT),
      to: fc.nat(5),
      amount: fc.integer({ min: 1, max: 5_000 * TRX }),
    }),
    { minLength: 1, maxLength: 8 },
  )
  fc.assert(
    fc.property(capital, fc.array(moves(6), { minLength: 1, maxLength: 40 }), (all, trips) => {
      const ledger = new Ledger()
      for (const move of all) ledger.move(move)
      const owned = () => [0, 1, 2, 3, 4, 5].map((n) => total(ledger.of(n).held))
      const had = total(owned())
      let count = 0
      for (let lap = 0; lap < 40; lap++) {
        for (const { from, to, amount } of trips) {
          const most = Math.min(amount, Number(total(ledger.of(from).held)))
          if (most === 0) continue
          ledger.move({ from, to, amount: most })
          count += 1
        }
      }
      assert.equal(total(owned()), had, 'trips make and lose nothing')
      for (let n = 0; n < 6; n++)
        assert.ok(total(ledger.of(n).net_new) <= 2n * had + BigInt(count * 2), `${n}`)
    }),
    { numRuns: 60 },
  )
})

test('a lap of clean money over any number of own addresses is as good as three hundred', () => {
  const setting = fc.record({
    stolen: fc.integer({ min: 100 * TRX, max: 50_000 * TRX }),
    clean: fc.integer({ min: 100 * TRX, max: 50_000 * TRX }),
    others: fc.integer({ min: 1, max: 12 }),
    part: fc.integer({ min: 10, max: 100 }),
    kept: fc.boolean(),
  })
  fc.assert(
    fc.property(setting, ({ stolen, clean, others, part, kept }) => {
      const ledger = new Ledger()
      ledger.move({ from: THIEF_AT, to: 99, amount: stolen })
      ledger.move({ from: 99, to: 0, amount: stolen })
      if (!kept) ledger.move({ from: 0, to: 98, amount: stolen })
      ledger.move({ from: EXCHANGE_AT, to: 1, amount: clean })
      const amount = Math.floor((clean * part) / 100)
      const lap = () => {
        for (let n = 1; n < others; n++) ledger.move({ from: n, to: n + 1, amount })
        ledger.move({ from: others, to: 0, amount })
        ledger.move({ from: 0, to: 1, amount })
      }
      lap()
      const after_one = severeShare(ledger.of(0).net_new)
      const gross_after_one = severeShare(ledger.of(0).received)
      for (let i = 0; i < 300; i++) lap()
      const share = severeShare(ledger.of(0).net_new)
      // Clean money that was never here is new when it first comes; it comes once.
      const owned = stolen + clean
      assert.ok(share >= stolen / (2 * owned), `${share}`)
      if (!kept) assert.ok(share >= stolen / owned - 1e-4, `${share}`)
      if (part === 100) assert.ok(Math.abs(share - after_one) <= 0.01, `${after_one} ${share}`)
      // Shares are rounded to the sun at each move, some hundred times.
      assert.ok(severeShare(ledger.of(0).received) <= gross_after_one + 1e-6)
    }),
    { numRuns: 200 },
  )
})

test('dust that comes is new, and no more than it is', () => {
  const ledger = new Ledger()
  ledger.move({ from: EXCHANGE_AT, to: 0, amount: 1_000 * TRX })
  for (let i = 0; i < 50; i++) {
    ledger.move({ from: 0, to: 1, amount: 1_000 * TRX })
    ledger.move({ from: 1, to: 0, amount: 1_000 * TRX })
  }
  ledger.move({ from: THIEF_AT, to: 0, amount: TRX })
  const { net_new, received } = ledger.of(0)
  assert.equal(net_new[STOLEN], BigInt(TRX))
  assert.equal(net_new[EXCHANGE], BigInt(1_000 * TRX))
  assert.equal(received[EXCHANGE], BigInt(51_000 * TRX))
})

test("what comes back mixed with another's is new as far as it is another's", () => {
  const ledger = new Ledger()
  ledger.move({ from: EXCHANGE_AT, to: 0, amount: 100 * TRX })
  ledger.move({ from: 0, to: 1, amount: 100 * TRX })
  ledger.move({ from: THIEF_AT, to: 2, amount: 100 * TRX })
  ledger.move({ from: 2, to: 1, amount: 100 * TRX })
  ledger.move({ from: 1, to: 0, amount: 200 * TRX })
  const { net_new } = ledger.of(0)
  assert.equal(net_new[STOLEN], BigInt(100 * TRX), 'none of it was ever here')
  assert.ok(net_new[EXCHANGE]! >= BigInt(100 * TRX))
  assert.ok(net_new[EXCHANGE]! <= BigInt(150 * TRX))
})

test('a token that moves in numbers beyond doubles is counted like any other', () => {
  const large = 2 ** 60
  const ledger = new Ledger()
  ledger.move({ from: EXCHANGE_AT, to: 0, amount: large })
  for (let i = 0; i < 20; i++) {
    ledger.move({ from: 0, to: 1, amount: large })
    ledger.move({ from: 1, to: 0, amount: large })
  }
  const { net_new, received } = ledger.of(0)
  assert.equal(net_new[EXCHANGE], BigInt(large))
  assert.equal(received[EXCHANGE], 21n * BigInt(large))
})

test('what is recent came in this period of 45 days or the one before', () => {
  const ledger = new Ledger()
  const day = PERIOD_BLOCKS / 45
  ledger.begin(10 * day)
  ledger.move({ from: EXCHANGE_AT, to: 0, amount: 1_000 })
  ledger.begin(50 * day)
  ledger.move({ from: THIEF_AT, to: 0, amount: 10 })
  assert.deepEqual(
    [EXCHANGE, STOLEN].map((k) => ledger.of(0).recent[k]),
    [1_000n, 10n],
  )
  ledger.begin(100 * day)
  assert.deepEqual(
    [EXCHANGE, STOLEN].map((k) => ledger.of(0).recent[k]),
    [0n, 10n],
    'also where nothing has moved in it yet',
  )
  ledger.move({ from: EXCHANGE_AT, to: 0, amount: 7 })
  ledger.begin(140 * day)
  assert.deepEqual(
    [EXCHANGE, STOLEN].map((k) => ledger.of(0).recent[k]),
    [7n, 0n],
  )
  ledger.begin(400 * day)
  assert.deepEqual(
    [EXCHANGE, STOLEN].map((k) => ledger.of(0).recent[k]),
    [0n, 0n],
  )
})

test('a saved index goes on as if it had not been', async () => {
  const whole = new Ledger()
  const cut = new Ledger()
  const all: Move[] = [
    { from: EXCHANGE_AT, to: 0, amount: 5_000 },
    { from: THIEF_AT, to: 1, amount: 700 },
    { from: 1, to: 0, amount: 600 },
    { from: 0, to: 2, amount: 3_333 },
    { from: 2, to: 1, amount: 3_000 },
  ]
  const rest: Move[] = [
    { from: 1, to: 0, amount: 2_000 },
    { from: 0, to: 1, amount: 1_000 },
  ]
  for (const [i, move] of all.entries()) {
    for (const one of [whole, cut]) {
      one.begin((i + 1) * 600_000)
      one.move(move)
    }
  }
  cut.index = await readCheckpoint(LABELS, [...writeCheckpoint(cut.index)])
  for (const one of [whole, cut]) {
    one.begin(4_000_000)
    for (const move of rest) one.move(move)
  }
  for (const n of [0, 1, 2]) assert.deepEqual(cut.of(n), whole.of(n))
})
