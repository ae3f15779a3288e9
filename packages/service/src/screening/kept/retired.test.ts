import assert from 'node:assert/strict'
import { test } from 'node:test'
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
