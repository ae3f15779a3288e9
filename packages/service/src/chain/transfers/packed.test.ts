import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTransfers, packTransfers, transferAt } from './packed.ts'

const person = (i: number) => Buffer.alloc(20, i)
const transfer = fc.record({
  asset: fc.nat(3),
  from: fc.integer({ min: 1, max: 5 }).map(person),
  to: fc.integer({ min: 1, max: 5 }).map(person),
  amount: fc.bigInt(1n, 2n ** 60n),
})
const transfers = fc.array(transfer, { maxLength: 30 })

test('packed transfers come back as they were', () => {
  fc.assert(
    fc.property(transfers, (all) => {
      const packed = packTransfers(all)
      assert.equal(countTransfers(packed), all.length)
      for (const [i, one] of all.entries()) {
        const { from, to, ...rest } = transferAt(packed, i)
        assert.deepEqual({ ...rest, from: Buffer.from(from), to: Buffer.from(to) }, { ...one })
      }
    }),
  )
})
