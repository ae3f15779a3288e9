// The limits of what is signed, by sums alone: how much each is, over how long, and what counts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { LIMIT_NAMES, type LimitsConfig, limitsInForce, SignedSums } from './signing_limits.ts'

const TRX = 1_000_000n
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const [one, other] = ['one', 'other'].map((name) => person(name).address)
const DELEGATE = 'DelegateResourceContract'
const ACTIVATE = 'AccountCreateContract'
const REFUND = 'TransferContract'

/** Something that is signed for a wallet, of 10 TRX at time 0 if nothing else is said. */
const signed = (
  type: string,
  { at = 0, sun = 10n * TRX, wallet = one!, signatures = 1n } = {},
) => ({
  type,
  at,
  sun,
  wallet,
  signatures,
})

/** The name of the limit that stops it. */
const stops = (sums: SignedSums, next: ReturnType<typeof signed>, wanted: LimitsConfig) =>
  sums.above(next, wanted, undefined)?.split(':')[0]

test('what nobody has set is as large as the stakes say, or as it always is', () => {
  const always = { activations_day: 200n, refund_trx_day: 5_000n * TRX, refunds_hour: 100n }
  const unknown = {
    delegated_trx_hour: null,
    delegated_trx_day: null,
    wallet_trx_hour: null,
    wallet_trx_day: null,
    delegations_minute: null,
  }
  assert.deepEqual(limitsInForce({}, undefined), { ...unknown, ...always })
  const nothing = Object.fromEntries(Object.keys(unknown).map((name) => [name, 0n]))
  const none = { ...nothing, ...always, delegations_minute: 600n }
  assert.deepEqual(limitsInForce({}, new Map()), none)
  const sums = (all: bigint, most: bigint, wallets: bigint) => ({
    delegated_trx_hour: (all * 3n) / 2n,
    delegated_trx_day: all * 24n,
    wallet_trx_hour: (most * 3n) / 2n,
    wallet_trx_day: most * 24n,
    delegations_minute: 600n * wallets,
    ...always,
  })
  assert.deepEqual(limitsInForce({}, new Map([[one!, 400n]])), sums(400n, 400n, 1n))
  const stakes: [string, bigint][] = [
    [one!, 400n],
    [other!, 1_000n],
  ]
  for (const in_order of [stakes, stakes.toReversed()])
    assert.deepEqual(limitsInForce({}, new Map(in_order)), sums(1_400n, 1_000n, 2n))
})

test('what is set is a number, or whole TRX where its name says so', () => {
  for (const stakes of [undefined, new Map([[one!, 400n]])]) {
    const wanted = Object.fromEntries(LIMIT_NAMES.map((name, i) => [name, i + 7]))
    const expected = LIMIT_NAMES.map((name, i) => [
      name,
      BigInt(i + 7) * (name.includes('_trx_') ? TRX : 1n),
    ])
    assert.deepEqual(limitsInForce(wanted, stakes), Object.fromEntries(expected))
  }
})

const CASES: [keyof LimitsConfig, string, number, number][] = [
  ['delegated_trx_hour', DELEGATE, 20, HOUR_MS],
  ['delegated_trx_day', DELEGATE, 20, DAY_MS],
  ['wallet_trx_hour', DELEGATE, 20, HOUR_MS],
  ['wallet_trx_day', DELEGATE, 20, DAY_MS],
  ['delegations_minute', DELEGATE, 2, MINUTE_MS],
  ['activations_day', ACTIVATE, 2, DAY_MS],
  ['refund_trx_day', REFUND, 20, DAY_MS],
  ['refunds_hour', REFUND, 2, HOUR_MS],
]

test('each limit is reached and not passed, and counts what it is for and nothing else', () => {
  for (const [name, type, most] of CASES) {
    const sums = new SignedSums()
    const wanted = { [name]: most }
    for (const another of [DELEGATE, ACTIVATE, REFUND, 'UnDelegateResourceContract'])
      if (another !== type) for (let i = 0; i < 5; i++) sums.add(signed(another))
    sums.add(signed(type))
    assert.equal(stops(sums, signed(type), wanted), undefined, `${name}: as much as it is`)
    sums.add(signed(type))
    assert.equal(stops(sums, signed(type, { sun: 1n }), wanted), name)
    for (const another of [DELEGATE, ACTIVATE, REFUND])
      if (another !== type) assert.equal(stops(sums, signed(another), wanted), undefined, name)
    const of_another = stops(sums, signed(type, { wallet: other! }), wanted)
    assert.equal(of_another, name.startsWith('wallet') ? undefined : name)
  }
})

test('what was signed counts until its time is over, and not after', () => {
  for (const [name, type, most, span_ms] of CASES) {
    const sums = new SignedSums()
    const wanted = { [name]: most }
    const step_ms = span_ms / 60
    for (let i = 0; i < 2; i++) sums.add(signed(type))
    const last_ms = span_ms + step_ms - 1
    assert.equal(stops(sums, signed(type, { at: last_ms }), wanted), name)
    assert.equal(stops(sums, signed(type, { at: last_ms + 1 }), wanted), undefined, name)
  }
})

test('several together count as many, and what is taken back counts no more', () => {
  for (const [name, type, most] of CASES) {
    const sums = new SignedSums()
    const wanted = { [name]: most }
    const both = signed(type, { sun: 20n * TRX, signatures: 2n })
    sums.add(both)
    assert.equal(stops(sums, signed(type), wanted), name)
    sums.remove(both)
    for (let i = 0; i < 2; i++) sums.add(signed(type))
    assert.equal(stops(sums, signed(type), wanted), name)
    sums.remove(signed(type))
    assert.equal(stops(sums, signed(type), wanted), undefined, name)
    assert.equal(stops(sums, signed(type, { sun: 20n * TRX, signatures: 3n }), wanted), name)
  }
})

test('by its stake a wallet is stopped, and one without any stake at once', () => {
  const sums = new SignedSums()
  const stakes = new Map([[one!, 20n * TRX]])
  const above = (next: ReturnType<typeof signed>) => sums.above(next, {}, stakes)
  assert.equal(above(signed(DELEGATE, { sun: 30n * TRX })), undefined)
  assert.equal(
    above(signed(DELEGATE, { sun: 30n * TRX + 1n, at: HOUR_MS })),
    'delegated_trx_hour: 0 and 30000001 more is above 30000000',
  )
  assert.match(above(signed(DELEGATE, { sun: 1n, wallet: other! }))!, /^wallet_trx_hour: 0 and 1 /)
})
