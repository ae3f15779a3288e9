// Notes of operators about a customer: kept as they were written, counted, and in the record by
// their ids alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booksFindings, worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

type Note = { id: string; at: string; made_by: string; text: string }

test('a note is read by the next operator, and the record has no text of it', async (t) => {
  const world = await makeWorld(t)
  const [anna, other] = [await world.customer(), await world.customer()]
  const at = await worldOperator(world)
  const texts = ['Pays by the month.', 'Ask Bob\nabout refunds: <b>', '  the third  ']
  for (const text of texts) {
    await at.json('customers', 'note', anna.id, text)
    await world.advance(1)
  }
  const notes = await at.json<Note[]>('customers', 'notes', anna.id)
  assert.deepEqual(
    notes.map(({ text }) => text),
    ['the third', texts[1], texts[0]],
  )
  assert.ok(notes.every(({ made_by, at: when }) => made_by !== '' && Date.parse(when) > 0))
  const older = ['customers', 'notes', anna.id, '--limit', '1', '--before', notes[0]!.id]
  assert.deepEqual(await at.json<Note[]>(...older), [notes[1]])
  assert.deepEqual(await at.json<Note[]>('customers', 'notes', other.id), [])
  const record = await at.json<{ action: string; subject: string; after: object }[]>(
    'actions',
    'list',
  )
  const written = record.filter(({ action }) => action === 'customers note')
  assert.deepEqual(
    written.map(({ subject, after }) => [subject, after]),
    notes.map(({ id }) => [`customer:${anna.id}`, { note: id }]),
  )
  assert.ok(!JSON.stringify(record).includes('refunds'))
  assert.deepEqual(await booksFindings(at), [])
})

test('a note that is empty, too long, too many or of no customer is refused', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const at = await worldOperator(world)
  const refused = async (...words: string[]) => {
    const { code, err } = await at.type('customers', ...words)
    assert.notEqual(code, 0)
    return err
  }
  assert.match(await refused('note', anna.id, ' '), /TEXT is empty/)
  assert.match(await refused('note', anna.id, 'x'.repeat(2_001)), /more than 2000 characters/)
  assert.match(await refused('note', 'someone', 'x'), /There is no customer someone/)
  assert.match(await refused('notes', 'someone'), /There is no customer someone/)
  await at.json('customers', 'note', anna.id, '\u{1F4B6}'.repeat(2_000))
  await world.sql`
    insert into customer_note (id, customer_id, at, made_by, text)
    select 'n' || n, ${anna.id}, now(), 'a test', 'x' from generate_series(2, 1000) as n`
  assert.match(await refused('note', anna.id, 'x'), /has 1000 notes; it can have no more/)
  const [known] = await world.sql<{ count: bigint }>`select count(*) as count from customer_note`
  assert.equal(known!.count, 1_000n)
})
