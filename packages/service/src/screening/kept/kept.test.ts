// The index on disk beside the one in memory: the same blocks give the same answers and the same
// hash, whatever is hot, wherever it was saved, and however often it was opened anew.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTransfers, type LoggedBlock, packTransfers } from '../../chain/transfers/packed.ts'
import { finished } from '../../lib/portions.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { FlowIndex, type FlowRules, PERIOD_BLOCKS } from '../flow/flow_index.ts'
import { readHolding } from '../flow/holdings.ts'
import { LabelTable } from '../flow/label_table.ts'
import type { Label } from '../flow/labels.ts'
import { applyBlock, CarriedWriter } from '../flow/log.ts'
import { SLOT } from '../flow/memory.ts'
import { KeptFlow } from './kept.ts'
import { KeptFolder } from './kept_folder.ts'
import { HeldFile, KeptStore, keptHere, moveAside } from './kept_store.ts'
import { openKept } from './kept_thread.ts'
import { BrokenState } from './slot_record.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-kept-'))
test.after(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = () => join(folder, `${files++}.db`)

const PEOPLE = 16
/** Three each begin alike, so that their keys have the same first eight bytes. */
const person = (i: number) => Buffer.alloc(20, i + 1).fill(Math.floor(i / 3), 0, 7)
const RULES: FlowRules = { net: true, swaps: true, counterparties_max: 20 }
const ASSETS = [0, 1, 7]

/** The first people are services for ever, the next ones for a time. */
const LABELS: Label[] = [0, 3, 7, 9, 17, 20].map((category, i) => ({
  address: person(i).toString('hex'),
  category,
  confidence: i === 3 ? 30 : 100,
  kind: 'curated',
  from_ms: i < 4 ? Number.NEGATIVE_INFINITY : 10_000 * i,
  to_ms: i < 5 ? Number.POSITIVE_INFINITY : 80_000,
}))
const table = LabelTable.of(LABELS)

const transfer = fc.record({
  asset: fc.constantFrom(...ASSETS),
  from: fc.nat(PEOPLE - 1).map(person),
  to: fc.nat(PEOPLE - 1).map(person),
  amount: fc.oneof(fc.bigInt(1n, 1_000_000n), fc.bigInt(1n, 2n ** 55n)),
})
const block = fc.record({
  transfers: fc.array(transfer, { maxLength: 12 }),
  /** How many of them each transaction has. */
  together: fc.integer({ min: 1, max: 4 }),
  freezes: fc.array(
    fc.record({ token: fc.constant('T'), person: fc.nat(PEOPLE - 1), frozen: fc.boolean() }),
    { maxLength: 1 },
  ),
  later: fc.constantFrom(1, 1, 1, PERIOD_BLOCKS),
})
type BlockOfChance = typeof block extends fc.Arbitrary<infer T> ? T : never

function chainOf(made: readonly BlockOfChance[]): LoggedBlock[] {
  let number = 0
  let sequence = 1
  return made.map(({ transfers, together, freezes, later }, i) => {
    const tx_ids = new Uint8Array(32 * transfers.length)
    for (let t = 0; t < transfers.length; t++) tx_ids[32 * t] = 1 + Math.floor(t / together)
    number += later
    const first_sequence = sequence
    sequence += transfers.length
    return {
      number,
      time_ms: 3_000 * (i + 1),
      freezes: freezes.map(({ person: i, ...one }) => ({
        ...one,
        address: person(i).toString('hex'),
      })),
      first_sequence,
      transfers: packTransfers(transfers),
      tx_ids,
    }
  })
}

const identity = 'a state'
const opened = async (path: string, hot_slots: number, labels = table) => {
  const kept = keptHere(new KeptStore(path))
  return finished(KeptFlow.opening(kept, labels, { rules: RULES, identity, hot_slots }))
}

const inMemory = (labels: readonly Label[] = LABELS) => new FlowIndex(labels, undefined, RULES)

function applyNoted(index: FlowIndex, blocks: readonly LoggedBlock[]): Uint8Array[] {
  return blocks.map((one) => {
    const writer = new CarriedWriter(countTransfers(one.transfers))
    applyBlock(index, one, writer)
    return writer.written().slice()
  })
}

async function applyKept(flow: KeptFlow, blocks: readonly LoggedBlock[]): Promise<Uint8Array[]> {
  const carried: Uint8Array[] = []
  await flow.apply(blocks, ({ transfers }) => {
    const writer = new CarriedWriter(countTransfers(transfers))
    return { writer, done: () => void carried.push(writer.written().slice()) }
  })
  return carried
}

/** All that is known of everybody. */
async function assertSame(flow: KeptFlow, index: FlowIndex): Promise<void> {
  const everybody = Array.from({ length: PEOPLE + 1 }, (_, i) => person(i))
  await flow.reading(
    () => ASSETS,
    everybody,
    (holdingOf) => {
      assert.equal(flow.index.block_number, index.block_number)
      for (const asset of ASSETS)
        for (const one of everybody)
          assert.deepEqual(holdingOf(asset, one), readHolding(index, asset, one))
      for (const one of everybody) {
        const hex = one.toString('hex')
        assert.deepEqual(flow.index.validLabelsOf(hex), index.validLabelsOf(hex))
      }
    },
  )
  assert.deepEqual(flow.index.freezes, index.freezes)
}

test('the state on disk is that in memory, whatever is hot and however it is cut', async () => {
  const cut = fc.record({
    made: fc.array(block, { minLength: 1, maxLength: 4 }),
    after: fc.constantFrom('go on', 'save', 'save', 'open anew', 'end unsaved'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(cut, { minLength: 1, maxLength: 8 }),
      fc.nat(5),
      // Without labels the first slot is of somebody who has moved something.
      fc.constantFrom(LABELS, []),
      async (cuts, hot, labels) => {
        const path = newPath()
        const chain = chainOf(cuts.flatMap(({ made }) => made))
        const index = inMemory(labels)
        const label_table = LabelTable.of(labels)
        let flow = await opened(path, hot, label_table)
        let taken = 0
        for (const { made, after } of cuts) {
          const blocks = chain.slice(taken, taken + made.length)
          taken += made.length
          assert.deepEqual(await applyKept(flow, blocks), applyNoted(index, blocks))
          await assertSame(flow, index)
          if (after === 'save' || after === 'open anew') {
            await flow.save(`block ${index.block_number}`)
            assert.ok(flow.hot_count <= hot)
            assert.equal(await flow.stateHash(), stateHash(index))
          }
          if (after !== 'open anew' && after !== 'end unsaved') continue
          await flow.close()
          flow = await opened(path, hot, label_table)
          const at = flow.index.block_number
          await applyKept(
            flow,
            chain.slice(0, taken).filter(({ number }) => number > at),
          )
          await assertSame(flow, index)
        }
        await flow.save(undefined)
        assert.equal(await flow.stateHash(), stateHash(index))
        assert.deepEqual(await countedOf(flow), countedIn(index))
        assert.equal(flow.slot_count, movedIn(index))
        await flow.close()
      },
    ),
    { numRuns: 60 },
  )
})

const addressAt = (index: FlowIndex, slot: number) =>
  Array.from(index.memory.slots.subarray(slot * 16, slot * 16 + 6), (word, i) =>
    i === 5 ? word & 255 : word,
  ).join(' ')

/** With how many each has dealt, as far as that is counted. */
async function countedOf(flow: KeptFlow): Promise<string[]> {
  const found: string[] = []
  const look = (index: FlowIndex, slot: number) =>
    `${addressAt(index, slot)}: ${index.counterparties.of(slot)!.others?.length}`
  for await (const some of flow.all(look, { counted: true })) found.push(...some)
  return found.sort()
}

const countedIn = (index: FlowIndex) =>
  Array.from(
    index.counterparties.counted(),
    ({ slot, others }) => `${addressAt(index, slot)}: ${others?.length}`,
  ).sort()

function movedIn({ memory }: FlowIndex): number {
  let count = 0
  for (let slot = 0; slot < memory.slot_count; slot++)
    if ((memory.slots[slot * 16 + 5]! & 255) !== 255 && memory.slots[slot * 16 + 15] !== 0) count++
  return count
}

const someChain = (blocks: number, seed?: number) =>
  chainOf(fc.sample(fc.array(block, { minLength: blocks, maxLength: blocks }), oneOf(seed))[0]!)

const oneOf = (seed?: number) => ({ numRuns: 1, ...(seed === undefined ? {} : { seed }) })

test('a state that was whole in memory goes on from the file', async () => {
  const chain = someChain(40)
  const [index, twin] = [inMemory(), inMemory()]
  for (const one of chain.slice(0, 30)) {
    applyBlock(index, one)
    applyBlock(twin, one)
  }
  const kept = keptHere(new KeptStore(newPath()))
  const three = { identity, hot_slots: 3 }
  const flow = await KeptFlow.moving(index, kept, { block_id: 'thirty', ...three })
  assert.equal(flow.hot_count, 2)
  assert.equal(await flow.stateHash(), stateHash(twin))
  await applyKept(flow, chain.slice(30))
  applyNoted(twin, chain.slice(30))
  await assertSame(flow, twin)
  await flow.close()
})

test('a state that fills its memory to the last slot is moved whole', async () => {
  const index = new FlowIndex([], 0, RULES)
  const { memory } = index
  const isFull = () => memory.slots.length === memory.slot_count * SLOT
  // Two new addresses a block; memory grows by doubling.
  for (let number = 1; number < 5_000 && !(isFull() && number > 10); number++) {
    const [from, to] = [Buffer.alloc(20, 7), Buffer.alloc(20, 9)]
    from.writeUInt32BE(number)
    to.writeUInt32BE(number)
    const transfers = packTransfers([{ asset: 0, from, to, amount: 1n }])
    const block = { number, time_ms: number * 3_000, freezes: [], transfers }
    applyBlock(index, { ...block, first_sequence: number })
  }
  assert.ok(isFull(), `${memory.slot_count} slots in ${memory.slots.length / SLOT}`)
  const count = memory.slot_count
  const kept = keptHere(new KeptStore(newPath()))
  const how = { block_id: undefined, identity, hot_slots: count }
  const hash = stateHash(index)
  const flow = await KeptFlow.moving(index, kept, how)
  assert.deepEqual([flow.slot_count, await flow.stateHash()], [count, hash])
  await flow.close()
})

test('the thread that has the file answers as the file does', async () => {
  const chain = someChain(30)
  const path = newPath()
  const kept = await openKept(path)
  const two = { rules: RULES, identity, hot_slots: 2 }
  const flow = await finished(KeptFlow.opening(kept, table, two))
  const index = inMemory()
  for (let at = 0; at < chain.length; at += 5) {
    await applyKept(flow, chain.slice(at, at + 5))
    applyNoted(index, chain.slice(at, at + 5))
    await flow.save('x')
    await assertSame(flow, index)
  }
  assert.equal(await flow.stateHash(), stateHash(index))
  assert.deepEqual(await countedOf(flow), countedIn(index))
  await flow.close()
  const again = await opened(path, 4)
  assert.equal(await again.stateHash(), stateHash(index))
  await again.close()
})

test('slots that are hot are counted once, also of an index without labels', async () => {
  const path = newPath()
  const openedAt = () => {
    const options = { rules: RULES, identity, hot_slots: 1_000 }
    return finished(KeptFlow.opening(keptHere(new KeptStore(path)), new LabelTable(), options))
  }
  // Frozen people have slots of their own, which come first.
  const chain = someChain(20, 26).map((one) => ({ ...one, freezes: [] }))
  const flow = await openedAt()
  await applyKept(flow, chain.slice(0, 10))
  assert.equal(flow.hot_count, flow.index.memory.slot_count)
  await flow.save('x')
  await flow.close()
  const again = await openedAt()
  assert.equal(again.hot_count, 0)
  await applyKept(again, chain.slice(10))
  assert.ok(again.hot_count > 10)
  assert.equal(again.hot_count, again.index.memory.slot_count)
  await again.close()
})

test('a block that is applied while somebody reads does not mix in', async () => {
  const chain = someChain(60)
  const kept = await openKept(newPath())
  const one_slot = { rules: RULES, identity, hot_slots: 1 }
  const flow = await finished(KeptFlow.opening(kept, table, one_slot))
  const index = inMemory()
  const known = new Map<number, string>()
  const everybody = Array.from({ length: PEOPLE }, (_, i) => person(i))
  const say = (holdingOf: (asset: number, address: Uint8Array) => unknown) =>
    JSON.stringify(
      everybody.map((one) => ASSETS.map((asset) => holdingOf(asset, one))),
      (_, value) => (typeof value === 'bigint' ? String(value) : value),
    )
  let ended = false
  const read: { number: number; said: string }[] = []
  const reader = async () => {
    while (!ended) {
      const number = () => flow.index.block_number
      const said = await flow.reading(
        () => ASSETS,
        everybody,
        (holdingOf) => ({
          number: number(),
          said: say(holdingOf),
        }),
      )
      if (said.number > 0) read.push(said)
      await new Promise(setImmediate)
    }
  }
  const readers = [reader(), reader()]
  for (const one of chain) {
    applyBlock(index, one)
    known.set(
      one.number,
      say((asset, address) => readHolding(index, asset, address)),
    )
    await flow.apply([one])
    if (one.number % 3 === 0) await flow.save(undefined)
    await new Promise(setImmediate)
  }
  ended = true
  await Promise.all(readers)
  assert.ok(read.length > 20, `${read.length} reads`)
  for (const { number, said } of read) assert.ok(said === known.get(number), `block ${number}`)
  await flow.close()
})

test('one that ends at any statement leaves a block, and goes on to the same', async () => {
  // A chain that is the same each time: how many statements it takes differs by half.
  const chain = someChain(10, 26)
  const path = newPath()
  const log = `${path}.json`
  writeFileSync(log, JSON.stringify(chain.map(bared)))
  const index = inMemory()
  applyNoted(index, chain)
  const hash = stateHash(index)
  // Each run gets some statements further before it ends itself; every one begins where the last
  // had come to.
  let ends = 0
  for (let statements = 1; ; statements += 2) {
    const { code, said } = await runChild(path, log, statements)
    if (code === 0) {
      assert.equal(said.trim(), hash)
      break
    }
    ends += 1
    assert.ok(ends < 400, 'it comes to an end')
  }
  assert.ok(ends > 10, `${ends} ends`)
})

const bared = ({ transfers, tx_ids, ...one }: LoggedBlock) => ({
  ...one,
  transfers: Buffer.from(transfers).toString('hex'),
  tx_ids: Buffer.from(tx_ids!).toString('hex'),
})

const moduleAt = (path: string) => JSON.stringify(new URL(path, import.meta.url))
const LABELS_TEXT = JSON.stringify(
  LABELS.map((one) => ({ ...one, from_ms: String(one.from_ms), to_ms: String(one.to_ms) })),
)

test('slots come in the order of their keys, each once, however few at a time', () => {
  const store = new KeptStore(newPath())
  const keys = Array.from({ length: 40 }, (_, i) => Buffer.from([i % 3, ...person(i % 13)]))
  const known = new Map(keys.map((key) => [key.toString('hex'), key]))
  const state = Buffer.alloc(9)
  store.begin()
  for (const key of known.values()) store.put({ key, state, others: undefined })
  store.commit({ ...HEADER, slots: known.size })
  for (const limit of [1, 2, 3, 7, 100]) {
    const seen: string[] = []
    for (let after: Uint8Array | undefined; ; ) {
      const page = store.scan(after, { limit, counted: false })
      after = page.at(-1)?.key
      if (!after) break
      seen.push(...page.map(({ key }) => Buffer.from(key).toString('hex')))
    }
    assert.deepEqual(seen, [...known.keys()].sort())
  }
  store.close()
})

test('a save of several portions is whole or not at all, and its buffers serve again', async () => {
  const path = newPath()
  const entries = function* (filled: number, broken_at?: number) {
    for (let i = 0; i < 3_000; i++) {
      if (i === broken_at) throw new Error('broken off')
      const key = Buffer.alloc(21)
      key.writeUInt32BE(i, 1)
      yield { key, state: Buffer.alloc(1_500, filled), others: undefined }
    }
  }
  const store = await openKept(path)
  const header = { ...HEADER, slots: 3_000 }
  for (const number of [1, 2]) await store.save(entries(number), { ...header, number })
  await assert.rejects(store.save(entries(3, 2_500), { ...header, number: 3 }), /broken off/)
  const large = function* () {
    yield* entries(3)
    yield { key: Buffer.alloc(21), state: null as unknown as Buffer, others: undefined }
  }
  await assert.rejects(store.save(large(), { ...header, number: 3 }))
  const all = await store.scan(undefined, { limit: 10_000, counted: false })
  assert.deepEqual([all.length, new Set(all.map(({ state }) => state[7]))], [3_000, new Set([2])])
  await store.save(entries(4), { ...header, number: 4 })
  const found = await store.load(Buffer.concat(all.map(({ key }) => key)))
  assert.deepEqual(new Set(found.map((one) => one!.state[1_499])), new Set([4]))
  await store.close()
  assert.equal(new KeptStore(path).header!.number, 4)
})

test('a file of another version is removed, and one that is no index is put aside', async () => {
  const folder = await KeptFolder.take(newPath())
  const file = folder.fileOf('index', 1)
  for (const [pragma, is_kept] of [
    ['user_version = 1', false],
    ['application_id = 7', true],
  ] as const) {
    await folder.open('index', 1).then((store) => store.close())
    const db = new DatabaseSync(file)
    db.exec(`pragma ${pragma}`)
    db.close()
    const store = await folder.open('index', 1)
    assert.equal(store.header, undefined)
    assert.equal(existsSync(`${file}.broken`), is_kept)
    await store.close()
  }
  folder.close()
})

const HEADER = {
  identity,
  number: 1,
  time_ms: null,
  sequence: 0,
  block_id: undefined,
  assets: 3,
  slots: 0,
  freezes: [],
}

/** A program that ends itself at a statement. */
const CHILD = `
const [path, log, end] = process.argv.slice(1)
const { readFileSync } = await import('node:fs')
const { finished } = await import(${moduleAt('../../lib/portions.ts')})
const { KeptFlow } = await import(${moduleAt('./kept.ts')})
const { LabelTable } = await import(${moduleAt('../flow/label_table.ts')})
const { KeptStore, keptHere } = await import(${moduleAt('./kept_store.ts')})
let left = Number(end)
const before = () => { if (--left < 0) process.kill(process.pid, 'SIGKILL') }
const chain = JSON.parse(readFileSync(log, 'utf8')).map((one) => ({
  ...one,
  transfers: new Uint8Array(Buffer.from(one.transfers, 'hex')),
  tx_ids: new Uint8Array(Buffer.from(one.tx_ids, 'hex')),
}))
const labels = LabelTable.of(${LABELS_TEXT}
  .map((one) => ({ ...one, from_ms: Number(one.from_ms), to_ms: Number(one.to_ms) })))
const flow = await finished(KeptFlow.opening(
  keptHere(new KeptStore(path, { before })), labels,
  { rules: ${JSON.stringify(RULES)}, hot_slots: 2 }))
for (const one of chain.filter(({ number }) => number > flow.index.block_number)) {
  await flow.apply([one])
  await flow.save('block ' + one.number)
}
console.log(await flow.stateHash())
`

async function runChild(path: string, log: string, statements: number) {
  const args = ['--input-type=module', '-e', CHILD, path, log, String(statements)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.on('data', (part) => (said += part))
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on('close', (...ended) => resolve(ended)),
  )
  assert.ok(code === 0 || signal === 'SIGKILL', `ended with ${code ?? signal}`)
  return { code, said }
}

test('a file that is in use is refused', async () => {
  const path = newPath()
  const kept = await openKept(path)
  assert.throws(() => new KeptStore(path), HeldFile)
  await assert.rejects(openKept(path), HeldFile)
  await kept.close()
  new KeptStore(path).close()
})

/** A file with the state after a chain. */
async function someFile(): Promise<string> {
  const path = newPath()
  const flow = await opened(path, 4)
  await applyKept(flow, someChain(30))
  await flow.save('x')
  await flow.close()
  return path
}

test('a file that is not whole is told from one that is', async () => {
  const path = await someFile()
  const whole = readFileSync(path)
  const open = () => new KeptStore(path).close()
  open()
  writeFileSync(path, whole.subarray(0, whole.length - 4_096))
  assert.throws(open, BrokenState)
  writeFileSync(path, randomBytes(whole.length))
  assert.throws(open, BrokenState)
  writeFileSync(path, whole)
  const at = whole.lastIndexOf('"sequence":')
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.from('"sequenze":'), 0, 11, at)
  assert.throws(open, BrokenState)
  moveAside(path)
  assert.ok(!existsSync(path) && existsSync(`${path}.broken`))
  open()
})

test('a slot that is not as it was written is refused', async () => {
  const path = await someFile()
  const store = new KeptStore(path)
  const [entry] = store.scan(undefined, { limit: 1, counted: false })
  const state = entry!.state.slice()
  state[state.length - 1]! ^= 1
  store.begin()
  store.put({ ...entry!, state })
  store.commit(store.header!)
  store.close()
  const flow = await opened(path, 4)
  const { key } = entry!
  await assert.rejects(
    flow.reading(
      () => [key[0]!],
      [key.subarray(1)],
      () => {},
    ),
    BrokenState,
  )
  await assert.rejects(flow.stateHash(), BrokenState)
  await flow.close()
})
