// Where the index of a generation begins or goes on: before its first block, in its file, or at a
// checkpoint in the database.

import { finished } from '../../lib/portions.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { FlowIndex, type FlowRules } from '../flow/flow_index.ts'
import type { LabelTable } from '../flow/label_table.ts'
import { newestCheckpoint } from './checkpoints.ts'
import { type FlowState, MemoryFlow } from './flow_state.ts'
import { KeptFlow } from './kept.ts'
import type { KeptPlace } from './kept_folder.ts'
import { BrokenState } from './slot_record.ts'

/** Of the files of generations. */
export const KIND = 'generation'

/** `block_id`: the id of the last block applied; undefined before the first. */
export type Position = { state: FlowState; block_id: string | undefined }

/** The labels and rules that an index is made with; `identity`: by it its file differs from
 *  others, of other databases too. */
export type Like = { labels: LabelTable; rules?: FlowRules | undefined; identity: string }

/** Where checkpoints are, and the log, which knows the ids of blocks. */
type Sources = { sql: Sql; log: { block(number: number): Promise<{ id: string } | undefined> } }

type Needs = Sources & { kept?: KeptPlace | undefined }

export async function* inMemoryAtBeginning({
  labels,
  rules,
}: Omit<Like, 'identity'>): AsyncGenerator<undefined, Position> {
  const index = new FlowIndex([], undefined, rules)
  yield* index.takeLabels(labels)
  return { state: new MemoryFlow(index), block_id: undefined }
}

export async function* atItsBeginning(
  { log, kept }: Needs,
  number: number,
  like: Like,
): AsyncGenerator<undefined, Position> {
  return kept ? yield* openingKept({ log, kept }, number, like) : yield* inMemoryAtBeginning(like)
}

/** A generation as its file has it; a new file is at the beginning, and so is one that is of
 *  something else, or of blocks that the log does not have: it is put aside. */
export async function* openingKept(
  { log, kept: { folder, hot_slots } }: Pick<Sources, 'log'> & { kept: KeptPlace },
  number: number,
  { labels, rules, identity }: Like,
): AsyncGenerator<undefined, Position & { state: KeptFlow }> {
  for (;;) {
    const store = await folder.open(KIND, number)
    let state: KeptFlow | undefined
    try {
      const { header } = store
      if (header && (await log.block(header.number))?.id !== header.block_id)
        throw new BrokenState('its block is not one of the log')
      state = yield* KeptFlow.opening(store, labels, { rules, hot_slots, identity })
      return { state, block_id: state.block_id }
    } catch (thrown) {
      if (!(thrown instanceof BrokenState)) throw thrown
    } finally {
      if (!state) await store.close()
    }
    folder.putAside(KIND, number)
  }
}

/** A generation as it was saved last; undefined: it never was. */
export async function* ownNewest(
  { sql, log, kept }: Needs,
  number: number,
  like: Like,
): AsyncGenerator<undefined, Position | undefined> {
  if (!kept) return yield* restoringNewest({ sql, log }, number, like)
  if (kept.folder.has(KIND, number)) {
    const own = yield* openingKept({ log, kept }, number, like)
    if (own.block_id !== undefined) return own
    await own.state.close()
    kept.folder.remove(KIND, number)
  }
  const saved = yield* restoringNewest({ sql, log }, number, like)
  if (!saved) return undefined
  await moveToFile(kept, number, { ...saved, identity: like.identity })
  return yield* openingKept({ log, kept }, number, like)
}

/** Puts an index that was in memory until now into a file. */
async function moveToFile(
  { folder, hot_slots }: KeptPlace,
  number: number,
  { state, block_id, identity }: Position & Pick<Like, 'identity'>,
): Promise<void> {
  const store = await folder.open(KIND, number)
  try {
    await KeptFlow.moving(state.index, store, { block_id, hot_slots, identity })
  } finally {
    await store.close()
  }
}

/** The state in which a generation was saved last, before a block if one is given, under the given
 *  labels; undefined: there is none that can be read. */
export async function restoreNewest(
  sources: Sources,
  generation: number,
  how: Omit<Like, 'identity'> & { before?: number },
): Promise<Position | undefined> {
  return finished(restoringNewest(sources, generation, how))
}

export async function* restoringNewest(
  { sql, log }: Sources,
  generation: number,
  how: Omit<Like, 'identity'> & { before?: number },
): AsyncGenerator<undefined, Position | undefined> {
  const index = yield* newestCheckpoint(sql, generation, how)
  const block = index && (await log.block(index.block_number))
  return index && { state: new MemoryFlow(index), block_id: block?.id }
}

/** The number of the generation that was in use last, on disk of those that there are files of. */
export async function usedBefore({ sql, kept }: Omit<Needs, 'log'>): Promise<number | undefined> {
  const used = await sql<{ number: number }>`
    select number from flow_generation where active_at is not null
    order by number desc limit ${USED_BEFORE}`
  const here = used.find(({ number }) => kept?.folder.has(KIND, number))
  return (here ?? used[0])?.number
}

/** While a process is not there, others may have taken up as many. */
const USED_BEFORE = 20
