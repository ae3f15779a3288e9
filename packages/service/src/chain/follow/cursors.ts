// Readers of blocks (deposits, the flow index, ...): each has a cursor of its own, so that any of
// them can be behind, restarted or rebuilt alone.

import { Outage } from '../../lib/fault.ts'
import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { type BlockRow, type StoredBlock, unpackRow } from './blocks.ts'

/** Blocks of one reading: each portion is one transaction. */
const PORTION = 20

type Side = 'head' | 'solid'
type Reader = { name: string; side: Side }
type Work = (tx: Tx, blocks: StoredBlock[]) => Promise<void>

export type BlockReader = Reader & {
  /** Reads what the work needs of others than the database, before the transaction begins. */
  prepare?(): Promise<void>
  work: Work
}
/** A step that reads blocks when it runs. */
export type ReadStep = Step & { readonly reads: BlockReader }

/** Hands the blocks after the cursor to `work`, oldest first, and moves the cursor, all in one
 *  transaction, whatever crashes. Returns false when there is none. A cursor begins at the oldest
 *  block that is kept when it is first used. A block of the solid side is read exactly once; one of
 *  the head's side is read again, as it then is, when a fork takes it back. */
export const readBlocks = (sql: Sql, reader: Reader, work: Work): Promise<boolean> =>
  sql.begin((tx) => readPortion(tx, reader, work))

/** Finds a row when there may be blocks after the cursor of one of these, all of one side. */
export const isBehind = (
  sql: WriteFragment,
  { side, name }: Reader,
  ...others: readonly Reader[]
): Fragment => sql`
  select from chain cross join unnest(${[name, ...others.map((one) => one.name)]}::text[])
    as reader (name) left join cursor using (name)
  where cursor.number is null
    or cursor.number < case when ${side} = 'head' then head_number else confirmed_number end`

async function readPortion(tx: Tx, { name, side }: Reader, work: Work): Promise<boolean> {
  const at = await lockCursor(tx, name)
  if (at === undefined) return false
  const blocks = await blocksAfter(tx, side, at)
  const last = blocks.at(-1)
  if (!last) return false
  await work(tx, blocks)
  tx.send`update cursor set number = ${last.number} where name = ${name}`
  return true
}

async function blocksAfter(tx: Tx, side: Side, at: bigint): Promise<StoredBlock[]> {
  const rows = await tx<BlockRow>`
    select number, id, time, contents from block
    where number > ${at}
      and number <= (select case when ${side} = 'head' then head_number else confirmed_number end
        from chain)
    order by number limit ${PORTION}`
  return rows.map(unpackRow)
}

export const READ_STEPS = {
  read_head: 'Reads blocks of the head in one transaction for all whose steps read them',
  read_solid: 'Reads confirmed blocks in one transaction for all whose steps read them',
}

/** The steps, with one in place of all those that read blocks of the same side: a block is read
 *  once, in one transaction, for all that have come equally far. One that is behind reads alone;
 *  and when the transaction fails, each does, so that what is wrong with one holds up none of the
 *  others. Who waits for one of them waits for the one in its place. */
export function joinReaders(sql: Sql, steps: readonly Step[]): Step[] {
  const places = new Map<string, Step>()
  for (const [side, members] of Map.groupBy(steps.filter(isReadStep), sideOf)) {
    const place = joinedStep(sql, side, members)
    for (const { name } of members) places.set(name, place)
  }
  const placed = (names: Step['after'] = []) => [
    ...new Set(names.map((name) => places.get(name)?.name ?? name)),
  ]
  return [...new Set(steps.map((step) => places.get(step.name) ?? step))].map((step) => ({
    ...step,
    after: placed(step.after),
    before: placed(step.before),
  }))
}

const PLACES = {
  head: { name: 'read_head', rest_ms: 3_000 },
  solid: { name: 'read_solid', rest_ms: 3_000 },
} as const

const isReadStep = (step: Step): step is ReadStep => 'reads' in step
const sideOf = ({ reads }: ReadStep) => reads.side

function joinedStep(sql: Sql, side: Side, members: readonly ReadStep[]): Step {
  const [first, ...others] = members.map(({ reads }) => reads)
  return {
    ...PLACES[side],
    due: (sql) => isBehind(sql, first!, ...others),
    duty: 'blocks',
    after: members.flatMap(({ after = [] }) => after),
    before: members.flatMap(({ before = [] }) => before),
    async run() {
      let failed: unknown
      const { moved, apart } = await readTogether(sql, side, members).catch((thrown: unknown) => {
        // Who throws one asks others first when it reads alone, or throws it again.
        if (!(thrown instanceof Outage)) failed = thrown
        return { moved: false, apart: members }
      })
      const moved_apart = await eachRow(
        apart,
        (step) => step.run(),
        async () => {},
      )
      if (failed !== undefined) throw failed
      return moved || moved_apart
    },
  }
}

/** Hands the next blocks to all that have come furthest. `apart`: those that have not. */
async function readTogether(
  sql: Sql,
  side: Side,
  members: readonly ReadStep[],
): Promise<{ moved: boolean; apart: readonly ReadStep[] }> {
  for (const { reads } of members) await reads.prepare?.()
  return sql.begin(async (tx) => {
    const rows = await tx<{ furthest: string[] } & (BlockRow | { number: null })>`
      with cursors as (
        select name, number from cursor
        where name = any(${members.map(({ reads }) => reads.name)}) order by name for update)
      select furthest, b.number, b.id, b.time, b.contents
      from (
        select max(number) as number,
          array_agg(name) filter (where number = (select max(number) from cursors)) as furthest
        from cursors) as at
      left join lateral (
        select number, id, time, contents from block
        where number > at.number and number <= (
          select case when ${side} = 'head' then head_number else confirmed_number end from chain)
        order by number limit ${PORTION}) as b on true
      order by b.number`
    const furthest = new Set(rows[0]?.furthest)
    const isThere = ({ reads }: ReadStep) => furthest.has(reads.name)
    const apart = members.filter((step) => !isThere(step))
    const blocks = rows.flatMap((row) => (row.number === null ? [] : [unpackRow(row)]))
    const last = blocks.at(-1)
    if (!last) return { moved: false, apart }
    const together = members.filter(isThere)
    for (const { reads } of together) await reads.work(tx, blocks)
    tx.send`
      update cursor set number = ${last.number}
      where name = any(${together.map(({ reads }) => reads.name)})`
    return { moved: true, apart }
  })
}

/** Where a reader stands, which nobody else moves until the transaction ends. Undefined before the
 *  first block is stored. */
async function lockCursor(tx: Tx, name: string): Promise<bigint | undefined> {
  const [known] = await tx<{
    number: bigint
  }>`select number from cursor where name = ${name} for update`
  if (known) return known.number
  const [made] = await tx<{ number: bigint }>`
    insert into cursor (name, number) select ${name}, (select min(number) - 1 from block) from chain
    on conflict (name) do nothing returning number`
  return made?.number
}

/** readBlocks() of the solid side, as far as it is confirmed. */
export function readSolidBlocks(sql: Sql, name: string, work: Work): Promise<boolean> {
  return readBlocks(sql, { name, side: 'solid' }, work)
}
