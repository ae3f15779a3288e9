import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outage } from '../../lib/fault.ts'
import { addressOfBare } from './bare_addresses.ts'
import { clickHouseArchive } from './clickhouse_archive.ts'

const bare = (n: number) => Buffer.alloc(20, n)
const address = (n: number) => addressOfBare(bare(n))

/** A row of who dealt with an address. */
function rowOf([other, asset]: readonly [number, number]): Buffer {
  const row = Buffer.alloc(80)
  bare(other).copy(row)
  row.writeUInt32LE(asset, 20)
  row.writeBigUInt64LE(5n, 32)
  row.writeBigUInt64LE(1n, 56)
  return row
}

/** A page, when ClickHouse answers with these rows. */
const pageOf = (rows: readonly (readonly [number, number])[]) =>
  clickHouseArchive({ run: async () => Buffer.concat(rows.map(rowOf)) }).counterparties(
    address(9),
    { first: 1, last: 100 },
    { after: { other: address(3), asset: 1 }, limit: 10 },
  )

test('rows that ClickHouse was not asked for are no page', async () => {
  const page = await pageOf([
    [3, 2],
    [4, 0],
    [4, 1],
  ])
  assert.deepEqual(
    page.map(({ other, asset, received }) => [other, asset, received]),
    [
      [address(3), 2, 5n],
      [address(4), 0, 5n],
      [address(4), 1, 5n],
    ],
  )
  for (const rows of [
    [[3, 1]],
    [[2, 7]],
    [
      [5, 0],
      [4, 0],
    ],
    [
      [4, 1],
      [4, 1],
    ],
  ] as const)
    await assert.rejects(
      pageOf(rows),
      (thrown) => thrown instanceof Outage && /other rows than asked/.test(thrown.message),
    )
  const half = clickHouseArchive({ run: async () => rowOf([4, 0]).subarray(1) })
  const asked = { after: undefined, limit: 10 }
  await assert.rejects(
    half.counterparties(address(9), { first: 1, last: 100 }, asked),
    /half a row/,
  )
})
