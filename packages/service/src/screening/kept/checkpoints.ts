// Checkpoints: states of flow indexes that are all in memory, saved in the database now and then,
// from which a process goes on after a start; and those of the nightly readings.

import type { Clock } from '../../lib/clock.ts'
import { finished } from '../../lib/portions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { BrokenCheckpoint, readingCheckpoint, writeCheckpoint } from '../flow/checkpoint.ts'
import type { FlowIndex, FlowRules } from '../flow/flow_index.ts'
import type { LabelTable } from '../flow/label_table.ts'

/** The newest of a generation, before a block if one is given, under the given labels; undefined:
 *  there is none that can be read. A broken one is passed over, for the one before it and the log
 *  lead to the same. */
export async function* newestCheckpoint(
  sql: Sql,
  generation: number,
  how: { labels: LabelTable; rules?: FlowRules | undefined; before?: number },
): AsyncGenerator<undefined, FlowIndex | undefined> {
  const { labels, rules, before = Number.MAX_SAFE_INTEGER } = how
  const broken: bigint[] = []
  for (;;) {
    // Looked up each time: while one is read, another process may save a newer and delete it.
    const [saved] = await sql<{ number: bigint }>`
      select number from flow_checkpoint where generation = ${generation} and number < ${before}
        and number <> all(${broken}::bigint[])
      order by number desc limit 1`
    if (!saved) return undefined
    try {
      return yield* readingCheckpoint(labels, readParts(sql, generation, saved.number), rules)
    } catch (thrown) {
      if (!(thrown instanceof BrokenCheckpoint)) throw thrown
      broken.push(saved.number)
    }
  }
}

async function* readParts(
  sql: Sql,
  generation: number,
  number: bigint,
): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ bytes: Uint8Array }>`
      select bytes from flow_checkpoint_part
      where generation = ${generation} and number = ${number} and part = ${part}`
    if (!row) return
    yield row.bytes
  }
}

const CHECKPOINTS_KEPT = 2

/** Saves the state, whole or not at all. Does nothing while another process saves one: its bytes
 *  can be in another order. */
export async function saveCheckpoint(
  { sql, clock }: { sql: Sql; clock: Clock },
  generation: number,
  index: FlowIndex,
): Promise<void> {
  const number = index.block_number
  await sql.begin(async (tx) => {
    const [lock] = await tx<{ taken: boolean }>`
      select pg_try_advisory_xact_lock(7204615101) as taken`
    const [same] = await tx`
      select 1 from flow_checkpoint where generation = ${generation} and number = ${number}`
    if (!lock?.taken || same) return
    let parts = 0
    for (const bytes of writeCheckpoint(index)) {
      await tx`
        insert into flow_checkpoint_part (generation, number, part, bytes)
        values (${generation}, ${number}, ${parts}, ${Buffer.from(bytes)})`
      parts += 1
    }
    await tx`
      insert into flow_checkpoint (generation, number, parts, made_at)
      values (${generation}, ${number}, ${parts}, ${clock.now()})`
    const old = await tx<{ number: bigint }>`
      delete from flow_checkpoint where generation = ${generation} and number not in (
        select number from flow_checkpoint where generation = ${generation}
        order by number desc limit ${CHECKPOINTS_KEPT})
      returning number`
    await tx`
      delete from flow_checkpoint_part where generation = ${generation}
        and number = any(${old.map((one) => one.number)})`
  })
}

/** Of generations before one. */
export async function forgetCheckpoints(sql: Sql, generation: number): Promise<void> {
  await sql`delete from flow_checkpoint_part where generation < ${generation}`
  await sql`delete from flow_checkpoint where generation < ${generation}`
}

/** Saves a nightly reading, in place of those before; the first process that is through with it
 *  does. */
export async function saveSent(tx: Tx, number: number, index: FlowIndex): Promise<void> {
  const saved = await tx`select from flow_sent_part where number = ${number} limit 1`
  if (saved.length > 0) return
  let part = 0
  for (const bytes of writeCheckpoint(index)) {
    await tx`
      insert into flow_sent_part (number, part, bytes)
      values (${number}, ${part}, ${Buffer.from(bytes)})`
    part += 1
  }
  await tx`delete from flow_sent_part where number <> ${number}`
}

/** Undefined: it was not saved, or cannot be read. */
export async function savedSent(
  sql: Sql,
  number: number,
  { labels, rules }: { labels: LabelTable; rules: FlowRules },
): Promise<FlowIndex | undefined> {
  try {
    return await finished(readingCheckpoint(labels, sentParts(sql, number), rules))
  } catch (thrown) {
    if (!(thrown instanceof BrokenCheckpoint)) throw thrown
    return undefined
  }
}

async function* sentParts(sql: Sql, number: number): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await sql<{ bytes: Uint8Array }>`
      select bytes from flow_sent_part where number = ${number} and part = ${part}`
    if (!row) return
    yield row.bytes
  }
}
