// Pairs of addresses as the log grows upwards and downwards: each block is counted once, and whom
// an address dealt with is read by pages from whoever knows more.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { MemoryArchive } from 'penstock-test/harness/memory_archive.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import { bareAddress } from '../../chain/transfers/bare_addresses.ts'
import { packTransfers } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { Counterparty } from '../../chain/transfers/transfer_archive.ts'
import { counterpartiesOf, forgetPairs, keepPairs, pairStep } from './counterparties.ts'

const AT = new Date('2026-11-21T12:00:00Z')
const NAMES = ['anna', 'bert', 'carl']
const addressOf = (name: string) => person(name).address
const bare = (name: string) => bareAddress(addressOf(name))

type BriefTransfer = [from: string, to: string, amount: bigint, asset?: number]

const blockOf = (number: number, ...transfers: BriefTransfer[]) => ({
  number,
  id: String(number),
  time: AT,
  freezes: [],
  transfers: packTransfers(
    transfers.map(([from, to, amount, asset = 0]) => ({
      asset,
      from: bare(from),
      to: bare(to),
      amount,
    })),
  ),
  tx_ids: new Uint8Array(32 * transfers.length),
})

const namesOf = (page: readonly Counterparty[]) =>
  page.map(
    ({ other, asset, received, sent, transfers, first_number, last_number }) =>
      `${NAMES.find((name) => addressOf(name) === other)} ${asset}: ` +
      `${received} ${sent} ${transfers} ${first_number}-${last_number}`,
  )

async function pairs(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  const step = pairStep({ sql })
  const keep = () => sql.begin((tx) => keepPairs(tx, { at: AT, by: 'olga' }))
  const read = async (name: string, limit = 10, after?: Counterparty) =>
    counterpartiesOf({ sql }, addressOf(name), { after, limit })
  /** Whether the step is due, which it then does. */
  const due = async () => {
    const is_due = await isDue(sql, step)
    assert.equal(await step.run(), is_due)
    return is_due
  }
  return { sql, url, step, log: transferLog(sql), keep, read, due }
}

test('blocks of the log are counted once, as it grows at either end', async (t) => {
  const { sql, log, keep, read, due } = await pairs(t)
  await log.append([blockOf(5, ['anna', 'bert', 10n])])
  assert.equal(await due(), false, 'it is not kept')
  assert.equal(await read('anna'), undefined)
  assert.deepEqual([await keep(), await keep()], [true, false])
  const nothing = { first_number: null, last_number: null, page: [] }
  assert.deepEqual(await read('anna'), nothing)
  assert.deepEqual([await due(), await due()], [true, false])
  await log.append([blockOf(6, ['bert', 'anna', 3n], ['anna', 'bert', 4n, 1])])
  assert.deepEqual([await due(), await due()], [true, false])
  await log.append([blockOf(7)])
  assert.deepEqual([await due(), await due()], [true, false], 'a block without transfers')
  await log.append([blockOf(8, ['carl', 'carl', 2n])])
  assert.deepEqual([await due(), await due()], [true, false], 'a transfer to oneself')
  await log.prepend([blockOf(4, ['anna', 'bert', 1n])])
  assert.deepEqual([await due(), await due()], [true, false])
  await log.prepend([blockOf(3, ['anna', 'carl', 1n])])
  await log.append([blockOf(9, ['anna', 'bert', 1n])])
  assert.deepEqual([await due(), await due(), await due()], [true, true, false])
  const { page, ...range } = (await read('anna'))!
  assert.deepEqual(range, { first_number: 3n, last_number: 9n })
  assert.deepEqual(namesOf(page).sort(), [
    'bert 0: 3 12 4 4-9',
    'bert 1: 0 4 1 6-6',
    'carl 0: 0 1 1 3-3',
  ])
  assert.deepEqual(namesOf((await read('carl'))!.page).sort(), [
    'anna 0: 1 0 1 3-3',
    'carl 0: 2 2 2 8-8',
  ])
  assert.deepEqual(await sql.begin(forgetPairs), true)
  assert.deepEqual([await sql.begin(forgetPairs), await read('anna')], [false, undefined])
  assert.equal((await sql`select from flow_pair`).length, 0)
  assert.equal(await keep(), true)
  assert.deepEqual(await read('anna'), nothing)
})

test('pages of them follow each other, and nobody else is in them', async (t) => {
  const { log, keep, read, due } = await pairs(t)
  await keep()
  const [to_bert, of_two] = [
    ['anna', 'bert', 1n],
    ['anna', 'carl', 1n],
  ] as const
  await log.append([
    blockOf(1, [...to_bert], [...to_bert, 1], [...of_two], [...of_two, 1], ['bert', 'carl', 1n]),
  ])
  await due()
  const whole = (await read('anna'))!.page
  assert.equal(whole.length, 4)
  const seen: Counterparty[] = []
  for (let after: Counterparty | undefined; ; after = seen.at(-1)) {
    const { page } = (await read('anna', 1, after))!
    if (page.length === 0) break
    assert.equal(page.length, 1)
    seen.push(...page)
  }
  assert.deepEqual(seen, whole)
})

test('what another process has read meanwhile is not counted again', async (t) => {
  const { sql, url, step, log, keep, read, due } = await pairs(t)
  await keep()
  await log.append([blockOf(5, ['anna', 'bert', 10n])])
  await due()
  await log.append([blockOf(6, ['anna', 'bert', 10n])])
  for (const [change, moved] of [
    ['update flow_pair_progress set last_number = 6', true],
    ['update flow_pair_progress set first_number = 4, last_number = 5', true],
    ['delete from flow_pair_progress', false],
  ] as const) {
    await sql`update flow_pair_progress set first_number = 5, last_number = 5`
    const other = await ownTransaction(t, url)
    await other.query('select from flow_pair_progress for update')
    const run = step.run()
    await other.waitedFor(run)
    await other.query(change)
    await other.commit()
    assert.equal(await run, moved, change)
    const [pair] = await sql<{ sent: bigint }>`
      select sent::bigint from flow_pair where address = ${Buffer.from(bare('anna'))}`
    assert.equal(pair!.sent, 10n)
  }
  assert.equal(await read('anna'), undefined)
})

test('the archive is asked when it has more blocks than the pairs', async (t) => {
  const { sql } = await pairs(t)
  const archive = Object.assign(new MemoryArchive(), { counterparties: async () => [] })
  const read = async () => {
    const whole = { after: undefined, limit: 10 }
    const found = await counterpartiesOf({ sql, archive }, addressOf('anna'), whole)
    return found && `${found.first_number}-${found.last_number}`
  }
  const [{ id }] = (await sql<{ id: string }>`
    update flow_archive set state = 'begun', begun_at = ${AT}, begun_by = 'olga'
    returning id`) as [{ id: string }]
  await archive.prepare(id)
  assert.equal(await read(), undefined, 'it is empty, and nothing else is kept')
  await sql`
    insert into flow_pair_progress (first_number, last_number, asked_at, asked_by)
    values (null, null, ${AT}, 'olga')`
  assert.equal(await read(), 'null-null', 'neither has a block')
  await sql`
    insert into flow_archive_portion (first_number, last_number, transfers, copied_at, put_at)
    values (1, 10, 0, ${AT}, ${AT})`
  assert.equal(await read(), '1-10')
  for (const [first, last, found] of [
    [101, 109, '1-10'],
    [101, 110, '101-110'],
    [101, 111, '101-111'],
  ] as const) {
    await sql`update flow_pair_progress set first_number = ${first}, last_number = ${last}`
    assert.equal(await read(), found)
  }
  await sql`delete from flow_pair_progress`
  assert.equal(await read(), '1-10')
  await sql`update flow_archive set state = 'ended'`
  assert.equal(await read(), undefined)
})
