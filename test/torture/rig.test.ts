// The rig that the long tests stand on.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseAsServer } from '../harness/database.ts'
import { Rig } from './rig.ts'

test('mining ends, and says so, when the service does not follow', async (t) => {
  const rig = await Rig.open({ database: await databaseAsServer() })
  t.after(() => rig.close())
  rig.keepMining(1, 50)
  await assert.rejects(rig.miner, /has followed no block for .* s, 100 wait/)
  await assert.rejects(rig.stopMining(), /has followed no block/)
})
