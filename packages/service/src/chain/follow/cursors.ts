// Readers of blocks (deposits, the flow index, ...): each has a cursor of its own, so that any of
// them can be behind, restarted or rebuilt alone.

import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type BlockRow, type StoredBlock, unpackRow } from './blocks.ts'

/** Blocks of one reading: each portion is one transaction. */
const PORTION = 20

type Reader = { name: string; side: 'head' | 'solid' }
type Work = (tx: Tx, blocks: StoredBlock[]) => Promise<void>

/** Hands the blocks after the cursor to `work`, oldest first, and moves the cursor, all in one
 *  transaction, whatever crashes. Returns false when there is none. A cursor begins at the oldest
 *  block that is kept when it is first used. A block of the solid side is read exactly once; one of
 *  the head's side is read again, as it then is, when a fork takes it back. */
export const readBlocks = (sql: Sql, reader: Reader, work: Work): Promise<boolean> =>
  sql.begin((tx) => readPortion(tx, reader, work))

/** Finds a row when there may be blocks after the cursor. */
export const isBehind = (sql: WriteFragment, { name, side }: Reader): Fragment => sql`
  select from chain left join cursor on cursor.name = ${name}
  where cursor.number is null
    or cursor.number < case when ${side} = 'head' then head_number else confirmed_number end`

async function readPortion(tx: Tx, { name, side }: Reader, work: Work): Promise<boolean> {
  const at = await lockCursor(tx, name)
  if (at === undefined) return false
  const rows = await tx<BlockRow>`
    select number, id, time, contents from block
    where number > ${at}
      and number <= (select case when ${side} = 'head' then head_number else confirmed_number end
        from chain)
    order by number limit ${PORTION}`
  const last = rows.at(-1)
  if (!last) return false
  await work(tx, rows.map(unpackRow))
  await tx`update cursor set number = ${last.number} where name = ${name}`
  return true
}

/** The last block that a reader has read; undefined before its first. */
export async function readCursor(sql: Sql | Tx, name: string): Promise<bigint | undefined> {
  const [row] = await sql<{ number: bigint }>`select number from cursor where name = ${name}`
  return row?.number
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
