import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvOf, firstRows, flatRows } from './csv.ts'

test('cells are quoted where they must be, and no formula is left', () => {
  assert.equal(csvOf(['a', 'b'], [['x,"y"', 2.93]]), 'a,b\r\n"x,""y""",2.93\r\n')
  assert.equal(
    csvOf(['a'], [['=1+1'], ['@cmd'], [null], [-5]]),
    "a\r\n'=1+1\r\n'@cmd\r\n\r\n-5\r\n",
  )
})

test('rows of the wire get a column for each field, also of parts', () => {
  const rows = [
    { id: 'a', params: { address: 'T1', amounts: { energy: 3 } }, types: ['x', 'y'], on: true },
    { id: 'b', params: { address: 'T2' }, types: [], hash: null },
  ]
  assert.deepEqual(flatRows(rows), {
    columns: ['id', 'params.address', 'params.amounts.energy', 'types', 'on', 'hash'],
    cells: [
      ['a', 'T1', 3, '["x","y"]', 'true', null],
      ['b', 'T2', null, '[]', null, null],
    ],
  })
})

test('a list that is longer than a file may be is cut, and that is said', async () => {
  let asked = 0
  async function* pages(count: number) {
    for (let page = 0; page < count; page++) {
      asked += 1
      yield [page * 2, page * 2 + 1]
    }
  }
  const counts: number[] = []
  const first = (count: number) => firstRows(pages(count), 4, (read) => counts.push(read))
  assert.deepEqual(await first(2), { rows: [0, 1, 2, 3], more: false })
  assert.deepEqual(await first(9), { rows: [0, 1, 2, 3], more: true })
  assert.deepEqual(counts, [2, 4, 2, 4, 4])
  assert.equal(asked, 5, 'no page is asked for when it is known that there are others')
})
