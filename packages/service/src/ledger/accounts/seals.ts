// The journal's check: every seal is worked out again, in this process, from the plain columns of
// the entries, seals and records. Nothing that the database's owner can put in the place of another
// takes part: no function, no view of ours. It reads the ledger once, a range of numbers at a time,
// so that its memory does not grow with the ledger.

import { createHash } from 'node:crypto'
import { lengthOf, quotedPart, rowField, timeHex } from '../../lib/canonical.ts'
import type { Tx } from '../../platform/database/sql.ts'

export type SealFinding = { subject: string; found: string }

/** A row of the ledger; `made_at` as `readPlainly` has it. */
export type SealedEntry = {
  number: bigint
  kind: string
  amount_sun: bigint
  made_at: string
  id: string
  debit: string
  credit: string
  hold_id: string | null
}

/** A row of the journal; `sealed_at` as `readPlainly` has it. */
export type SealRow = {
  number: bigint
  first_entry: bigint
  last_entry: bigint
  entries: bigint
  actions: bigint
  sealed_at: string
  sha256: string
  /** The sum of the last record of operators' changes by then. */
  record: string | null
}

/** A seal, and up to which entry the ledger is sealed by it. */
type SealPlace = Pick<SealRow, 'number' | 'last_entry' | 'sha256'>

const SEALS_AT_ONCE = 2_000
/** Numbers of entries that are read at once: some megabytes. */
const ENTRIES_AT_ONCE = 20_000n
const FINDINGS_MAX = 1_000

/** An entry as the bytes that its seal stands for. */
function entryText({
  number,
  kind,
  amount_sun,
  made_at,
  id,
  debit,
  credit,
  hold_id,
}: SealedEntry): string {
  const lengths = `${lengthOf(id)} ${lengthOf(debit)} ${lengthOf(credit)} ${lengthOf(hold_id)}`
  const names = `${id} ${debit} ${credit}`
  const text = `${number} ${kind} ${amount_sun} ${timeHex(made_at)} ${lengths} ${names}`
  return hold_id === null ? text : `${text} ${hold_id}`
}

/** Takes up the entries of one seal and gives its sum. */
function sealSum(
  previous: string,
  seal: SealRow,
): { add(entry: SealedEntry): void; entries(): bigint; sum(): string } {
  const { number, first_entry, last_entry, entries, actions, sealed_at, record } = seal
  const hash = createHash('sha256')
  let added = 0n
  hash.update(`(${rowField(previous)},${number},${first_entry},${last_entry},${entries},`)
  hash.update(`${actions},${timeHex(sealed_at)},${rowField(record)},`)
  return {
    add(entry) {
      hash.update(`${added === 0n ? '"' : '\n'}${quotedPart(entryText(entry))}`)
      added += 1n
    },
    entries: () => added,
    sum: () => hash.update(added === 0n ? ')' : '")').digest('hex'),
  }
}

/** The sum of a seal over all of its entries, in the order of their numbers. */
export function sumOfSeal(
  previous: string,
  seal: SealRow,
  entries: readonly SealedEntry[],
): string {
  const sum = sealSum(previous, seal)
  for (const entry of entries) sum.add(entry)
  return sum.sum()
}

/** The seals with these numbers and the one before them, and the entries that they cover, in a
 *  transaction that reads plainly. */
export async function readSeals(
  tx: Tx,
  { first, last }: { first: bigint; last: bigint },
): Promise<{ seals: SealRow[]; entries: SealedEntry[]; previous_sha256: string }> {
  const [before] = await tx<{ sha256: string }>`
    select sha256 from journal where number = ${first - 1n}`
  const seals = await tx<SealRow>`
    select j.number, first_entry, last_entry, entries, actions, sealed_at::text as sealed_at,
      j.sha256, a.sha256 as record
    from journal as j left join operator_action as a on a.number = j.actions
    where j.number between ${first} and ${last} order by j.number`
  const from = seals[0]?.first_entry ?? 0n
  const to = seals.at(-1)?.last_entry ?? 0n
  const entries = await tx<SealedEntry>`
    select number, kind, amount_sun, made_at::text as made_at, id, debit, credit, hold_id
    from transfer where number between ${from} and ${to} order by number, id`
  return { seals, entries, previous_sha256: before?.sha256 ?? '' }
}

/** Makes this transaction read times as they are summed, and what PostgreSQL calls built-in as
 *  built-in. */
export async function readPlainly(tx: Tx): Promise<void> {
  await tx`set local timezone to 'UTC'`
  await tx`set local datestyle to 'ISO, YMD'`
  await tx`select set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true)`
}

/** The seals that are not those of their entries: an entry of theirs was changed, taken out or put
 *  in, or the seal was; the entries that no seal will ever cover, because their numbers were not
 *  given by the database; and locks that are off. `from`: a seal that is taken for right, and only
 *  those after it are worked out. The transaction has one snapshot: some entries are read before
 *  their seals. */
export async function checkJournal(tx: Tx, from?: SealPlace): Promise<SealFinding[]> {
  await readPlainly(tx)
  const findings: SealFinding[] = []
  let before: SealPlace = from ?? { number: 0n, last_entry: 0n, sha256: '' }
  const entries = entryReader(tx, from?.last_entry)
  for await (const seal of seals(tx, from?.number)) {
    const sum = sealSum(before.sha256, seal)
    await entries.upTo(seal.last_entry, sum.add)
    const follows =
      seal.number === before.number + 1n && seal.first_entry === before.last_entry + 1n
    if (!follows || seal.entries !== sum.entries() || seal.sha256 !== sum.sum())
      findings.push(broken(seal, sum.entries()))
    before = seal
    if (findings.length >= FINDINGS_MAX) break
  }
  return [...findings, ...(await unsealable(tx)), ...(await locksOff(tx))]
}

function broken({ number, first_entry, last_entry, entries }: SealRow, found: bigint): SealFinding {
  const range = `its entries ${first_entry} to ${last_entry}`
  return {
    subject: `seal ${number}`,
    found: `${range} are not those that were sealed: ${entries} then, ${found} now`,
  }
}

async function* seals(tx: Tx, from: bigint | null = null): AsyncGenerator<SealRow> {
  for (let after = from; ; ) {
    const page: SealRow[] = await tx<SealRow>`
      select j.number, first_entry, last_entry, entries, actions, sealed_at::text as sealed_at,
        j.sha256,
             a.sha256 as record
      from journal as j left join operator_action as a on a.number = j.actions
      where ${after}::bigint is null or j.number > ${after}
      order by j.number limit ${SEALS_AT_ONCE}`
    yield* page
    if (page.length < SEALS_AT_ONCE) return
    after = page.at(-1)!.number
  }
}

/** Reads entries in the order of their numbers, each once; only those after `from`. */
function entryReader(
  tx: Tx,
  from?: bigint,
): {
  upTo(last: bigint, take: (entry: SealedEntry) => void): Promise<void>
} {
  let page: SealedEntry[] = []
  let at = 0
  /** Every entry with a number up to this one was read. */
  let read = from
  async function next(last: bigint): Promise<void> {
    const after = read ?? (await lowestAfter(tx, null, last))
    const until = after + ENTRIES_AT_ONCE
    page = await tx<SealedEntry>`
      select number, kind, amount_sun, made_at::text as made_at, id, debit, credit, hold_id
        from transfer
      where number > ${after} and number <= ${until} order by number, id`
    at = 0
    // Where nothing is, the next entry may be far away.
    read = page.length > 0 ? until : await lowestAfter(tx, until, last)
  }
  return {
    async upTo(last, take) {
      for (;;) {
        while (at < page.length && page[at]!.number <= last) take(page[at++]!)
        if (at < page.length || (read !== undefined && read >= last)) return
        await next(last)
      }
    },
  }
}

/** The number just below that of the first entry after a number; `last` when there is none up to
 *  it. */
async function lowestAfter(tx: Tx, after: bigint | null, last: bigint): Promise<bigint> {
  const [found] = await tx<{ number: bigint | null }>`
    select min(number) as number from transfer
    where number <= ${last} and (${after}::bigint is null or number > ${after})`
  return found?.number == null ? last : found.number - 1n
}

async function unsealable(tx: Tx): Promise<SealFinding[]> {
  return tx<SealFinding>`
    select 'entry ' || id as subject, format('the database never gave it the number %s',
      number) as found
    from (
      select id, number from transfer where number < 1
      union all
      select id, number from transfer where number > (
        select case when is_called then last_value else 0 end from transfer_number_seq)
    ) as not_given
    order by number limit ${FINDINGS_MAX}`
}

const LOCKED = ['transfer', 'journal', 'operator_action', 'customer_action']

/** The triggers that keep what was written as it was written, and that are not there or do not
 *  act. */
async function locksOff(tx: Tx): Promise<SealFinding[]> {
  return tx<SealFinding>`
    select 'trigger ' || name as subject, 'it is not there or was switched off' as found
    from unnest(${LOCKED}::text[]) as locked,
      unnest(array['is_append_only', 'is_not_truncated']) as what,
         concat(locked, '_', what) as name
    where not exists (
      select 1 from pg_trigger where tgrelid = to_regclass(locked) and tgname = name
        and tgenabled in ('O', 'A'))
    order by 1`
}
