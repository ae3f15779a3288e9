// The folder of a private cluster: `data` (PostgreSQL's own), `password`, `lock`, `server.log`. One
// process at a time uses it: it holds a lock of the operating system on the file `lock`, which ends
// with the process however it ends. Where root wants a folder that the server's user cannot reach,
// the folder lies elsewhere and a symbolic link leads there.

import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rmdir,
  stat,
  symlink,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Misuse } from '../../lib/fault.ts'
import { type OsUser, ownFolder, runProgram } from './programs.ts'

/** Where a cluster lies and whose it is; `user` is undefined when it is ours. */
export type Place = { folder: string; user: OsUser | undefined }

/** Makes or finds the folder of a cluster. `relocated` is told when it lies elsewhere than
 *  wanted. */
export async function placeCluster(
  wanted: string,
  user: OsUser | undefined,
  relocated: (folder: string) => void,
): Promise<Place> {
  const path = resolve(wanted)
  await mkdir(dirname(path), { recursive: true })
  const found = await lstat(path).catch(() => undefined)
  if (found) return adopt(path, user, relocated)
  await mkdir(path, { mode: 0o700 })
  if (user === undefined) return { folder: await realpath(path), user }
  await chown(path, user.uid, user.gid)
  if (await canUse(path, user)) return { folder: await realpath(path), user }
  await rmdir(path)
  return relocate(path, user, relocated)
}

/** A folder that exists. Root runs the server as the folder's owner, so that what one user made
 *  stays usable to it. */
async function adopt(
  path: string,
  user: OsUser | undefined,
  relocated: (folder: string) => void,
): Promise<Place> {
  const folder = await realpath(path).catch(() => {
    throw new Misuse(`${path} is a link to a folder that does not exist.`)
  })
  const { uid, gid } = await stat(folder)
  if (user === undefined) {
    if (uid !== process.getuid?.())
      throw new Misuse(`${path} belongs to another user of this machine.`)
    return { folder, user }
  }
  const owner = uid === 0 ? user : { uid, gid }
  const empty = (await readdir(folder)).length === 0
  if (uid === 0) await runProgram('chown', ['-R', `${owner.uid}:${owner.gid}`, folder], undefined)
  if (empty) await chmod(folder, 0o700)
  if (await canUse(folder, owner)) return { folder, user: owner }
  if (!empty)
    throw new Misuse(
      `The user ${owner.uid}, whose ${path} is, cannot reach it: move it or open the way to it.`,
    )
  await rmdir(path)
  return relocate(path, user, relocated)
}

async function relocate(
  path: string,
  user: OsUser,
  relocated: (folder: string) => void,
): Promise<Place> {
  const folder = await mkdtemp(join(await ownFolder(), 'cluster-'))
  await chown(folder, user.uid, user.gid)
  await symlink(folder, path)
  relocated(folder)
  return { folder, user }
}

/** A folder in the operating system's temporary directory, or beside the other relocated ones if
 *  that is closed. */
export async function placeThrowAway(user: OsUser | undefined): Promise<Place> {
  for (const parent of [tmpdir, ownFolder]) {
    const folder = await realpath(await mkdtemp(join(await parent(), 'penstock-')))
    if (user === undefined) return { folder, user }
    await chown(folder, user.uid, user.gid)
    if (await canUse(folder, user)) return { folder, user }
    await rmdir(folder)
  }
  throw new Misuse('The user that PostgreSQL runs as can reach no temporary directory.')
}

async function canUse(folder: string, user: OsUser): Promise<boolean> {
  return (await runProgram('sh', ['-c', 'cd "$1" && test -w .', 'sh', folder], user)).ok
}

/** Takes the folder for this process. Undefined when another process has it. A lock of SQLite's on
 *  an empty database is used because Node has no other that the kernel gives back when the process
 *  is killed. */
export function lockFolder(folder: string): { release(): void } | undefined {
  const lock = new DatabaseSync(join(folder, 'lock'), { timeout: 0 })
  try {
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (thrown) {
    lock.close()
    if (thrown instanceof Error && 'errcode' in thrown && thrown.errcode === SQLITE_BUSY)
      return undefined
    throw thrown
  }
  held.add(lock)
  return {
    release() {
      if (held.delete(lock)) lock.close()
    },
  }
}

const SQLITE_BUSY = 5

/** Keeps the locks from the garbage collector, which would close them. */
const held = new Set<DatabaseSync>()
