// Mutants: the ones of a room, and the choice of those that are tried: each is one small change of
// one source file, and a change that no test notices is a rule that no test holds.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path/posix'
import { ROOT, readSources, type Source } from '../source.ts'
import { codeEdits } from './code_edits.ts'
import type { Edit } from './edit.ts'
import { sqlEdits } from './sql_edits.ts'

export type Mutant = Edit & {
  /** Of its room, its file, its line as it reads and what is changed there: it stays the same while
   *  other lines change. */
  id: string
  /** From the root of the repository. */
  path: string
  line: number
  /** The lines that are changed, before and after, without the blanks that they begin with. */
  before: string
  after: string
}

const ID_LENGTH = 8

/** A room is a folder with source files of its own. */
export type Room = { name: string; folder: string; sources: Source[] }

/** Code for browsers alone is not tested in a process of Node. */
const isSource = ({ path }: Source) => !/\.test\.ts$|\.tsx$|^packages\/web\//.test(path)

/** The rooms below some folders. The service's are named by wing and room, as `market/orders`;
 *  others by package and folder, as `devchain/chain`. */
export async function readRooms(...folders: string[]): Promise<Room[]> {
  const by_folder = Map.groupBy((await readSources(...folders)).filter(isSource), ({ path }) =>
    dirname(path),
  )
  return [...by_folder].map(([folder, sources]) => {
    const name = folder.replace(/^packages\/(service\/src\/)?/, '')
    return { name, folder, sources }
  })
}

/** All mutants of a room, file by file. */
export const mutantsOf = ({ sources }: Room): Mutant[] =>
  sources.flatMap((source) => mutantsOfSource(source))

export function mutantsOfSource(source: Source, text = textOf(source)): Mutant[] {
  const times = new Map<string, number>()
  const edits = [...codeEdits(source), ...sqlEdits(source)]
  return edits
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((edit) => {
      const mutant = { ...edit, ...shown(text, edit), path: source.path }
      const file = `${basename(dirname(source.path))}/${basename(source.path)}`
      const said = [file, edit.kind, mutant.before, mutant.after].join('\n')
      const earlier = times.get(said) ?? 0
      times.set(said, earlier + 1)
      return { ...mutant, id: sha256(`${said}\n${earlier}`).slice(0, ID_LENGTH) }
    })
}

const textOf = ({ path }: Source) => readFileSync(join(ROOT, path), 'utf8')

/** The lines that an edit changes, as they are and as they become. */
function shown(text: string, { start, end, text: new_text }: Edit) {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const line_end = text.indexOf('\n', end)
  const to = line_end < 0 ? text.length : line_end
  const after = text.slice(from, start) + new_text + text.slice(end, to)
  return {
    line: text.slice(0, start).split('\n').length,
    before: trimmed(text.slice(from, to)),
    after: trimmed(after),
  }
}

const trimmed = (lines: string) =>
  lines
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join('\n')

export const applied = (text: string, { start, end, text: new_text }: Edit) =>
  text.slice(0, start) + new_text + text.slice(end)

/** The mutants in the order in which a seed tries them: a change elsewhere in the room moves none
 *  of them. */
export function inOrderOf(seed: number, mutants: readonly Mutant[]): Mutant[] {
  const rank = (mutant: Mutant) => sha256(`${seed} ${mutant.id}`)
  return mutants
    .map((mutant) => ({ mutant, rank: rank(mutant) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ mutant }) => mutant)
}

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
