// Which attempts the steps lock, and in which order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  asked,
  blockWith,
  CONFIRMED,
  clock,
  type GivenAttempt,
  hasNothing,
  LATE,
  putAttempt,
  rowText,
  signAll,
  signing,
  withChain,
} from 'penstock-test/harness/attempt_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { ownTransaction } from 'penstock-test/harness/own_transaction.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Node } from '../node/node.ts'
import type { Signer } from '../signing/signer.ts'
import {
  includeAttempts,
  judgeStep,
  makeAttemptsSolid,
  revertAttempts,
  sendStep,
  withdrawAttempts,
} from './attempts.ts'

const refuse: Signer = async (batch) => batch.map(() => ({ state: 'refused', why: 'no' }))
const wait: Signer = async (batch) => batch.map(() => ({ state: 'waits', why: 'no' }))
const hasIt = asked(async () => [{ found: true, solid_number: CONFIRMED }])
const sending = (sql: Sql, broadcast: () => Promise<unknown>) =>
  sendStep({ sql, clock, node: { broadcast } as unknown as Node })

const made_at = after(-300_001)
const late = { state: 'sent', expires_at: LATE }

/** What is done, to attempts that are so, by a connection. */
type Way = [what: string, given: GivenAttempt, act: (tx: Tx & Sql, ids: string[]) => unknown]

const WAYS: readonly Way[] = [
  ['sign', {}, (tx) => signing(tx, signAll).run()],
  ['refuse', {}, (tx) => signing(tx, refuse).run()],
  ['postpone', {}, (tx) => signing(tx, wait).run()],
  ['mark as dead', late, (tx) => judgeStep({ sql: tx, clock, node: hasNothing }).run()],
  ['leave undecided', late, (tx) => judgeStep({ sql: tx, clock, node: hasIt }).run()],
  ['give up', { made_at }, (tx) => judgeStep({ sql: tx, clock, node: hasNothing }).run()],
  ['withdraw', {}, (tx, ids) => withdrawAttempts(tx, ids, 'no')],
  [
    'include',
    { state: 'sent' },
    (tx, ids) => {
      const found = Object.fromEntries(ids.map((id) => [`tx ${id}`, true]))
      includeAttempts(tx, blockWith(found), [])
    },
  ],
  ['take back', { state: 'included', block_number: 91 }, (tx) => revertAttempts(tx, 90)],
  ['make solid', { state: 'included', block_number: 80 }, (tx) => makeAttemptsSolid(tx)],
]
const SEND: Way = [
  'send',
  { state: 'signed' },
  (tx) => sending(tx, async () => [{ said: 'yes' }]).run(),
]

test('no step waits for an attempt that it does not change', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const in_a_block = { made_at, block_number: CONFIRMED, expires_at: LATE }
  await putAttempt(sql, 'other new', { send_at: after(1) })
  await putAttempt(sql, 'other sent', { ...late, made_at, send_at: after(1) })
  await putAttempt(sql, 'other included', { state: 'included', ...in_a_block, block_number: 85 })
  await putAttempt(sql, 'other solid', { state: 'solid', ...in_a_block })
  await putAttempt(sql, 'other above', { state: 'solid', ...in_a_block, block_number: 95 })
  await sql.begin(async (holder) => {
    await holder`select 1 from attempt for no key update`
    for (const [what, given, act] of [...WAYS, SEND]) {
      await sql`delete from attempt where id = 'one'`
      await putAttempt(sql, 'one', given)
      const before = await rowText(sql)
      await sql.begin(async (tx) => {
        await tx`set local lock_timeout = '100ms'`
        await act(tx as Tx & Sql, ['one'])
      })
      assert.notEqual(await rowText(sql), before, what)
    }
  })
})

test('several attempts are locked in the order of their ids', async (t) => {
  const { sql, url } = await freshDatabase(t)
  await withChain(sql)
  const other = await ownTransaction(t, url)
  const others = ['d', 'c', 'b']
  const areFree = async () => {
    const free = await sql`select 1 from attempt where id = any(${others}) for update skip locked`
    return free.length === others.length
  }
  const lockFirst = () => other.query("select from attempt where id = 'a' for update")
  /** Whether those that come first but for their ids are left alone while `a` is waited for. */
  async function areLeft(acting: Promise<unknown>): Promise<boolean> {
    await other.waitedFor(acting)
    const left = await areFree()
    await other.commit()
    await acting
    await other.query('begin')
    return left
  }
  async function putAll({ expires_at = after(1), ...given }: GivenAttempt): Promise<void> {
    await sql`delete from attempt`
    for (const [i, id] of [...others, 'a'].entries()) {
      const earlier = { expires_at: new Date(expires_at.getTime() + i - 3), send_at: after(i - 3) }
      await putAttempt(sql, id, { ...given, ...earlier })
    }
  }
  for (const [what, given, act] of WAYS) {
    await putAll(given)
    await lockFirst()
    const acting = sql.begin(async (tx) => act(tx as Tx & Sql, [...others, 'a']))
    assert.equal(await areLeft(acting), true, what)
  }
  await putAll({ state: 'signed' })
  const acting = sending(sql, async () => {
    await lockFirst()
    return [{ said: 'yes' }]
  }).run()
  assert.equal(await areLeft(acting), true, 'note what was said')
})
