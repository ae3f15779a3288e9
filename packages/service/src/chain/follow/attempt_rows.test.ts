// Which wishes are signed and sent, and what is noted of each, by rows just inside and just outside
// of what the steps take.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  after,
  attemptRows,
  attemptStates,
  CONFIRMED,
  clock,
  isTaken,
  NOW,
  PAYMENT,
  putAttempt,
  signAll,
  signing,
  withChain,
} from 'penstock-test/harness/attempt_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { blockIdOf } from 'penstock-test/harness/made_chain.ts'
import { decodeRawData, decodeTransaction, transactionId } from 'penstock-tron/transaction.ts'
import type { Node } from '../node/node.ts'
import type { Signer, SignOutcome } from '../signing/signer.ts'
import { enqueueAttempts, fromRow, sendStep, withdrawAttempts } from './attempts.ts'

test('a wish is signed from the moment it is due, once, on a chain that goes on', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  let batches = 0
  const step = signing(sql, async (batch) => {
    batches += 1
    return signAll(batch)
  })
  assert.equal(await isTaken(sql, step, {}), true, 'one is enough')
  assert.equal(await isTaken(sql, step, { send_at: after(1) }), false)
  for (const state of ['signed', 'sent', 'dead'])
    assert.equal(await isTaken(sql, step, { state }), false, state)
  assert.equal(batches, 1, 'nobody is asked to sign nothing')
  await sql`update chain set seen_at = ${after(-30_000)}`
  assert.equal(await isTaken(sql, step, {}), true)
  await sql`delete from attempt`
  await putAttempt(sql, 'one', {})
  await sql`update chain set seen_at = ${after(-30_001)}`
  assert.equal(await step.run(), false)
  assert.equal(batches, 2)
})

test('what is signed names the solid block and a minute from the head on', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  let made = 0
  const new_id = () => `a${made++}`
  const wanted = [{ subject: 'pay:1', contract: PAYMENT }]
  const [id] = await sql.begin(async (tx) => enqueueAttempts(tx, { clock, new_id }, wanted))
  await putAttempt(sql, 'b', { send_at: after(1) })
  await signing(sql, signAll).run()
  const [row, other] = await attemptRows(sql)
  assert.equal(row!.id, id)
  const { raw_data } = decodeTransaction(row!.signed!)
  const read = decodeRawData(raw_data)
  assert.equal(read.ref_block_bytes + read.ref_block_hash, blockIdOf(CONFIRMED).slice(12, 32))
  assert.equal(Number(read.expiration), NOW.getTime() + 60_000)
  assert.deepEqual(read.contract, [PAYMENT], 'with its 64-bit sums')
  assert.deepEqual(
    [row!.state, row!.tx_id, row!.expires_at, row!.send_at],
    ['signed', transactionId(raw_data), after(60_000), NOW],
  )
  assert.deepEqual([other!.state, other!.tx_id], ['new', null])
})

test('a contract is read as it was written, with what is null in it', () => {
  const value = {
    owner_address: null,
    balance: { int64: '9007199254740993' },
    lock: false,
    list: [1],
  }
  const read = fromRow({ type: 'x', parameter: { value } } as never)
  assert.deepEqual(read.parameter.value, {
    owner_address: null,
    balance: 9_007_199_254_740_993n,
    lock: false,
    list: [1],
  })
})

test('an outcome is noted of its attempt alone, while that still waits for one', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const outcomes: Record<string, SignOutcome> = {
    refused: { state: 'refused', why: 'no reason' },
    barred: { state: 'refused', why: 'another reason' },
    waits: { state: 'waits', why: 'stopped' },
    moot: { state: 'moot' },
  }
  const kinds = ['signed', ...Object.keys(outcomes)]
  // Of each kind one that goes on as it is, and one that is withdrawn meanwhile.
  const new_id = (() => {
    const ids = kinds.flatMap((kind) => [kind, `${kind} late`])
    return () => ids.shift()!
  })()
  const wanted = kinds
    .flatMap((kind) => [kind, `${kind} late`])
    .map((subject) => ({ subject, contract: PAYMENT }))
  await sql.begin(async (tx) => enqueueAttempts(tx, { clock, new_id }, wanted))
  await putAttempt(sql, 'other', { send_at: after(1) })
  const sign: Signer = async (batch) => {
    await sql`update attempt set state = 'dead', answer = 'gone' where id like '% late'`
    const signed = await signAll(batch)
    return batch.map(({ attempt }, i) => outcomes[attempt.split(' ')[0]!] ?? signed[i]!)
  }
  const logged: string[] = []
  await signing(sql, sign, (event, fields) => logged.push(`${event} ${fields?.attempt}`)).run()
  const rows = await attemptRows(sql)
  assert.deepEqual(
    rows.map(({ id, state, answer, send_at, refused_at }) => [
      id,
      state,
      answer,
      send_at.getTime() - NOW.getTime(),
      refused_at,
    ]),
    [
      ['barred', 'new', 'another reason', 30_000, NOW],
      ['barred late', 'dead', 'gone', 0, null],
      ['moot', 'new', null, 0, null],
      ['moot late', 'dead', 'gone', 0, null],
      ['other', 'new', null, 1, null],
      ['refused', 'new', 'no reason', 30_000, NOW],
      ['refused late', 'dead', 'gone', 0, null],
      ['signed', 'signed', null, 0, null],
      ['signed late', 'dead', 'gone', 0, null],
      ['waits', 'new', null, 2_000, null],
      ['waits late', 'dead', 'gone', 0, null],
    ],
  )
  assert.deepEqual(logged.sort(), [
    'signing_refused barred',
    'signing_refused barred late',
    'signing_refused refused',
    'signing_refused refused late',
  ])
})

test('of attempts with the same bytes the first is kept, in a batch or before it', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  await putAttempt(sql, 'stored', { state: 'sent' })
  for (const id of ['alone', 'first', 'again', 'second', 'third']) await putAttempt(sql, id, {})
  const of: Record<string, string> = { again: 'tx stored', second: 'double', third: 'double' }
  const sign: Signer = async (batch) => {
    // Another process stores the very signature of one meanwhile.
    await sql`
      update attempt set state = 'signed', tx_id = 'tx own', signed = 'x', expires_at = ${NOW}
      where id = 'first'`
    return batch.map(({ attempt }) => ({
      state: 'signed',
      raw_data: new Uint8Array(),
      tx_id: attempt === 'first' ? 'tx own' : (of[attempt] ?? `tx ${attempt}`),
      signature: '11'.repeat(65),
      expires_at: NOW,
    }))
  }
  const logged: string[] = []
  await signing(sql, sign, (event, fields) => logged.push(`${event} ${fields?.attempt}`)).run()
  assert.deepEqual(await attemptStates(sql), {
    again: 'dead',
    alone: 'signed',
    first: 'signed',
    second: 'signed',
    stored: 'sent',
    third: 'dead',
  })
  assert.deepEqual(logged.sort(), ['bytes_of_another again', 'bytes_of_another third'])
  const [again] = await attemptRows(sql)
  assert.equal(again!.answer, 'its bytes are of another')
})

test('a single attempt whose bytes another has is given up', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  await putAttempt(sql, 'stored', { state: 'sent' })
  await putAttempt(sql, 'again', {})
  const sign: Signer = async (batch) =>
    (await signAll(batch)).map((one) => ({ ...one, tx_id: 'tx stored' }) as SignOutcome)
  await signing(sql, sign).run()
  assert.deepEqual(await attemptStates(sql), { again: 'dead', stored: 'sent' })
})

test('signed bytes go out when due, until the head has come to their time', async (t) => {
  const { sql } = await freshDatabase(t)
  await withChain(sql)
  const sent: string[] = []
  const node = {
    async broadcast(bytes: Uint8Array) {
      sent.push(Buffer.from(bytes).toString())
      return [{ said: 'SUCCESS' }, { said: `for ${Buffer.from(bytes)}` }]
    },
  } as unknown as Node
  const step = sendStep({ sql, clock, node })
  for (const state of ['signed', 'sent']) {
    assert.equal(await isTaken(sql, step, { state }), true)
    assert.equal(await isTaken(sql, step, { state, send_at: after(1) }), false)
    assert.equal(await isTaken(sql, step, { state, expires_at: NOW }), false)
  }
  assert.equal(await isTaken(sql, step, {}), false)
  assert.equal(await isTaken(sql, step, { state: 'dead' }), false)
  assert.equal(await isTaken(sql, step, { state: 'included', block_number: 90 }), false)
  assert.deepEqual(sent, ['one', 'one'])

  await sql`delete from attempt`
  await putAttempt(sql, 'early', { state: 'sent', send_at: after(1), answer: 'before' })
  await putAttempt(sql, 'first', { state: 'signed' })
  await putAttempt(sql, 'second', { state: 'sent', sent_at: after(-5_000) })
  await step.run()
  assert.deepEqual(
    (await attemptRows(sql)).map((row) => [
      row.id,
      row.state,
      row.sends,
      row.answer,
      row.send_at,
      row.sent_at,
    ]),
    [
      ['early', 'sent', 0, 'before', after(1), null],
      ['first', 'sent', 1, 'SUCCESS | for first', after(5_000), NOW],
      ['second', 'sent', 1, 'SUCCESS | for second', after(5_000), after(-5_000)],
    ],
  )
})

test('only what is not signed is withdrawn, and only what was named', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['a', 'b', 'c']) await putAttempt(sql, id, {})
  await putAttempt(sql, 'signed', { state: 'signed' })
  assert.equal(await withdrawAttempts(sql, ['signed'], 'not wanted'), false)
  assert.equal(await withdrawAttempts(sql, ['a', 'signed'], 'not wanted'), true)
  assert.equal(await withdrawAttempts(sql, ['a'], 'again'), false)
  assert.equal(await withdrawAttempts(sql, ['b', 'a'], 'nor this'), true)
  assert.deepEqual(
    (await attemptRows(sql)).map(({ id, state, answer }) => [id, state, answer]),
    [
      ['a', 'dead', 'not wanted'],
      ['b', 'dead', 'nor this'],
      ['c', 'new', null],
      ['signed', 'signed', null],
    ],
  )
})
