// Files that are there whole or not at all, whatever stops this process or the machine.

import { randomBytes } from 'node:crypto'
import { access, constants, link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Misuse } from './fault.ts'

const OWNER_ONLY = 0o600

/** Makes the folder and those above it. Throws Misuse when that cannot be. */
async function makeFolder(folder: string): Promise<void> {
  const path = resolve(folder)
  const found = await stat(path).catch(() => undefined)
  if (found && !found.isDirectory()) throw new Misuse(`${folder} is not a folder.`)
  // Step by step: a recursive mkdir never ends where a folder cannot be made (/proc).
  if (!found) {
    if (dirname(path) !== path) await makeFolder(dirname(path))
    await mkdir(path).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw new Misuse(`${folder} cannot be made: ${thrown.code}.`)
    })
  }
}

/** Makes the folder, and throws Misuse when files cannot be made in it. */
export async function requireWritable(folder: string): Promise<void> {
  await makeFolder(folder)
  await access(folder, constants.W_OK | constants.X_OK).catch(() => {
    throw new Misuse(`${folder} cannot be written to.`)
  })
}

/** The rights that others must not have on a secret of ours; or on one that root hands to us by our
 *  group, as Kubernetes and systemd do. */
const [OF_OTHERS, OF_OTHERS_AND_WRITING] = [0o077, 0o037]

/** The text of a file that holds secrets, undefined when there is none. Throws Misuse when others
 *  can read it. */
export async function readSecretFile(file: string, holds: string): Promise<string | undefined> {
  const found = await stat(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'ENOENT') throw new Misuse(`${file} cannot be read: ${thrown.code}.`)
  })
  if (!found) return undefined
  const handed_over = found.uid === 0 && process.getuid?.() !== 0
  if ((found.mode & (handed_over ? OF_OTHERS_AND_WRITING : OF_OTHERS)) !== 0) {
    throw new Misuse(`${file} holds ${holds} and can be read by others: chmod 600 it.`)
  }
  return readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw new Misuse(`${file} cannot be read: ${thrown.code}.`)
  })
}

/** Writes the file, readable by its owner only, in place of what was there. */
export async function writeWhole(file: string, text: string | Uint8Array): Promise<void> {
  await rename(await writeBeside(file, text), file)
  await syncFolder(dirname(file))
}

/** The text of a file, undefined when there is none. */
export async function readWhole(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'ENOENT') throw thrown
    return undefined
  })
}

/** Writes at the end of a file, which is made when it is not there; on disk when it returns. */
export async function appendText(file: string, text: string): Promise<void> {
  const handle = await open(file, 'a', OWNER_ONLY)
  try {
    await handle.appendFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncFolder(dirname(file))
}

/** Writes the file unless it is there. Of several who do so at once, one wins. */
export async function writeOnce(file: string, text: string): Promise<void> {
  const written = await writeBeside(file, text)
  try {
    await link(written, file)
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown
  } finally {
    await rm(written)
  }
  await syncFolder(dirname(file))
}

async function writeBeside(file: string, text: string | Uint8Array): Promise<string> {
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(beside, 'wx', OWNER_ONLY)
  const written = handle.writeFile(text).then(() => handle.sync())
  await written
    .finally(() => handle.close())
    .catch(async (thrown: unknown) => {
      // On a full disk there is the file, and nothing in it.
      await rm(beside, { force: true })
      throw thrown
    })
  return beside
}

/** Brings to disk which files the folder has. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync()
  await handle.close()
}
