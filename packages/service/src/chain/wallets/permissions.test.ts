// What a hot key may do, by the accounts of a development chain.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Person, person, Scene, TRX } from 'penstock-devchain/scene.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { Outage } from '../../lib/fault.ts'
import { type Node, type Transport, tronNode } from '../node/node.ts'
import { lookAtKeys, type OwnWallets } from './permissions.ts'

const POOL = '0000000000000006'.padEnd(64, '0')
const CREATE = '01'.padEnd(64, '0')
const EVERYTHING = '7fff1fc0033efb0f'.padEnd(64, '0')

const [pool, activation, recharge] = [person('pool'), person('activation'), person('recharge')]
const [hot, other, stranger] = [person('pool hot'), person('activation hot'), person('stranger')]

const keys = (...people: Person[]) => people.map(({ hex }) => ({ address: hex, weight: 1n }))
const owned = (...people: Person[]) => ({
  permission_name: 'owner',
  threshold: 1n,
  keys: keys(...people),
})
const active = (operations: string, people: Person[], threshold = 1n) => ({
  type: 'Active',
  permission_name: 'hot',
  threshold,
  operations,
  keys: keys(...people),
})

const wallets: OwnWallets = {
  pool: [{ address: pool.address, permission_id: 2, private_key: hot.key }],
  activation: { address: activation.address, permission_id: 2, private_key: other.key },
  recharge_address: recharge.address,
}

type Set = { owner?: Message; witness?: Message; actives?: Message[] }

/** A chain on which the pool wallet's permissions are these, and the activation wallet's are
 *  right. */
function chainWith({ owner = owned(pool), actives = [active(POOL, [hot])], ...more }: Set): Scene {
  const scene = new Scene({ pool: 20_000n * TRX, activation: 1_000n * TRX, recharge: TRX })
  const right = { owner: owned(activation), actives: [active(CREATE, [other])] }
  scene.do(activation, 'AccountPermissionUpdateContract', right)
  if (more.witness)
    scene.do(pool, 'WitnessCreateContract', { url: Buffer.from('us').toString('hex') })
  scene.do(pool, 'AccountPermissionUpdateContract', { owner, actives, ...more })
  return scene
}

const transportTo =
  (...scenes: readonly (Scene | undefined)[]): Transport =>
  async ({ url, body }) => {
    const { hostname, pathname } = new URL(url)
    const scene = scenes[Number(hostname.slice(4))]
    if (!scene) throw new Error('ECONNREFUSED')
    return scene.devchain.request('POST', pathname, body)
  }

const nodesOf = (...scenes: readonly (Scene | undefined)[]): Node =>
  tronNode({
    nodes: scenes.map((_, i) => ({ url: `http://node${i}` })),
    transport: transportTo(...scenes),
  })

const said = async (scene: Scene, of: OwnWallets = wallets) =>
  (await lookAtKeys(nodesOf(scene), of)).complaints.map((one) => [one.wide, one.said])

const about = (what: string) => `The key for ${pool.address} (pool) ${what}.`

test('a key that may do what its line says, by one permission, is right', async () => {
  assert.deepEqual(await said(chainWith({})), [])
})

test("a hot key that is the owner's too is found, also beside another owner", async () => {
  const wide = [
    [true, about(`is in the owner permission of ${pool.address}: it can do everything there`)],
  ]
  assert.deepEqual(await said(chainWith({ owner: owned(hot) })), wide)
  assert.deepEqual(await said(chainWith({ owner: { ...owned(pool, hot), threshold: 2n } })), wide)
})

test("the account's own key as its hot key has the owner's rights", async () => {
  const own: OwnWallets = { ...wallets, pool: [{ ...wallets.pool[0]!, private_key: pool.key }] }
  const scene = new Scene({ pool: 20_000n * TRX, activation: 1_000n * TRX, recharge: TRX })
  scene.do(activation, 'AccountPermissionUpdateContract', {
    owner: owned(activation),
    actives: [active(CREATE, [other])],
  })
  const lines = (await said(scene, own)).map(([, what]) => what)
  assert.ok(
    lines.includes(
      about(`is in the owner permission of ${pool.address}: it can do everything there`),
    ),
  )
  assert.ok(lines.some((line) => String(line).includes('may also use contract type')))
})

test('a hot key in another active permission is found, whatever that may do', async () => {
  const scene = chainWith({ actives: [active(POOL, [hot]), active(EVERYTHING, [hot])] })
  assert.deepEqual(await said(scene), [[true, about(`is in permission 3 of ${pool.address} too`)]])
})

test('a hot key in the witness permission is found', async () => {
  const witness = { type: 'Witness', permission_name: 'witness', threshold: 1n, keys: keys(hot) }
  assert.deepEqual(await said(chainWith({ witness })), [
    [true, about(`is in the witness permission of ${pool.address}`)],
  ])
})

test('a hot key that may act for another wallet of ours is found', async () => {
  const scene = chainWith({})
  scene.devchain.fund(recharge.address, 1_000n * TRX)
  scene.mine()
  scene.do(recharge, 'AccountPermissionUpdateContract', {
    owner: owned(hot),
    actives: [active(POOL, [stranger])],
  })
  assert.deepEqual(await said(scene), [
    [true, about(`is in the owner permission of ${recharge.address}: it can do everything there`)],
  ])
})

test('one key may be the hot key of several wallets when their lines say so', async () => {
  const scene = chainWith({})
  const second = person('recharge')
  scene.devchain.fund(second.address, 1_000n * TRX)
  scene.mine()
  scene.do(second, 'AccountPermissionUpdateContract', {
    owner: owned(second),
    actives: [active(POOL, [hot])],
  })
  const line = { address: second.address, permission_id: 2, private_key: hot.key }
  const of = { ...wallets, pool: [...wallets.pool, line], recharge_address: stranger.address }
  assert.deepEqual(await said(scene, of), [])
})

test('another key in the permission is named unless it is listed as spare', async () => {
  const scene = chainWith({ actives: [active(POOL, [hot, stranger])] })
  const shared = `shares permission 2 with ${stranger.address}, which is not among its spare_keys`
  assert.deepEqual(await said(scene), [[true, about(shared)]])
  const spare = { ...wallets, pool: [{ ...wallets.pool[0]!, spare_keys: [stranger.address] }] }
  assert.deepEqual(await said(scene, spare), [])
})

test('a key below the threshold, with too few rights or absent, cannot act', async () => {
  const weak = chainWith({ actives: [active(POOL, [hot, stranger], 2n)] })
  assert.deepEqual(await said(weak), [[false, about('cannot act alone with permission 2')]])
  assert.deepEqual(await said(chainWith({ actives: [active(CREATE, [hot])] })), [
    [false, about('lacks contract type 57, 58')],
    [true, about('may also use contract type 0')],
  ])
  const absent = { ...wallets, pool: [{ ...wallets.pool[0]!, permission_id: 7 }] }
  assert.deepEqual(
    (await said(chainWith({}), absent)).map(([, what]) => what),
    [
      about('cannot act alone with permission 7'),
      about(`is in permission 2 of ${pool.address} too`),
    ],
  )
})

test('every node is asked: any complaint counts, and a missing node stops nothing', async () => {
  const [right, wide] = [chainWith({}), chainWith({ owner: owned(hot) })]
  for (const node of [
    nodesOf(right, wide),
    nodesOf(wide, right),
    nodesOf(undefined, right, wide),
  ]) {
    assert.equal((await lookAtKeys(node, wallets)).complaints.length, 1)
  }
  assert.deepEqual((await lookAtKeys(nodesOf(undefined, right), wallets)).complaints, [])
  await assert.rejects(lookAtKeys(nodesOf(undefined, undefined), wallets), Outage)
})

test('what is staked is read with what of it is delegated', async () => {
  const scene = new Scene({ pool: 20_000n * TRX, bob: TRX })
  scene.do(pool, 'FreezeBalanceV2Contract', { frozen_balance: 500n * TRX, resource: 'ENERGY' })
  scene.do(pool, 'FreezeBalanceV2Contract', { frozen_balance: 70n * TRX, resource: 'BANDWIDTH' })
  scene.do(pool, 'DelegateResourceContract', {
    receiver_address: addressToHex(person('bob').address),
    balance: 200n * TRX,
    resource: 'ENERGY',
  })
  const { staked_sun } = await nodesOf(scene).account(pool.address)
  assert.deepEqual(staked_sun, { energy: 500n * TRX, bandwidth: 70n * TRX })
})
