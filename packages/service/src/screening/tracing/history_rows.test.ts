// Rows of files as others write them, whatever their form and packing.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { historyRows } from './history_rows.ts'

async function folderOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'rows-'))
  t.after(() => rm(folder, { recursive: true }))
  /** The rows of a file, each with its number before its fields. */
  return async (name: string, contents: string | Uint8Array) => {
    const path = join(folder, name)
    await writeFile(path, contents)
    const rows = []
    for await (const some of historyRows(path))
      for (const { row, fields } of some) rows.push([row, fields])
    return rows
  }
}

const parquetOf = (rows: number, row_group_size: number) =>
  new Uint8Array(
    parquetWriteBuffer({
      columnData: [{ name: 'n', data: Array.from({ length: rows }, (_, i) => i) }],
      rowGroupSize: row_group_size,
    }),
  )

const CSV = 'a,b\n1,x\n2,"y, z"\n'
const LINES = '{"a":1,"b":"x"}\n\n \n{"a":2,"b":"y, z"}\n'

test('rows are read of tables, lines and columns by the ends of their names', async (t) => {
  const rowsOf = await folderOf(t)
  for (const name of ['one.csv', 'ONE.CSV'])
    assert.deepEqual(await rowsOf(name, CSV), [
      [1, { a: '1', b: 'x' }],
      [2, { a: '2', b: 'y, z' }],
    ])
  for (const name of ['one.json', 'one.jsonl', 'one.ndjson'])
    assert.deepEqual(await rowsOf(name, LINES), [
      [1, { a: 1, b: 'x' }],
      [2, { a: 2, b: 'y, z' }],
    ])
  for (const [name, contents] of [
    ['one.csv', CSV],
    ['one.jsonl', LINES],
  ] as const)
    for (const packed of ['gz', 'GZ'])
      assert.deepEqual(
        await rowsOf(`${name}.${packed}`, gzipSync(contents)),
        await rowsOf(name, contents),
      )
  assert.deepEqual(await rowsOf('one.parquet', parquetOf(3, 2)), [
    [1, { n: 0 }],
    [2, { n: 1 }],
    [3, { n: 2 }],
  ])
  for (const name of ['one.txt', 'csv', 'one.csv.zip', 'one.xml.gz'])
    await assert.rejects(rowsOf(name, CSV), /^Refused: its name ends with none of \.parquet/)
})

test('a large group of rows is handed on in parts, and each row once', async (t) => {
  const rowsOf = await folderOf(t)
  const rows = await rowsOf('one.parquet', parquetOf(40_001, 40_000))
  assert.equal(rows.length, 40_001)
  assert.ok(rows.every(([row], i) => row === i + 1))
})

test('whole numbers of lines keep all of their digits', async (t) => {
  const rowsOf = await folderOf(t)
  for (const [said, read] of [
    ['123456789012345', 123456789012345],
    ['1234567890123456', 1234567890123456n],
    ['12345678901234567890', 12345678901234567890n],
    ['"1234567890123456"', '1234567890123456'],
    ['1234567890123456.5', 1234567890123456.5],
    ['0.1234567890123456', 0.1234567890123456],
    ['true', true],
    ['null', null],
  ] as const)
    assert.deepEqual(await rowsOf('one.json', `{"a":${said}}\n`), [[1, { a: read }]])
})

test('a file that is cut off, or has other fields than names, is refused', async (t) => {
  const rowsOf = await folderOf(t)
  const cut = /^Refused: its last line does not end: the file is cut off\.$/
  const unread = /^Refused: it cannot be read: .+\.$/
  for (const [name, contents, rule] of [
    ['one.csv', CSV.slice(0, -1), cut],
    ['one.csv', `${CSV}3`, cut],
    ['one.json', LINES.slice(0, -1), cut],
    ['one.json', `${LINES.slice(0, -1)}\v`, cut],
    ['one.csv.gz', gzipSync(CSV.slice(0, -1)), cut],
    ['one.csv.gz', gzipSync(CSV).subarray(0, -9), unread],
    ['one.csv.gz', CSV, unread],
    ['one.parquet', CSV, unread],
    ['one.parquet', parquetOf(9, 9).subarray(0, -9), unread],
    ['one.csv', `${CSV}3\n`, /^Refused: line 4: it has 1 fields of 2\.$/],
    ['one.csv', `${CSV}3,x,\n`, /^Refused: line 4: it has 3 fields of 2\.$/],
    ['one.json', `${LINES}[]\n`, /^Refused: row 3: it is no object of JSON\.$/],
    ['one.json', `${LINES}null\n`, /^Refused: row 3: it is no object of JSON\.$/],
    ['one.json', `${LINES}7\n`, /^Refused: row 3: it is no object of JSON\.$/],
    ['one.json', `${LINES}"a"\n`, /^Refused: row 3: it is no object of JSON\.$/],
    ['one.json', `${LINES}{"a":\n`, /^Refused: row 3: it is no object of JSON\.$/],
  ] as const)
    await assert.rejects(rowsOf(name, contents), rule, `${name} ${contents}`)
  for (const name of ['one.csv', 'one.json']) assert.deepEqual(await rowsOf(name, ''), [])
})

test('a file that becomes shorter while it is read is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rows-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'one.parquet')
  await writeFile(path, parquetOf(40_000, 20_000))
  const rows = historyRows(path)
  assert.equal((await rows.next()).value!.length, 20_000)
  await writeFile(path, '')
  await assert.rejects(rows.next(), /^Refused: it is cut off\.$/)
})
