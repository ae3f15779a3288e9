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

/** Of the files of generations. */
export const KIND = 'generation'

/** `block_id`: the id of the last block applied; undefined before the first. */
export type Position = { state: FlowState; block_id: string | undefined }

/** The labels and rules that an index is made with. */
export type Like = { labels: LabelTable; rules?: FlowRules | undefined }

/** Where checkpoints are, and the log, which knows the ids of blocks. */
type Sources = { sql: Sql; log: { block(number: number): Promise<{ id: string } | undefined> } }

type Needs = Sources & { kept?: KeptPlace | undefined }

export async function* inMemoryAtBeginning({
  labels,
  rules,
}: Like): AsyncGenerator<undefined, Position> {
  const index = new FlowIndex([], undefined, rules)
  yield* index.takeLabels(labels)
  return { state: new MemoryFlow(index), block_id: undefined }
}

export async function* atItsBeginning(
  { kept }: Pick<Needs, 'kept'>,
  number: number,
  like: Like,
): AsyncGenerator<undefined, Position> {
  return kept ? yield* openingKept(kept, number, like) : yield* inMemoryAtBeginning(like)
}

/** A generation as its file has it; a new file is at the beginning. */
export async function* openingKept(
  { folder, hot_slots }: KeptPlace,
  number: number,
  { labels, rules }: Like,
): AsyncGenerator<undefined, Position> {
  const store = await folder.open(KIND, number)
  let state: KeptFlow | undefined
  try {
    state = yield* KeptFlow.opening(store, labels, { rules, hot_slots })
    return { state, block_id: state.block_id }
  } finally {
    if (!state) await store.close()
  }
}

/** A generation as it was saved last; undefined: it never was. */
export async function* ownNewest(
  { sql, log, kept }: Needs,
  number: number,
  like: Like,
): AsyncGenerator<undefined, Position | undefined> {
  if (kept?.folder.has(KIND, number)) return yield* openingKept(kept, number, like)
  const saved = yield* restoringNewest({ sql, log }, number, like)
  if (!kept || !saved) return saved
  // It was in memory until now.
  const { state, block_id } = saved
  const { folder, hot_slots } = kept
  const store = await folder.open(KIND, number)
  return { state: await KeptFlow.moving(state.index, store, { block_id, hot_slots }), block_id }
}

/** The state in which a generation was saved last, before a block if one is given, under the given
 *  labels; undefined: there is none that can be read. */
export async function restoreNewest(
  sources: Sources,
  generation: number,
  how: Like & { before?: number },
): Promise<Position | undefined> {
  return finished(restoringNewest(sources, generation, how))
}

export async function* restoringNewest(
  { sql, log }: Sources,
  generation: number,
  how: Like & { before?: number },
): AsyncGenerator<undefined, Position | undefined> {
  const index = yield* newestCheckpoint(sql, generation, how)
  const block = index && (await log.block(index.block_number))
  return index && { state: new MemoryFlow(index), block_id: block?.id }
}
