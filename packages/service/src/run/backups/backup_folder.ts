// The folder of backups: a folder for each, named by when it was made, with the archive, the
// manifest and what they are. It gets its name when it is whole and on disk: an interrupted backup
// is none.

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { Refused, refusal } from '../../lib/fault.ts'
import { readWhole, requireWritable, syncFolder, writeWhole } from '../../lib/files.ts'
import { ARCHIVE, type BaseBackup, MANIFEST, takeBaseBackup } from './base_backup.ts'

const ABOUT = 'backup.json'
const UNFINISHED = 'unfinished-'
const NAME = /^\d{8}T\d{6}Z$/

/** What is noted of a backup beside it. */
export type Backup = BaseBackup & {
  id: string
  /** As of when it is: its end. */
  made_at: Date
  /** The newest migration that the database had. */
  schema: number
}

/** A backup and where it is. */
export type KeptBackup = Backup & { folder: string }

/** A backup of which nobody can say any more what it is: its own note is gone or altered. */
export type DamagedBackup = { id: string; folder: string; wrong: string }

/** What is in a folder of backups, the newest first. */
export type FolderContents = { whole: KeptBackup[]; damaged: DamagedBackup[] }

/** What a backup of that moment is named. */
export const idAt = (made_at: Date): string => made_at.toISOString().replace(/[-:]|\.\d+/g, '')

export type BackupInput = {
  url: string
  /** Where backups are kept; made when it is not there. */
  parent: string
  clock: Clock
  schema: number
  tell: (done: number, whole: number) => void
}

/** Makes a backup. Throws Refused. */
export async function makeBackup(input: BackupInput): Promise<KeptBackup> {
  const { url, clock, schema, tell } = input
  const parent = resolve(input.parent)
  await requireWritable(parent)
  await removeUnfinished(parent, clock.now())
  const fresh = await mkdtemp(join(parent, UNFINISHED))
  try {
    const base = await takeBaseBackup(url, fresh, tell)
    const id = idAt(base.made_at)
    const folder = join(parent, id)
    const backup = { id, schema, ...base }
    await writeWhole(join(fresh, ABOUT), `${JSON.stringify(backup, null, 2)}\n`)
    await rename(fresh, folder)
    await syncFolder(parent)
    return { ...backup, folder }
  } catch (thrown) {
    await rm(fresh, { recursive: true, force: true })
    throw thrown
  }
}

/** What was left by a process that was ended; two make backups into one folder at different
 *  times. */
async function removeUnfinished(parent: string, now: Date): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(UNFINISHED)) continue
    const { mtimeMs } = await stat(join(parent, name))
    if (now.getTime() - mtimeMs > UNFINISHED_MS)
      await rm(join(parent, name), { recursive: true, force: true })
  }
}

const UNFINISHED_MS = 24 * 3_600_000

/** The backups in a folder; one that is damaged hides no other. Throws Refused when the folder
 *  cannot be read. */
export async function listBackups(parent: string): Promise<FolderContents> {
  const names = await readdir(parent).catch((thrown: NodeJS.ErrnoException) => {
    throw refusal(`${parent} cannot be read: ${thrown.code}.`)
  })
  const found: FolderContents = { whole: [], damaged: [] }
  for (const id of names
    .filter((name) => NAME.test(name))
    .sort()
    .reverse()) {
    const folder = join(parent, id)
    try {
      const backup = await readBackup(folder)
      if (backup) found.whole.push(backup)
      else found.damaged.push({ id, folder, wrong: `${join(folder, ABOUT)} is missing.` })
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown
      found.damaged.push({ id, folder, wrong: thrown.message })
    }
  }
  return found
}

/** The backup in a folder of its own; undefined when there is none. Throws Refused. */
export async function readBackup(folder: string): Promise<KeptBackup | undefined> {
  const text = await readWhole(join(folder, ABOUT)).catch((thrown: NodeJS.ErrnoException) => {
    throw refusal(`${join(folder, ABOUT)} cannot be read: ${thrown.code}.`)
  })
  if (text === undefined) return undefined
  try {
    const about = JSON.parse(text) as Backup & { made_at: string }
    const { id, schema, server_version, archive_bytes } = about
    const texts = [id, server_version].every((one) => typeof one === 'string')
    if (!texts || ![schema, archive_bytes].every(Number.isSafeInteger)) throw new TypeError()
    // A day that none is throws here, and not where it is shown.
    return { ...about, made_at: new Date(new Date(about.made_at).toISOString()), folder }
  } catch {
    throw refusal(`${join(folder, ABOUT)} is not what was written there.`)
  }
}

/** Removes all but the newest so many of those that are whole. Returns them. What is damaged is not
 *  counted, and stays: somebody may mend it. */
export async function removeOlder(parent: string, keep: number): Promise<KeptBackup[]> {
  const older = (await listBackups(parent)).whole.slice(keep)
  for (const { folder } of older) await rm(folder, { recursive: true, force: true })
  return older
}

/** What is wrong with the files of a backup, by their sums. */
export async function damageOf(backup: KeptBackup): Promise<string[]> {
  const wrong: string[] = []
  const sums: [string, string][] = [
    [ARCHIVE, backup.archive_sha256],
    [MANIFEST, backup.manifest_sha256],
  ]
  for (const [name, sha256] of sums) {
    const file = join(backup.folder, name)
    const found = await sumOf(file).catch((thrown: NodeJS.ErrnoException) => thrown.code ?? '')
    if (found !== sha256) wrong.push(`${file} is not what was written there`)
  }
  return wrong
}

const READ_BYTES_MAX = 1 << 18

/** The SHA-256 of a file. It is read into one piece of memory, no larger than the file: a database
 *  is thousands of small files, and to collect a large piece for each costs more than their
 *  sums. */
export async function sumOf(file: string): Promise<string> {
  const sum = createHash('sha256')
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const piece = Buffer.allocUnsafe(Math.min(Math.max(size, 1), READ_BYTES_MAX))
    for (;;) {
      const { bytesRead: length } = await handle.read(piece)
      if (length === 0) return sum.digest('hex')
      sum.update(piece.subarray(0, length))
    }
  } finally {
    await handle.close()
  }
}

/** Makes an empty folder for its owner alone. Throws Refused when something is in it. */
export async function makeEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0) throw refusal(`${folder} is not empty.`)
}
