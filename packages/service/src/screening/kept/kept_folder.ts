// The files of the flow indexes that one process keeps on disk, in a folder that it has for itself
// as long as it runs: of several processes with the same folder each takes a part of it.

import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Misuse } from '../../lib/fault.ts'
import type { SlotStore } from './kept.ts'
import { moveAside, removeKept } from './kept_store.ts'
import { openKept } from './kept_thread.ts'
import { BrokenState } from './slot_record.ts'

/** `hot_slots`: how many slots of each index stay in memory. */
export type KeptPlace = { folder: KeptFolder; hot_slots: number }

/** That of the index in use, of the next one while it is computed, and of what was sent. */
const INDEXES = 3
/** Of a slot in memory with its categories; until changes are saved there are half as many more. */
const BYTES_A_SLOT = 600 * 1.5

/** A place for indexes that together may take so much memory. */
export const keptPlace = (folder: string, memory_mb: number): KeptPlace => ({
  folder: KeptFolder.take(folder),
  hot_slots: Math.floor((memory_mb * 2 ** 20) / (INDEXES * BYTES_A_SLOT)),
})

/** More than processes that one machine runs. */
const PARTS_MAX = 64
const END = '.sqlite'

export class KeptFolder {
  readonly path: string
  private readonly claim: DatabaseSync

  private constructor(path: string, claim: DatabaseSync) {
    this.path = path
    this.claim = claim
  }

  /** Takes the first part of a folder that no process has, and makes it where there is none. Throws
   *  Misuse when all are taken. */
  static take(folder: string): KeptFolder {
    for (let part = 1; part <= PARTS_MAX; part++) {
      const path = join(folder, String(part))
      mkdirSync(path, { recursive: true, mode: 0o700 })
      const claim = claimed(join(path, 'claim'))
      if (claim) return new KeptFolder(path, claim)
    }
    throw new Misuse(`All ${PARTS_MAX} parts of ${folder} are in use by other processes.`)
  }

  /** The file of a state, by its kind and number. */
  fileOf(kind: string, number: number): string {
    return join(this.path, `${kind}-${number}${END}`)
  }

  has(kind: string, number: number): boolean {
    return existsSync(this.fileOf(kind, number))
  }

  /** Opens a state, or begins one. A file that cannot be read is put aside: its state begins anew.
   *  Throws HeldFile or DiskTrouble. */
  async open(kind: string, number: number): Promise<SlotStore> {
    const file = this.fileOf(kind, number)
    try {
      return await openKept(file)
    } catch (thrown) {
      if (!(thrown instanceof BrokenState)) throw thrown
      moveAside(file)
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

/** The lock of a part, held until it is closed or the process ends; undefined: somebody has it. */
function claimed(path: string): DatabaseSync | undefined {
  const claim = new DatabaseSync(path)
  try {
    claim.exec('pragma locking_mode = exclusive; begin immediate; commit')
    return claim
  } catch {
    claim.close()
    return undefined
  }
}
