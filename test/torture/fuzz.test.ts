// A short run of the fuzzer, and proof that it would say what it finds. The long one: `npm run
// torture -- fuzz`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../harness/world.ts'
import { fuzz, objection } from './fuzz.ts'
import { bodyFor, drawer } from './fuzz_bodies.ts'

const REQUESTS = 96
/** Where even a short run must meet both a result and a refusal, or little is tried. */
const BOTH = [
  '/v1/services',
  '/v1/calculate',
  '/v1/transaction/new',
  '/v1/transaction/check',
  '/v1/subscription/start',
]

test('no signed request makes an endpoint fail, and every answer is documented', async () => {
  const { codes, findings } = await fuzz({ requests_per_endpoint: REQUESTS, seed: 'short' })
  assert.deepEqual(findings, [])
  for (const [path, counts] of Object.entries(codes)) {
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
    assert.equal(all, REQUESTS, path)
    if (BOTH.includes(path))
      assert.ok(counts[0]! > 4 && all - counts[0]! > 4, `${path} ${JSON.stringify(counts)}`)
  }
})

test('a seed makes the same bodies again, and another seed others', async (t) => {
  const world = await makeWorld(t)
  const endpoint = world.app.endpoints.find(({ path }) => path === '/v1/transaction/new')!
  const bodies = (seed: string) => {
    const draw = drawer(seed)
    return Array.from({ length: 50 }, () =>
      bodyFor(draw, endpoint, { service: ['"energy"'] }).toString('hex'),
    )
  }
  assert.deepEqual(bodies('1'), bodies('1'))
  assert.notDeepEqual(bodies('1'), bodies('2'))
})

test('an answer that must not be is a finding', async (t) => {
  const world = await makeWorld(t)
  const balance = world.app.endpoints.find(({ path }) => path === '/v1/balance')!
  const id = '"request_id":"5b0f2f5e-6b1b-4d5e-9c0a-0c8a2f7d9b11"'
  const refusal = (code: number, key: string) => `{"code":${code},"key":"${key}",${id},"error":"x"}`
  assert.equal(
    objection(balance, 200, `{"code":0,${id},"result":{"balance":1.5,"address":"T"}}`),
    undefined,
  )
  assert.equal(objection(balance, 200, refusal(5, 'wallet_not_found')), undefined)
  const bad: [status: number, text: string][] = [
    [500, refusal(5, 'wallet_not_found')],
    [200, ''],
    [200, '<html>'],
    [200, refusal(500, 'internal_server_error')],
    [200, refusal(6, 'insufficient_funds')],
    [200, refusal(5, 'wallet')],
    [200, `{"code":0,${id},"result":{"balance":"1.5","address":"T"}}`],
    [200, `{"code":0,${id},"result":{"balance":1.5,"address":"T","cost":1}}`],
  ]
  for (const [status, text] of bad)
    assert.notEqual(objection(balance, status, text), undefined, text)
})
