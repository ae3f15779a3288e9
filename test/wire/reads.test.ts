// Customers' calls that ask the chain: what reaches the node, and that the market goes on whatever
// one key asks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { person } from 'penstock-devchain/scene.ts'
import { chainState, isCurrent } from 'penstock-service/chain/follow/progress.ts'
import {
  type ReadLimits,
  readBudget,
  readLimits,
} from 'penstock-service/chain/reads/read_budget.ts'
import { nodeReads, type Reads } from 'penstock-service/chain/reads/reads.ts'
import { eventually } from '../harness/eventually.ts'
import { mostInOneSecond, standingTime } from '../harness/standing_time.ts'
import { type Customer, makeWorld, type Reply, TRX, type World } from '../harness/world.ts'

/** The database answers in its own time; the test's time stands meanwhile. */
const settle = () => delay(2)

/** Lets the world's API ask the chain within a budget of so many requests a second, by a time of
 *  the test's. */
async function limitReads(world: World, limits: ReadLimits) {
  const time = standingTime(settle)
  const budget = readBudget(limits, time.timer)
  Object.assign(
    world,
    await world.startProcess({ reads: (node) => nodeReads(node, budget, time.timer) }),
  )
  return time
}

type Body = (n: number) => [path: string, body: object]

const LOOK_UPS: readonly Body[] = [
  (n) => ['/v1/address-info', { address: person(`a${n}`).address }],
  (n) => [
    '/v1/estimate-energy',
    { from_address: person(`b${n}`).address, to_address: person(`c${n}`).address },
  ],
  (n) => ['/v1/calculate', { address: person(`d${n}`).address, amount: 65_000, duration: 1 }],
]
const PURCHASES: readonly Body[] = [
  (n) => [
    '/v1/transaction/new',
    {
      service: 'energy',
      params: { address: person(`e${n}`).address, amount: 65_000, duration: 1 },
    },
  ],
  (n) => [
    '/v1/subscription/start',
    {
      subscription_id: 'unlimited_energy',
      params: { address: person(`f${n}`).address, duration: 0, transactions_limit: 0 },
    },
  ],
]

test('the look-ups of one key are at most 60 requests a second to the node', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const time = await limitReads(world, readLimits(300))
  const asked: number[] = []
  world.network.onRequest = () => asked.push(time.timer.now_ms())
  let open = 0
  const replies: Reply[] = []
  // Addresses first: 64 calls go on at once, and only of these do the requests fill the queue.
  for (const call of LOOK_UPS) {
    for (let n = 0; n < 80; n++) {
      open += 1
      void anna.call(...call(n)).then((reply) => {
        open -= 1
        replies.push(reply)
      })
    }
  }
  // Time stands until there are more than can wait: where it went on meanwhile, a slow database
  // would let them come one after the other, and none be refused.
  await eventually('one is refused', async () => replies.some(({ status }) => status === 429))
  while (open > 0) await time.pass(20, 20)
  assert.ok(asked.length > 60, String(asked.length))
  assert.ok(mostInOneSecond(asked) <= 60, String(mostInOneSecond(asked)))
  const refused = replies.filter(({ status }) => status === 429)
  assert.ok(
    refused.length > 0 && refused.length < replies.length,
    `${refused.length} of ${replies.length}`,
  )
  for (const { code, headers, error } of refused) {
    assert.deepEqual([code, headers['retry-after'], error], [429, '1', 'Too Many Requests'])
  }
  world.network.onRequest = () => {}
})

test('purchases are answered at once, however many look-ups of the customer wait', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 1_000 })
  const time = await limitReads(world, readLimits(300))
  world.scene.devchain.fund(person('e0').address, TRX)
  world.scene.devchain.fund(person('f0').address, TRX)
  let waiting = 0
  const looking = Array.from({ length: 40 }, (_, n) =>
    LOOK_UPS.map(async (call) => {
      waiting += 1
      await anna.call(...call(n))
      waiting -= 1
    }),
  ).flat()
  await settle()
  // Time stands: what had to wait for its turn would wait for ever.
  const bought = await Promise.all(PURCHASES.map((call) => anna.call(...call(0))))
  assert.deepEqual(
    bought.map(({ code }) => code),
    [0, 0],
  )
  assert.ok(waiting > 20, `${waiting} look-ups wait`)
  while (waiting > 0) await time.pass(20, 20)
  await Promise.all(looking)
})

test('an address costs three requests, and asked for again none', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const time = await limitReads(world, readLimits(300))
  let asked = 0
  world.network.onRequest = () => {
    asked += 1
  }
  const [path, body] = LOOK_UPS[0]!(0)
  assert.equal((await anna.call(path, body)).code, 0)
  assert.equal(asked, 3)
  const again = await Promise.all(Array.from({ length: 100 }, () => anna.call(path, body)))
  assert.deepEqual(new Set(again.map(({ code }) => code)), new Set([0]))
  assert.equal(asked, 3)
  await time.pass(1_000, 1_000)
  world.network.onRequest = () => {}
})

/** A provider that allows so many requests a second to a key, and suspends who asks more for 30
 *  seconds. */
function strictProvider(world: World, allowed: number): void {
  let recent: number[] = []
  let suspended_until_ms = 0
  world.network.onRequest = () => {
    const now_ms = world.now.getTime()
    recent = [...recent.filter((at_ms) => at_ms > now_ms - 1_000), now_ms]
    if (recent.length > allowed) suspended_until_ms = now_ms + 30_000
    if (now_ms < suspended_until_ms) throw new Error('429: the key is suspended for 30 s')
  }
}

/** A minute in which a key asks all it can, while the chain is followed. Says whether the service
 *  could still sell. */
async function siege(
  world: World,
  attacker: Customer,
  pass: (ms: number) => Promise<void>,
): Promise<boolean> {
  const follow = world.app.steps.find(({ name }) => name === 'follow')!
  const calls: Promise<unknown>[] = []
  for (let second = 0; second < 60; second++) {
    for (let n = 0; n < 10; n++) calls.push(attacker.call(...LOOK_UPS[0]!(second * 10 + n)))
    await pass(1_000)
    if (second % 3 === 2) world.mine()
    else world.wait(1)
    await follow.run().catch(() => {})
  }
  await pass(5_000)
  await Promise.all(calls)
  return isCurrent(await chainState(world.sql), { now: () => world.now })
}

test('a provider that suspends for too many calls is never sent too many', async (t) => {
  const world = await makeWorld(t)
  const mallory = await world.customer({ scopes: ['read'] })
  const free: (node: ReturnType<Reads>) => Reads = (node) => () => node
  Object.assign(world, await world.startProcess({ reads: free }))
  strictProvider(world, 15)
  assert.equal(await siege(world, mallory, settle), false, 'without a limit the chain is lost')
  world.network.onRequest = () => {}
  world.mine()
  await world.drain()
  const time = await limitReads(world, readLimits(6))
  strictProvider(world, 15)
  assert.equal(await siege(world, mallory, (ms) => time.pass(ms, 50)), true)
  world.network.onRequest = () => {}
})
