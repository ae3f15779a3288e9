// One side of `bench index`, in a process of its own, so that its memory can be measured: the flow
// index in memory, or with a hot and a kept part. It does what its parent asks, one thing at a
// time, and answers with what it has measured.

import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import type { LoggedBlock } from 'penstock-service/chain/transfers/packed.ts'
import { finished } from 'penstock-service/lib/portions.ts'
import {
  readCheckpoint,
  stateHash,
  writeCheckpoint,
} from 'penstock-service/screening/flow/checkpoint.ts'
import { FlowIndex } from 'penstock-service/screening/flow/flow_index.ts'
import { readHolding } from 'penstock-service/screening/flow/holdings.ts'
import { LabelTable } from 'penstock-service/screening/flow/label_table.ts'
import { applyBlock, CarriedWriter } from 'penstock-service/screening/flow/log.ts'
import { bitCount, MASK, SLOT } from 'penstock-service/screening/flow/memory.ts'
import { KeptFlow } from 'penstock-service/screening/kept/kept.ts'
import { openKept } from 'penstock-service/screening/kept/kept_thread.ts'
import { ownCpuUs } from './cpu.ts'
import { blockOf, drawer, labels, people, SERVICES, writeAddress } from './flow_traffic.ts'

export const BLOCK = 200
/** Blocks that the service applies at once while it catches up. */
const PORTION = 50

export type SideOptions = { addresses: number; hot: number; path: string | undefined }
export type Ask =
  | { do: 'open'; options: SideOptions }
  | { do: 'apply'; transfers: number }
  | { do: 'blocks'; count: number }
  | { do: 'figures' }
  | { do: 'hash' }
  | { do: 'start' }
  | { do: 'reads'; count: number }
  | { do: 'end' }

const traffic = { draw: drawer(7), skewed: people(2 * SERVICES).skewed }
let options: SideOptions
let index: FlowIndex
let flow: KeptFlow | undefined
let number = 0
let sequence = 1

async function opened(): Promise<void> {
  if (options.path === undefined) index = new FlowIndex(labels)
  else {
    const { hot } = options
    const table = LabelTable.of(labels)
    const kept = await openKept(options.path)
    flow = await finished(KeptFlow.opening(kept, table, { identity: 'bench', hot_slots: hot }))
    index = flow.index
  }
}

function blocksOf(count: number): LoggedBlock[] {
  const bytes = blockOf(traffic.draw, traffic.skewed, count * BLOCK)
  return Array.from({ length: count }, (_, i) => {
    number += 1
    const first_sequence = sequence
    sequence += BLOCK
    const transfers = bytes.subarray(i * BLOCK * 52, (i + 1) * BLOCK * 52)
    return { number, time_ms: number * 3_000, freezes: [], first_sequence, transfers }
  })
}

/** As the service applies them: what each transfer carried is written down. */
async function apply(blocks: readonly LoggedBlock[], save: boolean): Promise<void> {
  if (!flow) {
    for (const block of blocks) {
      const writer = new CarriedWriter(BLOCK)
      applyBlock(index, block, writer)
      writer.written()
    }
    return
  }
  await flow.apply(blocks, () => {
    const writer = new CarriedWriter(BLOCK)
    return { writer, done: () => void writer.written() }
  })
  if (save || flow.is_full) await flow.save(`${number}`)
}

async function catchUp(transfers: number) {
  let wall_ms = 0
  let cpu_us = 0
  for (let done = 0; done < transfers; done += PORTION * BLOCK) {
    const blocks = blocksOf(PORTION)
    const [start, cpu] = [performance.now(), process.cpuUsage()]
    await apply(blocks, false)
    wall_ms += performance.now() - start
    cpu_us += ownCpuUs(cpu)
  }
  return { wall_ms, cpu_us }
}

async function atTheHead(count: number): Promise<number[]> {
  await flow?.save(`${number}`)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const blocks = blocksOf(1)
    const start = performance.now()
    await apply(blocks, true)
    times.push(performance.now() - start)
  }
  return times
}

/** Bytes that the process has in RAM, now and at most until now. */
function rss(): { rss: number; peak: number } {
  const status = readFileSync('/proc/self/status', 'utf8')
  const of = (name: string) => 1_024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1])
  return { rss: of('VmRSS'), peak: of('VmHWM') }
}

function figures() {
  const { memory } = index
  let cells = 0
  for (let slot = 0; slot < memory.slot_count; slot++)
    cells += bitCount(memory.slots[slot * SLOT + MASK]!)
  return {
    ...rss(),
    slots: flow ? flow.slot_count : memory.slot_count,
    hot: flow?.hot_count ?? memory.slot_count,
    memory_bytes: memory.bytes_used,
    cells_each: cells / memory.slot_count,
  }
}

/** Lets the system forget the pages of a file. */
const dropPages = (path: string) =>
  execFileSync('dd', [`if=${path}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })

/** Ends and begins again: on disk from the file, of which nothing is in RAM; in memory from a
 *  checkpoint. */
async function start() {
  if (!flow || options.path === undefined) {
    const chunks = [...writeCheckpoint(index)]
    const began = performance.now()
    await readCheckpoint(labels, chunks)
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    return { start_ms: performance.now() - began, bytes }
  }
  await flow.close()
  const bytes = statSync(options.path).size
  dropPages(options.path)
  const began = performance.now()
  await opened()
  return { start_ms: performance.now() - began, bytes }
}

async function reads(count: number): Promise<number[]> {
  if (options.path !== undefined) dropPages(options.path)
  const draw = drawer(11)
  const words = new Uint32Array(5)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    writeAddress(words, 0, SERVICES + Math.floor((options.addresses - SERVICES) * draw()))
    const address = new Uint8Array(words.buffer).slice()
    const began = performance.now()
    if (flow)
      await flow.reading(
        () => [0],
        [address],
        (holdingOf) => holdingOf(0, address),
      )
    else readHolding(index, 0, address)
    times.push(performance.now() - began)
  }
  return times
}

async function done(ask: Ask): Promise<unknown> {
  switch (ask.do) {
    case 'open':
      options = ask.options
      traffic.skewed = people(options.addresses).skewed
      return opened()
    case 'apply':
      return catchUp(ask.transfers)
    case 'blocks':
      return atTheHead(ask.count)
    case 'figures':
      return figures()
    case 'hash':
      return flow ? flow.stateHash() : stateHash(index)
    case 'start':
      return start()
    case 'reads':
      return reads(ask.count)
    case 'end':
      await flow?.close()
      process.disconnect()
  }
}

process.on('message', (ask: Ask) => {
  done(ask).then(
    (answer) => process.connected && process.send!({ answer }),
    (thrown: unknown) => {
      process.send!({ failed: String(thrown instanceof Error ? thrown.stack : thrown) })
    },
  )
})
