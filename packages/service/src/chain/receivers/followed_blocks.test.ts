import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { addressFromHex } from 'penstock-tron/address.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Contents, pack } from '../follow/contents.ts'
import { followedBlocks } from './followed_blocks.ts'

const address = (n: number) => addressFromHex(`41${n.toString(16).padStart(40, '0')}`)
const NOTHING = { moves: [], unfollowed: [], unknown: [], energy_uses: [], fees: [], freezes: [] }
const timeOf = (number: number) => new Date(number * 3_000)

async function addBlock(sql: Sql, number: number, contents: Partial<Contents> = {}) {
  await sql`
    insert into block (number, id, parent_id, time, contents, read_from, outcomes_sha256)
    values (${number}, ${`b${number}`}, ${`b${number - 1}`}, ${timeOf(number)},
      ${pack({ ...NOTHING, ...contents })}, '{one}', '')`
}

/** In each block the address of its number pays the fee of a transaction. */
async function addBlocks(sql: Sql, first: number, last: number) {
  for (let number = first; number <= last; number++)
    await addBlock(sql, number, { fees: [{ tx_id: '00'.repeat(32), owner: address(number) }] })
}

async function follow(sql: Sql, confirmed: number) {
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (100, 'b100', now(), ${confirmed}, ${confirmed}, now(), now())
    on conflict (one) do update
    set solid_number = excluded.solid_number, confirmed_number = excluded.confirmed_number`
}

async function setting(t: TestContext) {
  const { sql } = await freshDatabase(t)
  let now_ms = 1_000_000
  const followed = followedBlocks({ sql, clock: { now: () => new Date(now_ms) } })
  /** What is said a second later of the chain, and which of these addresses have signed. */
  const looks = async (numbers: number[]) => {
    now_ms += 1_000
    const chain = await followed.newest()
    const signed = numbers.filter((number) => followed.hasSigned(address(number)))
    return { confirmed_at: chain?.confirmed_at, signed }
  }
  return { sql, looks, newest: followed.newest }
}

test('who has signed is read from five confirmed blocks, then from each new one', async (t) => {
  const { sql, looks, newest } = await setting(t)
  await addBlocks(sql, 0, 12)
  assert.equal(await newest(), undefined)
  const numbers = [...Array(13).keys()]
  assert.deepEqual(await looks(numbers), { confirmed_at: undefined, signed: [] })
  await follow(sql, 7)
  assert.deepEqual(await looks(numbers), { confirmed_at: timeOf(7), signed: [3, 4, 5, 6, 7] })
  await follow(sql, 9)
  const next = { confirmed_at: timeOf(9), signed: [3, 4, 5, 6, 7, 8, 9] }
  assert.deepEqual(await looks(numbers), next)
  await sql`delete from block where number < 9`
  await addBlock(sql, 8, { fees: [{ tx_id: '00'.repeat(32), owner: address(50) }] })
  await follow(sql, 10)
  const numbers_too = [...numbers, 50]
  assert.deepEqual(await looks(numbers_too), {
    confirmed_at: timeOf(10),
    signed: [3, 4, 5, 6, 7, 8, 9, 10],
  })
})

test('who sent, or called a contract, has signed; others in events have not', async (t) => {
  const { sql, looks } = await setting(t)
  const move = { tx_id: '00'.repeat(32), index: 1, asset: 'TRX', to: address(9), amount: 1n }
  const kinds = ['transfer', 'call_value', 'event', 'internal'] as const
  await addBlock(sql, 1, {
    moves: kinds.map((kind, i) => ({ ...move, kind, from: address(i + 1) })),
    energy_uses: [{ tx_id: '01'.repeat(32), owner: address(5), energy: 9n, staked: 0n }],
  })
  await follow(sql, 1)
  const { signed } = await looks([1, 2, 3, 4, 5, 9])
  assert.deepEqual(signed, [1, 2, 5])
})
