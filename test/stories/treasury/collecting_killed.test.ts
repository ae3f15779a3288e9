// The long form: `npm run torture -- collecting`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { USDT } from 'penstock-tron/tokens.ts'
import { collectingTown } from '../../harness/collecting.ts'
import { collectKilled } from '../../harness/collecting_killed.ts'
import { makeWorld } from '../../harness/world.ts'

test('a program that is killed while it collects has collected each address once', async (t) => {
  const size = { addresses: 6, with_token: 2, from_trx: 40n }
  const town = await collectingTown(await makeWorld(t, { tokens: [USDT] }), size)
  t.after(town.end)
  const { transfers, kills } = await collectKilled(town, {
    collect: [
      { request: 1, answered: false },
      { request: 8, answered: true },
    ],
    sign_ms: [500],
    every: 6,
  })
  assert.equal(transfers, 8)
  assert.ok(kills.broadcast! >= 2, JSON.stringify(kills))
})
