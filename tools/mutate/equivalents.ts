// Mutants that mean the same as what they were made of, each with the reason: no test can notice
// them, and they do not count. An entry is a line with the id and the name of the file, and the
// reason on lines that begin with blanks.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Equivalent = { id: string; file: string; reason: string }

const LIST = join(import.meta.dirname, 'equivalents.txt')

export async function readEquivalents(path = LIST): Promise<Equivalent[]> {
  const entries: Equivalent[] = []
  for (const line of (await readFile(path, 'utf8')).split('\n')) {
    const last = entries.at(-1)
    if (line.startsWith('#') || line.trim() === '') continue
    if (line.startsWith(' ') && last) last.reason = `${last.reason} ${line.trim()}`.trim()
    else {
      const [id = '', file = ''] = line.split(' ')
      entries.push({ id, file, reason: '' })
    }
  }
  return entries
}

/** Mistakes of the list, as lines: an entry that names no mutant, one that gives no reason,
 *  one that stands twice. */
export function wrongEntries(
  entries: readonly Equivalent[],
  mutants: readonly { id: string; path: string }[],
): string[] {
  const by_id = new Map(mutants.map((mutant) => [mutant.id, mutant]))
  return entries.flatMap(({ id, file, reason }, i) => {
    const mutant = by_id.get(id)
    if (!mutant) return [`${id} (${file}) is no mutant: the line has changed, or is gone`]
    if (!mutant.path.endsWith(`/${file}`)) return [`${id} is one of ${mutant.path}, not of ${file}`]
    if (entries.findIndex((one) => one.id === id) !== i) return [`${id} stands twice`]
    return reason === '' ? [`${id} has no reason`] : []
  })
}
