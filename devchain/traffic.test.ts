import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyOf, Scene, TRX } from './scene.ts'
import { startTraffic } from './traffic.ts'

test('traffic fills every block, also when it is sent the moment a block is announced', () => {
  const on = new Scene({ ann: 100n * TRX, ben: 100n * TRX, cid: 100n * TRX })
  const traffic = startTraffic(on.devchain, ['ann', 'ben', 'cid'].map(keyOf), 4)
  on.devchain.chain.onInput = (input) => {
    if (input.kind === 'block') traffic.next()
  }
  assert.deepEqual(
    [1, 2, 3].map(() => on.mine().transactions.length),
    [4, 4, 4],
  )
})
