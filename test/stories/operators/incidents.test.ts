// What operators post for everybody, and what they do not show.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietOperator } from '../../harness/operator.ts'

type Incident = { id: string; parts: string[]; began_at: string; closed_at: string | null }

test('an incident is posted, listed, closed once, and every change is on record', async (t) => {
  const at = await quietOperator(t)
  const parts = ['--part', 'events', '--part', 'buying', '--since', '2026-01-02T10:00:00Z']
  const posted = await at.json<Incident>('incidents', 'post', 'Late', 'A node is away.', ...parts)
  assert.deepEqual(posted.parts, ['buying', 'events'])
  assert.equal(posted.began_at, '2026-01-02T10:00:00.000Z')
  assert.deepEqual(await at.json('incidents', 'list'), [posted])
  const what = 'Another node is asked.'
  const updated = await at.json<Incident>('incidents', 'update', posted.id, what)
  assert.deepEqual(updated, { ...posted, what })
  const closed = await at.json<Incident>('incidents', 'close', posted.id, 'It is back.')
  assert.notEqual(closed.closed_at, null)
  const again = await at.type('incidents', 'close', posted.id)
  assert.equal(again.code, 1)
  assert.match(again.err, /was closed at/)
  const late = await at.type('incidents', 'update', posted.id, 'more')
  assert.match(late.err, /was closed at/)
  const unknown = await at.type('incidents', 'close', '01m7xps0ca8ksnnfg71x89vdp6')
  assert.match(unknown.err, /There is no incident/)
  const actions = await at.json<{ action: string; subject: string }[]>('actions', 'list')
  assert.deepEqual(
    actions.map(({ action, subject }) => [action, subject]),
    ['incidents close', 'incidents update', 'incidents post'].map((action) => [
      action,
      `incident:${posted.id}`,
    ]),
  )
})

test('an incident is closed alone: others stay open, with what was told of them', async (t) => {
  const at = await quietOperator(t)
  const first = await at.json<Incident>('incidents', 'post', 'Late', 'A node is away.')
  const other = await at.json<Incident>('incidents', 'post', 'Slow', 'Many orders wait.')
  await at.json('incidents', 'update', first.id, 'Another node is asked.')
  await at.json('incidents', 'close', first.id, 'It is back.')
  const listed = await at.json<Incident[]>('incidents', 'list')
  assert.deepEqual(
    listed.find(({ id }) => id === other.id),
    other,
  )
})

test('an incident that nobody could read is refused', async (t) => {
  const at = await quietOperator(t)
  const refused: [string[], RegExp][] = [
    [[' ', 'what'], /The title is empty/],
    [['x'.repeat(121), 'what'], /The title has more than 120 characters/],
    [['Late\u202e', 'what'], /The title has characters that hide/],
    [['Late', 'a\u0000b'], /What is told has characters that hide/],
    [['Late', ' '], /What is told is empty/],
    [['Late', 'x'.repeat(2_001)], /more than 2000 characters/],
    [['Late', 'what', '--part', 'everything'], /--part/],
    [['Late', 'what', '--since', '2999-01-01'], /cannot begin in the future/],
  ]
  for (const [words, sentence] of refused) {
    const { code, err } = await at.type('incidents', 'post', ...words)
    assert.equal(code, 2, words.join())
    assert.match(err, sentence)
  }
  assert.deepEqual(await at.json('incidents', 'list'), [])
})

test('what of the status page is shown is changed one by one, and recorded', async (t) => {
  const at = await quietOperator(t)
  const shown = { pool_shown: true, prices_shown: true }
  assert.deepEqual(await at.json('status-page', 'show'), shown)
  const without_pool = { ...shown, pool_shown: false }
  assert.deepEqual(await at.json('status-page', 'set', '--pool', 'hidden'), without_pool)
  assert.deepEqual(await at.json('status-page', 'set', '--pool', 'hidden'), without_pool)
  assert.equal((await at.type('status-page', 'set')).code, 2)
  const actions = await at.json<{ before: object; after: object }[]>('actions', 'list')
  assert.equal(actions.length, 1)
  assert.deepEqual([actions[0]!.before, actions[0]!.after], [shown, without_pool])
})

test('the house names itself, and what cannot be shown is refused', async (t) => {
  const at = await quietOperator(t)
  const shipped = {
    name: 'Penstock',
    accent: null,
    support: null,
    terms_url: null,
    explorer: null,
  }
  assert.deepEqual(await at.json('brand', 'show'), shipped)
  const explorer = 'https://one.example/tx/{tx_id} https://one.example/a/{address}'
  const changes = ['--name', 'Example', '--accent', '#CC8800', '--explorer', explorer]
  const changed = { ...shipped, name: 'Example', accent: '#cc8800', explorer }
  assert.deepEqual(await at.json('brand', 'set', ...changes), changed)
  assert.deepEqual(await at.json('brand', 'set', '--name', 'Example'), changed)
  const refused: [string[], RegExp][] = [
    [[], /nothing to change is given/],
    [['--name', 'x'.repeat(41)], /more than 40 characters/],
    [['--accent', 'red'], /a colour like #0b5cad/],
    [['--name', 'Example\u202e'], /The name has characters that hide/],
    [['--support', 'a\nb'], /is one line/],
    [['--support', 'a\u2028b'], /is one line/],
    [['--terms-url', 'http://example.com'], /begins with https/],
    [['--terms-url', 'https:terms'], /begins with https/],
    [['--terms-url', 'javascript:alert(1)'], /begins with https/],
    [['--explorer', 'https://one.example'], /The explorer is not like/],
  ]
  for (const [words, sentence] of refused) {
    const { code, err } = await at.type('brand', 'set', ...words)
    assert.equal(code, 2, words.join())
    assert.match(err, sentence)
  }
  const back = await at.json('brand', 'set', '--name=', '--accent=', '--explorer=')
  assert.deepEqual(back, shipped)
  const actions = await at.json<{ subject: string }[]>('actions', 'list')
  assert.deepEqual(
    actions.map(({ subject }) => subject),
    ['brand', 'brand'],
  )
})
