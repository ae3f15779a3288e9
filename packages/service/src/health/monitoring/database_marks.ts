// The memory of a process in a file, so that a process that is started again knows what the one
// before it was told: a file for each process, in a folder that several may share.

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readWhole, requireWritable, writeWhole } from '../../lib/files.ts'
import { type Log, thrownFields } from '../../lib/log.ts'
import type { DatabaseMark } from './database_losses.ts'

/** A file that was not written for so long is of a process that has ended. */
const ENDED_MS = 60_000

export type Marks = {
  /** What processes noted here, ended ones and others. */
  read(): Promise<DatabaseMark[]>
  /** Removes those of processes that have ended: what they remember was compared. */
  removeEnded(marks: readonly DatabaseMark[], now: Date): Promise<void>
  /** Writes the file of a process. False where that cannot be: then it is logged, once until it can
   *  be again. */
  write(mark: DatabaseMark): Promise<boolean>
}

export function marksIn(folder: string, log: Log): Marks {
  let made = false
  let complained = false
  const fileOf = (process_id: string) => join(folder, `${process_id}.json`)
  return {
    async read() {
      const names = await readdir(folder).catch(() => [])
      const files = names.filter((name) => name.endsWith('.json'))
      const read = (name: string) =>
        readWhole(join(folder, name))
          .then((text) => (text === undefined ? [] : [readMark(text)]))
          .catch((thrown: unknown) => {
            log('database_mark_not_read', { file: join(folder, name), ...thrownFields(thrown) })
            return []
          })
      return (await Promise.all(files.map(read))).flat()
    },
    async removeEnded(marks, now) {
      const ended = marks.filter(({ beat_at }) => now.getTime() - beat_at.getTime() > ENDED_MS)
      await Promise.all(ended.map(({ process_id }) => rm(fileOf(process_id), { force: true })))
    },
    async write({ process_id, ...mark }) {
      const text = JSON.stringify({ process_id, ...mark, beat: String(mark.beat) })
      const write = async () => {
        if (!made) await requireWritable(folder)
        made = true
        await writeWhole(fileOf(process_id), `${text}\n`)
      }
      const written = await write().then(
        () => true,
        (thrown: unknown) => {
          if (!complained) log('database_mark_not_written', { folder, ...thrownFields(thrown) })
          return false
        },
      )
      complained = !written
      return written
    },
  }
}

function readMark(text: string): DatabaseMark {
  const { process_id, host, role, beat, beat_at, told } = JSON.parse(text) as Record<
    'process_id' | 'host' | 'role' | 'beat' | 'beat_at',
    string
  > & { told: string[] }
  return { process_id, host, role, beat: BigInt(beat), beat_at: new Date(beat_at), told }
}
