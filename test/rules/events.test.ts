// What can be noted, what is documented, and what is noted somewhere are the same types of events.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_TYPES } from 'penstock-service/events/log/notes.ts'
import { readSources } from '../../tools/source.ts'
import { makeWorld } from '../harness/world.ts'

const SRC = 'packages/service/src'
const sources = (await readSources(SRC)).filter(({ path }) => !path.endsWith('.test.ts'))
/** Whether some file notes the type: by its name, or as `subscription.${state}`. */
function isNoted(type: string): boolean {
  const [noun, state] = type.split('.')
  return sources.some(
    ({ path, code }) =>
      !/\/(forms|notes)\.ts$/.test(path) &&
      (code.includes(`'${type}'`) ||
        (code.includes(`\`${noun}.\${`) && code.includes(`'${state}'`))),
  )
}

/** What only somebody who tries a webhook is told. */
const TRIAL = 'webhook.test'

test('every type of event that can be noted has a kind, and every kind can be noted', async (t) => {
  const { app } = await makeWorld(t)
  assert.deepEqual(app.kinds.map(({ type }) => type).sort(), [...EVENT_TYPES, TRIAL].sort())
})

test('every type of event is noted somewhere', () => {
  assert.deepEqual(
    EVENT_TYPES.filter((type) => !isNoted(type)),
    [],
  )
  assert.equal(isNoted('order.forgotten'), false)
})
