import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Turns } from './turns.ts'

/** Begins calls of lanes and remembers in which order they had their turns. */
function counter(
  running_max: number,
  { lane_waiting_max = 10, waiting_max = 20, fewest_first = false } = {},
) {
  const turns = new Turns({ running_max, lane_waiting_max, waiting_max, fewest_first })
  const began: string[] = []
  const begin = (lane: string, lane_max: number) => {
    const result = turns.begin(lane, lane_max)
    if (typeof result === 'string') return result
    if (result) void result.then(() => began.push(lane))
    else began.push(lane)
    return result === undefined ? 'began' : 'waits'
  }
  const end = async (lane: string) => {
    turns.end(lane)
    await turn()
  }
  return { begin, end, began }
}

test('a lane works on so many at once, and the others wait for their turn', async () => {
  const { begin, end, began } = counter(10)
  assert.deepEqual(
    [begin('a', 2), begin('a', 2), begin('a', 2), begin('b', 2)],
    ['began', 'began', 'waits', 'began'],
  )
  await end('b')
  assert.deepEqual(began, ['a', 'a', 'b'])
  await end('a')
  assert.deepEqual(began, ['a', 'a', 'b', 'a'])
})

test('when all are busy, lanes that wait take turns', async () => {
  const { begin, end, began } = counter(2)
  for (const lane of ['a', 'a', 'a', 'a', 'a', 'b', 'c']) begin(lane, 2)
  for (let i = 0; i < 5; i++) await end(began[i]!)
  assert.deepEqual(began, ['a', 'a', 'a', 'b', 'c', 'a', 'a'])
})

test('where the fewest come first, one who is quick keeps the place that it has got', async () => {
  const { begin, end, began } = counter(3, { fewest_first: true })
  for (const lane of ['a', 'a', 'b', 'a', 'c', 'c', 'b']) begin(lane, 3)
  await end('a')
  for (let i = 0; i < 2; i++) await end('c')
  await end('a')
  assert.deepEqual(began, ['a', 'a', 'b', 'c', 'c', 'a', 'b'])
})

test('a lane in which nobody waits any more keeps no place before others', async () => {
  const { begin, end, began } = counter(1)
  for (const lane of ['a', 'a']) begin(lane, 1)
  await end('a')
  for (const lane of ['b', 'a']) begin(lane, 1)
  await end('a')
  await end('b')
  assert.deepEqual(began, ['a', 'a', 'b', 'a'])
})

test('a lane at its limit does not hold up those behind it', async () => {
  const { begin, end, began } = counter(2)
  for (const lane of ['a', 'b', 'a', 'b']) begin(lane, 1)
  await end('b')
  assert.deepEqual(began, ['a', 'b', 'b'])
})

test('too many that wait are refused, in one lane and in all', () => {
  const { begin } = counter(1, { lane_waiting_max: 2, waiting_max: 3 })
  assert.deepEqual(
    ['a', 'a', 'a', 'a', 'b', 'c'].map((lane) => begin(lane, 1)),
    ['began', 'waits', 'waits', 'lane full', 'waits', 'full'],
  )
})

test('anyone who has ended leaves room for as many again', async () => {
  const { begin, end, began } = counter(2)
  for (let round = 0; round < 3; round++) {
    for (const lane of ['a', 'b', 'a', 'b']) begin(lane, 1)
    for (const lane of ['a', 'b', 'a', 'b']) await end(lane)
  }
  assert.equal(began.length, 12)
})

test('what takes no room waits in its lane, and holds up no other', async () => {
  const turns = new Turns({ running_max: 1, lane_waiting_max: 2, waiting_max: 2 })
  const began: string[] = []
  const begin = (lane: string, room: 0 | 1) => {
    const result = turns.begin(lane, 1, room)
    if (typeof result === 'string') return result
    if (!result) began.push(`${lane}${room}`)
    void result?.then(() => began.push(`${lane}${room}`))
    return result ? 'waits' : 'began'
  }
  const end = async (lane: string, room: 0 | 1) => {
    turns.end(lane, room)
    await turn()
  }
  assert.deepEqual(
    [begin('a', 0), begin('a', 0), begin('b', 0), begin('c', 1), begin('d', 0), begin('e', 1)],
    ['began', 'waits', 'began', 'began', 'waits', 'waits'],
  )
  // As long as there is no room, what takes none waits, too.
  await end('a', 0)
  assert.deepEqual(began, ['a0', 'b0', 'c1'])
  await end('c', 1)
  assert.deepEqual(began, ['a0', 'b0', 'c1', 'a0', 'd0', 'e1'])
  assert.deepEqual([begin('f', 1), begin('g', 1), begin('h', 1)], ['waits', 'waits', 'full'])
})
