// Which slots of an index on disk are asked for, are hot, are saved and are dropped.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type LoggedBlock,
  type LoggedTransfer,
  packTransfers,
} from '../../chain/transfers/packed.ts'
import { finished } from '../../lib/portions.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { FlowIndex, type FlowRules } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import type { Label } from '../flow/labels.ts'
import { applyBlock } from '../flow/log.ts'
import { KeptFlow, type SlotStore } from './kept.ts'
import { KeptStore, keptHere } from './kept_store.ts'
import { BrokenState, KEY } from './slot_record.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-kept-slots-'))
test.after(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = () => join(folder, `${files++}.db`)

const RULES: FlowRules = { net: true, swaps: false }
const NO_LABELS = new LabelTable()
const person = (n: number) => {
  const bytes = Buffer.alloc(20, 7)
  bytes.writeUInt32BE(n, 0)
  return bytes
}
const keyOf = (n: number, asset = 0) => Buffer.from([asset, ...person(n)]).toString('hex')

/** A store that notes what it is asked; `loading`: is awaited before an answer. */
function watched(path: string) {
  const kept = keptHere(new KeptStore(path))
  const asked: string[][] = []
  const saves: string[][] = []
  const gate: { loading: (() => Promise<void>) | undefined } = { loading: undefined }
  const store: SlotStore = {
    header: kept.header,
    async load(keys) {
      const all: string[] = []
      for (let at = 0; at < keys.length; at += KEY)
        all.push(Buffer.from(keys.subarray(at, at + KEY)).toString('hex'))
      asked.push(all)
      await gate.loading?.()
      return kept.load(keys)
    },
    save(entries, header) {
      const all = [...entries]
      saves.push(all.map(({ key }) => Buffer.from(key).toString('hex')).sort())
      return kept.save(all, header)
    },
    scan: (after, how) => kept.scan(after, how),
    copyTo: (name) => kept.copyTo(name),
    close: () => kept.close(),
  }
  const news = () => ({ asked: asked.splice(0), saves: saves.splice(0) })
  return { store, gate, news }
}

const opened = (store: SlotStore, hot_slots = 100, identity = 'a state') =>
  finished(KeptFlow.opening(store, NO_LABELS, { rules: RULES, identity, hot_slots }))

const move = (from: number, to: number, amount = 5n): LoggedTransfer => ({
  asset: 0,
  from: person(from),
  to: person(to),
  amount,
})

const block = (number: number, ...transfers: LoggedTransfer[]): LoggedBlock => ({
  number,
  time_ms: number * 3_000,
  freezes: [],
  first_sequence: 10 * number,
  transfers: packTransfers(transfers),
})

const frozenAt = (number: number, n: number, frozen = true): LoggedBlock =>
  Object.assign(block(number), {
    freezes: [{ token: 'T', address: person(n).toString('hex'), frozen }],
  })

/** The balances of some, as they are read together. */
const balancesOf = (flow: KeptFlow, ...all: readonly number[]) =>
  flow.reading(
    () => [0],
    all.map(person),
    (holdingOf) => all.map((n) => holdingOf(0, person(n))?.balance),
  )

test('what is not hot is asked for, once, and nothing else is', async () => {
  const path = newPath()
  const { store, news } = watched(path)
  const flow = await opened(store)
  await flow.apply([])
  assert.deepEqual(news(), { asked: [], saves: [] })
  await flow.apply([block(1, move(1, 2))])
  assert.deepEqual(news().asked, [[keyOf(1), keyOf(2)]])
  assert.equal(flow.hot_count, 2)
  await flow.apply([block(2, move(2, 1), move(1, 3))])
  assert.deepEqual(news().asked, [[keyOf(3)]])
  assert.deepEqual(await balancesOf(flow, 1, 2, 3), [0n, 0n, 5n])
  await flow.apply([block(3, move(1, 2))])
  assert.deepEqual([news().asked, flow.hot_count], [[], 3])
  await flow.save('3')
  await flow.close()
  const again = watched(path)
  const cold = await opened(again.store)
  await cold.apply([block(4, move(1, 2, 1n))])
  await cold.apply([block(5, move(1, 3, 1n))])
  await cold.apply([frozenAt(6, 9), frozenAt(7, 1)])
  assert.deepEqual(again.news().asked, [[keyOf(1), keyOf(2)], [keyOf(3)], [keyOf(9)]])
  assert.equal(cold.hot_count, 3, 'the one who is frozen has moved nothing')
  assert.deepEqual(await balancesOf(cold, 1, 2, 3, 8), [0n, 6n, 6n, undefined])
  assert.deepEqual(again.news().asked, [[keyOf(8)]])
  await cold.save('7')
  assert.equal(cold.slot_count, 3)
  const others = Array.from({ length: 100 }, (_, n) => 5_000 + n)
  assert.deepEqual(new Set(await balancesOf(cold, ...others)), new Set([undefined]))
  assert.equal(again.news().asked[0]!.length, 100)
  await cold.close()
})

test('what has changed is saved with its block, and what is saved already is not', async () => {
  const { store, news } = watched(newPath())
  const flow = await opened(store)
  const savedWith = async (block_id: string) => {
    await flow.save(block_id)
    assert.equal(flow.is_saved, true)
    return news().saves
  }
  assert.equal(flow.is_saved, true, 'there is nothing to save')
  await flow.apply([block(1, move(1, 2), move(3, 3))])
  assert.equal(flow.is_saved, false)
  assert.deepEqual(await savedWith('a'), [[keyOf(1), keyOf(2)]])
  assert.equal(flow.slot_count, 2, 'who moves something to himself has moved nothing')
  assert.deepEqual(await savedWith('a'), [])
  assert.deepEqual(await savedWith('b'), [[]], 'the block has another name')
  await flow.apply([block(2)])
  assert.equal(flow.is_saved, false, 'the block is another')
  assert.deepEqual(await savedWith('b'), [[]])
  await flow.apply([block(3, move(2, 1)), frozenAt(4, 1)])
  assert.deepEqual(await savedWith('b'), [[keyOf(1), keyOf(2)]])
  await flow.apply([frozenAt(5, 2)])
  assert.deepEqual(await savedWith('b'), [[keyOf(2)]], 'it is empty now')
  await flow.apply([block(6, move(3, 4))])
  assert.deepEqual(await savedWith('b'), [[keyOf(3), keyOf(4)]])
  assert.equal(flow.slot_count, 4)
  await flow.close()
})

test('a block that is not applied because of its notes leaves slots to save', async () => {
  const { store } = watched(newPath())
  const flow = await opened(store)
  const noteOf = () => {
    throw new Error('no notes')
  }
  await assert.rejects(flow.apply([block(1, move(1, 2))], noteOf), /no notes/)
  assert.deepEqual([flow.index.block_number, flow.is_saved], [0, false])
  await flow.apply([block(1, move(1, 2))])
  await flow.save('1')
  assert.deepEqual([flow.slot_count, flow.is_saved], [2, true])
  await flow.close()
})

test('a slot whose label changes before it is saved keeps what it has', async () => {
  const path = newPath()
  const { store } = watched(path)
  const flow = await opened(store)
  const index = new FlowIndex([], undefined, RULES)
  const apply = async (...blocks: LoggedBlock[]) => {
    for (const one of blocks) applyBlock(index, one)
    await flow.apply(blocks)
  }
  await apply(block(1, move(1, 2, 9n)))
  await flow.save('1')
  await apply(block(2, move(2, 1, 4n)))
  await apply(frozenAt(3, 1), frozenAt(4, 2))
  await apply(block(5, move(1, 2, 3n)), frozenAt(6, 1, false))
  await flow.save('6')
  assert.equal(await flow.stateHash(), stateHash(index))
  await flow.close()
  const again = await opened(watched(path).store)
  assert.deepEqual(again.index.freezes, index.freezes)
  assert.equal(again.index.block_time_ms, index.block_time_ms)
  assert.equal(await again.stateHash(), stateHash(index))
  await again.close()
})

test('after what could not be loaded nothing is hot, and the block can be applied', async () => {
  const path = newPath()
  const first = await opened(watched(path).store)
  await first.apply([block(1, move(1, 2, 9n))])
  await first.save('1')
  await first.close()
  const { store, gate } = watched(path)
  const flow = await opened(store)
  gate.loading = () => Promise.reject(new Error('no disk'))
  await assert.rejects(flow.apply([block(2, move(2, 3, 4n))]), /no disk/)
  assert.deepEqual([flow.hot_count, flow.is_broken, flow.index.block_number], [0, false, 1])
  await assert.rejects(balancesOf(flow, 1), /no disk/)
  gate.loading = undefined
  await flow.apply([block(2, move(2, 3, 4n))])
  assert.deepEqual(await balancesOf(flow, 1, 2, 3), [0n, 5n, 4n])
  gate.loading = () => Promise.reject(new BrokenState('a page'))
  await assert.rejects(balancesOf(flow, 8), /a page/)
  assert.equal(flow.is_broken, true)
  await flow.close()
})

test('another state than the one that is kept is refused', async () => {
  const path = newPath()
  const flow = await opened(watched(path).store)
  await flow.save('0')
  await flow.apply([block(1, move(1, 2))])
  await flow.save('1')
  await flow.become('another')
  await flow.close()
  const { store } = watched(path)
  await assert.rejects(opened(store), BrokenState)
  const again = await opened(store, 100, 'another')
  assert.deepEqual([again.block_id, again.slot_count, again.is_saved], ['1', 2, true])
  await again.close()
})

/** A flow with so many of two hundred hot, which have moved something in blocks of their own. */
async function withHot(hot_slots: number, blocks: number) {
  const all = watched(newPath())
  const flow = await opened(all.store, hot_slots)
  for (let number = 1; number <= blocks; number++)
    await flow.apply([block(number, move(2 * number, 2 * number + 1))])
  return Object.assign(all, { flow })
}

test('slots are dropped when more are hot than may be, until two thirds are left', async () => {
  for (const [hot_slots, is_full, left] of [
    [13, false, 12],
    [12, false, 12],
    [11, true, 7],
    [9, true, 6],
    [6, true, 4],
    [1, true, 0],
  ] as const) {
    const { flow } = await withHot(hot_slots, 6)
    assert.equal(flow.is_full, is_full, `${hot_slots}`)
    await flow.save('6')
    assert.deepEqual([flow.hot_count, flow.slot_count], [left, 12], `${hot_slots}`)
    await flow.close()
  }
})

test('those that were used since the last look stay hot, the others go', async () => {
  const { flow, news } = await withHot(11, 6)
  await flow.save('6')
  // The look has come by all of them, and the first five were dropped.
  assert.equal(flow.hot_count, 7)
  news()
  await flow.apply([block(7, move(7, 9)), block(8, move(2, 3)), block(9, move(4, 5), move(6, 1))])
  assert.deepEqual(news().asked, [[2, 3, 4, 5, 6, 1].map((n) => keyOf(n))])
  await flow.save('9')
  assert.equal(flow.hot_count, 7)
  const hot: number[] = []
  for (let n = 1; n < 14; n++) {
    await balancesOf(flow, n)
    if (news().asked.length === 0) hot.push(n)
  }
  assert.deepEqual(hot, [1, 2, 3, 4, 5, 6, 9])
  await flow.close()
})

const EXCHANGE: Label = {
  address: person(1).toString('hex'),
  category: 22,
  confidence: 100,
  kind: 'curated',
  from_ms: Number.NEGATIVE_INFINITY,
  to_ms: Number.POSITIVE_INFINITY,
}

test('an index of some thousand slots is moved whole, and read page by page', async () => {
  const index = new FlowIndex([EXCHANGE], undefined, RULES)
  for (let number = 1; number <= 1_001; number++)
    applyBlock(index, block(number, move(2 * number, 2 * number + 1)))
  const hash = stateHash(index)
  const { store, news } = watched(newPath())
  const how = { block_id: 'x', identity: 'a state', hot_slots: 2_002 }
  const flow = await KeptFlow.moving(index, store, how)
  const [saved] = news().saves
  assert.deepEqual([flow.slot_count, flow.hot_count, saved!.length], [2_002, 2_002, 2_002])
  assert.equal(await flow.stateHash(), hash)
  for (const n of [1_023, 1_024, 1_025, 1_026]) await flow.apply([block(1_000 + n, move(n, 5))])
  assert.deepEqual(news().asked, [])
  await flow.save('y')
  assert.deepEqual([flow.slot_count, news().saves[0]!.length], [2_002, 5])
  await flow.close()
})

test('a state with nothing in it has a hash', async () => {
  const flow = await opened(watched(newPath()).store)
  assert.equal(await flow.stateHash(), stateHash(new FlowIndex([])))
  await flow.close()
})

test('a label stays in force when slots are dropped', async () => {
  const { store } = watched(newPath())
  const how = { rules: RULES, identity: 'a state', hot_slots: 1 }
  const flow = await finished(KeptFlow.opening(store, LabelTable.of([EXCHANGE]), how))
  for (const n of [2, 3, 4]) {
    await flow.apply([block(n, move(1, n))])
    await flow.save(`${n}`)
    assert.equal(flow.hot_count, 0)
    const categories = await flow.reading(
      () => [0],
      [person(n)],
      (holdingOf) => holdingOf(0, person(n))!.portions.map(({ category }) => category),
    )
    assert.deepEqual(categories, [22])
  }
  await flow.close()
})

test('who reads while slots are loaded for a block reads them before or after it', async () => {
  const { flow, gate } = await withHot(1, 2)
  await flow.save('2')
  assert.equal(flow.hot_count, 0)
  const [for_reader, for_block] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  gate.loading = () => for_reader.promise
  const read = balancesOf(flow, 3, 4)
  gate.loading = () => for_block.promise
  const applied = flow.apply([block(3, move(3, 4, 2n))])
  for_reader.resolve()
  await new Promise(setImmediate)
  for_block.resolve()
  await applied
  assert.ok(['5,0', '3,2'].includes(String(await read)), String(await read))
  assert.deepEqual(await balancesOf(flow, 3, 4), [3n, 2n])
  await flow.close()
})

test('who reads while slots are dropped looks again for them', async () => {
  for (const when of ['before', 'meanwhile', 'after']) {
    const { flow, gate, news } = await withHot(11, 6)
    await flow.save('6')
    await flow.apply([block(7, move(2, 3), move(4, 5), move(6, 1))])
    news()
    // The one that is looked at first is hot, and has not been used of late.
    assert.deepEqual(await balancesOf(flow, 7), [5n])
    assert.deepEqual(news().asked, [])
    const reading = Promise.withResolvers<void>()
    gate.loading = () => reading.promise
    const read = balancesOf(flow, 7, 99)
    gate.loading = undefined
    if (when === 'before') reading.resolve()
    const saved = flow.save('7')
    if (when === 'meanwhile') setImmediate(reading.resolve)
    await saved
    reading.resolve()
    assert.deepEqual(await read, [5n, undefined], when)
    await flow.close()
  }
})
