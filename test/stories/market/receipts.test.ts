// Receipts: proof for anybody of what an order got. A library that is not the service's verifies
// them against the published keys, and the chain has every transaction that they name, with what
// they say of it.

import assert from 'node:assert/strict'
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  sign,
} from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createVerifier, type DecodedJwt } from 'fast-jwt'
import { InvalidReceipt, type Jwks, type Receipt, verifyReceipt } from 'penstock-sdk/receipts'
import { addressFromHex } from 'penstock-tron/address.ts'
import { worldOperator } from '../../harness/operator.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

type ReceiptAnswer = { receipt: Receipt; jws: string }

const receiptOf = (anna: Customer, id: string) => anna.get<ReceiptAnswer>('/v1/receipt', { id })

async function publishedKeys(world: World) {
  const answer = await world.api.inject({ method: 'GET', url: '/.well-known/jwks.json' })
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  return answer.json() as Jwks
}

/** Verifies with a JOSE library that the service does not use. */
async function verifyElsewhere(jws: string, { keys }: Jwks): Promise<Receipt> {
  const verify = createVerifier({
    algorithms: ['EdDSA'],
    checkTyp: 'penstock-receipt+json',
    key: async ({ header }: DecodedJwt) => {
      const key = keys.find(({ kid }) => kid === (header.kid as string))
      assert.ok(key, 'the key is published')
      const made = createPublicKey({ key: key as JsonWebKey, format: 'jwk' })
      return made.export({ format: 'pem', type: 'spki' }).toString()
    },
  })
  return (await verify(jws)) as Receipt
}

/** Holds a receipt against the chain as the development chain itself answers. */
function requireOnChain(world: World, { parts, activation, order }: Receipt): void {
  const { scene } = world
  const place = (hash: string, number: number) => {
    const block = scene.post('/wallet/getblockbynum', { num: number }) as {
      blockID: string
      block_header: { raw_data: { timestamp: number } }
      transactions: {
        txID: string
        raw_data: { contract: [{ type: string; parameter: { value: Record<string, unknown> } }] }
      }[]
    }
    const found = block.transactions.find(({ txID }) => txID === hash)
    assert.ok(found, `block ${number} has ${hash}`)
    const time = new Date(block.block_header.raw_data.timestamp).toISOString()
    const [{ type, parameter }] = found.raw_data.contract
    const { value } = parameter
    return { type, value, block_id: block.blockID, block_time: `${time.slice(0, 19)}Z` }
  }
  for (const part of parts) {
    const { type, value, ...block } = place(part.hash, part.block_number)
    assert.equal(type, 'DelegateResourceContract')
    assert.deepEqual(block, { block_id: part.block_id, block_time: part.block_time })
    assert.equal(addressFromHex(String(value.receiver_address)), order.params.address)
    assert.equal(value.balance, part.stake_sun)
    assert.equal((value.resource as string | undefined) ?? 'BANDWIDTH', part.resource.toUpperCase())
    assert.ok(part.units_of_stake! >= part.amount)
    if (part.reclaim_hash === null) continue
    const back = place(part.reclaim_hash, part.reclaim_block_number!)
    assert.equal(back.type, 'UnDelegateResourceContract')
    assert.equal(back.value.balance, part.stake_sun)
  }
  if (activation) {
    const { type, value, ...block } = place(activation.hash, activation.block_number)
    assert.equal(type, 'AccountCreateContract')
    assert.equal(addressFromHex(String(value.account_address)), order.params.address)
    const { block_id, block_time } = activation
    assert.deepEqual(block, { block_id, block_time })
  }
}

/** What a receipt says that a later one must say too. */
function lasting({ receipt }: ReceiptAnswer) {
  const { order, activation, entries, service, network } = receipt
  const parts = receipt.parts.map(({ reclaim_hash: _, reclaim_block_number: __, ...part }) => part)
  return { order, activation, entries, service, network, parts }
}

async function fileOf(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-receipt-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'receipt')
  await writeFile(file, text)
  return file
}

const NODE = ['--node-url', 'http://127.0.0.1']

test('delivered, solid, ended: each receipt is right, and has what came before', async (t) => {
  const world = await makeWorld(t)
  const nina = world.person('nina')
  const anna = await world.customer({ trx: 30 })
  const order = await anna.buy({
    service: 'resource_bundle',
    params: {
      address: nina.address,
      amounts: { energy: 65_000, bandwidth: 1_000 },
      duration: 1,
      activate_address: true,
    },
    external_id: 'invoice-7',
  })
  const open = await anna.call('/v1/receipt', { id: order.id })
  assert.deepEqual([open.code, open.key], [74, 'conflict.not_delivered'])
  await world.settle()
  const delivered = await receiptOf(anna, order.id)
  await world.solidify()
  const solid = await receiptOf(anna, order.id)
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.solidify()
  const ended = await anna.get<ReceiptAnswer>('/v1/receipt', { external_id: 'invoice-7' })
  const all = [delivered, solid, ended]
  assert.deepEqual(
    all.map(({ receipt }) => receipt.state),
    ['delivered', 'solid', 'ended'],
  )
  const keys = await publishedKeys(world)
  for (const issued of all) {
    assert.deepEqual(await verifyElsewhere(issued.jws, keys), issued.receipt)
    assert.deepEqual(await verifyReceipt(issued.jws, keys), issued.receipt)
    assert.deepEqual(lasting(issued), lasting(delivered))
    requireOnChain(world, issued.receipt)
  }
  const { receipt } = ended
  assert.deepEqual(
    receipt.parts.map(({ resource, amount }) => [resource, amount]),
    [
      ['energy', 65_000],
      ['bandwidth', 1_000],
    ],
  )
  assert.ok(receipt.activation)
  assert.deepEqual(
    receipt.entries.map(({ kind, amount }) => [kind, amount]),
    [
      ['hold', order.amount],
      ['capture', order.amount],
    ],
  )
  const [journal] = await world.sql<{ number: bigint; sha256: string }>`
    select number, sha256 from journal where ${receipt.entries.at(-1)!.number}
      between first_entry and last_entry`
  assert.deepEqual(receipt.seal, { number: Number(journal!.number), sha256: journal!.sha256 })
})

test('one altered byte of header, payload or signature is refused everywhere', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const { jws } = await receiptOf(anna, order.id)
  const keys = await publishedKeys(world)
  await verifyElsewhere(jws, keys)
  const at = await worldOperator(world)
  const keys_file = ['--keys-file', await fileOf(t, JSON.stringify(keys))]
  const typed = async (text: string) =>
    at.type('receipts', 'verify', await fileOf(t, text), ...keys_file)
  assert.equal((await typed(jws)).code, 0)
  const parts = jws.split('.').map((part) => Buffer.from(part, 'base64url'))
  let tried = 0
  for (const [i, part] of parts.entries())
    for (let byte = 0; byte < part.length; byte++) {
      const bytes = Buffer.from(part)
      bytes[byte]! ^= 1 << (byte % 8)
      const altered = parts.map((one, j) => (i === j ? bytes : one).toString('base64url')).join('.')
      await assert.rejects(verifyReceipt(altered, keys), InvalidReceipt)
      await assert.rejects(verifyElsewhere(altered, keys))
      if (tried++ % 40 === 0) assert.equal((await typed(altered)).code, 1)
    }
  assert.ok(tried > 800, `${tried} bytes`)
  // The four bits of the last letter that mean nothing.
  const last = jws.at(-1) === 'A' ? 'B' : String.fromCharCode(jws.charCodeAt(jws.length - 1) + 1)
  assert.equal((await typed(jws.slice(0, -1) + last)).code, 1)
})

test('nobody else learns of an order by its receipt', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000, { external_id: 'mine' })
  await world.settle()
  const eve = await world.customer()
  /** What is said, with what the caller has sent itself left out. */
  const said = async (body: { id?: string; external_id?: string }) => {
    const { request_id: _, headers: __, ...answer } = await eve.call('/v1/receipt', body)
    return { ...answer, error: answer.error?.replace(/"[^"]*"$/, '...') }
  }
  assert.deepEqual(await said({ id: order.id }), await said({ id: 'no-such-order' }))
  assert.equal((await said({ id: order.id })).code, 20)
  assert.deepEqual(
    await said({ id: order.id, external_id: 'mine' }),
    await said({ id: 'no-such-order', external_id: 'mine' }),
  )
  assert.deepEqual(
    await said({ external_id: 'mine' }),
    await said({ external_id: 'no-such-order' }),
  )
})

test('a part that a fork took back: no receipt until it is delivered again', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const before = await receiptOf(anna, order.id)
  const at = await worldOperator(world)
  const keys_file = ['--keys-file', await fileOf(t, JSON.stringify(await publishedKeys(world)))]
  const file = await fileOf(t, before.jws)
  assert.equal((await at.type('receipts', 'verify', file, ...keys_file, ...NODE)).code, 0)
  world.network.loses = () => true
  world.fork(1, { drop: true })
  await world.drain()
  assert.equal((await anna.check(order.id)).status, 'success', 'a success stays one')
  const lost = await anna.call('/v1/receipt', { id: order.id })
  assert.deepEqual([lost.code, lost.key], [74, 'conflict.not_delivered'])
  const gone = await at.type('receipts', 'verify', file, ...keys_file, ...NODE)
  assert.deepEqual([gone.code, /1 wrong/.test(gone.out)], [1, true], gone.out)
  world.mine(30)
  await world.drain()
  assert.equal((await anna.call('/v1/receipt', { id: order.id })).code, 74)
  world.network.loses = () => false
  await world.settle()
  const after = await receiptOf(anna, order.id)
  assert.notEqual(after.receipt.parts[0]?.hash, before.receipt.parts[0]?.hash)
  requireOnChain(world, after.receipt)
})

test('a new key signs from now on, and what the old one signed stays verifiable', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const [first] = (await publishedKeys(world)).keys
  assert.ok(first, 'the key is there before anybody has asked for a receipt')
  const before = await receiptOf(anna, order.id)
  const other = await world.startProcess()
  const at = await worldOperator(world)
  const { key_id } = await at.json<{ key_id: string }>('receipts', 'rotate')
  const after = await receiptOf(anna, order.id)
  const headers = [before, after].map(({ jws }) =>
    JSON.parse(Buffer.from(jws.split('.')[0]!, 'base64url').toString()),
  )
  assert.deepEqual(
    headers.map(({ alg, typ, kid }) => [alg, typ, kid]),
    [
      ['EdDSA', 'penstock-receipt+json', first.kid],
      ['EdDSA', 'penstock-receipt+json', key_id],
    ],
  )
  const keys = await publishedKeys(world)
  assert.deepEqual(
    keys.keys.map(({ kid }) => kid),
    [key_id, first.kid],
  )
  for (const { jws, receipt } of [before, after])
    assert.deepEqual(await verifyElsewhere(jws, keys), receipt)
  const elsewhere = await anna.call('/v1/receipt', { id: order.id }, {}, other.api)
  const { kid } = JSON.parse(
    Buffer.from((elsewhere.result.jws as string).split('.')[0]!, 'base64url').toString(),
  )
  assert.equal(kid, key_id, 'every process signs with the new key at once')
  const kept = await world.sql<{ id: string }>`
    select id from signing_key where sealed_private_key is not null`
  assert.deepEqual(kept, [{ id: key_id }], 'the old private part is gone')
  const [action] = await at.json<{ subject: string; after: unknown }[]>('actions', 'list')
  assert.deepEqual([action?.subject, action?.after], ['receipts', { key_id }])
})

test('a key that somebody puts into the database is neither published nor used', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const { receipt } = await receiptOf(anna, order.id)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)
    .digest('base64url')
  const own = await publishedKeys(world)
  const [ours] = await world.sql<{ mark: string }>`select mark from signing_key`
  for (const mark of [null, ours!.mark, `k1.${'A'.repeat(43)}`, 'none', '']) {
    await world.sql`
      insert into signing_key (id, public_key, mark, made_at, retired_at)
      values (${kid}, ${x}, ${mark}, now(), now())`
    assert.deepEqual(await publishedKeys(world), own)
    await world.sql`delete from signing_key where id = ${kid}`
  }
  const header = { alg: 'EdDSA', typ: 'penstock-receipt+json', kid }
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
  const signed = `${part(header)}.${part({ ...receipt, order: { ...receipt.order, id: 'never' } })}`
  const forged = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
  await assert.rejects(verifyReceipt(forged, await publishedKeys(world)), InvalidReceipt)
  // Nor is one used that takes the place of ours, sealed as it may be.
  await world.sql`update signing_key set mark = ${`k1.${'A'.repeat(43)}`}`
  assert.deepEqual((await publishedKeys(world)).keys, [])
  assert.equal((await anna.call('/v1/receipt', { id: order.id })).code, 500)
})

test('a receipt of other amounts than the chain has is found by asking a node', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const at = await worldOperator(world)
  const keys_file = ['--keys-file', await fileOf(t, JSON.stringify(await publishedKeys(world)))]
  const verified = async () => {
    const file = await fileOf(t, JSON.stringify({ result: await receiptOf(anna, order.id) }))
    type VerifyAnswer = { transactions: { what: string; wrong: string | null }[] }
    const { code, out } = await at.type('receipts', 'verify', file, ...keys_file, ...NODE, '--json')
    return { code, wrong: (JSON.parse(out) as VerifyAnswer).transactions.map(({ wrong }) => wrong) }
  }
  assert.deepEqual(await verified(), { code: 0, wrong: [null] })
  // What a service would sign that has lied to itself.
  const [row] = await world.sql<{ stake_sun: bigint }>`
    update delegation set stake_sun = stake_sun + 1 returning stake_sun - 1 as stake_sun`
  assert.deepEqual(await verified(), { code: 1, wrong: [`its balance is ${row!.stake_sun}`] })
  await world.sql`update delegation set stake_sun = stake_sun - 1, receiver = receiver`
  await world.sql`update attempt set block_id = repeat('0', 64) where subject like 'delegate:%'`
  const { code, wrong } = await verified()
  assert.deepEqual([code, /^block \d+ is /.test(String(wrong))], [1, true])
})

test('the keys are fetched from the service, and those of another one do not count', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 10 })
  const order = await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const { jws } = await receiptOf(anna, order.id)
  const file = await fileOf(t, `${jws}\n`)
  const url = await world.api.listen({ port: 0, host: '127.0.0.1' })
  const at = await worldOperator(world)
  // Nothing of it needs the database.
  delete at.io.env.DATABASE_URL
  const verified = await at.type('receipts', 'verify', file, '--service-url', `${url}/`)
  assert.deepEqual([verified.code, /No node was asked/.test(verified.out)], [0, true], verified.err)
  at.io.env.PENSTOCK_PUBLIC_URL = url
  assert.equal((await at.type('receipts', 'verify', file)).code, 0)
  const { publicKey } = generateKeyPairSync('ed25519')
  const { keys } = await publishedKeys(world)
  const own = { ...keys[0]!, x: publicKey.export({ format: 'jwk' }).x! }
  for (const [set, why] of [
    [{ keys: [own] }, /signature verification failed/],
    [{ keys: [] }, /no applicable key/],
    [{ no: 'keys' }, /malformed/],
    ['not JSON', /is not JSON/],
  ] as const) {
    const text = typeof set === 'string' ? set : JSON.stringify(set)
    const said = await at.type('receipts', 'verify', file, '--keys-file', await fileOf(t, text))
    assert.deepEqual([said.code, why.test(said.err)], [1, true], said.err)
  }
  for (const [text, why] of [
    ['', /three parts|Invalid/],
    ['{"code":20}', /has no jws/],
    ['{', /is not JSON/],
  ] as const) {
    const said = await at.type('receipts', 'verify', await fileOf(t, text))
    assert.deepEqual([said.code, why.test(said.err)], [1, true], said.err)
  }
})
