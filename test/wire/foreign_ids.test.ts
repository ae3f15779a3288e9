// What belongs to another customer is as good as what there is not: every endpoint whose example
// names something by what an earlier call has answered is called by somebody else, with that and
// with an id of nothing, and must say the same of both.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { callExamples, filled, prepareExamples } from '../harness/examples.ts'
import { makeWorld } from '../harness/world.ts'

const ABSENT = '01m7xps0ca8ksnnfg71x89vdp6'
/** Not the secrets of who pairs, which are nobody's yet. */
const ID = /(^|_)id$/
/** Fewer would say that the examples are not filled any more. */
const CALLS_LEAST = 15

test('ids of another customer are as good as none, at every endpoint', async (t) => {
  const world = await makeWorld(t, { seed: 'examples', together: true })
  await prepareExamples(world)
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const bert = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const tried = await callExamples(world, anna)
  let calls = 0
  for (const { path, examples } of world.app.endpoints)
    for (const { body: written } of examples) {
      const foreign = filled(written, tried)
      const named = Object.entries(foreign).filter(
        ([name, value]) => ID.test(name) && value !== (written as Record<string, unknown>)[name],
      )
      if (named.length === 0) continue
      calls += 1
      const absent = { ...foreign, ...Object.fromEntries(named.map(([name]) => [name, ABSENT])) }
      const saidOf = async (body: object) => {
        const { code, key, result } = await bert.call(path, body)
        return { code, key, result }
      }
      assert.deepEqual(await saidOf(foreign), await saidOf(absent), `${path} ${named}`)
    }
  assert.ok(calls >= CALLS_LEAST, `${calls} calls`)
})
