// Moves the transfers of older blocks from PostgreSQL to the archive, where an operator has begun
// that. Each portion of blocks is a row, so a crash between any two statements leads to the same:
// those that were copied, and not noted, are copied again.
//
//   archive   begun -> ending -> ended, and from both back to begun
//   portion   copied -> released (its blocks are empty in PostgreSQL) -> gone (they are back)

import type { Clock } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { countTransfers } from './packed.ts'
import {
  type BlockHash,
  emptyBlocks,
  refillBlocks,
  releasedBlocks,
  transferLog,
} from './postgres_log.ts'
import {
  type BlockContents,
  contentsSha256,
  isWhole,
  type TransferArchive,
} from './transfer_archive.ts'
import type { RecordedBlock } from './transfer_log.ts'

/** From a copy to its release. ClickHouse leaves it to the system when confirmed rows are on disk
 *  (half a minute), and keeps the parts that it has merged for eight minutes. */
const RELEASED_AFTER_MS = 20 * 60_000

/** Blocks of a portion whose transfers are looked for by their addresses. */
const BLOCKS_LOOKED_FOR = 16

type Needs = { sql: Sql; clock: Clock; archive: TransferArchive }
/** Blocks of a portion, and how many of the newest stay in PostgreSQL. */
export type ArchiveSizes = { portion: number; stay: number }
/** Those of two hours stay. */
export const ARCHIVE_SIZES: ArchiveSizes = { portion: 500, stay: 2_400 }

type State = 'begun' | 'ending' | 'ended'
/** Between which blocks it has everything; null: it has nothing yet. */
type Ends = { first_number: bigint | null; last_number: bigint | null }
export type ArchiveState = Ends & {
  state: State
  begun_at: Date | null
  begun_by: string | null
  transfers: bigint
  /** Blocks whose transfers are there alone. */
  released: bigint
}

/** Undefined: everything is in PostgreSQL. */
export async function archiveState(sql: Sql | Tx): Promise<ArchiveState | undefined> {
  const [state] = await sql<ArchiveState>`
    select a.state, a.begun_at, a.begun_by, p.first_number, p.last_number, p.transfers, p.released
    from flow_archive as a cross join (
      select min(first_number) as first_number, max(last_number) as last_number,
        coalesce(sum(transfers), 0)::bigint as transfers,
        coalesce(sum(last_number - first_number + 1) filter (where released_at is not null), 0)
          ::bigint as released
      from flow_archive_portion) as p
    where a.state <> 'ended'`
  return state
}

/** The same without its sums, which are of all portions. `id`: see archiveId. */
export async function archiveEnds(
  sql: Sql,
): Promise<(Ends & { id: string; state: State }) | undefined> {
  const [archive] = await sql<Ends & { id: string; state: State }>`
    select id, state, (select min(first_number) from flow_archive_portion) as first_number,
      (select max(last_number) from flow_archive_portion) as last_number
    from flow_archive where state <> 'ended'`
  return archive
}

/** The id by which ClickHouse's tables know this log. */
export async function archiveId(sql: Sql): Promise<string> {
  const [known] = await sql<{ id: string }>`select id from flow_archive`
  return known!.id
}

/** Begins to move transfers to the archive, or goes on after it was to end. Returns the state
 *  before. */
export async function beginArchive(tx: Tx, { at, by }: { at: Date; by: string }): Promise<State> {
  const [before] = await tx<{ state: State }>`select state from flow_archive for update`
  if (before!.state !== 'begun')
    await tx`update flow_archive set state = 'begun', begun_at = ${at}, begun_by = ${by}`
  return before!.state
}

/** Has everything come back. False: it is ending, or nothing is there. */
export async function endArchive(tx: Tx): Promise<boolean> {
  const ended = await tx`
    update flow_archive set state = 'ending' where state = 'begun' returning 1`
  return ended.length > 0
}

/** `mended`: blocks that were broken; `first_broken`: the numbers of some that are. */
export type ArchiveCheck = {
  blocks: number
  mended: number
  broken: number
  first_broken: number[]
}
const FIRST_BROKEN_MAX = 100

/** Where blocks are read again, and who hears of each portion in which some were mended: before the
 *  next is begun, so that the record has it when a later one fails. */
export type Mender = {
  /** Undefined: it is not there. */
  read(number: number): Promise<BlockContents | undefined>
  noteMended(portion: { first_number: bigint; blocks: number }): Promise<void>
}

/** Reads everything that is in the archive alone, by block, and compares it with its hashes, and
 *  looks for some of it by address. `tell` hears how many blocks were read, of how many. With
 *  a `mender` all of a portion in which something is broken is put there again. Throws Outage when
 *  the tables are those of another log. */
export async function checkArchive(
  { sql, archive, mender }: { sql: Sql; archive: TransferArchive; mender?: Mender },
  tell: (done: number, whole: number) => void,
): Promise<ArchiveCheck> {
  await archive.verify(await archiveId(sql))
  const { released = 0n } = (await archiveState(sql)) ?? {}
  const found: ArchiveCheck = { blocks: 0, mended: 0, broken: 0, first_broken: [] }
  for (let after = -1n; ; ) {
    const [portion] = await sql<Portion>`
      select first_number, last_number from flow_archive_portion
      where released_at is not null and first_number > ${after} order by first_number limit 1`
    if (!portion) return found
    const { first_number: first, last_number: last } = portion
    const blocks = await releasedBlocks(sql, { first, last })
    let broken = await brokenBlocks(archive, blocks)
    if (mender && broken.length > 0) {
      // All of the portion: most blocks were not looked for by their addresses.
      await putAgain(archive, blocks, mender)
      const still = await brokenBlocks(archive, blocks)
      const mended = broken.filter(
        ({ number }) => !still.some((one) => one.number === number),
      ).length
      if (mended > 0) await mender.noteMended({ first_number: first, blocks: mended })
      found.mended += mended
      broken = still
    }
    found.broken += broken.length
    for (const { number } of broken.slice(0, FIRST_BROKEN_MAX - found.first_broken.length))
      found.first_broken.push(Number(number))
    found.blocks += Number(last - first) + 1
    tell(found.blocks, Number(released))
    after = first
  }
}

/** Reads that fail one after the other before the node is thought to be out. */
const UNREAD_MAX = 5

/** Puts blocks into the archive as it has them, or as they are read again: nothing that is not as
 *  its hash says. A block that the node cannot give stays broken. */
async function putAgain(
  archive: TransferArchive,
  hashes: readonly BlockHash[],
  { read }: Mender,
): Promise<void> {
  const contents = await archive.contents(hashes.map(({ number }) => Number(number)))
  const blocks: BlockContents[] = []
  let unread = 0
  for (const { number, contents_sha256 } of hashes) {
    let block = contents.get(Number(number))
    if (!isWhole(block, contents_sha256)) {
      try {
        block = await read(Number(number))
        unread = 0
      } catch (thrown) {
        if (!(thrown instanceof Outage) || ++unread === UNREAD_MAX) throw thrown
      }
    }
    if (isWhole(block, contents_sha256)) blocks.push(block)
  }
  if (blocks.length > 0) await archive.put(blocks)
}

export function archiveStep({ sql, clock, archive }: Needs, sizes = ARCHIVE_SIZES): Step {
  let verified: string | undefined
  return {
    name: 'archive_transfers',
    rest_ms: 60_000,
    duty: 'blocks',
    due: (sql) => dueFor(sql, clock.now(), sizes),
    async run() {
      const ends = await archiveEnds(sql)
      if (!ends) return false
      if (verified !== ends.id) await archive.verify(ends.id)
      verified = ends.id
      if (ends.state === 'ending') return refillPortion(sql, archive)
      const copied = await copyPortion({ sql, clock, archive }, await nextBlocks(sql, ends, sizes))
      return (await releasePortion({ sql, clock, archive })) || copied
    },
  }
}

const dueFor = (sql: WriteFragment, now: Date, { portion, stay }: ArchiveSizes): Fragment => sql`
  select from flow_archive as a, flow_log_ends as log
  where a.state = 'ending' or a.state = 'begun' and (
    log.last_number - ${stay}::bigint - ${portion}::bigint >= coalesce((
      select last_number from flow_archive_portion order by last_number desc limit 1),
      log.first_number - 1)
    or log.first_number <= (
      select first_number from flow_archive_portion order by 1 limit 1) - ${portion}::bigint
    or (select put_at from flow_archive_portion where released_at is null
      order by put_at limit 1) <= ${releasedBefore(now)}::timestamptz)`

const releasedBefore = (now: Date) => new Date(now.getTime() - RELEASED_AFTER_MS)

type Portion = { first_number: bigint; last_number: bigint }

/** A portion of blocks after all that were copied, or before them: ClickHouse wants many rows at
 *  once. Fewer stay where they are. */
async function nextBlocks(
  sql: Sql,
  { first_number, last_number }: Ends,
  { portion, stay }: ArchiveSizes,
): Promise<RecordedBlock[]> {
  const log = transferLog(sql)
  const newest = await log.last()
  if (!newest) return []
  const last = Number(last_number ?? -1)
  const until = newest.number - stay
  if (until - last >= portion) {
    const above = await log.after(last, { limit: portion, until, base: 0n })
    if (above.length === portion) return above
  }
  if (first_number === null) return []
  const below = await log.before(Number(first_number), { limit: portion, from: 0, base: 0n })
  return below.length === portion ? below.reverse() : []
}

/** Copies the next portion. False when there is none. */
async function copyPortion(
  { sql, clock, archive }: Needs,
  blocks: readonly RecordedBlock[],
): Promise<boolean> {
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (!first || !last) return false
  await archive.put(blocks)
  const transfers = blocks.reduce((sum, block) => sum + countTransfers(block.transfers), 0)
  const now = clock.now()
  return sql.begin(async (tx) => {
    // Another process can have copied others meanwhile, or taken some back: portions lie side by
    // side, without a gap.
    await tx`select from flow_archive where state = 'begun' for update`
    const noted = await tx`
      insert into flow_archive_portion
        (first_number, last_number, transfers, copied_at, put_at)
      select ${first.number}, ${last.number}, ${transfers}, ${now}::timestamptz, ${now}
      from flow_archive as a, (
        select min(first_number) as first, max(last_number) as last from flow_archive_portion) as p
      where a.state = 'begun' and (p.first is null
        or p.last = ${first.number}::bigint - 1 or p.first = ${last.number}::bigint + 1)
      on conflict do nothing
      returning 1`
    return noted.length > 0
  })
}

/** Releases a portion that was copied long enough ago. False when there is none. What the archive
 *  has lost meanwhile is put there again, and waits anew. */
async function releasePortion({ sql, clock, archive }: Needs): Promise<boolean> {
  const now = clock.now()
  const [portion] = await sql<Portion>`
    select first_number, last_number from flow_archive_portion
    where released_at is null and put_at <= ${releasedBefore(now)}
    order by put_at limit 1`
  if (!portion) return false
  const blocks = (await blocksOf(sql, portion, archive)).filter(
    ({ transfers }) => transfers.length > 0,
  )
  const hashes = blocks.map((block) => ({
    number: BigInt(block.number),
    contents_sha256: contentsSha256(block),
  }))
  if ((await brokenBlocks(archive, hashes)).length > 0) {
    await archive.put(blocks)
    await sql`
      update flow_archive_portion set put_at = ${now}
      where first_number = ${portion.first_number} and released_at is null`
    return true
  }
  await sql.begin(async (tx) => {
    const [row] = await tx`
      update flow_archive_portion set released_at = ${now}
      where first_number = ${portion.first_number} and released_at is null
        and exists (select from flow_archive where state = 'begun')
      returning 1`
    if (row) await emptyBlocks(tx, hashes)
  })
  return true
}

/** Those of the blocks that the archive does not have as their hashes say, or of which it does not
 *  find transfers by their addresses: of some blocks that is asked. */
async function brokenBlocks(
  archive: TransferArchive,
  blocks: readonly BlockHash[],
): Promise<BlockHash[]> {
  if (blocks.length === 0) return []
  const contents = await archive.contents(blocks.map(({ number }) => Number(number)))
  const each = Math.ceil(blocks.length / BLOCKS_LOOKED_FOR)
  const broken: BlockHash[] = []
  for (const [i, block] of blocks.entries()) {
    const found = contents.get(Number(block.number))
    const is_whole = isWhole(found, block.contents_sha256)
    if (is_whole && (i % each > 0 || (await archive.hasSomeLegs(found)))) continue
    broken.push(block)
  }
  return broken
}

const blocksOf = (sql: Sql | Tx, portion: Portion, archive: TransferArchive) =>
  transferLog(sql, archive).after(Number(portion.first_number) - 1, {
    limit: Number(portion.last_number - portion.first_number) + 1,
    until: Number(portion.last_number),
    base: 0n,
  })

/** Takes the highest portion back; without one it has ended. */
async function refillPortion(sql: Sql, archive: TransferArchive): Promise<boolean> {
  const [portion] = await sql<Portion & { released_at: Date | null }>`
    select first_number, last_number, released_at from flow_archive_portion
    order by last_number desc limit 1`
  // Read before anything is locked: ClickHouse may take its time.
  const blocks = portion?.released_at ? await blocksOf(sql, portion, archive) : []
  await sql.begin(async (tx) => {
    const [ending] = await tx`select from flow_archive where state = 'ending' for update`
    if (!ending) return
    if (!portion) {
      await tx`
        update flow_archive set state = 'ended'
        where not exists (select from flow_archive_portion)`
      return
    }
    const gone = await tx`
      delete from flow_archive_portion where first_number = ${portion.first_number}
        and (released_at is null) = ${portion.released_at === null}
        and last_number = (select max(last_number) from flow_archive_portion) returning 1`
    if (gone.length > 0) await refillBlocks(tx, blocks)
  })
  return true
}
