import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allOrEach, drain, eachRow, type Step, startSteps } from './step.ts'

/** Longer than any test: what runs earlier was woken. */
const NEVER_MS = 3_600_000

/** A step that counts its runs and can be waited for. */
function counting(
  name: string,
  more: Partial<Step<string>> & { moves?: boolean[]; fails?: number } = {},
) {
  const { moves = [], fails = 0, ...rest } = more
  const waiting: { runs: number; resolve: () => void }[] = []
  const state = { runs: 0 }
  const step: Step<string> = {
    name,
    rest_ms: NEVER_MS,
    ...rest,
    async run() {
      state.runs += 1
      for (const { runs, resolve } of waiting) if (state.runs >= runs) resolve()
      if (state.runs <= fails) throw new TypeError('broken')
      return moves.shift() ?? false
    },
  }
  const reached = (runs: number) =>
    new Promise<void>((resolve) =>
      state.runs >= runs ? resolve() : waiting.push({ runs, resolve }),
    )
  return { step, state, reached }
}

const settle = async () => {
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => setImmediate(resolve))
}

test('a step that moves something is run again at once, and rests when it does not', async () => {
  const { step, state, reached } = counting('a', { moves: [true, true, false] })
  const running = startSteps([step], () => {})
  await reached(3)
  await settle()
  assert.equal(state.runs, 3)
  await running.stop()
})

test('a step is woken by name, by others that moved, and by its own rest', async () => {
  const source = counting('source', { before: ['sink'], moves: [false, true] })
  const sink = counting('sink', { moves: [false, true] })
  const reader = counting('reader', { after: ['sink'] })
  const alone = counting('alone', { rest_ms: 1 })
  const running = startSteps([reader.step, source.step, sink.step, alone.step], () => {})
  await Promise.all([source.reached(1), sink.reached(1)])
  await settle()
  assert.deepEqual([source.state.runs, sink.state.runs, reader.state.runs], [1, 1, 1])
  running.wake('source')
  running.wake('nobody')
  await sink.reached(3)
  await reader.reached(2)
  await alone.reached(5)
  await running.stop()
})

test('a wake during a run is not lost: the step is run once more', async () => {
  let letGo = () => {}
  const started = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let runs = 0
  let seen = () => {}
  const second = new Promise<void>((resolve) => {
    seen = resolve
  })
  const step: Step<string> = {
    name: 'a',
    rest_ms: NEVER_MS,
    async run() {
      runs += 1
      if (runs === 1) await started
      else seen()
      return false
    },
  }
  const running = startSteps([step], () => {})
  await settle()
  running.wake('a')
  letGo()
  await second
  await running.stop()
})

test('a failure is logged with its count, and the step goes on', async () => {
  const lines: unknown[] = []
  const { step, reached } = counting('a', { fails: 2, rest_ms: 1 })
  const running = startSteps([step], (event, fields) => {
    lines.push([event, fields?.step, fields?.failures, fields?.error])
  })
  await reached(4)
  await running.stop()
  assert.deepEqual(lines, [
    ['step_failed', 'a', 1, 'TypeError: broken'],
    ['step_failed', 'a', 2, 'TypeError: broken'],
  ])
})

test('one that fails for ever does not keep the others from running', async () => {
  const broken = counting('broken', { fails: Number.POSITIVE_INFINITY })
  const good = counting('good', { rest_ms: 1 })
  const running = startSteps([broken.step, good.step], () => {})
  await Promise.all([broken.reached(2), good.reached(20)])
  await running.stop()
})

test('stopping waits for the run under way and starts no other', async () => {
  let letGo = () => {}
  let ended = false
  const step: Step<string> = {
    name: 'a',
    rest_ms: 1,
    async run() {
      await new Promise<void>((resolve) => {
        letGo = resolve
      })
      ended = true
      return true
    },
  }
  const running = startSteps([step], () => {})
  await settle()
  const stopped = running.stop()
  letGo()
  await stopped
  assert.equal(ended, true)
})

test('stopping does not wait for the back-off of a step that fails meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let fail = () => {}
  const step: Step<string> = {
    name: 'a',
    rest_ms: NEVER_MS,
    run: () =>
      new Promise<boolean>((_resolve, reject) => {
        fail = () => reject(new Error('broken'))
      }),
  }
  const running = startSteps([step], () => {})
  await settle()
  let stopped = false
  const stopping = running.stop().then(() => {
    stopped = true
  })
  fail()
  await settle()
  assert.equal(stopped, true, 'no timer was let run')
  await stopping
})

test('draining runs what moves, and what that wakes, until none moves', async () => {
  const order: string[] = []
  const moving = (name: string, times: number, more: Partial<Step<string>> = {}): Step<string> => ({
    name,
    rest_ms: 1,
    async run() {
      order.push(name)
      return times-- > 0
    },
    ...more,
  })
  await drain([moving('a', 1), moving('b', 2)])
  assert.deepEqual(order.splice(0), ['a', 'b', 'a', 'b', 'b'])
  const steps = [moving('early', 0, { after: ['moves'] }), moving('other', 0), moving('moves', 1)]
  await drain([...steps, moving('late', 0, { after: ['moves'] })])
  assert.deepEqual(order.splice(0), ['early', 'other', 'moves', 'late', 'early', 'moves'])
  await drain([moving('a', 0), moving('b', 1, { before: ['a'] })], { woken: new Set(['b']) })
  assert.deepEqual(order.splice(0), ['b', 'a', 'b'])
  await assert.rejects(drain([counting('a', { fails: 1 }).step]), /broken/)
  await assert.rejects(drain([moving('a', 99)], { rounds_max: 5 }), /still move/)
})

test('a row that cannot be done is postponed, its neighbours done, the failure told', async () => {
  const done: number[] = []
  const postponed: number[] = []
  const work = async (row: number) => {
    if (row % 2 === 1) throw new Error(`row ${row}`)
    done.push(row)
    return row === 4
  }
  const postpone = async (row: number) => {
    postponed.push(row)
  }
  await assert.rejects(eachRow([1, 2, 3, 4], work, postpone), /row 1/)
  assert.deepEqual(
    [done, postponed],
    [
      [2, 4],
      [1, 3],
    ],
  )
  assert.equal(await eachRow([2, 4], work, postpone), true)
  assert.equal(await eachRow([2], work, postpone), false)
  assert.equal(await eachRow([], work, postpone), false)
})

test('what is done together is not done again by each, unless it cannot be', async () => {
  const done: number[][] = []
  const postponed: number[] = []
  const work = async (rows: readonly number[]) => {
    done.push([...rows])
    if (rows.includes(3)) throw new Error('row 3')
    return !rows.includes(0)
  }
  const postpone = async (row: number) => void postponed.push(row)
  assert.equal(await allOrEach([1, 2], work, postpone), true)
  assert.equal(await allOrEach([0, 1], work, postpone), false)
  assert.equal(await allOrEach([], work, postpone), false)
  assert.deepEqual(done.splice(0), [
    [1, 2],
    [0, 1],
  ])
  await assert.rejects(allOrEach([1, 3, 2], work, postpone), /row 3/)
  assert.deepEqual([done, postponed], [[[1, 3, 2], [1], [3], [2]], [3]])
})

test('when enough rows have moved the rest is left, and those that did not count not', async () => {
  const done: string[] = []
  const work = async (row: string) => {
    done.push(row)
    return row.startsWith('moves')
  }
  const postpone = async () => {}
  const rows = ['stays', 'moves', 'stays too', 'moves too', 'moves last']
  assert.equal(await eachRow(rows, work, postpone, 2), true)
  assert.deepEqual(done, ['stays', 'moves', 'stays too', 'moves too'])
})
