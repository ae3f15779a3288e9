import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Query, Sql } from '../database/sql.ts'
import { dueAsker } from './due.ts'
import { type Step, startSteps } from './step.ts'

const step = (name: string, due?: Step['due'], run = async () => false): Step<string> => ({
  name,
  rest_ms: 1_000,
  ...(due && { due }),
  run,
})

/** Connections that note what is asked on them. */
function noting(sql: Sql): { noted: Sql; asked: string[] } {
  const asked: string[] = []
  const note: Query = (strings, ...values) => {
    asked.push(strings.join('?'))
    return sql(strings, ...values)
  }
  return { noted: Object.assign(note, { begin: sql.begin, close: sql.close }), asked }
}

for (const [how, others, beginning] of [
  ['one statement asks about a few steps alone, with the values of now', 4, /^select exists/],
  ['one statement asks about more steps, with the values of now', 5, /^select array_remove/],
] as const)
  test(how, async (t) => {
    const { sql } = await freshDatabase(t, { connections_max: 1 })
    const { noted, asked } = noting(sql)
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
    const ask = dueAsker(noted, steps)
    const names = more.map(({ name }) => name)
    const looked_at = new Set(['waits', 'changes', 'not_asked', 'of_another_process', ...names])
    const due = async () => [...(await ask(looked_at))].sort()
    assert.deepEqual(await due(), ['changes', 'not_asked', 'of_another_process'])
    least = 1
    assert.deepEqual(await due(), ['not_asked', 'of_another_process'])
    assert.equal(asked.length, 2)
    for (const text of asked) assert.match(text, beginning)
    least = 3
    assert.deepEqual(await due(), [...['changes', 'not_asked', 'of_another_process'], ...names])
    await ask(new Set(['not_asked']))
    assert.equal(asked.length, 3, 'nothing to ask')
    for (const among of [['fails'], ['waits', 'fails', 'changes'], ['fails', ...names]]) {
      const failing = ask(new Set(among))
      await assert.rejects(failing, /division by zero/, 'what is looked at is looked for')
    }
    assert.deepEqual([...(await ask(new Set(['waits', 'changes'])))], ['changes'])
  })

test('whatever steps are looked at together, statements are not without end', async (t) => {
  const { sql } = await freshDatabase(t, { connections_max: 1 })
  const { noted, asked } = noting(sql)
  const steps = Array.from({ length: 8 }, (_, i) =>
    step(`step${i}`, () => ({ strings: [`select ${i} where `, '::int % 2 = 0'], values: [i] })),
  )
  const ask = dueAsker(noted, steps)
  for (let set = 1; set < 256; set++) {
    const names = steps.flatMap(({ name }, i) => ((set >> i) & 1 ? [name] : []))
    const due = await ask(new Set(names.toReversed()))
    const wanted = names.filter((name) => Number(name.slice(4)) % 2 === 0)
    assert.deepEqual([...due].sort(), wanted)
  }
  assert.equal(new Set(asked).size, 101)
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
