// What the calls about checks take, refuse and answer, on rows.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { makeCustomer } from 'penstock-test/harness/customer_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { askEndpoint } from 'penstock-test/harness/endpoint_calls.ts'
import { insertChecks, MADE_AT } from 'penstock-test/harness/screening_rows.ts'
import { customerAccount, move, WORLD } from '../../ledger/accounts/ledger.ts'
import { Fault } from '../../lib/fault.ts'
import { idMaker, systemRandom } from '../../lib/ids.ts'
import { checkPlacer } from '../checks/placing.ts'
import { publishPolicy, SHIPPED_POLICY } from '../engine/policy.ts'
import { reportRoutes, routes } from './routes.ts'

const clock = { now: () => MADE_AT }
const HASH = 'AB'.repeat(32)
const ADDRESS = person('shop').address

/** The calls, for Anna, who has money. */
async function calls(t: TestContext) {
  const { sql } = await freshDatabase(t)
  await sql.begin(async (tx) => {
    await makeCustomer(tx, { id: 'anna', at: MADE_AT })
    const gift = { debit: WORLD, credit: customerAccount('anna'), amount_sun: 100_000_000n }
    await move(tx, { id: 'gift', ...gift, made_at: MADE_AT })
  })
  const new_id = idMaker(clock, systemRandom)
  const placeCheck = checkPlacer({ sql, clock, new_id, wake: () => {} })
  return { sql, all: [...routes({ sql, placeCheck }), ...reportRoutes({ sql, clock })] }
}

const isFault =
  (key: string, sentence = /./) =>
  (thrown: unknown) => {
    assert.ok(thrown instanceof Fault, String(thrown))
    assert.equal(thrown.key, key)
    assert.match(thrown.message, sentence)
    return true
  }

test('a hash is written in small letters, and what says nothing is a deposit', async (t) => {
  const { sql, all } = await calls(t)
  const withdrawal = { hash: HASH, direction: 'withdrawal' }
  for (const [body, placed] of [
    [{ type: 'address', hash: HASH, direction: 'withdrawal' }, 'address null null'],
    [{ type: 'address', hash: 5, direction: 5 }, 'address null null'],
    [{ type: 'hash', hash: HASH }, `hash ${HASH.toLowerCase()} deposit`],
    [{ type: 'hash', hash: HASH, direction: null }, `hash ${HASH.toLowerCase()} deposit`],
    [{ type: 'hash', hash: HASH, direction: '' }, `hash ${HASH.toLowerCase()} deposit`],
    [{ type: 'hash', hash: HASH, direction: 'deposit' }, `hash ${HASH.toLowerCase()} deposit`],
    [{ type: 'hash', ...withdrawal }, `hash ${HASH.toLowerCase()} withdrawal`],
  ] as const) {
    const asked = { network: 'TRX', address: ADDRESS, ...body }
    const { id } = (await askEndpoint(all, '/v1/aml-checks/new', { body: asked })) as { id: string }
    const [row] = await sql`select type, hash, direction from aml_check where id = ${id}`
    assert.equal(Object.values(row!).map(String).join(' '), placed, JSON.stringify(body))
  }
})

test('what a check cannot be placed with is refused by its field and its reason', async (t) => {
  const { all } = await calls(t)
  const required = /^Hash is required for hash checks$/
  const address = /^Invalid address provided$/
  for (const [body, key, sentence] of [
    [{ type: 'hash' }, 'hash', required],
    [{ type: 'hash', hash: null }, 'hash', required],
    [{ type: 'hash', hash: '' }, 'hash', required],
    [{ type: 'hash', hash: 5 }, 'hash', /^Invalid hash$/],
    [{ type: 'hash', hash: [HASH] }, 'hash', /^Invalid hash$/],
    [{ type: 'hash', hash: HASH.slice(1) }, 'hash', /^Invalid hash$/],
    [{ type: 'hash', hash: HASH, direction: 'out' }, 'direction', /^Invalid direction value$/],
    [{ type: 'hash', hash: HASH, direction: 5 }, 'direction', /^Invalid direction value$/],
    [{ type: 'address', address: ADDRESS.slice(1) }, 'address', address],
    [{ type: 'address', address: 5 }, 'address', address],
    [{ type: 'address', address: [ADDRESS] }, 'address', address],
    [{ type: 'address', address: undefined }, 'address', address],
    [{ type: 'address', network: 'BTC' }, 'network', /^Unsupported network$/],
    [{ type: 'address', network: 'toString' }, 'network', /^Unsupported network$/],
  ] as const)
    await assert.rejects(
      askEndpoint(all, '/v1/aml-checks/new', {
        body: { network: 'TRX', address: ADDRESS, ...body },
      }),
      isFault(`invalid_service_or_params.${key}`, sentence),
      JSON.stringify(body),
    )
})

test('a network is screened as far as the policy has a route for it', async (t) => {
  const { sql, all } = await calls(t)
  const use = { use: ['amlbot'], mode: 'first' }
  const routed = { ...SHIPPED_POLICY.routes, 'BTC/address': use }
  const body = { ...SHIPPED_POLICY, routes: routed }
  await sql.begin((tx) => publishPolicy(tx, { body, published_by: 'x', published_at: MADE_AT }))
  const there = `1${'a'.repeat(30)}`
  const ask = (type: string, address: unknown = there) =>
    askEndpoint(all, '/v1/aml-checks/new', {
      body: { type, network: 'BTC', address, hash: HASH },
    }) as Promise<{ network: string }>
  assert.equal((await ask('address')).network, 'BTC')
  await assert.rejects(ask('hash'), isFault('invalid_service_or_params.network'))
  const address = isFault('invalid_service_or_params.address')
  await assert.rejects(ask('address', [there]), address, 'a list of one')
})

test('who is suspended begins nothing, and a repetition is answered and says so', async (t) => {
  const { all } = await calls(t)
  const body = { type: 'address', network: 'TRX', address: ADDRESS }
  const ask = async (suspended: boolean, key: string) => {
    const reply_headers = {}
    const headers = { 'idempotency-key': key }
    const call = { body, headers, reply_headers, customer: { suspended } }
    const { id } = (await askEndpoint(all, '/v1/aml-checks/new', call)) as { id: string }
    return { id, reply_headers }
  }
  const first = await ask(false, 'one')
  assert.deepEqual(first.reply_headers, {})
  const again = await ask(true, 'one')
  assert.deepEqual(again, { id: first.id, reply_headers: { 'idempotency-replayed': 'true' } })
  await assert.rejects(ask(true, 'two'), /This customer is suspended/)
})

test('only types that are on sale are listed', async (t) => {
  const { sql, all } = await calls(t)
  const types = async () =>
    ((await askEndpoint(all, '/v1/aml-checks')) as { id: string }[]).map(({ id }) => id)
  assert.deepEqual(await types(), ['address', 'hash'])
  await sql`update aml_service set on_sale = false where type = 'hash'`
  assert.deepEqual(await types(), ['address'])
})

test('a check and its evidence are shown to its customer alone', async (t) => {
  const { sql, all } = await calls(t)
  await insertChecks(sql, [
    { id: 'first' },
    { id: 'second', supersedes: 'first' },
    { id: 'of bert', customer_id: 'bert' },
  ])
  for (const id of ['first', 'of bert'])
    await sql`insert into aml_evidence values (${id}, '{}', encode(sha256('{}'), 'hex'))`
  const ask = (path: string, id: string) => askEndpoint(all, path, { body: { id } })
  for (const path of ['/v1/aml-checks/check', '/v1/aml-check/report'])
    for (const id of ['of bert', 'none'])
      await assert.rejects(ask(path, id), isFault('aml_check_not_found'), `${path} ${id}`)
  assert.equal(((await ask('/v1/aml-checks/check', 'second')) as { id: string }).id, 'second')
  const { evidence, levels, counterparty, supersedes, superseded_by } = (await ask(
    '/v1/aml-check/report',
    'first',
  )) as Record<string, unknown>
  assert.deepEqual([evidence, levels, counterparty], ['{}', null, null])
  assert.deepEqual([supersedes, superseded_by], [null, 'second'])
  await assert.rejects(ask('/v1/aml-check/report', 'second'), isFault('not_found.evidence'))
})
