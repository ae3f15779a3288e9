// Files that are there whole or not at all, whatever stops this process or the machine.

import { randomBytes } from 'node:crypto'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const OWNER_ONLY = 0o600

/** Writes the file, readable by its owner only, in place of what was there. */
export async function writeWhole(file: string, text: string): Promise<void> {
  await rename(await writeBeside(file, text), file)
  await syncFolder(file)
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
  await syncFolder(file)
}

async function writeBeside(file: string, text: string): Promise<string> {
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(beside, 'wx', OWNER_ONLY)
  await handle.writeFile(text)
  await handle.sync()
  await handle.close()
  return beside
}

async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file))
  await folder.sync()
  await folder.close()
}
