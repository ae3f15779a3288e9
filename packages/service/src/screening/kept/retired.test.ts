import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { temporaryKeptFolder } from 'penstock-test/harness/kept_folder.ts'
import { FlowIndex } from '../flow/flow_index.ts'
import { type FlowState, MemoryFlow } from './flow_state.ts'
import { RetiredIndexes } from './retired.ts'

test('an index that is asked for again is taken back, the others are closed in time', async () => {
  let now_ms = Date.UTC(2026, 9, 8)
  const retired = new RetiredIndexes({ clock: { now: () => new Date(now_ms) } }, 'index')
  const closed: number[] = []
  const kept = (number: number) => {
    const state = { close: async () => void closed.push(number) } as Partial<FlowState> as FlowState
    return { number, state }
  }
  const [one, two, three] = [kept(1), kept(2), kept(3)]
  for (const index of [one, two, three]) retired.add(index)
  retired.add({ number: 4, state: new MemoryFlow(new FlowIndex([])) })
  assert.equal(retired.takeBack(2), two)
  assert.equal(retired.takeBack(2), undefined, 'it is not retired any more')
  assert.equal(retired.takeBack(4), undefined, 'one in memory needs no end')
  now_ms += 59_999
  await retired.end([])
  assert.deepEqual(closed, [], 'it may still be read')
  now_ms += 1
  await retired.end([])
  assert.deepEqual(closed, [1, 3])
  assert.equal(retired.takeBack(3), undefined)
})

test('files before those that are wanted are removed when no index is still retired', async (t) => {
  let now_ms = Date.UTC(2026, 9, 8)
  const folder = await temporaryKeptFolder(t)
  const clock = { now: () => new Date(now_ms) }
  const retired = new RetiredIndexes({ clock, kept: { folder, hot_slots: 1 } }, 'index')
  const retire = (number: number) => {
    const state = { close: async () => {} } as Partial<FlowState> as FlowState
    retired.add({ number, state })
  }
  for (const number of [1, 2, 3, 4]) writeFileSync(folder.fileOf('index', number), '')
  const left = () => [1, 2, 3, 4].filter((number) => folder.has('index', number))
  retire(1)
  now_ms += 1
  retire(2)
  now_ms += 59_999
  await retired.end([3])
  assert.deepEqual(left(), [1, 2, 3, 4], 'one is still retired')
  now_ms += 1
  await retired.end([])
  assert.deepEqual(left(), [1, 2, 3, 4], 'nothing is wanted')
  await retired.end([3])
  assert.deepEqual(left(), [1, 2, 3, 4], 'nothing has ended since')
  retire(1)
  now_ms += 60_000
  await retired.end([3])
  assert.deepEqual(left(), [3, 4])
  for (const number of [2, 3]) retire(number)
  now_ms += 60_000
  await retired.end([4, 5])
  assert.deepEqual(left(), [4])
})
