// Where the files of a run lie, and what its processes share.

import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'
/** A whole run has some gigabytes of databases, and the machine needs memory beside them. */
const IN_MEMORY_BYTES_MIN = 8 * 2 ** 30

/** Where the files of the run lie, unless TMPDIR says where: in memory where there is plenty. Its
 *  databases are tens of thousands of files that are made and removed again, which alone is a tenth
 *  of the CPU time on some file systems. */
export async function useMemory(): Promise<void> {
  if (process.env.TMPDIR !== undefined) return
  const found = await statfs(IN_MEMORY).catch(() => undefined)
  if (found && found.bavail * found.bsize >= IN_MEMORY_BYTES_MIN) process.env.TMPDIR = IN_MEMORY
}

/** What Node has compiled once is not compiled by every file again: two thirds of what it takes to
 *  load the service. Returns what removes it. */
export async function shareCompiled(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-compiled-'))
  process.env.NODE_COMPILE_CACHE = folder
  return () => rm(folder, { recursive: true, force: true })
}
