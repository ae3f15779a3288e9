// The file of an index in a thread of its own: reading a page that is not in memory, and
// writing thousands of them, take milliseconds in which a process answers nobody else. Slots go
// over in portions, one behind the other in one buffer.

import { extname, join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Entry, KeptHeader, SlotStore } from './kept.ts'
import { DiskTrouble, HeldFile, KeptStore, OtherForm } from './kept_store.ts'
import { BrokenState, KEY, type KeptSlot } from './slot_record.ts'

/** The file is whole, and no thread has it open. */
class LostThread extends Error {
  override name = 'LostThread'
}

type Scan = { after: Uint8Array | undefined; limit: number; counted: boolean }

type Question =
  | { load: Uint8Array }
  | { begin: true }
  | { put: Uint8Array }
  | { commit: KeptHeader }
  | { rollback: true }
  | { scan: Scan }
  | { copy: string }
  | { close: true }

type Reply = { number: number } & ({ answer: Uint8Array } | { failed: Failure })
type Failure = { name: string; message: string }

/** Bytes that go over at once. */
const PORTION_BYTES = 1 << 20
/** The thread makes much that is soon garbage: a small young generation frees it early. */
const YOUNG_MB = 4
/** In place of a length: there is none. */
const NONE = 0xffffffff

/** Opens a file, or makes it. Throws BrokenState, HeldFile or DiskTrouble. */
export async function openKept(path: string): Promise<SlotStore> {
  const file = `kept_thread${extname(import.meta.filename)}`
  const worker = new Worker(join(import.meta.dirname, file), {
    workerData: { kept: path },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
  const waiting = new Map<number, { resolve(answer: Uint8Array): void; reject(why: Error): void }>()
  let asked = 0
  let ended: Error | undefined
  const end = (why: Error) => {
    ended ??= why
    for (const { reject } of waiting.values()) reject(why)
    waiting.clear()
  }
  worker.on('message', (reply: Reply) => {
    const one = waiting.get(reply.number)
    waiting.delete(reply.number)
    if (waiting.size === 0) worker.unref()
    if ('failed' in reply) one?.reject(errorOf(reply.failed))
    else one?.resolve(reply.answer)
  })
  worker.on('error', (thrown) => end(thrown as Error))
  worker.on('exit', () => end(new LostThread('the thread of the index has ended')))
  const ask = (question?: Question, transfer: ArrayBuffer[] = []) =>
    new Promise<Uint8Array>((resolve, reject) => {
      if (ended) return reject(ended)
      asked += 1
      waiting.set(asked, { resolve, reject })
      worker.ref()
      if (question) worker.postMessage({ number: asked, ...question }, transfer)
    })
  // The first answer is the header of the file.
  const first = await ask().catch(async (why: unknown) => {
    await worker.terminate()
    throw why
  })
  const header = Buffer.from(first).toString()
  // Of portions: the thread sends each back when it is written, for the next one.
  const buffers: Uint8Array[] = []
  return {
    header: header === '' ? undefined : (JSON.parse(header) as KeptHeader),
    load: async (keys) => readSlots(await ask({ load: keys }), keys.length / KEY),
    async save(entries, at) {
      await ask({ begin: true })
      try {
        // While one portion is written, the next is made; it is sent when that one is written, so
        // that nothing follows one that failed.
        let written: Promise<Uint8Array> | undefined
        for (const put of portionsOf(entries, buffers)) {
          if (written) buffers.push(await written)
          written = ask({ put }, [put.buffer as ArrayBuffer])
          // When the next cannot be made, this one is not awaited.
          written.catch(() => {})
        }
        if (written) buffers.push(await written)
        await ask({ commit: at })
      } catch (thrown) {
        await ask({ rollback: true }).catch(() => {})
        throw thrown
      }
    },
    scan: async (after, how) => [...readEntries(await ask({ scan: { after, ...how } }))],
    copyTo: async (copy) => void (await ask({ copy })),
    async close() {
      await ask({ close: true })
      await worker.terminate()
    },
  }
}

function errorOf({ name, message }: Failure): Error {
  for (const Kind of [BrokenState, OtherForm, HeldFile, DiskTrouble])
    if (new Kind().name === name) return new Kind(message)
  return new Error(message)
}

class Packing {
  length = 0
  private buffer: Buffer
  constructor(buffer: number | ArrayBuffer) {
    this.buffer = typeof buffer === 'number' ? Buffer.allocUnsafeSlow(buffer) : Buffer.from(buffer)
  }
  bytes(bytes: Uint8Array): void {
    this.room(bytes.length)
    this.buffer.set(bytes, this.length)
    this.length += bytes.length
  }
  part(bytes: Uint8Array | undefined): void {
    this.room(4)
    this.buffer.writeUInt32LE(bytes ? bytes.length : NONE, this.length)
    this.length += 4
    if (bytes) this.bytes(bytes)
  }
  entry({ key, state, others }: Entry): void {
    this.bytes(key)
    this.part(state)
    this.part(others)
  }
  private room(bytes: number): void {
    if (this.length + bytes <= this.buffer.length) return
    const wider = Buffer.allocUnsafeSlow(2 * this.buffer.length + bytes)
    wider.set(this.buffer.subarray(0, this.length))
    this.buffer = wider
  }
  packed(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }
}

function* portionsOf(entries: Iterable<Entry>, buffers: Uint8Array[]): Generator<Uint8Array> {
  let packing: Packing | undefined
  for (const entry of entries) {
    packing ??= new Packing((buffers.pop()?.buffer as ArrayBuffer) ?? PORTION_BYTES + 65_536)
    packing.entry(entry)
    if (packing.length < PORTION_BYTES) continue
    yield packing.packed()
    packing = undefined
  }
  if (packing) yield packing.packed()
}

class Unpacking {
  private at = 0
  private readonly view: DataView
  private readonly packed: Uint8Array
  constructor(packed: Uint8Array) {
    this.packed = packed
    this.view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  }
  get atEnd(): boolean {
    return this.at >= this.packed.length
  }
  bytes(length: number): Uint8Array {
    this.at += length
    return this.packed.subarray(this.at - length, this.at)
  }
  part(): Uint8Array | undefined {
    const length = this.view.getUint32(this.at, true)
    this.at += 4
    return length === NONE ? undefined : this.bytes(length)
  }
}

function* readEntries(packed: Uint8Array): Generator<Entry> {
  const unpacking = new Unpacking(packed)
  while (!unpacking.atEnd)
    yield { key: unpacking.bytes(KEY), state: unpacking.part()!, others: unpacking.part() }
}

function readSlots(packed: Uint8Array, count: number): (KeptSlot | undefined)[] {
  const unpacking = new Unpacking(packed)
  return Array.from({ length: count }, () => {
    const state = unpacking.part()
    return state && { state, others: unpacking.part() }
  })
}

// The rest runs in the thread.

async function answer(store: KeptStore, question: Question): Promise<Uint8Array> {
  const packing = new Packing('load' in question ? 16 * question.load.length : 256)
  if ('load' in question) {
    const keys = question.load
    for (let at = 0; at < keys.length; at += KEY) {
      const found = store.load(keys.subarray(at, at + KEY))
      packing.part(found?.state)
      if (found) packing.part(found.others)
    }
  } else if ('put' in question) {
    for (const entry of readEntries(question.put)) store.put(entry)
    return question.put
  } else if ('scan' in question) {
    for (const entry of store.scan(question.scan.after, question.scan)) packing.entry(entry)
  } else if ('begin' in question) store.begin()
  else if ('commit' in question) store.commit(question.commit)
  else if ('rollback' in question) store.rollback()
  else if ('copy' in question) await store.copyTo(question.copy)
  else store.close()
  return packing.packed()
}

function serve(path: string): void {
  const port = parentPort!
  const reply = async (number: number, work: () => Promise<Uint8Array>) => {
    try {
      const done = await work()
      port.postMessage({ number, answer: done }, [done.buffer as ArrayBuffer])
    } catch (thrown) {
      const { name, message } = thrown as Error
      port.postMessage({ number, failed: { name, message } })
    }
  }
  let store: KeptStore | undefined
  reply(1, async () => {
    store = new KeptStore(path)
    const packing = new Packing(256)
    packing.bytes(Buffer.from(store.header ? JSON.stringify(store.header) : ''))
    return packing.packed()
  })
  port.on('message', ({ number, ...question }: { number: number } & Question) =>
    reply(number, () => answer(store!, question)),
  )
}

if (!isMainThread && (workerData as { kept?: string } | null)?.kept !== undefined)
  serve((workerData as { kept: string }).kept)
