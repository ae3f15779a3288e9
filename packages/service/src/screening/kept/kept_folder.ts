// The files of the flow indexes that one process keeps on disk, in a folder that it has for itself
// as long as it runs: of several processes with the same folder each takes a part of it.

import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Misuse } from '../../lib/fault.ts'
import type { SlotStore } from './kept.ts'
import { moveAside, OtherForm, removeKept } from './kept_store.ts'
import { openKept } from './kept_thread.ts'
import { BrokenState } from './slot_record.ts'

/** `hot_slots`: how many slots of each index may be in memory. */
export type KeptPlace = { folder: KeptFolder; hot_slots: number }

/** The index in use and the next one while it is computed; of what was sent the one in use, that of
 *  the night before and the next one. */
const INDEXES = 5
/** Of a slot in memory with its categories: 780 with eight of them, and some room. */
const BYTES_A_SLOT = 900

/** A place for indexes that together may take so much memory. */
export const keptPlace = async (
  folder: string,
  memory_mb: number,
  wait: (ms: number) => Promise<void>,
): Promise<KeptPlace> => ({
  folder: await KeptFolder.take(folder, wait),
  hot_slots: Math.floor((memory_mb * 2 ** 20) / (INDEXES * BYTES_A_SLOT)),
})

/** A process that ends lets go of its part in this time, mostly: five seconds. */
const TRIES = 50
const TRY_MS = 100

/** More than processes that one machine runs. */
const PARTS_MAX = 64
const END = '.sqlite'
/** Of a file that is not whole yet. */
const COPY = '.copy'

export class KeptFolder {
  readonly path: string
  private readonly claim: DatabaseSync

  private constructor(path: string, claim: DatabaseSync) {
    this.path = path
    this.claim = claim
  }

  /** Takes the first part of a folder that no process has. When there is none it waits, where that
   *  is given, and takes a new one then. Throws Misuse when there are too many, or the folder
   *  cannot be written. */
  static async take(folder: string, wait?: (ms: number) => Promise<void>): Promise<KeptFolder> {
    let free = freePart(folder, { made: true })
    for (let tries = 0; !free && wait && existsSync(folder) && tries < TRIES; tries++) {
      await wait(TRY_MS)
      free = freePart(folder, { made: true })
    }
    free ??= freePart(folder, { made: false })
    if (free) return new KeptFolder(free.path, free.claim)
    throw new Misuse(`All ${PARTS_MAX} parts of ${folder} are in use by other processes.`)
  }

  /** The file of a state, by its kind and number. */
  fileOf(kind: string, number: number): string {
    return join(this.path, `${kind}-${number}${END}`)
  }

  has(kind: string, number: number): boolean {
    return existsSync(this.fileOf(kind, number))
  }

  /** Puts a copy of another state where a state is to be. */
  async copy(of: { copyTo(name: string): Promise<void> }, kind: string, number: number) {
    const file = this.fileOf(kind, number)
    removeKept(`${file}${COPY}`)
    await of.copyTo(`${file}${COPY}`)
    removeKept(file)
    renameSync(`${file}${COPY}`, file)
  }

  /** Opens a state, or begins one. A file that cannot be read is put aside, and one of another
   *  version removed: its state begins anew. Throws HeldFile or DiskTrouble. */
  async open(kind: string, number: number): Promise<SlotStore> {
    const file = this.fileOf(kind, number)
    try {
      return await openKept(file)
    } catch (thrown) {
      if (!(thrown instanceof BrokenState)) throw thrown
      if (thrown instanceof OtherForm) removeKept(file)
      else moveAside(file)
      return openKept(file)
    }
  }

  /** Puts a state aside that is not open. */
  putAside(kind: string, number: number): void {
    moveAside(this.fileOf(kind, number))
  }

  remove(kind: string, number: number): void {
    removeKept(this.fileOf(kind, number))
  }

  /** Removes the states of a kind before one, with those that were put aside. None of them may be
   *  open. */
  removeBefore(kind: string, number: number): void {
    for (const file of readdirSync(this.path)) {
      const [, of_kind, of_number] = /^(.+)-(\d+)\.sqlite/.exec(file) ?? []
      if (of_kind === kind && Number(of_number) < number) removeKept(join(this.path, file))
    }
  }

  close(): void {
    if (this.claim.isOpen) this.claim.close()
  }
}

/** `made`: of those that there are. */
function freePart(folder: string, { made }: { made: boolean }) {
  for (let part = 1; part <= PARTS_MAX; part++) {
    const path = join(folder, String(part))
    if (made && !existsSync(path)) return undefined
    const claim = claimed(path)
    if (claim) return { path, claim }
  }
  return undefined
}

const BUSY = 5

/** The lock of a part, held until it is closed or the process ends; undefined: somebody has it. */
function claimed(path: string): DatabaseSync | undefined {
  let claim: DatabaseSync | undefined
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    claim = new DatabaseSync(join(path, 'claim'))
    claim.exec('pragma locking_mode = exclusive; begin immediate; commit')
    return claim
  } catch (thrown) {
    claim?.close()
    const { errcode = 0, message } = thrown as { errcode?: number; message: string }
    if ((errcode & 255) === BUSY) return undefined
    throw new Misuse(`The folder ${path} of the index cannot be used: ${message}.`)
  }
}
