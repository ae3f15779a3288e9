// The cost of the bandwidth of transfers of one address, in whatever order they are sent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bandwidthFee } from './making.ts'

const PRICE_SUN = 1_000n
const fee = (sizes: readonly number[], left: bigint) => bandwidthFee(sizes, left, PRICE_SUN)

test('bandwidth that is enough for all transfers, to the last byte, leaves nothing to burn', () => {
  assert.equal(fee([270, 345], 615n), 0n)
  assert.equal(fee([], 0n), 0n)
  assert.equal(fee([270, 345], 614n), 345n * PRICE_SUN)
})

test('bandwidth pays for a whole transfer or for nothing: at worst for the smallest', () => {
  assert.equal(fee([345, 270], 270n), 345n * PRICE_SUN)
  assert.equal(fee([345, 270], 269n), 615n * PRICE_SUN)
  assert.equal(fee([345, 270], 344n), 345n * PRICE_SUN)
})
