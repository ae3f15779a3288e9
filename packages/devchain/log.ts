// The chain on disk: one line of JSON for everything that was put into it (decrees, blocks, blocks
// taken back), appended as it happens and replayed at start. Replaying makes the same blocks again,
// and each line of a block says which id it had, so a log that this program would execute
// differently is noticed and refused. What was pending is not kept.

import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { hexToBytes } from '@noble/hashes/utils.js'
import type { Chain, ChainInput } from './chain/chain.ts'
import { parseTransaction, transactionHex } from './chain/transactions.ts'
import { type Json, parseJson, printJson } from './state/json.ts'

function inputLine(input: ChainInput): string {
  if (input.kind !== 'block') return printJson(input as Json)
  const { id, header, transactions } = input.block
  const encoded = transactions.map(({ transaction }) => transactionHex(transaction))
  return printJson({ kind: 'block', id, time_ms: header.timestamp, transactions: encoded })
}

function replayLine(chain: Chain, line: string): void {
  const input = parseJson(line) as { kind: string; [name: string]: unknown }
  if (input.kind === 'decree') chain.decree(readDecree(input.decree as Record<string, unknown>))
  else if (input.kind === 'reorganize') chain.reorganize(Number(input.blocks), true)
  else if (input.kind === 'solid_lag') chain.setSolidLag(Number(input.blocks))
  else if (input.kind === 'snapshot') chain.snapshot()
  else if (input.kind === 'restore') chain.restore(Number(input.snapshot))
  else if (input.kind === 'block') replayBlock(chain, input)
  else throw new Error(`the log has a line of unknown kind ${JSON.stringify(input.kind)}`)
}

function replayBlock(chain: Chain, input: { readonly [name: string]: unknown }): void {
  const transactions = (input.transactions as string[]).map((hex) =>
    parseTransaction(hexToBytes(hex)),
  )
  const { id } = chain.replay(Number(input.time_ms), transactions)
  if (id !== input.id)
    throw new Error(`the log's block ${input.id} came out as ${id}: it is of another version`)
}

/** Sums of sun are bigint in the chain; small ones come back from JSON as numbers. */
function readDecree(members: Record<string, unknown>) {
  const read = Object.entries(members).map(([name, value]) => [
    name,
    typeof value === 'number' ? BigInt(value) : value,
  ])
  return Object.fromEntries(read) as Extract<ChainInput, { kind: 'decree' }>['decree']
}

/** The log of one data folder, open for as long as the chain runs. */
export class ChainLog {
  /** The first line, undefined in a new folder. */
  readonly founding: Json | undefined
  private readonly lines: readonly string[]
  private readonly file: number
  private readonly lock: string

  /** Opens the log of a folder, which is made if need be; a last line that was torn off is cut
   *  away. Throws when another process has it open. */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.lock = resolve(folder, 'lock')
    takeLock(this.lock)
    const path = join(folder, 'chain.jsonl')
    this.file = openSync(path, 'a+')
    const text = readFileSync(path, 'utf8')
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    if (whole.length < text.length) ftruncateSync(this.file, Buffer.byteLength(whole))
    const [first, ...lines] = whole.split('\n').filter((line) => line !== '')
    this.founding = first === undefined ? undefined : (parseJson(first) as Json)
    this.lines = lines
  }

  /** Writes the first line of a new log. */
  found(founding: Json): void {
    writeSync(this.file, `${printJson(founding)}\n`)
  }

  /** Puts into a new chain what the log holds, and from then on records what is put into it. */
  attach(chain: Chain): void {
    for (const line of this.lines) replayLine(chain, line)
    chain.onInput = (input) => {
      writeSync(this.file, `${inputLine(input)}\n`)
    }
  }

  close(): void {
    closeSync(this.file)
    rmSync(this.lock, { force: true })
    openFolders.delete(this.lock)
  }
}

/** Locks held by this very process, which the process id in the file could not tell from an earlier
 *  one's. */
const openFolders = new Set<string>()

function takeLock(path: string): void {
  const holder = lockHolder(path)
  if (openFolders.has(path) || (holder.pid !== process.pid && isRunning(holder))) {
    throw new Error(`the data folder is in use by process ${holder.pid} (${path})`)
  }
  writeFileSync(path, `${process.pid} ${beginningOf(process.pid) ?? ''}\n`)
  openFolders.add(path)
}

/** Who has a lock. The id of a process that was killed can be another's by now, so the lock says
 *  when its own began. */
type Holder = { readonly pid: number; readonly began: string }

function lockHolder(path: string): Holder {
  try {
    const [pid, began = ''] = readFileSync(path, 'utf8').trim().split(' ')
    return { pid: Number(pid) || 0, began }
  } catch {
    return { pid: 0, began: '' }
  }
}

function isRunning({ pid, began }: Holder): boolean {
  if (pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const beginning = beginningOf(pid)
  return beginning === undefined || (beginning !== ENDED && (began === '' || began === beginning))
}

/** A process that has ended, but that its parent has not asked about yet: it still has its id. */
const ENDED = 'ended'

/** When a process began, as its system counts; undefined where the system does not tell (it does on
 *  Linux). */
function beginningOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? ENDED : fields[19]
  } catch {
    return undefined
  }
}
