import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HistoryReader } from './history_blocks.ts'

/** Rows of blocks without transfers. */
const rowsOf = (ids: readonly (string | undefined)[]) =>
  ids.map((block_id, i) => ({
    row: i + 1,
    fields: {
      block: 100 + i,
      time: `2026-01-01T00:00:0${3 * i}Z`,
      ...Object.fromEntries(['tx', 'index', 'asset', 'from', 'to', 'amount'].map((x) => [x, ''])),
      ...(block_id !== undefined && { block_id }),
    },
  }))

function blocksOf(ids: readonly (string | undefined)[]) {
  const reader = new HistoryReader({ assets: new Map(), supplies: new Map() })
  const blocks = rowsOf(ids).map((row) => reader.read(row))
  return [...blocks, reader.end()].flatMap((one) => one?.block ?? [])
}

const idOf = (number: number) => `${number.toString(16).padStart(16, '0')}${'ab'.repeat(24)}`

test('a block may have no id; one that it has begins with its number', () => {
  for (const ids of [
    [undefined, undefined],
    ['', ''],
    [idOf(100), `0x${idOf(101).toUpperCase()}`],
  ]) {
    const blocks = blocksOf(ids)
    assert.deepEqual(
      blocks.map(({ number }) => number),
      [100, 101],
    )
    const said = ids.map((id) => (id ?? '').replace('0x', '').toLowerCase())
    assert.deepEqual(
      blocks.map(({ id }) => id),
      said,
    )
  }
  for (const wrong of [idOf(7), idOf(100).slice(1), 'x'])
    assert.throws(() => blocksOf([wrong]), /is no id of block 100 on TRON/)
})
