import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { addressFromHex } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type Contents, pack } from '../follow/contents.ts'
import { internalsOf } from '../node/internal_transfers.ts'
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

test('no text that a node makes up keeps anybody from reading a block', async (t) => {
  const { sql, looks } = await setting(t)
  const [caller_address, transferTo_address] = [address(1), address(2)]
  const sent = (note: string, tokenId: unknown) => ({
    caller_address,
    transferTo_address,
    note,
    callValueInfo: [{ callValue: 1, tokenId }],
  })
  const call = Buffer.from('call').toString('hex')
  const made_up = ['a\0b', '\ud800', 'x'.repeat(1_000), 7]
  const { transfers, unknown } = internalsOf(
    [...made_up.map((id) => sent(call, id)), sent('\0\ud800', '1')],
    'ab',
  )
  const plain = { tx_id: 'ab', kind: 'internal', index: 0 } as const
  await addBlock(sql, 1, {
    unfollowed: transfers.map((one) => ({ ...one, ...plain, asset: String(one.asset) })),
    unknown: unknown.map((one) => ({ ...one, ...plain, asset: String(one.asset) })),
    fees: [{ tx_id: 'ab', owner: address(5) }],
  })
  await follow(sql, 1)
  assert.deepEqual((await looks([5])).signed, [5])
  const assets = transfers.map(({ asset }) => asset)
  // No text can be made of it: another node is asked, as after no answer.
  assert.throws(() => internalsOf([sent(call, { toString: 1 })], 'ab'), Outage)
  assert.deepEqual(assets, ['a b', ' ', 'x'.repeat(64), '7'])
})
