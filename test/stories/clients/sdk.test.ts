// The SDK against a whole service: what a customer does with it, what becomes of it when the
// network is bad, everything that it does on the versions of Node that are here, and every sample
// of its documentation. The other runtimes are tried by `npm run runtimes -w penstock-sdk`.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { checkBooks } from 'penstock-service/ledger/accounts/books.ts'
import { TronZapClient } from 'tronzap-sdk'
import {
  AuthError,
  InvalidRequest,
  NotFound,
  Penstock,
  toSun,
} from '../../../packages/sdk/src/penstock.ts'
import { ROOT } from '../../../tools/source.ts'
import { eventually } from '../../harness/eventually.ts'
import { startSandbox } from '../../harness/sandbox.ts'
import { freePort, onNode, prepareFolder } from '../../runtimes/runtimes.ts'
import { buyUnreliably } from '../../torture/sdk.ts'

const run = promisify(execFile)

const folder = await mkdtemp(join(tmpdir(), 'penstock-sdk-'))
await prepareFolder(folder)
const { api_url, customer, sandbox, control, sql, close } = await startSandbox()
after(async () => {
  await close()
  await rm(folder, { recursive: true })
})
const penstock = new Penstock({ url: api_url, ...customer })
const [address, other] = sandbox.funded_accounts.map((account) => account.address) as [
  string,
  string,
]
const { token, secret } = customer
const access = { url: api_url, token, secret, address }

test('subscriptions, screening and deposits are reached, and lists read to their end', async () => {
  const [plan] = Object.keys(await penstock.subscriptions.plans())
  const start = { subscription_id: plan!, params: { address }, external_id: 'sub-1' }
  const subscription = await penstock.subscriptions.start(start)
  assert.equal((await penstock.subscriptions.start(start)).id, subscription.id)
  assert.equal((await penstock.subscriptions.check({ external_id: 'sub-1' })).address, address)
  const listed = await Array.fromAsync(penstock.subscriptions.list())
  assert.deepEqual(
    listed.map(({ id }) => id),
    [subscription.id],
  )

  assert.ok((await penstock.aml.prices()).length > 0)
  const wanted = { type: 'address', network: 'TRX', address } as const
  const made = await penstock.aml.create(wanted)
  const { idempotency_key } = made.lastResponse
  const same = await penstock.aml.create(wanted, { idempotency_key })
  assert.deepEqual([same.id, same.lastResponse.replayed], [made.id, true])
  const check = await penstock.aml.waitFor(made.id)
  assert.match(check.risk_score!, /^\d+\.\d$/)
  for (let number = 0; number < 60; number++) await penstock.aml.create(wanted)
  const checks = await Array.fromAsync(penstock.aml.list())
  assert.deepEqual([checks.length, new Set(checks.map(({ id }) => id)).size], [61, 61])

  const { rates } = await penstock.deposits.rechargeInfo()
  assert.ok(rates.length > 0)
  await assert.rejects(penstock.deposits.checkPublic('0'.repeat(64)), NotFound)
})

test('events come as they are numbered, tests too, and the log has the same', async () => {
  const before = await Array.fromAsync(penstock.events.list({ after: 0 }))
  const { number: newest } = before.at(-1)!
  const stream = penstock.events.stream({ after: newest, tests: true })
  const triggered = await penstock.events.trigger({ type: 'order.ended' })
  for await (const event of stream) {
    if (!event.test) continue
    assert.deepEqual(event, triggered)
    assert.ok(event.type === 'order.ended' && event.data!.delegations.length > 0)
    break
  }
  const { number } = triggered
  assert.deepEqual({ ...(await penstock.events.check(number)) }, { ...triggered })
  const numbers = await Array.fromAsync(penstock.events.list(), (event) => event.number)
  assert.deepEqual(
    numbers.toReversed().slice(0, number),
    [...Array(number).keys()].map((i) => i + 1),
  )
  await assert.rejects(penstock.events.check(number + 1_000), NotFound)
})

test('what the service refuses is an error of its own kind', async () => {
  const buy = (amount: number, external_id: string, who = penstock) =>
    who.orders.create({
      service: 'energy',
      params: { address, amount, duration: 1 },
      external_id,
    })
  await assert.rejects(buy(1, 'order-1'), { name: 'InvalidRequest', code: 11 })
  await assert.rejects(penstock.orders.check('nothing'), NotFound)
  await buy(65_000, 'order-2')
  await assert.rejects(
    buy(70_000, 'order-2'),
    (thrown) => thrown instanceof InvalidRequest && /external_id$/.test(thrown.key!),
  )
  const stranger = new Penstock({ url: api_url, token: customer.token, secret: 'pss_other' })
  await assert.rejects(buy(65_000, 'order-3', stranger), AuthError)
})

test('purchases through a proxy that loses, cuts, delays and doubles are made once', async () => {
  const purchases = 60
  const wanted = { api_url, access: customer, address: other, purchases, seed: 3 }
  const { ids, findings, happened } = await buyUnreliably(wanted)
  assert.deepEqual(findings, [])
  assert.ok(Object.keys(happened).length > 4, JSON.stringify(happened))
  assert.equal(ids.size, purchases)
  const rows = await sql<{ id: string; holds: bigint }>`
    select o.id, count(*) as holds from orders as o join transfer as t on t.id = 'order:' || o.id
    where o.address = ${other} group by o.id`
  assert.deepEqual(rows.map(({ id }) => id).sort(), [...ids.values()].sort())
  assert.ok(rows.every(({ holds }) => holds === 1n))
  assert.deepEqual(await checkBooks(sql), [])
})

/** Every Node that is here, by its version. */
async function nodes(): Promise<Map<string, string>> {
  const places = (process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'node'))
  const found = new Map([[process.version, process.execPath]])
  for (const binary of places.filter(existsSync)) {
    const { stdout } = await run(binary, ['--version'])
    if (!found.has(stdout.trim())) found.set(stdout.trim(), binary)
  }
  return found
}

const here = await nodes()

for (const major of [18, 20, 22, 24, 26]) {
  const [version, binary] = [...here].find(([one]) => one.startsWith(`v${major}.`)) ?? []
  const skip =
    binary === undefined &&
    `the SDK on Node ${major}, which is not here: \`npm run runtimes -w penstock-sdk\` fetches it`
  test(`everything that the SDK does works on Node ${major}`, { skip }, async () => {
    assert.equal((await onNode(binary!, access, folder)).length, 16, version)
  })
}

const page = await readFile(`${ROOT}docs/customers/sdk.md`, 'utf8')
const samples = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, text]) => text!)

/** A sample by something that is in it and in no other. */
function sampleWith(text: string): string {
  const found = samples.filter((sample) => sample.includes(text))
  assert.equal(found.length, 1, text)
  return found[0]!
}

const env = {
  PENSTOCK_URL: access.url,
  PENSTOCK_TOKEN: access.token,
  PENSTOCK_SECRET: access.secret,
  ADDRESS: access.address,
}

/** Runs a sample as a file of its own, and returns all that it prints. */
async function printedBy(sample: string, more: Record<string, string> = {}): Promise<string> {
  const file = join(folder, `sample-${randomBytes(4).toString('hex')}.ts`)
  await writeFile(file, sample)
  const { stdout, stderr } = await run(process.execPath, [file], { env: { ...env, ...more } })
  return stdout + stderr
}

const receipts = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = { alg: 'EdDSA', typ: 'penstock-receipt+json', kid: 'k1' }
  const signed = `${part(header)}.${part({ receipt: 1, state: 'solid', order: { id: 'o-1' } })}`
  const RECEIPT = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
  const JWKS = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }] })
  return { RECEIPT, JWKS }
}

test('every sample of the documentation prints what it should', async () => {
  const printed: [sample: string, prints: RegExp, more?: Record<string, string>][] = [
    ['order-42', /^It costs 2\.93 TRX\nsuccess [0-9a-f]{64}\n$/],
    ['retries: 2', /^\d+\.\d+\n$/],
    ['order-43', /^true\n$/],
    ['thrown.code, thrown.key', /^11 invalid_energy_amount\n$/],
    ['order-44', /^5\.86 TRX\n(low|medium|high)\n(\d+\.\d\n)+[\d.]+ [\w-]+\n$/],
    ['events.stream', /^\d+ deposit\.credited 10000\n$/],
    ['statement.csv', /^made_at,id,kind,service,external_id,amount_trx/],
    ['verifyReceipt', /^solid o-1\n$/, receipts()],
  ]
  for (const [text, prints, more] of printed)
    assert.match(await printedBy(sampleWith(text), more), prints, text)
  assert.equal(samples.length, printed.length + 1, 'the one with a webhook is tried below')
})

test('the first purchase of the README is delivered', async () => {
  const readme = await readFile(`${ROOT}README.md`, 'utf8')
  const [, sample] = /```js\n(import .*?)```/s.exec(readme)!
  assert.match(await printedBy(sample!), /status: 'success'/)
})

/** What the newest releases of the client have in the languages that it is for; the one for Node
 *  that is installed here is older, and has the first eight. */
const METHODS = [
  ...['getServices', 'getBalance', 'estimateEnergy', 'calculate', 'createEnergyTransaction'],
  ...['createAddressActivationTransaction', 'checkTransaction', 'getDirectRechargeInfo'],
  ...['getAddressInfo', 'createBandwidthTransaction', 'createResourceBundleTransaction'],
  ...['getSubscriptions', 'startSubscription', 'checkSubscription', 'stopSubscription'],
  ...['getSubscriptionHistory', 'getAmlServices', 'createAmlCheck', 'checkAmlStatus'],
  'getAmlHistory',
]

test('every method of a client that exists has one of ours', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| `(\w+)\.(\w+)`(?:, `service: '(\w+)'`)? \|$/gm)]
  const installed = Object.getOwnPropertyNames(TronZapClient.prototype).filter(
    (name) => name !== 'constructor' && name !== 'request',
  )
  assert.deepEqual(installed.sort(), METHODS.slice(0, 8).sort())
  assert.deepEqual(rows.map(([, name]) => name).sort(), METHODS.toSorted())
  const sold = rows.flatMap(([, , , , service]) => service ?? [])
  assert.deepEqual(sold.sort(), ['activate_address', 'bandwidth', 'energy', 'resource_bundle'])
  for (const [, , resource, method] of rows) {
    const methods = penstock[resource as 'orders'] as Record<string, unknown>
    assert.equal(typeof methods[method!], 'function', `${resource}.${method}`)
  }
})

test('the sample of a webhook takes what is signed, and nothing else', async (t) => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const port = await freePort()
  const file = join(folder, 'webhook.ts')
  await writeFile(file, sampleWith('verifyWebhook'))
  const child = spawn(process.execPath, [file], {
    env: { WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill())
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const call = async (body: string, signed = body): Promise<number> => {
    const [id, timestamp] = ['e-1', String(Math.floor(Date.now() / 1000))]
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.${signed}`).digest('base64')
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${digest}`,
    }
    for (;;) {
      const how = { method: 'POST', body, headers }
      const response = await fetch(`http://127.0.0.1:${port}`, how).catch(() => undefined)
      if (response) return response.status
      assert.equal(child.exitCode, null, 'it has ended')
      await delay(50)
    }
  }
  const body = '{"type":"order.succeeded","subject":"order:o-1"}'
  assert.equal(await call(body), 204)
  assert.equal(await call(body.replace('o-1', 'o-2'), body), 400)
  await eventually('it has printed', async () => printed.includes('\n'))
  assert.equal(printed, 'order.succeeded order:o-1\n')
})

test('the samples have the types that they need', async () => {
  const names = samples.map((_, i) => `typed-${i}.ts`)
  for (const [i, name] of names.entries()) await writeFile(join(folder, name), samples[i]!)
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: ['node'],
    typeRoots: [`${ROOT}node_modules/@types`],
    skipLibCheck: true,
  }
  const settings = JSON.stringify({ compilerOptions, files: names })
  await writeFile(join(folder, 'tsconfig.json'), settings)
  const compiler = `${ROOT}node_modules/typescript/bin/tsc`
  const said = await run(process.execPath, [compiler, '-p', folder]).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
  assert.equal(said, '')
})

// The chain is an hour ahead from here on.
test('a customer looks, buys, waits until it is delivered and until its hour is over', async () => {
  const { energy } = await penstock.services.list()
  assert.ok(energy.length > 0)
  const before = await penstock.balance.get()
  const price = await penstock.prices.calculate({ address, amount: 65_000, duration: 1 })
  const transfer = { from_address: address, to_address: other }
  assert.ok((await penstock.prices.estimate(transfer)).energy! > 10_000)

  const purchase = {
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
    external_id: 'order-1',
  } as const
  const order = await penstock.orders.create(purchase)
  const again = await penstock.orders.create(purchase)
  assert.deepEqual([order.lastResponse.replayed, again.lastResponse.replayed], [false, true])
  assert.deepEqual([again.id, order.amount], [order.id, price.total])
  const delivered = await penstock.orders.waitFor(order.id)
  assert.match(delivered.hash!, /^[0-9a-f]{64}$/)
  assert.ok((await penstock.addresses.get(address)).resources.energy >= 65_000)
  const { balance } = await penstock.balance.get()
  assert.equal(toSun(before.balance) - toSun(balance), toSun(order.amount))

  await control('advance', { seconds: 3_700 })
  const ended = await penstock.orders.waitFor({ external_id: 'order-1' }, { until: 'ended' })
  assert.ok(ended.delegations.every(({ reclaim_hash }) => reclaim_hash))
})
