// What is read with GET: deposits by their transaction, and the reference, which asks nobody else
// for anything.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { TRX } from 'penstock-devchain/scene.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { buildServer } from 'penstock-service/platform/http/server.ts'
import { makeWorld, type World } from '../harness/world.ts'

const UNKNOWN = 'ab'.repeat(32)

async function look(world: World, tx_id: string) {
  const answer = await world.api.inject({ method: 'GET', url: `/deposits/${tx_id}` })
  return { status: answer.statusCode, headers: answer.headers, ...answer.json() }
}

test('what came to the published address is found by transaction, with its state', async (t) => {
  const world = await makeWorld(t, { recharge_at: 'solid' })
  const payer = world.person('payer')
  const tx_id = world.pay(world.recharge.address, 12_500_000n)
  world.mine()
  await world.drain()
  const { status, code, request_id, result, headers } = await look(world, tx_id)
  assert.deepEqual([status, code, headers['x-request-id']], [200, 0, request_id])
  assert.equal(headers['cache-control'], 'no-store')
  const { block_number, block_time, ...deposit } = result.deposits[0]
  assert.equal(result.tx_id, tx_id)
  assert.deepEqual(deposit, {
    state: 'seen',
    reason: null,
    from_address: payer.address,
    to_address: world.recharge.address,
    amount: 12.5,
    solid: false,
  })
  assert.ok(Number.isInteger(block_number))
  assert.match(block_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.equal((await look(world, tx_id.toUpperCase())).result.tx_id, tx_id)
})

test("strangers are not told which addresses are customers', in any state", async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const tx_id = world.pay(anna.deposit_address, 12_500_000n)
  const unknown = await look(world, UNKNOWN)
  for (const blocks of [1, 20]) {
    world.mine(blocks)
    await world.drain()
    const { request_id: _, headers: __, ...answer } = await look(world, tx_id)
    const { request_id: ___, headers: ____, ...same } = unknown
    assert.deepEqual(answer, same)
  }
  assert.equal(await anna.balance(), 12.5)
})

test('a direct recharge is found with the energy that it bought', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 10)
  const tx_id = world.pay(world.recharge.address, 3n * TRX, bob)
  world.mine()
  await world.settle()
  const { result } = await look(world, tx_id)
  const [{ state, amount, energy, solid }] = result.deposits
  assert.deepEqual([state, amount, energy, solid], ['delivered', 3, 66_666, false])
})

test('a token that arrives is found with its contract and its amount', async (t) => {
  const world = await makeWorld(t)
  const token = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'
  const [from, to] = [world.person('payer').address, world.recharge.address]
  const at = world.now
  // As the follower would write it; in this world it reads no tokens.
  await world.sql`
    insert into deposit (tx_id, position, from_address, to_address, token, token_amount,
      block_number, block_time, state,
                         reason, due_at, seen_at)
    values (${UNKNOWN}, 1, ${from}, ${to}, ${token}, ${2n ** 63n}::numeric, 7, ${at}, 'held',
            'a token that is not TRX', ${at}, ${at})`
  const { result } = await look(world, UNKNOWN)
  const [{ state, reason, amount, token: contract, token_amount }] = result.deposits
  assert.deepEqual(
    [state, amount, contract, token_amount],
    ['held', undefined, token, '9223372036854775808'],
  )
  assert.equal(reason, 'a token that is not TRX')
})

test('a malformed id is 400, an unrelated one 404, and another method 405', async (t) => {
  const world = await makeWorld(t)
  for (const wrong of [
    '1',
    'ab'.repeat(31),
    `${UNKNOWN}a`,
    'zz'.repeat(32),
    '%27%3B--',
    `${UNKNOWN}%00`,
  ]) {
    const { status, code, error, request_id } = await look(world, wrong)
    assert.deepEqual([status, code, error], [400, 400, 'Not a transaction id'], wrong)
    assert.match(request_id, /^[0-9a-f-]{36}$/)
  }
  const { status, code, error } = await look(world, UNKNOWN)
  assert.deepEqual([status, code, error], [404, 404, 'No deposit is known of this transaction'])
  const posted = await world.api.inject({ method: 'POST', url: `/deposits/${UNKNOWN}` })
  assert.deepEqual([posted.statusCode, posted.headers.allow], [405, 'GET, HEAD'])
})

test('the documents and the codes are read by anybody, and ask no other host', async (t) => {
  const world = await makeWorld(t)
  const files = world.app.pages.filter(
    // The status page and papers have no script at all, and tests of their own.
    ({ reply, document, path }) =>
      !reply && !document && path !== '/status' && !path.startsWith('/portal/'),
  )
  assert.deepEqual(
    files.map(({ path }) => path),
    ['/openapi.json', '/openapi-3.0.json', '/docs/refusals'],
  )
  for (const { path } of files) {
    const answer = await world.api.inject({ method: 'GET', url: path })
    assert.equal(answer.statusCode, 200, path)
    const policy = String(answer.headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; /)
    assert.doesNotMatch(policy, /https?:|\*|unsafe/, path)
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    const head = await world.api.inject({ method: 'HEAD', url: path })
    assert.deepEqual([head.statusCode, head.body], [200, ''], path)
  }
  const page = (await world.api.inject({ method: 'GET', url: '/docs/refusals' })).body
  assert.doesNotMatch(page, /\/\/[a-z]+\./)
})

test('pages count against the rate of an address, whatever token is shown', async (t) => {
  const world = await makeWorld(t)
  const { app, sql } = world
  const needs = {
    sql,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    authenticate: app.authenticate,
  }
  const server = await buildServer(needs, {
    endpoints: app.endpoints,
    pages: app.pages,
    rate_limit: { per_second: 0.001, burst: 2 },
  })
  const status = async (authorization: string) =>
    (await server.inject({ method: 'GET', url: '/docs/refusals', headers: { authorization } }))
      .statusCode
  assert.deepEqual(
    [await status('Bearer a'), await status('Bearer b'), await status('Bearer c')],
    [200, 200, 429],
  )
  await server.close()
})

test('the documents that are served are those that are kept', async (t) => {
  const world = await makeWorld(t)
  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    const served = (await world.api.inject({ method: 'GET', url: `/${name}` })).body
    const kept = new URL(`../../packages/service/${name}`, import.meta.url)
    assert.equal(served, await readFile(kept, 'utf8'))
  }
})
