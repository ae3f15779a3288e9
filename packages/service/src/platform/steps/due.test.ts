import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Query, Sql, Tx } from '../database/sql.ts'
import { dueAsker } from './due.ts'
import { type Step, startSteps } from './step.ts'

const step = (name: string, due?: Step['due'], run = async () => false): Step<string> => ({
  name,
  rest_ms: 1_000,
  ...(due && { due }),
  run,
})

/** Connections that count what is asked on them. */
function counting(sql: Sql): { counted: Sql; asked: () => number } {
  let asked = 0
  const count =
    (query: Query): Query =>
    (strings, ...values) => {
      asked += 1
      return query(strings, ...values)
    }
  const counted: Sql = Object.assign(count(sql), {
    begin: <T>(work: (tx: Tx) => Promise<T>) =>
      sql.begin((tx) => work(Object.assign(count(tx), { send: tx.send }))),
    close: sql.close,
  })
  return { counted, asked: () => asked }
}

for (const [how, others, statements] of [
  ['a few steps are asked about each by its own, with the values of now', 4, 6],
  ['one statement asks about more steps, with the values of now', 5, 1],
] as const)
  test(how, async (t) => {
    const { sql } = await freshDatabase(t, { connections_max: 1 })
    const { counted, asked } = counting(sql)
    let least = 2
    const more = Array.from({ length: others }, (_, i) =>
      step(`resting${i}`, (ask) => ask`select where ${least}::int > 2`),
    )
    const steps = [
      step('waits', (ask) => ask`select from generate_series(1, 3) as n where n > ${7}::int`),
      step('changes', (ask) => ask`select where ${least}::int > 1 and ${'a'}::text = 'a'`),
      step('not_asked'),
      step('fails', (ask) => ask`select where 1 / (${least}::int - ${least}::int) > 0`),
      ...more,
    ]
    const ask = dueAsker(counted, steps)
    const names = more.map(({ name }) => name)
    const looked_at = new Set(['waits', 'changes', 'not_asked', 'of_another_process', ...names])
    const due = async () => [...(await ask(looked_at))].sort()
    assert.deepEqual(await due(), ['changes', 'not_asked', 'of_another_process'])
    least = 1
    assert.deepEqual(await due(), ['not_asked', 'of_another_process'])
    assert.equal(asked(), 2 * statements)
    least = 3
    assert.deepEqual(await due(), [...['changes', 'not_asked', 'of_another_process'], ...names])
    const before = asked()
    await ask(new Set(['not_asked']))
    assert.equal(asked(), before, 'nothing to ask')
    for (const among of [['fails'], ['waits', 'fails', 'changes'], ['fails', ...names]]) {
      const failing = ask(new Set(among))
      await assert.rejects(failing, /division by zero/, 'what is looked at is looked for')
    }
    assert.deepEqual([...(await ask(new Set(['waits', 'changes'])))], ['changes'])
  })

test('steps that rest to the same moment are asked about together, and run if due', async () => {
  const asked: string[][] = []
  const ran: string[] = []
  const running = (name: string) =>
    step(
      name,
      (ask) => ask`select`,
      async () => {
        ran.push(name)
        return false
      },
    )
  let stopped: Promise<void> | undefined
  await new Promise<void>((resolve) => {
    const runner = startSteps(
      [running('a'), running('b'), running('c')],
      () => {},
      async (names) => {
        asked.push([...names].sort())
        // Between two that run and rest, the next look may have begun: then it is one look later.
        if (asked.filter(({ length }) => length === 3).length === 2 || asked.length === 12) {
          stopped = runner.stop()
          resolve()
        }
        return new Set(['b'])
      },
    )
  })
  await stopped
  const together = asked.filter((names) => names.join() === 'a,b,c')
  assert.equal(together.length, 2, JSON.stringify(asked))
  assert.ok(asked.length <= 4, JSON.stringify(asked))
  assert.deepEqual(ran[0], 'b')
})

test('when it cannot be known what is due, all are, and it is logged', async () => {
  const lines: string[] = []
  await new Promise<void>((resolve) => {
    const { stop } = startSteps(
      [
        step(
          'a',
          (ask) => ask`select`,
          async () => {
            void stop().then(resolve)
            return false
          },
        ),
      ],
      (event) => void lines.push(event),
      () => Promise.reject(new Error('no database')),
    )
  })
  assert.deepEqual(lines, ['due_unknown'])
})
