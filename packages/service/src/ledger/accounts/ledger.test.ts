import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { emptyTables, freshDatabase } from 'penstock-test/harness/database.ts'
import { withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import { brokenConstraint, type Sql, type Tx } from '../../platform/database/sql.ts'
import { checkBooks } from './books.ts'
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

const made_at = new Date('2026-10-08T15:26:32Z')
const ANNA = customerAccount('anna')
const ZOE = customerAccount('zoe')

/** Two customers, the first with the given sum. */
async function ledger(t: TestContext, sun: bigint): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await openBoth(sql)
  await sql.begin(async (tx) =>
    move(tx, { id: 'first', debit: WORLD, credit: ANNA, amount_sun: sun, made_at }),
  )
  return sql
}

const openBoth = (sql: Sql) =>
  sql.begin(async (tx) => {
    await openAccount(tx, ANNA)
    await openAccount(tx, ZOE)
  })

const hold = (sql: Sql, id: string, amount_sun: bigint, debit = ANNA) =>
  sql.begin(async (tx) => holdAll(tx, [{ id, debit, credit: REVENUE, amount_sun, made_at }]))

const capture = (tx: Tx, hold_id: string, amount_sun: bigint) =>
  captureAll(tx, [{ hold_id, amount_sun }], made_at)

const breaks = (name: string) => (thrown: unknown) => brokenConstraint(thrown) === name

test('a hold takes money off the balance, a capture keeps it, a release returns it', async (t) => {
  const sql = await ledger(t, 100n)
  await hold(sql, 'h1', 30n)
  await hold(sql, 'h2', 20n)
  assert.equal(await spendable(sql, ANNA), 50n)
  await sql.begin(async (tx) => capture(tx, 'h1', 30n))
  assert.equal(await spendable(sql, ANNA), 50n)
  await sql.begin((tx) => release(tx, 'h2', made_at))
  assert.equal(await spendable(sql, ANNA), 70n)
  assert.deepEqual(await checkBooks(sql), [])
  const kinds = (await entries(sql, ANNA)).map(({ kind, amount_sun }) => `${kind} ${amount_sun}`)
  assert.deepEqual(kinds.toSorted(), ['capture 30', 'hold 20', 'hold 30', 'move 100', 'release 20'])
})

test('a capture may be less than its hold, and frees the rest; it may not be more', async (t) => {
  const sql = await ledger(t, 100n)
  await hold(sql, 'h1', 30n)
  await assert.rejects(
    sql.begin(async (tx) => capture(tx, 'h1', 31n)),
    /takes more than it set aside/,
  )
  await sql.begin(async (tx) => capture(tx, 'h1', 10n))
  assert.equal(await spendable(sql, ANNA), 90n)
  assert.deepEqual(await checkBooks(sql), [])
})

test('captures of several customers take from each the taken, and return the rest', async (t) => {
  const sql = await ledger(t, 100n)
  await sql.begin(async (tx) =>
    move(tx, { id: 'm', debit: WORLD, credit: ZOE, amount_sun: 50n, made_at }),
  )
  await hold(sql, 'h1', 30n)
  await hold(sql, 'h2', 20n)
  await hold(sql, 'h3', 40n, ZOE)
  const captures = [
    { hold_id: 'h1', amount_sun: 25n },
    { hold_id: 'h2', amount_sun: 20n },
    { hold_id: 'h3', amount_sun: 1n },
  ]
  await sql.begin(async (tx) => captureAll(tx, captures, made_at))
  assert.deepEqual([await spendable(sql, ANNA), await spendable(sql, ZOE)], [55n, 49n])
  assert.deepEqual(await checkBooks(sql), [])
})

test('a hold is resolved once, by whichever comes first, also when two come at once', async (t) => {
  const sql = await ledger(t, 100n)
  await hold(sql, 'h1', 30n)
  const outcomes = await Promise.allSettled([
    sql.begin(async (tx) => capture(tx, 'h1', 30n)),
    sql.begin((tx) => release(tx, 'h1', made_at)),
    sql.begin(async (tx) => capture(tx, 'h1', 1n)),
  ])
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    assert.match(String(brokenConstraint(outcome.reason)), /^transfer_(hold_resolved_once|pkey)$/)
  }
  assert.deepEqual(await checkBooks(sql), [])
  await assert.rejects(
    sql.begin((tx) => release(tx, 'no such hold', made_at)),
    /there is no hold/,
  )
})

test('more than there is can be neither held nor moved', async (t) => {
  const sql = await ledger(t, 100n)
  await hold(sql, 'h1', 60n)
  await assert.rejects(hold(sql, 'h2', 41n), breaks('account_not_overdrawn'))
  await assert.rejects(
    sql.begin((tx) => move(tx, { id: 'm1', debit: ANNA, credit: ZOE, amount_sun: 41n, made_at })),
    breaks('account_not_overdrawn'),
  )
  assert.equal(await spendable(sql, ANNA), 40n)
  assert.equal(await spendable(sql, ZOE), 0n)
  assert.deepEqual(await checkBooks(sql), [])
})

test('several holds of several customers are made together or not at all', async (t) => {
  const sql = await ledger(t, 100n)
  const both = (zoes: bigint) =>
    sql.begin(async (tx) =>
      holdAll(tx, [
        { id: 'h1', debit: ANNA, credit: REVENUE, amount_sun: 10n, made_at },
        { id: 'h2', debit: ANNA, credit: REVENUE, amount_sun: 20n, made_at },
        { id: 'h3', debit: ZOE, credit: REVENUE, amount_sun: zoes, made_at },
      ]),
    )
  await assert.rejects(both(1n), breaks('account_not_overdrawn'))
  assert.equal(await spendable(sql, ANNA), 100n)
  await sql.begin((tx) => move(tx, { id: 'm', debit: WORLD, credit: ZOE, amount_sun: 5n, made_at }))
  await both(5n)
  assert.deepEqual([await spendable(sql, ANNA), await spendable(sql, ZOE)], [70n, 0n])
})

test('the same move again changes nothing, and its id cannot be used for another', async (t) => {
  const sql = await ledger(t, 100n)
  const transfer = { id: 'm1', debit: ANNA, credit: ZOE, amount_sun: 30n, made_at }
  const made = await Promise.all([1, 2, 3].map(() => sql.begin((tx) => move(tx, transfer))))
  assert.deepEqual(made.toSorted(), [false, false, true])
  assert.equal(await spendable(sql, ANNA), 70n)
  for (const other of [{ amount_sun: 31n }, { credit: REVENUE }, { debit: WORLD }]) {
    await assert.rejects(
      sql.begin((tx) => move(tx, { ...transfer, ...other })),
      /made before, with other parts/,
    )
  }
  await hold(sql, 'h1', 1n)
  await assert.rejects(
    sql.begin(async (tx) =>
      move(tx, { id: 'h1', debit: ANNA, credit: REVENUE, amount_sun: 1n, made_at }),
    ),
    /made before/,
    'a hold is not a move',
  )
  assert.deepEqual(await checkBooks(sql), [])
})

test('a transfer is neither changed, nor deleted, nor truncated', async (t) => {
  const sql = await ledger(t, 100n)
  for (const change of [
    () => sql`update transfer set amount_sun = 1`,
    () => sql`delete from transfer`,
    () => sql`truncate transfer cascade`,
  ]) {
    await assert.rejects(change(), /transfer is append-only/)
  }
  assert.equal(await spendable(sql, ANNA), 100n)
})

test('the database refuses a transfer that makes no sense, by name', async (t) => {
  const sql = await ledger(t, 100n)
  const insert = (row: {
    kind?: string
    hold_id?: string | null
    debit?: string
    amount_sun?: bigint
  }) => {
    const { kind = 'move', hold_id = null, debit = ANNA, amount_sun = 1n } = row
    return sql`insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
               values ('t', ${kind}, ${hold_id}, ${debit}, ${ZOE}, ${amount_sun}, ${made_at})`
  }
  await assert.rejects(insert({ amount_sun: 0n }), breaks('transfer_amount_positive'))
  await assert.rejects(insert({ amount_sun: -1n }), breaks('transfer_amount_positive'))
  await assert.rejects(insert({ debit: ZOE }), breaks('transfer_between_two_accounts'))
  await assert.rejects(insert({ kind: 'gift' }), breaks('transfer_kind'))
  await assert.rejects(insert({ kind: 'capture' }), breaks('transfer_resolves_a_hold'))
  await assert.rejects(insert({ hold_id: 'first' }), breaks('transfer_resolves_a_hold'))
  await assert.rejects(
    insert({ kind: 'release', hold_id: 'nothing' }),
    breaks('transfer_hold_exists'),
  )
  await hold(sql, 'h', 10n)
  const resolve = (row: { id: string; kind: string; credit: string; sun: bigint }) =>
    sql`insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
        values (${row.id}, ${row.kind}, 'h', ${ANNA}, ${row.credit}, ${row.sun}, ${made_at})`
  const capture = { id: 'c', kind: 'capture', credit: REVENUE, sun: 10n }
  for (const change of [{ sun: 11n }, { credit: ZOE }, { kind: 'release', sun: 9n }])
    await assert.rejects(resolve({ ...capture, ...change }), breaks('transfer_resolves_as_held'))
  await assert.rejects(
    withoutTriggers(sql, (tx) => tx`update account set held_sun = -1 where id = ${ZOE}`),
    breaks('account_held_not_negative'),
  )
  await assert.rejects(
    withoutTriggers(sql, (tx) => tx`update account set posted_sun = 1 where id = ${WORLD}`),
    breaks('account_system_keeps_no_sum'),
  )
})

test('nobody writes the sums of an account: they follow its entries', async (t) => {
  const sql = await ledger(t, 100n)
  const kept = async () => {
    const [row] = await sql`select posted_sun, held_sun from account where id = ${ANNA}`
    return row
  }
  await hold(sql, 'h', 10n)
  await sql`update account set held_sun = 0, posted_sun = 1000 where id = ${ANNA}`
  assert.deepEqual(await kept(), { posted_sun: 100n, held_sun: 10n })
  // As a program of before does it, in one statement with the entry.
  await sql`
    with hold as (
      insert into transfer (id, kind, debit, credit, amount_sun, made_at)
      values ('old', 'hold', ${ANNA}, ${REVENUE}, 5, ${made_at}) returning debit, amount_sun)
    update account set held_sun = held_sun + amount_sun from hold where id = debit`
  assert.deepEqual(await kept(), { posted_sun: 100n, held_sun: 15n })
  await sql`insert into account values ('customer:rich', false, 1000, 0)`
  assert.equal(await spendable(sql, 'customer:rich'), 0n)
  assert.deepEqual(await checkBooks(sql), [])
})

test('the check of the books finds what does not hold', async (t) => {
  const sql = await ledger(t, 100n)
  await hold(sql, 'h1', 10n)
  await withoutTriggers(sql, async (tx) => {
    await tx`update account set posted_sun = 101 where id = ${ANNA}`
    await tx`insert into transfer (id, kind, debit, credit, amount_sun, made_at)
             values ('t1', 'move', 'customer:nobody', ${REVENUE}, 1, ${made_at})`
    await tx`insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
             values ('t2', 'capture', 'h1', ${ANNA}, ${ZOE}, 11, ${made_at})`
  })
  const rules = (await checkBooks(sql)).map(({ rule, subject }) => `${rule}: ${subject}`)
  assert.deepEqual(rules, [
    'a hold is resolved between its own accounts: t2',
    'accounts exist: customer:nobody',
    `kept sums equal the rows: ${ANNA}`,
    `kept sums equal the rows: ${ZOE}`,
  ])
})

/** One thing that somebody does to the ledger. Names are few, so that histories meet. */
type Deed =
  | { do: 'deposit' | 'hold'; who: string; id: number; sun: bigint }
  | { do: 'give'; from: string; to: string; id: number; sun: bigint }
  | { do: 'capture'; id: number; sun: bigint }
  | { do: 'release'; id: number }

const who = fc.constantFrom(ANNA, ZOE)
const id = fc.integer({ min: 0, max: 5 })
const sun = fc.bigInt(1n, 60n)
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ do: fc.constantFrom('deposit' as const, 'hold' as const), who, id, sun }),
  fc
    .record({ do: fc.constant('give' as const), from: who, to: who, id, sun })
    .filter(({ from, to }) => from !== to),
  fc.record({ do: fc.constant('capture' as const), id, sun }),
  fc.record({ do: fc.constant('release' as const), id }),
)

/** Does it in a transaction, as the service would: looked at under a lock, then written. */
function commit(sql: Sql, one: Deed, fails: boolean): Promise<void> {
  return sql.begin(async (tx) => {
    if (one.do === 'hold') {
      const free = await lockAccounts(tx, [one.who])
      if ((free.get(one.who) ?? 0n) < one.sun) throw new Error('too little')
      holdAll(tx, [
        { id: `h${one.id}`, debit: one.who, credit: REVENUE, amount_sun: one.sun, made_at },
      ])
    } else if (one.do === 'deposit') {
      await move(tx, {
        id: `d${one.id}`,
        debit: WORLD,
        credit: one.who,
        amount_sun: one.sun,
        made_at,
      })
    } else if (one.do === 'give') {
      await move(tx, {
        id: `g${one.id}`,
        debit: one.from,
        credit: one.to,
        amount_sun: one.sun,
        made_at,
      })
    } else if (one.do === 'capture') await capture(tx, `h${one.id}`, one.sun)
    else await release(tx, `h${one.id}`, made_at)
    if (fails) throw new Error('what was bought could not be written')
  })
}

const EXPECTED = /too little|made before|there is no hold|names no hold|could not be written/

test('whatever happens at once or fails half-way, the books are right', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 6 })
  const history = fc.array(fc.record({ one: deed, fails: fc.nat(9).map((n) => n === 0) }), {
    minLength: 5,
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(history, async (deeds) => {
      await emptyTables(sql)
      await openBoth(sql)
      const outcomes = await Promise.allSettled(
        deeds.map(({ one, fails }) => commit(sql, one, fails)),
      )
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue
        const constraint = brokenConstraint(outcome.reason)
        const why = constraint ?? String(outcome.reason)
        assert.match(
          why,
          constraint
            ? /^(account_not_overdrawn|transfer_pkey|transfer_hold_resolved_once)$/
            : EXPECTED,
        )
      }
      assert.deepEqual(await checkBooks(sql), [])
      const [sums] = await sql<{ customers: bigint; world: bigint; revenue: bigint }>`
        select (select coalesce(sum(posted_sun), 0)::bigint from account) as customers,
               coalesce(sum(amount_sun) filter (where debit = 'world' and kind = 'move'),
                 0)::bigint as world,
               coalesce(sum(amount_sun) filter (where credit = 'revenue' and kind = 'capture'),
                 0)::bigint as revenue
        from transfer`
      assert.equal(
        sums!.customers + sums!.revenue,
        sums!.world,
        'what came in is with customers or earned',
      )
    }),
    { numRuns: 60 },
  )
})
