// What an operator does about screening by hand: a list is looked at before it is loaded, loaded,
// and put back; an answer that waits is decided, and its customer is told of the new one.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

type Check = { id: string; status: string; risk_score: string; blacklist: boolean }
type Preview = {
  entries: number
  entries_before: number
  added: number
  removed: number
  watched: number
  refused: string | null
  differences: { change: string; address: string; category: string }[]
}
type Version = { id: number; entries: number; last_set: number | null }

test('a list is previewed, loaded and reverted; an answer is denied', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-reviews-'))
  t.after(() => rm(folder, { recursive: true }))
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const [bob, eve] = [world.person('bob', 1_000_000), world.person('eve', 1_000_000)]
  const file = join(folder, 'labels.csv')
  const write = (...rows: string[]) =>
    writeFile(file, ['address,category,entity,confidence', ...rows].join('\n'))
  const check = async (address: string) => {
    const asked = { type: 'address', network: 'TRX', address }
    const { id } = await anna.get<Check>('/v1/aml-checks/new', asked)
    await world.drain()
    return anna.get<Check>('/v1/aml-checks/check', { id })
  }
  const label_sets = async () => (await world.sql`select number from label_set`).length

  await write(`${eve.address},scam,Eve,90`)
  await json('lists', 'import', 'operator', file)
  await json('aml', 'watch', anna.id, bob.address)
  await world.drain()
  await write(`${bob.address},scam,Bob,90`)
  const sets = await label_sets()
  const preview = await json<Preview>('lists', 'preview', 'operator', file)
  const { differences, ...counts } = preview
  const replaced = { entries: 1, entries_before: 1, added: 1, removed: 1, passed_over: 0 }
  const rest = { watched: 1, misspelt: 0, refused: null }
  assert.deepEqual(counts, { list: 'operator', ...replaced, ...rest })
  const two = [`added ${bob.address} scam`, `removed ${eve.address} scam`]
  assert.deepEqual(
    differences.map((one) => `${one.change} ${one.address} ${one.category}`).sort(),
    two.sort(),
  )
  assert.equal(await label_sets(), sets, 'nothing was loaded')
  await write()
  const none = await json<Preview>('lists', 'preview', 'operator', file)
  assert.match(none.refused!, /no entry/)
  await write(`${bob.address},scam,Bob,90`)
  await json('lists', 'import', 'operator', file)
  await world.drain()

  const answer = await check(bob.address)
  assert.deepEqual([answer.risk_score, answer.blacklist], ['100.0', false])
  const [waiting] = await json<{ check_id: string; address: string }[]>(
    ...['aml', 'reviews', 'list', '--state', 'open'],
  )
  assert.equal(waiting!.address, bob.address)
  const said = await type('aml', 'reviews', 'decide', waiting!.check_id, 'deny')
  assert.match(said.err, /--reason is missing/)
  const decide = ['aml', 'reviews', 'decide', waiting!.check_id, 'deny', '--reason', 'a scam']
  const decided = await json<{ next_check_id: string; decided_by: string }>(...decide)
  await world.drain()
  const shown = await json<{ state: string; evidence: object | null }>(
    ...['aml', 'reviews', 'show', waiting!.check_id],
  )
  assert.deepEqual([shown.state, shown.evidence !== null], ['decided', true])
  const next = await anna.get<Check>('/v1/aml-checks/check', { id: decided.next_check_id })
  assert.deepEqual([next.status, next.blacklist], ['completed', true])
  assert.deepEqual(await anna.get<Check>('/v1/aml-checks/check', { id: answer.id }), answer)
  assert.equal(await anna.balance(), 99, 'the second one is free')
  const [action] = await json<{ action: string; reason: string }[]>('actions', 'list')
  assert.deepEqual([action!.action, action!.reason], ['aml reviews decide', 'a scam'])

  const versions = await json<Version[]>('lists', 'show', 'operator')
  const first = versions.at(-1)!
  const [newest] = versions
  const revert = (version: number) => ['lists', 'revert', 'operator', String(version)]
  assert.match((await type(...revert(newest!.id))).err, /is in force/)
  assert.match((await type(...revert(999))).err, /has no version 999/)
  const reverted = await json<{ label_set: number; added: number; removed: number }>(
    ...revert(first.id),
  )
  assert.deepEqual([reverted.added, reverted.removed], [1, 1])
  const [again] = await json<Version[]>('lists', 'show', 'operator', '--limit', '5')
  assert.equal(again!.last_set, newest!.last_set)
  const [, restored] = await json<Version[]>('lists', 'show', 'operator')
  assert.deepEqual([restored!.id, restored!.last_set], [first.id, reverted.label_set])
  await world.drain()
  const found = await check(eve.address)
  assert.equal(found.risk_score, '100.0', 'the version before counts again')
})
