// The folder in which a run writes everything: databases, data folders, profiles of browsers. It is
// the temporary folder of all processes of the run. A run that ends removes its own, however it
// ends but by SIGKILL; what a killed one has left, the next run removes.

import { statSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, readlink, rename, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockFolder } from 'penstock-service/platform/postgres/folder.ts'
import { ownFolder } from 'penstock-service/platform/postgres/programs.ts'

const NAME = 'penstock-run-'
const IN_MEMORY = '/dev/shm'
/** A whole run has some gigabytes of databases, and the machine needs memory beside them. */
const IN_MEMORY_BYTES_MIN = 8 * 2 ** 30

/** Where the folders of runs lie: where TMPDIR says, else in memory where there is plenty. The
 *  databases are tens of thousands of files that are made and removed again, which alone is a tenth
 *  of the CPU time on some file systems. */
async function parentOfRuns(): Promise<string> {
  if (process.env.TMPDIR !== undefined) return tmpdir()
  const found = await statfs(IN_MEMORY).catch(() => undefined)
  return found && found.bavail * found.bsize >= IN_MEMORY_BYTES_MIN ? IN_MEMORY : tmpdir()
}

/** Makes the folder, and names it to all that this process starts. Returns what removes it. */
export async function useRunFolder(): Promise<() => Promise<void>> {
  const parent = await parentOfRuns()
  await removeDeadRuns(parent)
  const folder = await makeRunFolder(parent)
  process.env.TMPDIR = folder
  return () => removeRun(folder)
}

/** A folder that is locked for as long as this process lives. It gets the name by which it is found
 *  when it is locked, so that nobody takes it for that of a dead run. */
export async function makeRunFolder(parent: string): Promise<string> {
  const fresh = await mkdtemp(join(parent, 'penstock-new-run-'))
  // As root, the server of the databases is another user, and writes here.
  await chmod(fresh, process.getuid?.() === 0 ? 0o1777 : 0o700)
  lockFolder(fresh)
  const folder = fresh.replace('penstock-new-run-', NAME)
  await rename(fresh, folder)
  return folder
}

/** Removes what runs of this user have left that were killed. */
export async function removeDeadRuns(parent: string): Promise<void> {
  for (const name of await readdir(parent))
    if (name.startsWith(NAME)) {
      const folder = join(parent, name)
      if (isLeft(folder)) await removeRun(folder)
    }
}

/** Another user's is that user's to remove: here its lock can be had, and not its files. */
function isLeft(folder: string): boolean {
  try {
    if (statSync(folder).uid !== process.getuid?.()) return false
    const lock = lockFolder(folder)
    lock?.release()
    return lock !== undefined
  } catch {
    // Somebody else's, or it has just gone.
    return false
  }
}

/** Everything that a run has started ends with its folder; databases that root keeps elsewhere go
 *  with the link that leads to them. */
async function removeRun(folder: string): Promise<void> {
  for (const pid of await processesOf(folder)) kill(pid)
  for (const cluster of await clustersElsewhere(folder))
    await rm(cluster, { recursive: true, force: true, maxRetries: 5 })
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}

async function clustersElsewhere(folder: string): Promise<string[]> {
  if (process.getuid?.() !== 0) return []
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const links = entries.filter((entry) => entry.isSymbolicLink())
  const targets = await Promise.all(
    links.map(({ parentPath, name }) => readlink(join(parentPath, name)).catch(() => '')),
  )
  const beginning = join(await ownFolder(), 'cluster-')
  return targets.filter((target) => target.startsWith(beginning))
}

/** The processes whose temporary folder it is (Linux; elsewhere they see that their parent has
 *  gone). */
async function processesOf(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 0)
  const theirs = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return text.split('\0').includes(`TMPDIR=${folder}`)
    }),
  )
  return pids.filter((pid, i) => theirs[i] && pid !== process.pid)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended, or is somebody else's.
  }
}
