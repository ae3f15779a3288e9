import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { batched } from './batch.ts'

/** A run that is held open until it is let go, so that a test decides what arrives meanwhile. */
function held() {
  const batches: number[][] = []
  const gates: (() => void)[] = []
  const run = async (items: number[]) => {
    batches.push(items)
    await new Promise<void>((resolve) => gates.push(resolve))
    return items.map((item) => item * 10)
  }
  const letGo = async () => {
    while (gates.length === 0) await turn()
    gates.shift()!()
  }
  return { batches, run, letGo }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

test('what arrives during a batch is the next batch, in the order of arrival', async () => {
  const { batches, run, letGo } = held()
  const call = batched(10, run)
  const first = call(1)
  await turn()
  const rest = [2, 3, 4].map(call)
  await letGo()
  assert.equal(await first, 10)
  await letGo()
  assert.deepEqual(await Promise.all(rest), [20, 30, 40])
  assert.deepEqual(batches, [[1], [2, 3, 4]])
})

test('calls of one turn belong together', async () => {
  const { batches, run, letGo } = held()
  const call = batched(10, run)
  const all = [1, 2, 3].map(call)
  await letGo()
  assert.deepEqual(await Promise.all(all), [10, 20, 30])
  assert.deepEqual(batches, [[1, 2, 3]])
})

test('no batch is larger than allowed, and only one is under way', async () => {
  let under_way = 0
  const sizes: number[] = []
  const call = batched(3, async (items: number[]) => {
    under_way += 1
    assert.equal(under_way, 1)
    sizes.push(items.length)
    await turn()
    under_way -= 1
    return items
  })
  const items = Array.from({ length: 8 }, (_, i) => i)
  assert.deepEqual(await Promise.all(items.map(call)), items)
  assert.deepEqual(sizes, [3, 3, 2])
})

test('a batch that throws fails its own calls, and the next one is run', async () => {
  let first = true
  const call = batched(2, async (items: number[]) => {
    if (!first) return items
    first = false
    throw new Error('the database')
  })
  const outcomes = await Promise.allSettled([1, 2, 3].map(call))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  assert.equal(await call(4), 4)
})

test('whatever arrives whenever, each call gets the result of its own item', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ item: fc.nat(), turns: fc.nat(3) }), { maxLength: 40 }),
      async (calls) => {
        const call = batched(4, async (items: number[]) => {
          await turn()
          if (items.some((item) => item % 11 === 5)) throw new Error(`of ${items.join(',')}`)
          return items.map((item) => item + 1)
        })
        const waiting: Promise<void>[] = []
        for (const { item, turns } of calls) {
          for (let i = 0; i < turns; i++) await turn()
          waiting.push(
            call(item).then(
              (result) => assert.equal(result, item + 1),
              (thrown: Error) => assert.match(thrown.message, new RegExp(`\\b${item}\\b`)),
            ),
          )
        }
        await Promise.all(waiting)
      },
    ),
  )
})

/** Lets so many turns of the event loop go by: a batch begins with the next one. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

test('the next batch begins when the one before says so; each call has its result', async () => {
  const begun: number[][] = []
  const release: (() => void)[] = []
  const call = batched<number, number>(2, async (items, next_may_begin) => {
    begun.push(items)
    if (items[0] === 1) next_may_begin()
    await new Promise<void>((resolve) => release.push(resolve))
    return items.map((item) => item * 10)
  })
  const results = Promise.all([1, 2, 3, 4, 5].map(call))
  await turns(3)
  assert.deepEqual(begun, [
    [1, 2],
    [3, 4],
  ])
  release[1]!()
  await turns(3)
  assert.deepEqual(begun.at(-1), [5])
  release[0]!()
  release[2]!()
  assert.deepEqual(await results, [10, 20, 30, 40, 50])
})

test('a batch of several is followed by a pause; who calls alone waits for none', async () => {
  const pauses: (() => void)[] = []
  const begun: number[][] = []
  const call = batched(
    3,
    async (items: number[]) => {
      begun.push(items)
      return items
    },
    () => new Promise<void>((resolve) => pauses.push(resolve)),
  )
  await call(1)
  await call(2)
  assert.equal(pauses.length, 0)
  await Promise.all([3, 4].map(call))
  const later = [5, 6].map(call)
  await turns(5)
  assert.deepEqual(begun, [[1], [2], [3, 4]])
  pauses[0]!()
  await Promise.all(later)
  assert.deepEqual(begun.at(-1), [5, 6])
  // Where a whole batch waits, there is nothing to wait for.
  pauses[1]!()
  await turns(2)
  await Promise.all([7, 8, 9, 10, 11, 12].map(call))
  assert.deepEqual(begun.slice(-2), [
    [7, 8, 9],
    [10, 11, 12],
  ])
  assert.equal(pauses.length, 3)
})
