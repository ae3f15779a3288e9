import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from 'penstock-tron/address.ts'
import { Outage, TooManyRequests } from '../../lib/fault.ts'
import type { Reader } from './read_budget.ts'
import { keyReader, nodeReads, purchaseReader, type ReadNode } from './reads.ts'

const BOB = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' as Address

const key = (key_id: string) => keyReader({ key_id, customer_id: 'anna' })
const buyer = (key_id: string) => purchaseReader({ key_id, customer_id: 'anna' })

/** Reads of a node that counts what it is asked, within a budget whose say is set by hand. */
function setting() {
  let now_ms = 0
  const asked: string[] = []
  const say = { refused: new Set<string>(), block: 1, waits: Promise.resolve(), down: false }
  const answer = (what: string) => async () => {
    asked.push(what)
    if (say.down) throw new Outage('the node')
    return { number: asked.length, result: 'f'.repeat(10_000) }
  }
  const node = {
    account: answer('account'),
    resources: answer('resources'),
    constantCall: answer('constantCall'),
    parameters: answer('parameters'),
    whereabouts: answer('whereabouts'),
  } as unknown as ReadNode
  const weights: number[] = []
  const budget = {
    async spend<T>({ name, lane }: Reader, weight: number, ask: () => Promise<T>) {
      weights.push(weight)
      if (say.refused.has(name)) throw new TooManyRequests(1)
      if (lane === 'look_ups') await say.waits
      return ask()
    },
  }
  const timer = { now_ms: () => now_ms, wait: async () => {} }
  const followed = {
    newest: async () => ({ id: `block ${say.block}`, confirmed_at: null }),
    hasSigned: () => false,
  }
  const reads = nodeReads(node, budget, timer, followed)
  return { reads, asked, say, weights, pass: (ms: number) => (now_ms += ms) }
}

test('an answer is for all who ask the same, until the next block', async () => {
  const { reads, asked, say, pass } = setting()
  const first = await reads(key('a')).account(BOB)
  pass(2_999)
  assert.deepEqual(await reads(key('b')).account(BOB), first)
  assert.deepEqual(await reads(buyer('c')).account(BOB), first)
  await reads(key('b')).resources(BOB)
  assert.deepEqual(asked, ['account', 'resources'])
  say.block = 2
  assert.notDeepEqual(await reads(key('b')).account(BOB), first)
  assert.deepEqual(asked, ['account', 'resources', 'account'])
})

test('without a new block an answer is kept for as long as one takes', async () => {
  const { reads, asked, pass } = setting()
  await reads(key('a')).account(BOB)
  pass(3_000)
  await reads(key('a')).account(BOB)
  assert.deepEqual(asked, ['account', 'account'])
})

test('of many who ask the same at once one asks', async () => {
  const { reads, asked } = setting()
  const calls = Array.from({ length: 50 }, (_, i) => reads(key(`k${i}`)).account(BOB))
  assert.equal(new Set(await Promise.all(calls)).size, 1)
  assert.deepEqual(asked, ['account'])
})

test('a purchase waits for no look-up that waits, and a look-up shares its answer', async () => {
  const { reads, asked, say } = setting()
  const turn = Promise.withResolvers<void>()
  say.waits = turn.promise
  const looking = reads(key('a')).account(BOB)
  const bought = await reads(buyer('a')).account(BOB)
  assert.deepEqual(asked, ['account'])
  assert.deepEqual(await reads(key('b')).account(BOB), bought)
  turn.resolve()
  await looking
  assert.deepEqual(asked, ['account', 'account'])
})

test('a refusal of one is not the refusal of another who asks the same', async () => {
  const { reads, say } = setting()
  say.refused.add('key poor')
  const [poor, rich] = await Promise.allSettled([
    reads(key('poor')).account(BOB),
    reads(key('rich')).account(BOB),
  ])
  assert.deepEqual([poor.status, rich.status], ['rejected', 'fulfilled'])
})

test('calls are cached with all their parameters for a minute, long results cut', async () => {
  const { reads, asked, say, pass } = setting()
  const node = reads(key('a'))
  const call = { owner: BOB, contract: BOB, selector: 'f()', parameter: '00' }
  const { result } = await node.constantCall(call)
  assert.equal(result.length, 256)
  await node.constantCall({ ...call })
  await node.constantCall({ ...call, parameter: '01' })
  assert.deepEqual(asked, ['constantCall', 'constantCall'])
  const asks = async () => {
    await node.parameters()
    return asked.filter((what) => what === 'parameters').length
  }
  assert.equal(await asks(), 1)
  say.block = 2
  pass(59_999)
  assert.equal(await asks(), 1)
  pass(1)
  assert.equal(await asks(), 2)
})

test('what is remembered is bounded: the oldest is forgotten', async () => {
  const { reads, asked } = setting()
  const node = reads(key('a'))
  const call = (n: number) =>
    node.constantCall({ owner: BOB, contract: BOB, selector: 'f()', parameter: String(n) })
  for (let n = 0; n <= 2_000; n++) await call(n)
  await call(2_000)
  await call(1)
  assert.equal(asked.length, 2_001)
  await call(0)
  assert.equal(asked.length, 2_002)
})

test('where a transaction is weighs two requests, and is always asked', async () => {
  const { reads, asked, weights } = setting()
  const node = reads(key('a'))
  await node.whereabouts('ab')
  await node.whereabouts('ab')
  assert.deepEqual([asked.length, weights], [2, [2, 2]])
})

test('a failure is not remembered: who asks next asks the node', async () => {
  const { reads, asked, say } = setting()
  say.down = true
  await assert.rejects(reads(key('a')).account(BOB), Outage)
  say.down = false
  await reads(key('a')).account(BOB)
  assert.deepEqual(asked, ['account', 'account'])
})

test('a failure does not take away what another has been answered meanwhile', async () => {
  const { reads, asked, say } = setting()
  const turn = Promise.withResolvers<void>()
  say.waits = turn.promise
  const looking = assert.rejects(reads(key('a')).account(BOB), Outage)
  const bought = await reads(buyer('a')).account(BOB)
  turn.reject(new Outage('the node'))
  await looking
  assert.deepEqual(await reads(buyer('b')).account(BOB), bought)
  assert.deepEqual(asked, ['account'])
})

test('purchases that need the same at once share one question', async () => {
  const { reads, asked } = setting()
  await Promise.all([reads(buyer('a')).account(BOB), reads(buyer('b')).account(BOB)])
  assert.deepEqual(asked, ['account'])
})
