// A step that says that it is not due, and changes rows all the same, is found by its name.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { drain, type Step } from 'penstock-service/platform/steps/step.ts'
import { freshDatabase } from './database.ts'
import { runNotDue } from './not_due.ts'

test('a wrong word of what is due is found by the name of the step', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`create table job (id int primary key, state text not null)`
  const ran: string[] = []
  const step = (
    name: string,
    due: Step['due'],
    tell: (rows: unknown[]) => boolean,
  ): Step<string> => ({
    name,
    rest_ms: 1_000,
    ...(due && { due }),
    async run() {
      ran.push(name)
      return tell(await sql`update job set state = 'done' where state = ${name} returning id`)
    },
  })
  const right = step(
    'right',
    (ask) => ask`select from job where state = 'right'`,
    (rows) => rows.length > 0,
  )
  const wrong = step(
    'wrong',
    (ask) => ask`select from job where state = 'new'`,
    (rows) => rows.length > 0,
  )
  const silent = step(
    'silent',
    (ask) => ask`select from job where state = 'new'`,
    () => false,
  )
  const steps = [right, wrong, silent]
  const ask = dueAsker(sql, steps)
  const drained = async (state: string) => {
    await sql`insert into job select coalesce(max(id), 0) + 1, ${state} from job`
    ran.length = 0
    await drain(steps, { ask })
    return [...ran]
  }
  assert.deepEqual(await drained('other'), [])
  await runNotDue(sql, steps, ask)
  assert.deepEqual(await drained('right'), ['right'])
  await runNotDue(sql, steps, ask)
  assert.deepEqual(await drained('wrong'), [], 'it says that it is not due')
  await assert.rejects(runNotDue(sql, steps, ask), /step wrong was not due, and moved something/)
  assert.deepEqual(await drained('silent'), [])
  await assert.rejects(runNotDue(sql, steps, ask), /step silent was not due, and changed .*job/)
})
