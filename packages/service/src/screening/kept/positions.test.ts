// Where the index of a generation goes on, by its file and the log.

import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { temporaryKeptFolder } from 'penstock-test/harness/kept_folder.ts'
import { packTransfers } from '../../chain/transfers/packed.ts'
import { finished } from '../../lib/portions.ts'
import { addressOfSlot } from '../flow/checkpoint.ts'
import { FlowIndex, PLAIN_RULES } from '../flow/flow_index.ts'
import { LabelTable } from '../flow/label_table.ts'
import { addressWords, SLOT } from '../flow/memory.ts'
import { MemoryFlow } from './flow_state.ts'
import { KeptFlow } from './kept.ts'
import { HeldFile } from './kept_store.ts'
import { atItsBeginning, KIND, type Like, openingKept } from './positions.ts'

const LIKE: Like = { labels: new LabelTable(), rules: PLAIN_RULES, identity: 'a state' }

async function somePlace(t: TestContext) {
  return { folder: await temporaryKeptFolder(t), hot_slots: 10 }
}

const logOf = (...ids: [number: number, id: string][]) => {
  const known = new Map(ids)
  const idOf = (number: number) => {
    const id = known.get(number)
    return id === undefined ? undefined : { id }
  }
  return { block: async (number: number) => idOf(number) }
}

const block = (number: number) => ({
  number,
  time_ms: number,
  freezes: [],
  first_sequence: number,
  transfers: packTransfers([
    { asset: 0, from: Buffer.alloc(20, 1), to: Buffer.alloc(20, 2), amount: 5n },
  ]),
})

test('a file goes on where the log has its block, and else is put aside and begun', async (t) => {
  const kept = await somePlace(t)
  const opened = async (log: ReturnType<typeof logOf>, like = LIKE) => {
    const { state, block_id } = await finished(openingKept({ log, kept }, 3, like))
    const at = [state.index.block_number, block_id]
    return { state, at }
  }
  const aside = `${kept.folder.fileOf(KIND, 3)}.broken`
  /** Where it goes on, and whether it was put aside for that. */
  const where = async (log: ReturnType<typeof logOf>, like = LIKE) => {
    rmSync(aside, { force: true })
    const { state, at } = await opened(log, like)
    await state.close()
    return [...at, existsSync(aside)]
  }
  const saved = async (block_id: string | undefined) => {
    const { state } = await opened(logOf())
    await state.apply([block(7)])
    await state.save(block_id)
    await state.close()
  }
  const log = logOf([7, 'seven'], [8, 'eight'])
  assert.deepEqual(await where(log), [0, undefined, false])
  await saved('seven')
  assert.deepEqual(await where(log), [7, 'seven', false])
  assert.deepEqual(await where(logOf([7, 'another'])), [0, undefined, true])
  await saved('seven')
  assert.deepEqual(await where(logOf([8, 'seven'])), [0, undefined, true])
  await saved('seven')
  const another = { labels: LIKE.labels, rules: PLAIN_RULES, identity: 'another' }
  assert.deepEqual(await where(log, another), [0, undefined, true])
  await saved(undefined)
  assert.deepEqual(await where(logOf()), [7, undefined, false])
})

test('a file is left alone when the log does not answer, or another has it open', async (t) => {
  const kept = await somePlace(t)
  const opening = (log: ReturnType<typeof logOf>) => finished(openingKept({ log, kept }, 3, LIKE))
  const { state } = await opening(logOf())
  await assert.rejects(opening(logOf()), HeldFile)
  await state.apply([block(7)])
  await state.save('seven')
  await state.close()
  const silent = { block: () => Promise.reject(new Error('no answer')) }
  await assert.rejects(opening(silent), /no answer/)
  assert.equal(existsSync(`${kept.folder.fileOf(KIND, 3)}.broken`), false)
  const again = await opening(logOf([7, 'seven']))
  assert.equal(again.block_id, 'seven')
  await again.state.close()
})

test('an index begins in a file where there is a place for it, else in memory', async (t) => {
  const kept = await somePlace(t)
  const sql = undefined as never
  const log = logOf()
  const on_disk = await finished(atItsBeginning({ sql, log, kept }, 1, LIKE))
  assert.ok(on_disk.state instanceof KeptFlow)
  assert.equal(kept.folder.has(KIND, 1), true)
  await on_disk.state.close()
  const in_memory = await finished(atItsBeginning({ sql, log }, 2, LIKE))
  assert.ok(in_memory.state instanceof MemoryFlow)
  assert.deepEqual([in_memory.block_id, kept.folder.has(KIND, 2)], [undefined, false])
})

test('all slots of an index in memory come in portions of twenty thousand', async () => {
  const address = (n: number) => {
    const bytes = Buffer.alloc(20, 9)
    bytes.writeUInt32BE(n, 0)
    return bytes
  }
  for (const [count, portions] of [
    [19_999, [19_999]],
    [20_000, [20_000, 0]],
    [20_001, [20_000, 1]],
  ] as const) {
    const index = new FlowIndex([], count + 2)
    const { memory, counterparties } = index
    // Somebody who has moved nothing is left out.
    const slots = Array.from({ length: count + 2 }, (_, n) =>
      index.slot(0, addressWords(address(n))),
    )
    for (const slot of slots.slice(1, -1)) memory.slots[slot * SLOT + 15] = 1
    assert.equal(memory.slot_count * SLOT, memory.slots.length)
    for (const slot of slots.slice(0, 3)) counterparties.restore(slot, undefined)
    const flow = new MemoryFlow(index)
    const lengths: number[] = []
    for await (const some of flow.all((_, slot) => slot)) lengths.push(some.length)
    assert.deepEqual(lengths, portions)
    const counted: string[] = []
    const look = (_: FlowIndex, slot: number) => addressOfSlot(index, slot).toString('hex')
    for await (const some of flow.all(look, { counted: true })) counted.push(...some)
    assert.deepEqual(
      counted,
      [1, 2].map((n) => address(n).toString('hex')),
    )
  }
})
