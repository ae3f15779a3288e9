// One transaction of ours, from the wish for it to its end, on a development chain.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Person, person } from 'penstock-devchain/scene.ts'
import { makeWorld, type World } from 'penstock-test/harness/world.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { sign as signHash } from 'penstock-tron/keys.ts'
import { type Contract, contract, decodeRawData, transactionId } from 'penstock-tron/transaction.ts'
import { Outage } from '../../lib/fault.ts'
import { silentLog } from '../../lib/log.ts'
import { brokenConstraint } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type Node, tronNode } from '../node/node.ts'
import type { Signer } from '../signing/signer.ts'
import { enqueueAttempt, includeAttempts, judgeStep, signStep } from './attempts.ts'

type Row = {
  id: string
  subject: string
  state: string
  tx_id: string | null
  signed: Buffer | null
  expires_at: Date | null
  sends: number
  answer: string | null
  block_number: bigint | null
}

function step(world: World, name: string): Step {
  const found = world.app.steps.find((one) => one.name === name)
  assert.ok(found)
  return found
}

/** Buys the activation of somebody. Returns the attempt that is to make it. */
async function wish(world: World, somebody: Person): Promise<string> {
  const customer = await world.customer({ trx: 50 })
  await customer.buy({ service: 'activate_address', params: { address: somebody.address } })
  await step(world, 'activate').run()
  const [activation] = await world.sql<{ attempt_id: string }>`
    select attempt_id from activation where address = ${somebody.address}`
  return activation!.attempt_id
}

/** Writes an attempt as nobody here does: no row asks for it. */
function forge(world: World, subject: string, of: Contract): Promise<string> {
  const needs = { clock: { now: () => world.now }, new_id: world.app.new_id }
  return world.sql.begin(async (tx) => enqueueAttempt(tx, needs, { subject, contract: of }))
}

/** A payment of a pool wallet to somebody. */
const theft = contract('TransferContract', {
  owner_address: person('pool-0').hex,
  to_address: person('thief').hex,
  amount: 5n,
})

async function look(world: World, id: string): Promise<Row> {
  const [row] = await world.sql<Row>`select * from attempt where id = ${id}`
  return row!
}

async function withWish(t: TestContext): Promise<{ world: World; id: string }> {
  const world = await makeWorld(t)
  return { world, id: await wish(world, person('nina')) }
}

test('it is signed and stored before it is sent, and sent as it was stored', async (t) => {
  const { world, id } = await withWish(t)
  const paths: string[] = []
  world.network.onRequest = (path) => paths.push(path)
  await step(world, 'sign').run()
  const signed = await look(world, id)
  assert.equal(signed.state, 'signed')
  assert.equal(signed.sends, 0)
  assert.deepEqual(paths, [], 'signing asks nobody')
  await step(world, 'send').run()
  const sent = await look(world, id)
  assert.deepEqual([sent.state, sent.sends, sent.answer], ['sent', 1, 'SUCCESS'])
  assert.deepEqual(sent.signed, signed.signed)
  assert.equal(world.scene.devchain.chain.pendingTransactions()[0]?.id, sent.tx_id)
  world.mine()
  await world.drain()
  assert.equal((await look(world, id)).state, 'included')
  await world.solidify()
  assert.equal((await look(world, id)).state, 'solid')
})

test('a chain that is days ahead of our clock is signed for all the same', async (t) => {
  const { world, id } = await withWish(t)
  world.scene.wait(3 * 86_400)
  await world.drain()
  assert.equal((await look(world, id)).state, 'sent')
  world.mine()
  await world.drain()
  assert.equal((await look(world, id)).state, 'included')
})

test('the same bytes go out again every five seconds until they expire', async (t) => {
  const { world, id } = await withWish(t)
  const sent: string[] = []
  world.network.loses = () => true
  world.network.onRequest = (path) => path.endsWith('broadcasthex') && sent.push(path)
  await world.drain()
  assert.equal(sent.length, 1)
  world.wait(4)
  await world.drain()
  assert.equal(sent.length, 1)
  world.wait(1)
  await world.drain()
  assert.equal(sent.length, 2)
  world.mine(19)
  await world.drain()
  assert.equal(sent.length, 3)
  assert.equal((await look(world, id)).state, 'sent')
  world.mine(1)
  world.wait(10)
  await world.drain()
  assert.equal(sent.length, 3, 'the chain would not take it any more')
})

test('it is dead when a solid block is past its time, and not one block sooner', async (t) => {
  const { world, id } = await withWish(t)
  world.network.loses = () => true
  await world.drain()
  const { expires_at } = await look(world, id)
  for (let blocks = 0; (await look(world, id)).state !== 'dead'; blocks++) {
    assert.ok(blocks < 60)
    const parent = world.scene.devchain.chain.block(world.scene.devchain.solid.header.number - 1)!
    assert.ok(parent.header.timestamp < expires_at!.getTime(), 'it should be dead by now')
    world.mine()
    await world.drain()
  }
  const parent = world.scene.devchain.chain.block(world.scene.devchain.solid.header.number - 1)!
  assert.ok(parent.header.timestamp >= expires_at!.getTime())
})

test('its subject has one that is alive; another only when the first is dead', async (t) => {
  const { world, id } = await withWish(t)
  const { subject } = await look(world, id)
  const again = () => forge(world, subject, theft)
  await assert.rejects(again(), (thrown) => brokenConstraint(thrown) === 'attempt_one_alive')
  world.network.loses = () => true
  await world.drain()
  await assert.rejects(again(), (thrown) => brokenConstraint(thrown) === 'attempt_one_alive')
  world.network.loses = () => false
  world.mine(45)
  await world.drain()
  assert.equal((await look(world, id)).state, 'dead')
  await world.settle()
  const [second] =
    await world.sql<Row>`select * from attempt where subject = ${subject} and id <> ${id}`
  assert.equal(second?.state, 'included')
})

test('a node that is behind, or has it, or is silent, keeps it alive', async (t) => {
  const { world, id } = await withWish(t)
  await step(world, 'sign').run()
  const { tx_id } = await look(world, id)
  // Everything but the judge runs, so that it is late and not yet judged.
  world.mine(45)
  for (let i = 0; i < 5; i++) await step(world, 'follow').run()
  const solid_number = world.scene.devchain.solid.header.number
  const nodeWith = (number: number, has_it: boolean) => (path: string) => {
    if (path.endsWith('gettransactionbyid')) return has_it ? { txID: tx_id } : {}
    const blockID = number.toString(16).padStart(16, '0') + 'a'.repeat(48)
    return {
      blockID,
      block_header: { raw_data: { number, parentHash: 'b'.repeat(64), timestamp: 1 } },
    }
  }
  const judge = (...answers: ((path: string) => object)[]) => {
    // Past the time for which one that could not be decided lets others through.
    world.wait(6)
    const node = tronNode({
      nodes: answers.map((_, i) => ({ url: `http://${i}` })),
      transport: async ({ url }) => {
        const { hostname, pathname } = new URL(url)
        return {
          status: 200,
          body: JSON.stringify(answers[Number(hostname.split('.').at(-1))]!(pathname)),
        }
      },
    })
    return judgeStep({ sql: world.sql, clock: { now: () => world.now }, node }).run()
  }
  const agreeing = nodeWith(solid_number, false)
  assert.equal(await judge(agreeing, nodeWith(solid_number - 1, false)), false, 'one is behind')
  const [postponed] =
    await world.sql`select 1 from attempt where id = ${id} and send_at > ${world.now}`
  assert.ok(postponed, 'what cannot be decided lets others through')
  assert.equal(await judge(nodeWith(solid_number + 5, true), agreeing), false, 'one has it')
  await assert.rejects(
    judge(agreeing, () => ({ Error: 'no' })),
    Outage,
  )
  assert.equal((await look(world, id)).state, 'signed')
  assert.equal(await judge(agreeing, nodeWith(solid_number + 5, false)), true)
  assert.equal((await look(world, id)).state, 'dead')
})

test('a node that is silent about one keeps no other alive', async (t) => {
  const world = await makeWorld(t)
  const customer = await world.customer({ trx: 50 })
  for (const { address } of [person('nina'), person('olga')])
    await customer.buy({ service: 'activate_address', params: { address } })
  await step(world, 'activate').run()
  await step(world, 'sign').run()
  const [first, second] = await world.sql<Row>`select * from attempt order by id`
  world.mine(45)
  for (let i = 0; i < 5; i++) await step(world, 'follow').run()
  world.wait(6)
  const node: Pick<Node, 'solidTransaction'> = {
    async solidTransaction(tx_id) {
      if (tx_id === first!.tx_id) throw new Outage('it does not answer')
      return [{ found: false, solid_number: world.scene.devchain.solid.header.number }]
    },
  }
  const judge = judgeStep({ sql: world.sql, clock: { now: () => world.now }, node: node as Node })
  await assert.rejects(judge.run(), Outage)
  assert.equal((await look(world, first!.id)).state, 'signed')
  assert.equal((await look(world, second!.id)).state, 'dead')
})

/** A world with so many equal delegations to sign, and what makes one more. */
async function withEqualWishes(t: TestContext, count: number) {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const customer = await world.customer({ trx: 100 })
  async function buy(wanted: number): Promise<void> {
    for (let bought = 0; bought < wanted; bought++) await customer.buyEnergy(bob.address, 65_000)
    await step(world, 'delegate').run()
  }
  await buy(count)
  return { world, buy }
}

test('two equal operations at the same moment are two transactions', async (t) => {
  const { world } = await withEqualWishes(t, 3)
  const contracts = await world.sql`select distinct contract from attempt where state = 'new'`
  assert.equal(contracts.length, 1)
  await step(world, 'sign').run()
  const signed = await world.sql<Row>`select distinct tx_id from attempt where state = 'signed'`
  assert.equal(signed.length, 3)
})

test('two processes sign equal operations at the same moment as two transactions', async (t) => {
  const { world, buy } = await withEqualWishes(t, 2)
  const other = await world.startProcess()
  await step(world, 'sign').run()
  // What the first of a process has and the first of the other: their clocks show the same.
  await buy(1)
  await other.app.steps.find(({ name }) => name === 'sign')!.run()
  const signed = await world.sql<Row>`select distinct tx_id from attempt where state = 'signed'`
  assert.equal(signed.length, 3)
})

test('one whose bytes another has is given up, its neighbours are signed', async (t) => {
  const { world } = await withEqualWishes(t, 3)
  const ids = await world.sql<{ id: string }>`select id from attempt order by id`
  const [first, second] = ids.map(({ id }) => id)
  // What processes whose signers share no log may come to; each would keep to it.
  const sign: Signer = async (batch) => {
    const same = batch.find(({ attempt }) => attempt === first)!.raw_data
    return batch.map(({ attempt, raw_data }) => {
      const signed = attempt === second ? same : raw_data
      const { owner_address } = decodeRawData(signed).contract[0]!.parameter.value
      const { private_key } = world.wallets.pool.find(
        ({ address }) => addressToHex(address) === owner_address,
      )!
      const tx_id = transactionId(signed)
      return {
        state: 'signed',
        raw_data: signed,
        tx_id,
        signature: signHash(tx_id, private_key!),
        expires_at: new Date(Number(decodeRawData(signed).expiration)),
      }
    })
  }
  const clock = { now: () => world.now }
  await signStep({ sql: world.sql, clock, node: world.node, log: silentLog, sign }).run()
  const rows = await world.sql<Row>`select state, answer from attempt order by id`
  assert.deepEqual(
    rows.map(({ state, answer }) => [state, answer]),
    [
      ['signed', null],
      ['dead', 'its bytes are of another'],
      ['signed', null],
    ],
  )
  // Its order gets another.
  await world.settle()
  const open = await world.sql`select 1 from orders where state <> 'success'`
  assert.equal(open.length, 0)
})

test('of two processes that sign it, one has signed it: what is stored is sent', async (t) => {
  const { world, id } = await withWish(t)
  const other = await world.startProcess()
  const other_sign = other.app.steps.find(({ name }) => name === 'sign')!
  await Promise.all([step(world, 'sign').run(), other_sign.run(), step(world, 'sign').run()])
  await Promise.all([
    step(world, 'send').run(),
    other.app.steps.find(({ name }) => name === 'send')!.run(),
  ])
  const { tx_id } = await look(world, id)
  assert.deepEqual(
    world.scene.devchain.chain.pendingTransactions().map((one) => one.id),
    [tx_id],
  )
})

test('a late signature changes nothing: what was signed and sent stays', async (t) => {
  const { world, id } = await withWish(t)
  const sign: Signer = async (batch) => {
    await step(world, 'sign').run()
    await step(world, 'send').run()
    const late = { tx_id: 'f'.repeat(64), signature: '00'.repeat(65), expires_at: world.now }
    return batch.map(({ raw_data }) => ({ state: 'signed', raw_data, ...late }))
  }
  const needs = {
    sql: world.sql,
    clock: { now: () => world.now },
    node: world.node,
    log: silentLog,
  }
  await signStep({ ...needs, sign }).run()
  const { state, tx_id } = await look(world, id)
  assert.equal(state, 'sent')
  assert.equal(tx_id, world.scene.devchain.chain.pendingTransactions()[0]?.id)
})

test('it is solid with its block, and not one block sooner', async (t) => {
  const { world, id } = await withWish(t)
  await world.drain()
  world.mine()
  await world.drain()
  const { block_number } = await look(world, id)
  const solid = () => BigInt(world.scene.devchain.solid.header.number)
  for (let blocks = 0; (await look(world, id)).state !== 'solid'; blocks++) {
    assert.ok(blocks < 30 && solid() < block_number!, 'it should be solid by now')
    world.mine()
    await world.drain()
  }
  assert.ok(solid() >= block_number!)
})

test('a transaction that a block has as failed is not included', async (t) => {
  const { world, id } = await withWish(t)
  await step(world, 'sign').run()
  const { tx_id } = await look(world, id)
  const { header } = world.scene.devchain.head
  const head = {
    number: header.number + 1,
    id: '0',
    parent_id: '0',
    time: new Date(header.timestamp),
  }
  const nothing = { read_from: new Set<string>(), transfers: [], asset_transfers: [] }
  const { address: owner } = person('activation')
  const failed = {
    tx_id: tx_id!,
    owner,
    contract_type: 'AccountCreateContract',
    succeeded: false,
    call: undefined,
  }
  await world.sql.begin(async (tx) =>
    includeAttempts(tx, { ...head, ...nothing, transactions: [failed] }, []),
  )
  assert.equal((await look(world, id)).state, 'signed')
})

test('a refused one is given up after minutes, others never, none without a node', async (t) => {
  const { world, id } = await withWish(t)
  const refused = await forge(world, 'theft', theft)
  await world.sql`
    update attempt set send_at = ${new Date(world.now.getTime() + 1_000)} where id = ${refused}`
  world.wait(301)
  await step(world, 'judge').run()
  assert.equal((await look(world, refused)).state, 'new', 'nobody was asked')
  await step(world, 'follow').run()
  await step(world, 'judge').run()
  assert.equal((await look(world, refused)).state, 'new', 'the chain stands still')
  world.mine(120)
  while (await step(world, 'follow').run());
  assert.equal(await step(world, 'judge').run(), true, 'one is enough to go on')
  assert.equal((await look(world, refused)).state, 'dead')
  assert.equal(await step(world, 'judge').run(), false)
  assert.equal((await look(world, id)).state, 'new', 'nobody has refused it')
  await step(world, 'sign').run()
  assert.equal((await look(world, id)).state, 'signed')
  await world.sql`delete from attempt where id = ${refused}`
})

test('what the signer refuses is left with its reason; its neighbours are signed', async (t) => {
  const { world, id: good } = await withWish(t)
  const refused = await forge(world, 'theft', theft)
  const nonsense = await forge(world, 'nonsense', { ...theft, type: 'NoContract' })
  assert.equal(await step(world, 'sign').run(), true)
  const { state, answer } = await look(world, refused)
  assert.equal(state, 'new')
  assert.match(answer!, /^no key here is for a TransferContract/)
  assert.equal((await look(world, nonsense)).state, 'new')
  assert.equal((await look(world, good)).state, 'signed')
  assert.equal(await step(world, 'sign').run(), false, 'it is not tried at every run')
  await world.sql`delete from attempt where id in (${refused}, ${nonsense})`
})

test('a refused attempt is given up also while a node is silent about another', async (t) => {
  const { world, id } = await withWish(t)
  await step(world, 'sign').run()
  const refused = await forge(world, 'theft', theft)
  await step(world, 'sign').run()
  // The first is late and not judged yet; the other waits for its signature for more than five
  // minutes.
  world.mine(130)
  while (await step(world, 'follow').run());
  const silent = tronNode({
    nodes: [{ url: 'http://devchain' }],
    transport: () => Promise.reject(new Error('ECONNREFUSED')),
  })
  const judge = judgeStep({ sql: world.sql, clock: { now: () => world.now }, node: silent })
  await assert.rejects(judge.run(), Outage)
  assert.equal((await look(world, refused)).state, 'dead')
  assert.match(
    (await look(world, refused)).answer!,
    /^no key here/,
    'why it was refused stays known',
  )
  assert.equal((await look(world, id)).state, 'signed')
})

test('nothing is signed on a chain that was not heard of for half a minute', async (t) => {
  const { world, id } = await withWish(t)
  world.wait(31)
  assert.equal(await step(world, 'sign').run(), false)
  assert.equal((await look(world, id)).state, 'new')
  await world.drain()
  assert.equal((await look(world, id)).state, 'sent')
})

test('64-bit sums survive the way through the database', async (t) => {
  const world = await makeWorld(t)
  const balance = 2n ** 53n + 1n
  const value = {
    owner_address: person('pool-0').hex,
    receiver_address: person('bob').hex,
    balance,
    resource: 'ENERGY',
  }
  const id = await forge(world, 'x', contract('DelegateResourceContract', value))
  await step(world, 'sign').run()
  // The signer names the sum that it was shown.
  assert.equal((await look(world, id)).answer, `${balance} sun is too much`)
  await world.sql`delete from attempt where id = ${id}`
})
