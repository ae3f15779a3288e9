// What the signer has signed, in a place of its own that nobody who has only the database can
// reach: what was signed for an attempt before, whether a deposit went back before, and how much of
// everything left within the last hour and day. It is on disk before a signature is handed out.
//
// Each process writes a file of its own, and reads those of the others in the folder as they grow;
// each line begins with the SHA-256 of the sum before it and of what follows it, and the first says
// how far the files were that were there already: a line or a file that is taken out is noticed at
// the next start. What no rule asks about any more is removed.

import { hash } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Address } from 'penstock-tron/address.ts'
import { type Clock, DAY_MS } from '../../lib/clock.ts'
import { Misuse } from '../../lib/fault.ts'
import { requireWritable, syncFolder } from '../../lib/files.ts'
import { firstIdAt, type NewId } from '../../lib/ids.ts'

/** One signature that was handed out. */
export type SignatureRecord = {
  /** Milliseconds, by our clock. */
  at: number
  attempt: string
  subject: string
  tx_id: string
  type: string
  wallet: Address
  receiver: Address
  sun: bigint
  /** Milliseconds, by the chain's clock: no block after that has it. */
  expires_at: number
  /** What was signed, in base64. The same bytes always get the same signature. */
  raw_data: string
}

export type SignatureLog = {
  /** What is known and was not given out by an earlier call, in no certain order. */
  news(): Promise<SignatureRecord[]>
  /** Keeps them. They are on disk when it resolves. */
  append(entries: readonly SignatureRecord[]): Promise<void>
  close(): Promise<void>
}

/** Longer than the longest time that sums go over, by the clocks of two processes. */
export const KEPT_MS = 2 * DAY_MS
/** A deposit must not go back twice: that is remembered for longer. */
export const REFUNDS_KEPT_MS = 31 * DAY_MS
const FILE_MS_MAX = DAY_MS
const NAME = /^[0-9a-z]{26}\.log$/

/** For tests and simulations: `entries` is the folder, and outlives the process. */
export function memoryLog(entries: SignatureRecord[] = []): SignatureLog {
  let read = 0
  return {
    async news() {
      const fresh = entries.slice(read)
      read = entries.length
      return fresh
    },
    async append(more) {
      entries.push(...more)
    },
    async close() {},
  }
}

type Needs = { clock: Clock; new_id: NewId }
/** How far a file was read: bytes, lines, the last sum, and the youngest entry. */
type ReadState = { bytes: number; lines: number; sum: string; newest_at: number }
/** The first line of a file: how far the others were when it was begun. */
type FirstLine = { follows: Record<string, Pick<ReadState, 'lines' | 'sum' | 'newest_at'>> }
type OwnFile = ReadState & { name: string; handle: FileHandle; begun_at: number }

/** Opens the folder, made for its owner only when it is not there. Throws Misuse when it cannot be
 *  written to, or what was written there is not what is there. */
export async function fileLog(folder: string, needs: Needs): Promise<SignatureLog> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await requireWritable(folder)
  const log = new FileLog(folder, needs)
  await log.begin()
  return log
}

class FileLog implements SignatureLog {
  private readonly folder: string
  private readonly needs: Needs
  private readonly readings = new Map<string, ReadState>()
  /** Refunds of every file, by their transaction: carried on when their file is removed. */
  private readonly refunds = new Map<string, SignatureRecord>()
  private first: SignatureRecord[] = []
  private own: OwnFile | undefined

  constructor(folder: string, needs: Needs) {
    this.folder = folder
    this.needs = needs
  }

  /** Reads everything that is there, and holds it against what the beginnings of the files say. */
  async begin(): Promise<void> {
    const beginnings: FirstLine[] = []
    const sums = new Map<string, string[]>()
    this.first = await this.readOthers((name, sum, text) => {
      const known = sums.get(name) ?? []
      if (known.length === 0) beginnings.push(JSON.parse(text) as FirstLine)
      known.push(sum)
      sums.set(name, known)
    })
    const least_at = this.needs.clock.now().getTime() - KEPT_MS
    for (const [name, { lines, sum, newest_at }] of beginnings.flatMap((one) =>
      Object.entries(one.follows),
    )) {
      const there = sums.get(name)
      if (there === undefined ? newest_at > least_at : there[lines - 1] !== sum)
        throw damaged(this.folder, name)
    }
  }

  async news(): Promise<SignatureRecord[]> {
    const fresh = [...this.first, ...(await this.readOthers(() => {}))]
    this.first = []
    return fresh
  }

  async append(entries: readonly SignatureRecord[]): Promise<void> {
    const now = this.needs.clock.now().getTime()
    if (this.own && now - this.own.begun_at > FILE_MS_MAX) await this.close()
    this.own ??= await this.beginFile(now)
    try {
      await write(this.own, entries.map(printed))
    } catch (thrown) {
      // Part of a line may be there: what comes next goes into another file.
      const { handle } = this.own
      this.own = undefined
      await handle.close()
      throw thrown
    }
    for (const { at } of entries) if (at > this.own.newest_at) this.own.newest_at = at
    for (const one of entries) if (one.type === 'TransferContract') this.refunds.set(one.tx_id, one)
  }

  async close(): Promise<void> {
    const { own } = this
    if (!own) return
    this.own = undefined
    const { name, lines, sum, bytes, newest_at } = own
    this.readings.set(name, { lines, sum, bytes, newest_at })
    await own.handle.close()
  }

  /** What the files of others, and earlier ones of this process, have beyond what was read. */
  private async readOthers(
    onLine: (name: string, sum: string, text: string) => void,
  ): Promise<SignatureRecord[]> {
    const names = (await readdir(this.folder)).filter(
      (name) => NAME.test(name) && name !== this.own?.name,
    )
    const fresh: SignatureRecord[] = []
    for (const name of names.sort()) {
      const before = this.readings.get(name) ?? { bytes: 0, lines: 0, sum: '', newest_at: 0 }
      const fresh_text = await readFrom(join(this.folder, name), before.bytes)
      if (fresh_text === undefined) throw damaged(this.folder, name)
      // A line that is not whole is being written, or its process has died: nobody got its
      // signature.
      const whole = fresh_text.slice(0, fresh_text.lastIndexOf('\n') + 1)
      if (whole === '') continue
      const reading = { ...before, bytes: before.bytes + Buffer.byteLength(whole) }
      for (const line of whole.split('\n').slice(0, -1)) {
        const [sum = '', text = ''] = [line.slice(0, 64), line.slice(65)]
        if (sum !== sumOf(reading.sum, text)) throw damaged(this.folder, name, reading.lines + 1)
        onLine(name, sum, text)
        reading.sum = sum
        reading.lines += 1
        if (reading.lines === 1) continue
        const entry = read(text)
        if (entry.at > reading.newest_at) reading.newest_at = entry.at
        if (entry.type === 'TransferContract') this.refunds.set(entry.tx_id, entry)
        fresh.push(entry)
      }
      this.readings.set(name, reading)
    }
    return fresh
  }

  /** A new file, which goes on from those that are there; what is too old there is removed. */
  private async beginFile(now: number): Promise<OwnFile> {
    const name = `${this.needs.new_id()}.log`
    const handle = await open(join(this.folder, name), 'ax', 0o600)
    const own: OwnFile = { name, handle, begun_at: now, bytes: 0, sum: '', lines: 0, newest_at: 0 }
    // Another process may have begun a file, and be about to write its first entry there.
    const begun_since = firstIdAt(new Date(now - KEPT_MS))
    const old = [...this.readings]
      .filter(([file, { newest_at }]) => newest_at < now - KEPT_MS && file < begun_since)
      .map(([file]) => file)
    const follows = Object.fromEntries(
      [...this.readings]
        .filter(([file]) => !old.includes(file))
        .map(([file, { lines, sum, newest_at }]) => [file, { lines, sum, newest_at }]),
    )
    for (const [tx_id, { at }] of this.refunds)
      if (at < now - REFUNDS_KEPT_MS) this.refunds.delete(tx_id)
    const carried = old.length === 0 ? [] : [...this.refunds.values()]
    const lines = [JSON.stringify({ follows }), ...carried.map(printed)]
    await write(own, lines).catch(async (thrown: unknown) => {
      // On a full disk each try would leave a file; what others may have read of it stays.
      const { size } = await handle.stat()
      await handle.close()
      if (size === 0) await rm(join(this.folder, name))
      throw thrown
    })
    await syncFolder(this.folder)
    for (const file of old) {
      await rm(join(this.folder, file), { force: true })
      this.readings.delete(file)
    }
    return own
  }
}

const sumOf = (before: string, text: string) => hash('sha256', before + text)

const printed = ({ sun, ...one }: SignatureRecord) =>
  JSON.stringify({ ...one, sun: sun.toString() })

function read(text: string): SignatureRecord {
  const { sun, ...one } = JSON.parse(text) as Omit<SignatureRecord, 'sun'> & { sun: string }
  return { ...one, sun: BigInt(sun) }
}

async function write(own: OwnFile, texts: readonly string[]): Promise<void> {
  let lines = ''
  for (const text of texts) {
    own.sum = sumOf(own.sum, text)
    own.lines += 1
    lines += `${own.sum} ${text}\n`
  }
  await own.handle.appendFile(lines)
  await own.handle.datasync()
  own.bytes += Buffer.byteLength(lines)
}

/** What a file has from a place on; undefined when it is shorter, empty when it is gone. */
async function readFrom(file: string, place: number): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined)
  if (!found || found.size === place) return ''
  if (found.size < place) return undefined
  const handle = await open(file)
  try {
    const bytes = Buffer.alloc(found.size - place)
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, place)
    return bytes.subarray(0, bytesRead).toString('utf8')
  } finally {
    await handle.close()
  }
}

const damaged = (folder: string, name: string, line?: number) =>
  new Misuse(
    `${join(folder, name)} is not what was ` +
      `written${line === undefined ? '' : ` (line ${line})`}: somebody has changed what was ` +
      'signed. Find out who; then move the folder away, and the sums begin anew.',
  )
