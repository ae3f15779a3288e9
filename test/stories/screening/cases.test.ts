// A case from the alert to its end, by two operators: an answer that waits opens it, an alert joins
// it, it is handed on, nobody alone lets go what was high, and nothing of what was said is changed.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listCases } from 'penstock-service/screening/cases/case_subjects.ts'
import { noteAlerts } from 'penstock-service/screening/checks/watch_rules.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

type Case = {
  id: string
  state: string
  priority: string
  risk_level: string | null
  owner: string | null
  code: string | null
  is_late: boolean
  entries: { number: number; kind: string; made_by: string; text: string; name: string | null }[]
  reviews: { check_id: string; state: string }[]
  subjects: { kind: string; subject: string }[]
  earlier: { id: string }[]
}

const WHY = ['--reason', 'a test']

/** A customer who was answered that Eve's address is a scam: the answer waits. */
async function caseWorld(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-cases-'))
  t.after(() => rm(folder, { recursive: true }))
  const world = await makeWorld(t)
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const eve = world.person('eve', 1_000_000).address
  const file = join(folder, 'labels.csv')
  await writeFile(file, `address,category,entity,confidence\n${eve},scam,Eve,90\n`)
  await operator.json('lists', 'import', 'operator', file)
  await world.drain()
  const asked = { type: 'address', network: 'TRX', address: eve }
  const { id: check } = await anna.get<{ id: string }>('/v1/aml-checks/new', asked)
  await world.drain()
  const [found] = await operator.json<Case[]>('aml', 'cases', 'list', '--state', 'open')
  const show = () => operator.json<Case>('aml', 'cases', 'show', found!.id)
  /** Runs it as one of them; what is refused comes back as a sentence. */
  const as = async (by: string, verb: string, ...more: string[]) =>
    (await operator.type('aml', 'cases', verb, found!.id, ...more, '--by', by)).err
  return { world, ...operator, anna, eve, check, folder, id: found!.id, show, as }
}

test('an answer that waits is a case, which two operators close', async (t) => {
  const { world, json, type, anna, eve, check, folder, id, show, as } = await caseWorld(t)
  const opened = await show()
  assert.deepEqual([opened.state, opened.priority, opened.risk_level], ['open', 'high', 'high'])
  assert.deepEqual(
    opened.reviews.map(({ check_id, state }) => [check_id, state]),
    [[check, 'open']],
  )
  assert.deepEqual(
    opened.subjects.map(({ kind, subject }) => [kind, subject]),
    [['check', check]],
  )

  // An alert about severe money joins the case: the address does not have two.
  const transfer = {
    tx_id: 'a'.repeat(64),
    block_number: 1,
    asset: 'TRX',
    amount: '40000000',
    usd: '12.00',
    counterparty: anna.deposit_address,
    category: 'mixer',
  }
  const known = { address: eve, reference: null, threshold: null, transfer, transfers: 1 }
  const said = { ...known, before: null, after: null, check_id: null }
  const alerts = (['sent_to', 'any_incoming_usd'] as const).map((rule) => ({
    customer_id: anna.id,
    at: world.now,
    data: { ...said, rule },
  }))
  await world.sql.begin(async (tx) => noteAlerts(tx, alerts))
  await world.drain()
  const cases = await json<Case[]>('aml', 'cases', 'list')
  assert.equal(cases.length, 1)
  const heard = (await show()).entries.filter(({ kind }) => kind === 'alert')
  assert.deepEqual(
    heard.map(({ text }) => text.slice(0, 23)),
    ['sent_to: 12.00 USD of T'],
    'an amount alone is none',
  )

  assert.equal(await as('olga', 'assign', 'olga', ...WHY), '')
  assert.equal(await as('olga', 'note', 'The shop says that it was a refund.'), '')
  const paper = join(folder, 'answer.txt')
  await writeFile(paper, 'We have sold a bicycle.\n')
  const { number, sha256 } = await json<{ number: number; sha256: string }>(
    ...['aml', 'cases', 'attach', id, paper, '--by', 'olga'],
  )
  assert.equal(sha256, createHash('sha256').update('We have sold a bicycle.\n').digest('hex'))
  const file = await json<{ text: string; name: string }>('aml', 'cases', 'file', id, `${number}`)
  assert.deepEqual([file.text, file.name], ['We have sold a bicycle.\n', 'answer.txt'])

  assert.match(await as('olga', 'close', 'explained', ...WHY), /check \w+ waits: decide it first/)
  await json('aml', 'reviews', 'decide', check, 'leave', ...WHY, '--by', 'olga')
  assert.equal(await as('olga', 'escalate', '--reason', 'another look'), '')
  assert.match(await as('bea', 'assign', 'Olga', ...WHY), /olga has escalated it/)
  assert.equal(await as('bea', 'assign', 'bea', ...WHY), '')
  assert.match(await as('olga', 'close', 'barred', ...WHY), /olga has escalated it/)

  // By the rule for two, what was high is let go by two.
  await json('approvals', 'set', 'name', '--from', '4')
  const refused = await as('bea', 'close', 'explained', '--reason', 'a sale')
  const [, proposal] = /approvals allow (\w+)/.exec(refused)!
  assert.match((await type('approvals', 'allow', proposal!, '--by', 'bea')).err, /cannot allow/)
  await assert.rejects(
    world.sql`update operation_proposal set approved_by = ' BEA', approved_at = ${world.now},
      approved_role = 'x' where id = ${proposal!}`,
    /operation_proposal_by_another/,
  )
  await json('approvals', 'allow', proposal!, '--by', 'olga')
  assert.equal(await as('bea', 'close', 'explained', '--reason', 'a sale'), '')

  const closed = await show()
  assert.deepEqual([closed.state, closed.code, closed.owner], ['closed', 'explained', 'bea'])
  assert.deepEqual(
    closed.entries.map(({ kind, made_by }) => `${made_by} ${kind}`),
    [
      'screening opened',
      'screening alert',
      ...['olga assigned', 'olga note', 'olga file'],
      ...['olga escalated', 'bea assigned', 'bea closed'],
    ],
  )
  await assert.rejects(
    world.sql`update aml_case_entry set text = 'nothing' where case_id = ${id}`,
    /aml_case_entry/,
  )
  const recorded = await json<{ action: string; made_by: string; reason: string }[]>(
    ...['actions', 'list', '--limit', '1'],
  )
  assert.deepEqual(
    recorded.map(({ action, made_by, reason }) => [action, made_by, reason]),
    [['aml cases close', 'bea', 'a sale']],
  )
  const told = await world.sql<{ type: string }>`
    select type from event where type like 'case.%' union all
    select type from event_note where type like 'case.%'`
  assert.deepEqual(told.map(({ type }) => type).sort(), [
    ...Array(4).fill('case.changed'),
    'case.opened',
  ])

  assert.match(await as('bea', 'note', 'more'), /bea has closed it \(explained\)/)
  assert.equal(await as('olga', 'reopen', ...WHY), '')
  assert.match(await as('olga', 'reopen', ...WHY), /It is not closed: it is open/)
  const again = await show()
  assert.deepEqual([again.state, again.code, again.owner], ['open', null, null])
})

test('a case names the earlier ones of its address, and is late from when it is due', async (t) => {
  const { world, id, eve, show } = await caseWorld(t)
  const { sql } = world
  // The same of another customer before, and one about somebody else.
  for (const [other, address] of [
    ['0before', eve],
    ['0else', world.person('sam').address],
  ])
    await sql`
      insert into aml_case select (jsonb_populate_record(c, jsonb_build_object('id', ${other}::text,
        'address', ${address}::text, 'customer_id', null))).*
      from aml_case as c where id = ${id}`
  assert.deepEqual(
    (await show()).earlier.map((one) => one.id),
    ['0before'],
  )
  const [{ due_at } = assert.fail()] = await sql<{ due_at: Date }>`
    select due_at from aml_case where id = ${id}`
  const before = new Date(due_at.getTime() - 1)
  for (const [now, late] of [
    [before, []],
    [due_at, ['0else', '0before', id]],
  ] as const) {
    const listed = await listCases(sql, { late: true, now, limit: 10 })
    assert.deepEqual(
      listed.map((one) => [one.id, one.is_late]),
      late.map((one) => [one, true]),
    )
  }
})

test('a late case has one event, and one that waited is with its owner again', async (t) => {
  const { world, json, id, show, as } = await caseWorld(t)
  const in_hours = (hours: number) => new Date(world.now.getTime() + hours * 3_600_000)
  assert.equal(await as('olga', 'assign', 'olga', ...WHY), '')
  assert.equal(await as('olga', 'wait', in_hours(2).toISOString(), ...WHY), '')
  assert.equal((await show()).state, 'waiting')
  await world.advance(3 * 3_600)
  await world.drain()
  await world.drain()
  const late = await show()
  assert.deepEqual([late.state, late.owner, late.is_late], ['assigned', 'olga', true])
  assert.equal(late.entries.filter(({ kind }) => kind === 'late').length, 1)
  const listed = await json<Case[]>('aml', 'cases', 'list', '--late', '--owner', 'OLGA')
  assert.deepEqual(
    listed.map((one) => one.id),
    [id],
  )
  assert.equal(await as('olga', 'set', '--due', in_hours(30).toISOString()), '')
  assert.deepEqual(await json<Case[]>('aml', 'cases', 'list', '--late'), [])
})

test('what is wrong about a case is refused with its reason', async (t) => {
  const { world, type, anna, check, eve, folder, id, as } = await caseWorld(t)
  const other = await world.customer({ trx: 10 })
  const binary = join(folder, 'picture.bin')
  await writeFile(binary, Buffer.from([0x89, 0x50, 0, 0xff]))
  const large = join(folder, 'large.txt')
  await writeFile(large, 'x'.repeat(100_001))
  const in_days = (days: number) => new Date(+world.now + days * 86_400_000).toISOString()
  const wrong: [string[], RegExp][] = [
    [['assign', 'olga'], /--reason is missing/],
    [['assign', ' ', ...WHY], /NAME is empty/],
    [['assign', 'x'.repeat(101), ...WHY], /more than 100 characters/],
    [['wait', '2020-01-01', ...WHY], /over already/],
    [['wait', '2046-01-01', ...WHY], /more than a year/],
    [['wait', 'soon', ...WHY], /a day or a time in UTC/],
    [['wait', in_days(3), ...WHY], /with nobody/],
    [['close', 'barred', ...WHY], /with nobody/],
    [['close', 'done', ...WHY], /false_positive, explained, barred or reported/],
    [['set'], /--priority, --due or --report is missing/],
    [['set', '--report', 'x'.repeat(201)], /more than 200/],
    [['add'], /one of --check, --deposit and --address/],
    [['add', '--check', check, '--address', eve], /one of --check/],
    [['add', '--check', 'none'], /There is no check none/],
    [['add', '--check', check], /has it already/],
    [['add', '--deposit', 'f'.repeat(64)], /There is no deposit/],
    [['note', 'x'.repeat(4_001)], /more than 4000/],
    [['attach', binary], /no text in UTF-8/],
    [['attach', large], /more than 100000/],
    [['reopen', ...WHY], /It is not closed/],
  ]
  for (const [[verb, ...more], sentence] of wrong)
    assert.match(await as('olga', verb!, ...more), sentence, more.join(' ').slice(0, 80))
  assert.match((await type('aml', 'cases', 'file', id, '1')).err, /has no file 1/)
  assert.match((await type('aml', 'cases', 'show', 'none')).err, /There is no case none/)
  assert.match((await type('aml', 'cases', 'close', 'none', 'barred', ...WHY)).err, /no case none/)
  const opening = ['aml', 'cases', 'open', eve, '--customer']
  assert.match((await type(...opening, anna.id, ...WHY)).err, /has a case that is not closed/)
  assert.match((await type(...opening, 'nobody', ...WHY)).err, /There is no customer nobody/)
  assert.equal((await type(...opening, other.id, ...WHY)).err, '')

  // Only its owner closes it, and a report needs its reference.
  assert.equal(await as('olga', 'assign', 'olga', ...WHY), '')
  assert.match(await as('bea', 'close', 'barred', ...WHY), /with olga, who alone can close it/)
  await type('aml', 'reviews', 'decide', check, 'deny', ...WHY)
  assert.match(await as('olga', 'close', 'reported', ...WHY), /no reference of a report/)
  assert.equal(await as('olga', 'set', '--report', 'FIU 2026/17'), '')
  assert.equal(await as(' Olga ', 'close', 'reported', ...WHY), '')
  assert.match(await as('olga', 'close', 'reported', ...WHY), /has closed it/)
  await world.drain()
  const [row] = await world.sql<{ state: string }>`select state from aml_case where id = ${id}`
  assert.equal(row!.state, 'closed')
})
