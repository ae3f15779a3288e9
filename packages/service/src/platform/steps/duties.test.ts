import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { holdDuties } from './duties.ts'
import type { Step } from './step.ts'

/** Workers that run `follow` of the duty `chain`, `credit` of `blocks` after it, and `sign` of
 *  none, by one clock. */
async function someWorkers(t: TestContext) {
  const { sql } = await freshDatabase(t)
  let now_ms = Date.UTC(2026, 9, 8)
  const clock = { now: () => new Date(now_ms) }
  const ran: string[] = []
  const woken: string[] = []
  const start = (process_id: string) => {
    const step = (name: string, more: Partial<Step<string>> = {}): Step<string> => ({
      name,
      rest_ms: 1_000,
      ...more,
      async run() {
        ran.push(`${process_id} ${name}`)
        return true
      },
    })
    const steps = [
      step('follow', { duty: 'chain' }),
      step('credit', { duty: 'blocks', after: ['follow'] }),
      step('sign', { after: ['follow'], before: ['credit'] }),
    ]
    const wakeOthers = (name: string) => void woken.push(`${process_id} ${name}`)
    const duties = holdDuties({ sql, clock, process_id, wakeOthers }, steps, () => true)
    /** What runs when every step is run once. */
    const runAll = async () => {
      ran.length = 0
      for (const one of duties.steps.slice(1)) await one.run()
      return ran.map((one) => one.split(' ')[1])
    }
    return { ...duties, runAll }
  }
  const wait = (seconds: number) => {
    now_ms += seconds * 1_000
  }
  return { sql, start, woken, wait }
}

test('one process holds a duty, and the others run only what is none', async (t) => {
  const { start, wait } = await someWorkers(t)
  const [first, second] = [start('first'), start('second')]
  assert.deepEqual(await first.runAll(), ['sign'], 'nothing before it was asked for')
  assert.equal(await first.hold(), true)
  assert.equal(await second.hold(), false)
  for (let second_number = 0; second_number < 20; second_number++) {
    wait(1)
    assert.equal(await first.hold(), false, 'it has it already')
    assert.equal(await second.hold(), false)
    assert.deepEqual(await first.runAll(), ['follow', 'credit', 'sign'])
    assert.deepEqual(await second.runAll(), ['sign'])
  }
})

test('a process takes the duties of its steps alone, and wakes what runs elsewhere', async (t) => {
  const { sql } = await freshDatabase(t)
  const clock = { now: () => new Date(Date.UTC(2026, 9, 8)) }
  const woken: string[] = []
  const step = (name: string, more: Partial<Step<string>> = {}): Step<string> => ({
    name,
    rest_ms: 1_000,
    run: async () => true,
    ...more,
  })
  const steps = [
    step('follow', { duty: 'chain' }),
    step('credit', { duty: 'blocks', after: ['follow'], before: ['pay'] }),
    step('screen', { needs_index: true, after: ['follow'] }),
    step('pay'),
  ]
  const start = (process_id: string, runsHere: (one: Step<string>) => boolean) =>
    holdDuties(
      { sql, clock, process_id, wakeOthers: (name) => void woken.push(`${process_id} ${name}`) },
      steps,
      runsHere,
    )
  const of_index = ['credit', 'screen']
  const index = start('index', ({ name }) => of_index.includes(name))
  const worker = start('worker', ({ name }) => !of_index.includes(name))
  const namesOf = (some: readonly Step<string>[]) => some.map(({ name }) => name)
  assert.deepEqual(namesOf(index.steps), ['hold_duties', 'credit', 'screen'])
  assert.deepEqual(namesOf(worker.steps), ['hold_duties', 'follow', 'pay'])
  await index.hold()
  await worker.hold()
  const held = await sql<{ name: string; process_id: string }>`
    select name, process_id from duty order by name`
  assert.deepEqual(
    held.map(({ name, process_id }) => [name, process_id]),
    [
      ['blocks', 'index'],
      ['chain', 'worker'],
    ],
  )
  for (const one of [...worker.steps, ...index.steps].filter(({ name }) => name !== 'hold_duties'))
    await one.run()
  assert.deepEqual(woken, ['worker credit', 'worker screen', 'index pay'])
})

test('a duty is free seconds after its holder ended, or when it is given back', async (t) => {
  const { start, wait, woken } = await someWorkers(t)
  const [first, second, third] = [start('first'), start('second'), start('third')]
  await first.hold()
  wait(4)
  assert.equal(await second.hold(), false)
  wait(2)
  assert.equal(await second.hold(), true)
  assert.deepEqual(await second.runAll(), ['follow', 'credit', 'sign'])
  assert.deepEqual(await first.runAll(), ['sign'], 'it knows by its clock')
  assert.equal(await first.hold(), false)
  woken.length = 0
  await second.giveBack()
  assert.deepEqual(await second.runAll(), ['sign'])
  assert.deepEqual(woken.slice(0, 1), ['second hold_duties'])
  assert.equal(await third.hold(), true)
})

test('a process gives back its own duties, and none of another', async (t) => {
  const { start } = await someWorkers(t)
  const [first, second, third] = [start('first'), start('second'), start('third')]
  await first.hold()
  await second.giveBack()
  assert.equal(await third.hold(), false)
  await first.giveBack()
  assert.equal(await third.hold(), true)
})

test('a step that another process runs is woken there', async (t) => {
  const { start, sql, woken } = await someWorkers(t)
  const [first, second] = [start('first'), start('second')]
  await first.hold()
  await first.runAll()
  assert.deepEqual(woken, [])
  await second.runAll()
  assert.deepEqual(woken, ['second credit'])
  // One duty of another: who follows wakes whoever reads.
  await sql`update duty set process_id = 'second' where name = 'blocks'`
  await first.hold()
  await first.runAll()
  assert.deepEqual(woken.slice(1), ['first credit', 'first credit'])
})

test('all that ask at once come to one holder of each duty', async (t) => {
  const { start, sql, wait } = await someWorkers(t)
  for (let round = 0; round < 5; round++) {
    const workers = Array.from({ length: 6 }, (_, i) => start(`${round} ${i}`))
    const gained = await Promise.all(workers.map((one) => one.hold()))
    const rows = await sql<{ process_id: string }>`select distinct process_id from duty`
    assert.equal(gained.filter(Boolean).length, rows.length)
    wait(6)
  }
})
