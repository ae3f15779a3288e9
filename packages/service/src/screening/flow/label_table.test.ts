import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LabelTable } from './label_table.ts'
import { KINDS, type Label } from './labels.ts'

const label: fc.Arbitrary<Label> = fc.record({
  address: fc.nat(12).map((n) => (n === 0 ? '0'.repeat(40) : `${n}`.padStart(8, '0').repeat(5))),
  category: fc.nat(27),
  confidence: fc.constantFrom(0, 49, 50, 100),
  kind: fc.constantFrom(...KINDS),
  from_ms: fc.constantFrom(Number.NEGATIVE_INFINITY, 0, 1_700_000_000_123),
  to_ms: fc.constantFrom(Number.POSITIVE_INFINITY, 1_800_000_000_456),
})

const textOf = (b: Label) =>
  [b.address, b.category, b.confidence, b.kind, b.from_ms, b.to_ms].join()

test('a table has what was put in and not taken out, and a copy goes its own way', () => {
  const act = fc.record({ label, what: fc.constantFrom('add', 'add', 'remove', 'copy') })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), (acts) => {
      let table = new LabelTable()
      let model: Label[] = []
      for (const { label, what } of acts) {
        if (what === 'add') {
          table.add(label)
          model.push(label)
        } else if (what === 'remove') {
          table.remove(label)
          const at = model.findIndex((one) => textOf(one) === textOf(label))
          if (at >= 0) model = model.toSpliced(at, 1)
        } else {
          const copied = table
          table = table.copy()
          copied.add(label)
          copied.remove(label)
        }
      }
      const rows = Array.from({ length: table.row_count }, (_, row) => table.at(row))
      assert.equal(rows.filter((row) => row !== undefined).length, model.length)
      for (const address of new Set(acts.map((one) => one.label.address)))
        assert.deepEqual(
          table.of(address).map(textOf),
          model.filter((one) => one.address === address).map(textOf),
        )
    }),
  )
})
