// What the ledger takes, adds up and seals: rows that are just inside and just outside of what each
// question asks for.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import { type EntryRow, enterAll } from 'penstock-test/harness/ledger_rows.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import { withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { drain } from '../../platform/steps/step.ts'
import { accountSums, checkBooks } from './books.ts'
import { sealStep } from './journal.ts'
import {
  captureAll,
  customerAccount,
  entries,
  holdAll,
  lockAccounts,
  move,
  openAccount,
  REVENUE,
  release,
  spendable,
  WORLD,
} from './ledger.ts'
import {
  findSumsSeal,
  keepSums,
  sumsAtNewestSeal,
  sumsFromSeal,
  wrongSeal,
  wrongSums,
} from './sealed_sums.ts'
import { checkJournal, readPlainly, readSeals } from './seals.ts'

const made_at = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => made_at }
const ANNA = customerAccount('anna')
const BEA = customerAccount('bea')

/** A deposit of Anna's of 100, in the accounts of two customers. */
async function ledger(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  await sql.begin(async (tx) => {
    await openAccount(tx, ANNA)
    await openAccount(tx, BEA)
  })
  await moved(sql, 'deposit', 100n)
  return { sql, url }
}

const moved = (sql: Sql, id: string, amount_sun: bigint, sides = {}) =>
  sql.begin((tx) => move(tx, { id, debit: WORLD, credit: ANNA, amount_sun, made_at, ...sides }))

const held = (sql: Sql, id: string, amount_sun: bigint) =>
  sql.begin(async (tx) => holdAll(tx, [{ id, debit: ANNA, credit: REVENUE, amount_sun, made_at }]))

const captured = (sql: Sql, hold_id: string, amount_sun: bigint) =>
  sql.begin(async (tx) => captureAll(tx, [{ hold_id, amount_sun }], made_at))

test('a transfer is made once, and another of its name is refused', async (t) => {
  const { sql } = await ledger(t)
  assert.equal(await moved(sql, 'other', 50n), true)
  assert.equal(await moved(sql, 'other', 50n), false)
  await held(sql, 'hold', 10n)
  const sides = { debit: ANNA, credit: REVENUE }
  for (const [id, amount_sun, more] of [
    ['other', 100n, {}],
    ['other', 50n, { credit: BEA }],
    ['other', 50n, { debit: REVENUE }],
    ['hold', 10n, sides],
  ] as const)
    await assert.rejects(moved(sql, id, amount_sun, more), /was made before, with other parts/)
  assert.equal(await spendable(sql, ANNA), 140n)
  assert.equal(await spendable(sql, BEA), 0n)
  assert.equal(await spendable(sql, 'customer:none'), undefined)
})

test('a hold is ended by its own name, and only a hold', async (t) => {
  const { sql } = await ledger(t)
  await held(sql, 'one', 10n)
  await held(sql, 'two', 20n)
  const released = (id: string) => sql.begin((tx) => release(tx, id, made_at))
  for (const id of ['none', 'deposit']) {
    await assert.rejects(released(id), /there is no hold/)
    await assert.rejects(captured(sql, id, 10n), /names no hold/)
  }
  await released('one')
  await captured(sql, 'two', 20n)
  const found = await entries(sql, ANNA)
  assert.deepEqual(found.map(({ id }) => id).sort(), [
    'deposit',
    'one',
    'one/release',
    'two',
    'two/capture',
  ])
  assert.equal((await entries(sql, ANNA, 2)).length, 2)
  assert.deepEqual(
    (await entries(sql, WORLD)).map(({ id }) => id),
    ['deposit'],
  )
})

test("an account that is locked says what it can spend, and the house's are no such", async (t) => {
  const { sql } = await ledger(t)
  await held(sql, 'hold', 30n)
  const locked = (ids: readonly string[]) =>
    sql.begin(async (tx) => [...(await lockAccounts(tx, ids))])
  assert.deepEqual(await locked([ANNA, WORLD, 'customer:none']), [[ANNA, 70n]])
  assert.deepEqual(await locked([BEA]), [[BEA, 0n]])
})

/** Of each kind, in the order of their numbers: the last two after what is sealed. */
const ENTRIES: EntryRow[] = [
  { id: 'deposit', at: made_at, sun: 1_000, debit: WORLD, credit: ANNA },
  { id: 'open', at: made_at, sun: 1, kind: 'hold' },
  { id: 'taken', at: made_at, sun: 20, kind: 'hold' },
  { id: 'taken/capture', at: made_at, sun: 15, kind: 'capture', of: 'taken' },
  { id: 'back', at: made_at, sun: 300, kind: 'hold' },
  { id: 'back/release', at: made_at, sun: 300, kind: 'release', of: 'back' },
  { id: 'later', at: made_at, sun: 60, kind: 'hold' },
  { id: 'gift', at: made_at, sun: 7, credit: BEA },
  { id: 'later/capture', at: made_at, sun: 50, kind: 'capture', of: 'later' },
  { id: 'new', at: made_at, sun: 5, kind: 'hold' },
]

/** `customer:anna 928 6`, and what is wrong with it. */
const shown = (sums: Awaited<ReturnType<typeof accountSums>>) =>
  sums.map(
    ({ id, posted_sun, held_sun, exists, keeps_sum }) =>
      `${id} ${posted_sun} ${held_sun}${exists ? '' : ' is none'}${keeps_sum ? '' : ' keeps none'}`,
  )

const ALL_SUMS = [
  'customer:anna 928 6',
  'customer:bea 7 0 is none keeps none',
  'customer:empty 0 0',
  'revenue 65 0 keeps none',
  'world -1000 0 keeps none',
]

/** Eight entries are sealed, and all are entered. */
async function sealed(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql.begin((tx) => openAccount(tx, ANNA))
  await sql.begin((tx) => openAccount(tx, customerAccount('empty')))
  await enterAll(sql, ENTRIES.slice(0, 6))
  await drain([sealStep({ sql, clock })])
  await enterAll(sql, ENTRIES.slice(6, 8))
  await drain([sealStep({ sql, clock })])
  await enterAll(sql, ENTRIES.slice(8))
  return sql
}

/** Without accounts of the house in which nothing is. */
const used = (rows: readonly string[]) => rows.filter((one) => !one.endsWith(' 0 0 keeps none'))

test('sums of accounts are of what moved, and of holds that are open', async (t) => {
  const sql = await sealed(t)
  assert.deepEqual(used(shown(await accountSums(sql))), ALL_SUMS)
  const [newest] = await sql.begin(async (tx) => [await sumsAtNewestSeal(tx)])
  assert.deepEqual([newest?.seal.number, newest?.seal.last_entry], [2n, 8n])
  const at_seal = newest!.sums.map((one) => `${one.id} ${one.posted_sun} ${one.held_sun}`)
  assert.deepEqual(at_seal.sort(), [
    'customer:anna 978 61',
    'customer:bea 7 0',
    'revenue 15 0',
    'world -1000 0',
  ])
  const kept = await sql.begin(async (tx) => {
    await keepSums(tx, newest!, { took_ms: 1, at: made_at })
    return sumsFromSeal(tx, (await findSumsSeal(tx))!)
  })
  assert.deepEqual(used(shown(kept)), ALL_SUMS)
})

test('without a seal there are no sums to keep, and none that are wrong', async (t) => {
  const { sql } = await ledger(t)
  assert.equal(await sql.begin((tx) => sumsAtNewestSeal(tx)), undefined)
  assert.deepEqual(await sql.begin((tx) => wrongSums(tx)), [])
})

test('sums that are kept are wrong by themselves, by their seal, or by the entries', async (t) => {
  const sql = await sealed(t)
  await sql.begin(async (tx) => {
    await keepSums(tx, (await sumsAtNewestSeal(tx))!, { took_ms: 1, at: made_at })
  })
  const another = "the journal's seal 2 is another one"
  const rows: [work: (tx: Tx) => Promise<unknown>, by_itself: string, by_entries: string][] = [
    [async () => {}, '', ''],
    [(tx) => tx`update journal set sha256 = 'x' where number = 2`, another, another],
    [(tx) => tx`update journal set last_entry = 9 where number = 2`, another, another],
    [(tx) => tx`delete from journal where number = 2`, another, another],
    [
      (tx) => tx`update sealed_sum set held_sun = held_sun + 1`,
      'they are not those that were kept',
      'they are not those that were kept',
    ],
    [
      (tx) => tx`update transfer set amount_sun = 8 where id = 'gift'`,
      '',
      'the entries up to 8 come to other sums than were kept',
    ],
    [(tx) => tx`update transfer set amount_sun = 8 where id = 'new'`, '', ''],
  ]
  for (const [work, by_itself, by_entries] of rows) {
    const both = await afterChange(sql, work, async (tx) => {
      const seal = (await findSumsSeal(tx))!
      return [await wrongSeal(tx, seal), await wrongSums(tx)]
    })
    assert.deepEqual(
      both.map((all) => all.map(({ found }) => found).join()),
      [by_itself, by_entries],
      String(work),
    )
  }
})

/** What is seen after somebody has changed rows who may do anything; it is undone then. */
async function afterChange<Seen>(
  sql: Sql,
  change: (tx: Tx) => Promise<unknown>,
  see: (tx: Tx) => Promise<Seen>,
): Promise<Seen> {
  let seen: [Seen] | undefined
  const undone = new Error('undone')
  const work = withoutTriggers(sql, async (tx) => {
    await change(tx)
    seen = [await see(tx)]
    throw undone
  })
  await assert.rejects(work, undone)
  return seen![0]
}

test('a hold is captured or released between its own accounts and up to its amount', async (t) => {
  const sql = await sealed(t)
  await sql`insert into account (id) values (${BEA})`
  await withoutTriggers(sql, (tx) => tx`update account set posted_sun = 7 where id = ${BEA}`)
  const wrong = (change: (tx: Tx) => Promise<unknown>, after?: bigint) =>
    afterChange(sql, change, async (tx) => {
      const found = await checkBooks(tx, undefined, after)
      return found.map((one) => `${one.rule}: ${one.subject}`)
    })
  assert.deepEqual(await wrong(async () => {}), [])
  const resolved = (id: string) => [`a hold is resolved between its own accounts: ${id}`]
  const capture = (set: string) => (tx: Tx) =>
    tx`update transfer set credit = case ${set} when 'credit' then 'corrections' else credit end,
      debit = case ${set} when 'debit' then 'corrections' else debit end,
      amount_sun = case ${set} when 'all' then 20 when 'more' then 21 else amount_sun end
      where id = 'taken/capture'`
  const of_capture = async (set: string) =>
    (await wrong(capture(set))).filter((one) => one.startsWith('a hold'))
  assert.deepEqual(await of_capture('credit'), resolved('taken/capture'))
  assert.deepEqual(await of_capture('debit'), resolved('taken/capture'))
  assert.deepEqual(await of_capture('more'), resolved('taken/capture'))
  assert.deepEqual(await of_capture('all'), [])
  const less = (tx: Tx) => tx`update transfer set amount_sun = 299 where id = 'back/release'`
  assert.deepEqual(await wrong(less), resolved('back/release'))
  assert.deepEqual(await wrong(less, 5n), resolved('back/release'))
  assert.deepEqual(await wrong(less, 6n), [], 'only of what came after an entry')
  const of_move = (tx: Tx) => tx`update transfer set hold_id = 'gift', debit = ${ANNA},
    credit = ${BEA}, amount_sun = 7 where id = 'taken/capture'`
  assert.ok((await wrong(of_move)).includes(resolved('taken/capture')[0]!), 'no hold at all')
})

test('entries are kept by a trigger of their own table, not by its name on another', async (t) => {
  const sql = await sealed(t)
  const found = (change: (tx: Tx) => Promise<unknown>) =>
    afterChange(sql, change, async (tx) =>
      (await checkJournal(tx)).filter(({ subject }) => subject.startsWith('trigger')),
    )
  const elsewhere = async (tx: Tx) => {
    await tx`drop trigger transfer_is_append_only on transfer`
    await tx`create trigger transfer_is_append_only before delete on account
      for each row execute function refuse_change()`
  }
  assert.deepEqual(await found(async () => {}), [])
  assert.deepEqual(await found(elsewhere), [
    {
      subject: 'trigger transfer_is_append_only',
      found: 'it is not there or was switched off',
    },
  ])
})

test('accounts that are named exist, and keep what their rows come to', async (t) => {
  const sql = await sealed(t)
  const wrong = (change: (tx: Tx) => Promise<unknown>) =>
    afterChange(sql, change, async (tx) => {
      const found = await checkBooks(tx)
      return found.map((one) => `${one.rule}: ${one.subject} ${one.found}`)
    })
  const none = `accounts exist: ${BEA} no such account`
  const kept = (posted: number, more: number) =>
    `kept sums equal the rows: ${ANNA} kept ${posted} sun posted and ${more} held more than the ` +
    'rows say'
  const anna = (posted: number, more: number) => (tx: Tx) =>
    tx`update account set posted_sun = posted_sun + ${posted}, held_sun = held_sun + ${more}
      where id = ${ANNA}`
  assert.deepEqual(await wrong(async () => {}), [none])
  assert.deepEqual(await wrong(anna(2, 0)), [none, kept(2, 0)])
  assert.deepEqual(await wrong(anna(0, -3)), [none, kept(0, -3)])
})

test('a journal is checked from a seal on, and each seal after it', async (t) => {
  const sql = await sealed(t)
  await drain([sealStep({ sql, clock })])
  const seals = await sql<{ number: bigint; last_entry: bigint; sha256: string }>`
    select number, last_entry, sha256 from journal order by number`
  const seen = async (change: (tx: Tx) => Promise<unknown>, from?: number) => {
    const place = from === undefined ? undefined : seals[from - 1]
    const found = await afterChange(sql, change, (tx) => checkJournal(tx, place))
    return found.map(({ subject }) => subject)
  }
  assert.equal(seals.length, 3)
  for (const from of [undefined, 1, 2, 3]) assert.deepEqual(await seen(async () => {}, from), [])
  const of = (id: string) => (tx: Tx) => tx`update transfer set amount_sun = 9 where id = ${id}`
  assert.deepEqual(await seen(of('gift'), 1), ['seal 2'])
  assert.deepEqual(await seen(of('gift'), 2), [])
  assert.deepEqual(await seen(of('new'), 2), ['seal 3'])
  assert.deepEqual(await seen(of('deposit')), ['seal 1'])
  const off = (tx: Tx) => tx`alter table transfer disable trigger transfer_is_append_only`
  assert.deepEqual(await seen(off, 3), ['trigger transfer_is_append_only'])
  const anew = (tx: Tx, set: { first?: number; entries?: number }) => tx`
    with one as (
      select jsonb_populate_record(j, jsonb_build_object(
        'first_entry', coalesce(${set.first ?? null}::bigint, first_entry),
        'entries', coalesce(${set.entries ?? null}::bigint, entries))) as head
      from journal as j where number = 3)
    update journal as j set first_entry = (head).first_entry, entries = (head).entries,
      sha256 = journal_sum(head, ${seals[1]!.sha256}, null, (
        select string_agg(entry_text(t), E'\\n' order by t.number) from transfer as t
        where t.number between (head).first_entry and (head).last_entry))
    from one where j.number = 3`
  assert.deepEqual(await seen((tx) => anew(tx, {})), [], 'a sum that is made anew is the same')
  assert.deepEqual(await seen((tx) => anew(tx, { entries: 1 })), ['seal 3'])
  const skips = async (tx: Tx) => {
    await tx`delete from transfer where number = 9`
    await anew(tx, { first: 10, entries: 1 })
  }
  assert.deepEqual(await seen(skips), ['seal 3'])
})

test('seals are handed out with the entries that they cover alone', async (t) => {
  const sql = await sealed(t)
  await drain([sealStep({ sql, clock })])
  const read = await sql.begin(async (tx) => {
    await readPlainly(tx)
    return readSeals(tx, { first: 2n, last: 2n })
  })
  assert.deepEqual(
    [read.seals, read.entries].map((rows) => rows.map(({ number }) => Number(number))),
    [[2], [7, 8]],
  )
  const [second] = await sql<{ sha256: string }>`select sha256 from journal where number = 1`
  assert.equal(read.previous_sha256, second!.sha256)
  const from_begin = await sql.begin((tx) => readSeals(tx, { first: 1n, last: 1n }))
  assert.equal(from_begin.previous_sha256, '')
  const third = await sql.begin((tx) => readSeals(tx, { first: 3n, last: 9n }))
  assert.deepEqual(
    third.entries.map(({ number }) => Number(number)),
    [9, 10],
  )
})

test('entries are to be sealed when there is one that is not, and else nothing is', async (t) => {
  const { sql } = await freshDatabase(t)
  const time = { now: () => made_at }
  const step = sealStep({ sql, clock: time })
  const run = async () => [await isDue(sql, step), await step.run(), await isDue(sql, step)]
  assert.deepEqual(await run(), [false, false, false])
  await enterAll(sql, ENTRIES.slice(0, 1))
  assert.deepEqual(await run(), [true, true, false])
  const later = sealStep({ sql, clock: { now: () => new Date(made_at.getTime() + 1) } })
  assert.equal(await later.run(), false)
  const marks = await sql`select last_entry, made_at from journal_mark`
  assert.deepEqual(marks, [{ last_entry: 1n, made_at }], 'no mark is made in vain')
})

test('sealing waits for who was writing entries when it began, and nobody else', async (t) => {
  const { sql, url } = await ledger(t)
  const step = sealStep({ sql, clock })
  const other = await ownTransaction(t, url)
  await other.query('select 1 from transfer')
  await other.query(`update account set id = id where id = '${ANNA}'`)
  assert.equal(await step.run(), true, 'one that reads entries, and writes something else')
  await other.query('commit')
  const insert = `
    insert into transfer (id, kind, debit, credit, amount_sun, made_at)
    values ($1, 'move', 'world', 'revenue', 1, now())`
  const [slow, next] = [await ownTransaction(t, url), await ownTransaction(t, url)]
  await slow.query(insert, ['slow'])
  await enterAll(sql, [{ id: 'quick', at: made_at, sun: 1, debit: WORLD }])
  assert.equal(await step.run(), false)
  assert.equal(await isDue(sql, step), true)
  await next.query(insert, ['next'])
  assert.equal(await step.run(), false)
  await slow.query('commit')
  assert.equal(await step.run(), true, 'one that has begun to write later')
  await next.query('commit')
  await drain([step])
  const rows = await sql<{ last_entry: bigint }>`select last_entry from journal order by number`
  assert.deepEqual(
    rows.map(({ last_entry }) => Number(last_entry)),
    [1, 3, 4],
  )
})
