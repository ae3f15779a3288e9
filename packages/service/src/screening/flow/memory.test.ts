import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CELL, CELLS, Memory, placeOf, SLOT } from './memory.ts'

test('cells that were given back in small pieces serve slots with many', () => {
  // As far out as numbers of cells go.
  const memory = new Memory(1_000, { with_visits: false, cells_before: 2 ** 35 - 2 ** 19 })
  const slotOf = (n: number) => memory.findOrMake(0, new Uint32Array([n, 7, 0, 0, 0]), 0)
  for (let n = 0; n < 1_000; n++) memory.ensureCells(slotOf(n), 1)
  const { cells_taken } = memory
  for (let n = 0; n < 1_000; n++) if (n % 10 > 0) memory.drop(slotOf(n))
  memory.mergeFree()
  for (let n = 1_000; n < 1_200; n++) {
    const slot = slotOf(n)
    memory.ensureCells(slot, 0b1111)
    const { words } = memory.pageOf(slot)
    const first = placeOf(memory.slots[slot * SLOT + CELLS]!) * 2
    words.fill(n, first, first + 4 * CELL * 2)
  }
  assert.equal(memory.cells_taken, cells_taken)
  for (let n = 1_000; n < 1_200; n++) {
    const slot = slotOf(n)
    const first = placeOf(memory.slots[slot * SLOT + CELLS]!) * 2
    const own = memory.pageOf(slot).words.subarray(first, first + 4 * CELL * 2)
    assert.ok(
      own.every((word) => word === n),
      'no two slots have the same cells',
    )
  }
})
