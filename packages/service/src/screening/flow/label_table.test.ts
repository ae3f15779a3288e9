import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LabelTable } from './label_table.ts'
import { KINDS, type Label } from './labels.ts'
import { hashOf } from './memory.ts'

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

test('labels are those of an address when all of its words are', () => {
  const words = [1, 2, 3, 4, 5].map((n) => `0${n}000000`)
  const addresses = [words.join(''), ...words.map((_, i) => words.with(i, '09000000').join(''))]
  const labels = addresses.flatMap((address, i) =>
    [i, i + 10].map(
      (from_ms): Label => ({
        address,
        category: 7,
        confidence: 60,
        kind: 'curated',
        from_ms,
        to_ms: 100,
      }),
    ),
  )
  const table = LabelTable.of(labels)
  for (const [i, address] of addresses.entries()) {
    assert.deepEqual(
      table.of(address).map(({ from_ms }) => from_ms),
      [i, i + 10],
    )
    assert.deepEqual(
      table.at(2 * i)!.labels.map(({ from_ms }) => from_ms),
      [i, i + 10],
    )
  }
  assert.deepEqual(table.at(0)!.words, Uint32Array.of(1, 2, 3, 4, 5))
  assert.deepEqual(table.of('07'.repeat(20)), [])
})

test('a table finds its labels when there are many, and those that are out are not', () => {
  const labelAt = (n: number, to_ms: number): Label => ({
    address: n.toString(16).padStart(8, '0').padEnd(40, '5'),
    category: n % 28,
    confidence: n % 101,
    kind: KINDS[n % KINDS.length]!,
    from_ms: n,
    to_ms,
  })
  const all = Array.from({ length: 500 }, (_, n) => labelAt(n, 1_000 + n))
  const table = LabelTable.of(all)
  const same = (a: Label) => table.of(a.address).map(textOf).join('; ')
  for (const one of all) assert.equal(same(one), textOf(one))
  assert.deepEqual([...table.all()].map(textOf), all.map(textOf))
  // What differs in a single field is another label.
  for (const more of [{ to_ms: 7 }, { from_ms: 7 }, { confidence: 8 }])
    table.remove(Object.assign(labelAt(300, 1_300), more))
  assert.equal(same(all[300]!), textOf(all[300]!))
  for (const one of all.slice(0, 200)) table.remove(one)
  assert.deepEqual([...table.all()].map(textOf), all.slice(200).map(textOf))
  assert.deepEqual(
    [0, 199, 200, 499].map((row) => table.at(row)?.labels.length),
    [undefined, undefined, 1, 1],
  )
  const again = table.copy()
  again.add(all[0]!)
  assert.deepEqual([again.row_count, table.row_count], [501, 500])
  assert.deepEqual([again.of(all[0]!.address).length, table.of(all[0]!.address).length], [1, 0])
})

test('a table that is half full of addresses with even hashes says that it lacks another', () => {
  const addresses: string[] = []
  for (let n = 0; addresses.length < 33; n++)
    if (hashOf(0, n, 0) % 2 === 0)
      addresses.push(Buffer.from(Uint32Array.of(n, 0, 0, 0, 0).buffer).toString('hex'))
  const table = LabelTable.of(
    addresses.slice(0, 32).map((address): Label => {
      const times = { from_ms: 0, to_ms: 1 }
      return Object.assign(times, { address, category: 7, confidence: 60, kind: KINDS[0] })
    }),
  )
  assert.deepEqual(
    addresses.map((address) => table.of(address).length),
    [...Array<number>(32).fill(1), 0],
  )
})
