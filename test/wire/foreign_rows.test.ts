// Nobody is shown a row of another customer: one calls every endpoint with every example, so that
// there is something of everything, and another asks for all that there is, by each filter. What
// the first had in his answers may be in none of the second's.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { EXAMPLE } from 'penstock-service/platform/wire/examples.ts'
import { callExamples, filled, prepareExamples } from '../harness/examples.ts'
import { makeWorld } from '../harness/world.ts'

/** Ids as the service makes them. */
const ID = /"(0[0-9a-z]{25})"/g
/** The same for everybody. */
const COMMON = ['/v1/services', '/v1/subscriptions', '/v1/prices/history', '/v1/aml-checks']
/** Fewer would say that the examples make nothing any more. */
const IDS_LEAST = 20
const LISTS_LEAST = 8
/** The lists in which a new customer who was paid something, and asked in vain, has rows of his
 *  own. */
const OWN = ['deposits/list', 'events/list', 'keys/list', 'statement', 'refusals/list'].map(
  (name) => `/v1/${name}`,
)

test('no list, look-up or sum of one customer has anything of another', async (t) => {
  const world = await makeWorld(t, { seed: 'examples', together: true })
  await prepareExamples(world)
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const tried = await callExamples(world, anna)
  // The last of the examples takes it away.
  assert.equal((await anna.call('/v1/aml-watch/new', { address: EXAMPLE.address })).code, 0)
  const idsIn = (value: unknown) => Array.from(JSON.stringify(value).matchAll(ID), ([, id]) => id!)
  const of_anna = new Set(idsIn(tried))
  // A test event tells of an order that nobody has.
  for (const id of idsIn(tried.filter(({ path }) => path === '/v1/event/trigger')))
    of_anna.delete(id)
  for (const one of [anna.id, anna.deposit_address]) of_anna.add(one)
  assert.ok(of_anna.size >= IDS_LEAST, `${of_anna.size} ids`)
  const bert = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  await world.drain()
  const endpoints = world.app.endpoints.filter(({ path }) => !COMMON.includes(path))
  // Before he has anything: what has no id is seen here.
  for (const { path } of endpoints) {
    const { result } = (await bert.call(path, {})) as { result?: { items?: unknown[] } }
    if (!OWN.includes(path)) assert.deepEqual(result?.items ?? [], [], path)
  }
  let lists = 0
  for (const { path, examples } of endpoints) {
    const bodies = [{}, ...examples.map(({ body }) => filled(body, tried))]
    for (const body of bodies) {
      // Addresses and times are anybody's; what names a row of hers by its id is no filter.
      const own = Object.entries(body).filter(([, value]) => !of_anna.has(String(value)))
      const said = JSON.stringify(await bert.call(path, Object.fromEntries(own)))
      for (const one of of_anna) assert.ok(!said.includes(one), `${path} ${JSON.stringify(own)}`)
    }
    // As often as somebody could see it, it is there for her.
    const hers = JSON.stringify(await anna.call(path, {}))
    if ([...of_anna].some((one) => hers.includes(one))) lists += 1
  }
  assert.ok(lists >= LISTS_LEAST, `${lists} lists`)
})
