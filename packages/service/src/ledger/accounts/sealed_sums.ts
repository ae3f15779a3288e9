// The sums of all accounts at a seal of the journal. A whole check of the books that held keeps
// them; a check in between adds what came after that seal instead of everything. They are a
// shortcut and no proof: a whole check works without them, and says when they were wrong.

import { createHash } from 'node:crypto'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { AccountSum } from './books.ts'
import type { SealFinding } from './seals.ts'

/** The seal up to which sums are kept. */
export type SumsSeal = {
  /** Of the journal, with its last entry and its sum. */
  number: bigint
  last_entry: bigint
  sha256: string
  /** Of that and of all sums. */
  sums_sha256: string
  /** How long the whole check took. */
  took_ms: bigint
  made_at: Date
}

type Sum = Pick<AccountSum, 'id' | 'posted_sun' | 'held_sun'>

/** Sums at a seal that are not kept yet. */
export type SealedSums = {
  seal: Pick<SumsSeal, 'number' | 'last_entry' | 'sha256'>
  sums: readonly Sum[]
}

export async function findSumsSeal(sql: Sql | Tx): Promise<SumsSeal | undefined> {
  const [seal] = await sql<SumsSeal>`
    select number, last_entry, sha256, sums_sha256, took_ms, made_at from sums_seal`
  return seal
}

/** Worked out from the entries up to the newest seal; undefined where nothing is sealed. */
export async function sumsAtNewestSeal(tx: Tx): Promise<SealedSums | undefined> {
  const [seal] = await tx<SealedSums['seal']>`
    select number, last_entry, sha256 from journal order by number desc limit 1`
  return seal && { seal, sums: await sumsUpTo(tx, seal.last_entry) }
}

async function sumsUpTo(tx: Tx, last_entry: bigint): Promise<Sum[]> {
  return tx<Sum>`
    with entry as materialized (
      select id, kind, hold_id, debit, credit, amount_sun from transfer
      where number <= ${last_entry}
    ), side as (
      select debit as id, -amount_sun as posted, 0 as held from entry
      where kind in ('move', 'capture')
      union all
      select credit, amount_sun, 0 from entry where kind in ('move', 'capture')
      union all
      select debit, 0, amount_sun from entry as hold where kind = 'hold'
        and not exists (select from entry as r where r.hold_id = hold.id)
    )
    select id, sum(posted)::bigint as posted_sun, sum(held)::bigint as held_sun
    from side group by id`
}

/** In the place of those that were kept. */
export async function keepSums(
  tx: Tx,
  { seal, sums }: SealedSums,
  { took_ms, at }: { took_ms: number; at: Date },
): Promise<void> {
  await forgetSums(tx)
  await tx`
    insert into sealed_sum (account, posted_sun, held_sun)
    select * from unnest(${sums.map(({ id }) => id)}::text[],
      ${sums.map(({ posted_sun }) => posted_sun)}::bigint[],
      ${sums.map(({ held_sun }) => held_sun)}::bigint[])`
  await tx`
    insert into sums_seal (number, last_entry, sha256, sums_sha256, took_ms, made_at)
    values (${seal.number}, ${seal.last_entry}, ${seal.sha256}, ${sumOf(seal.sha256, sums)},
      ${Math.round(took_ms)}, ${at})`
}

export async function forgetSums(tx: Tx): Promise<void> {
  await tx`delete from sums_seal`
  await tx`delete from sealed_sum`
}

function sumOf(sha256: string, sums: readonly Sum[]): string {
  const lines = sums.map(({ id, posted_sun, held_sun }) => `${id} ${posted_sun} ${held_sun}\n`)
  const hash = createHash('sha256').update(`${sha256}\n`)
  for (const line of lines.sort()) hash.update(line)
  return hash.digest('hex')
}

/** Whether what is kept is as it was kept, of a seal that is still there. */
export async function wrongSeal(tx: Tx, seal: SumsSeal): Promise<SealFinding[]> {
  const [journal] = await tx<{ last_entry: bigint; sha256: string }>`
    select last_entry, sha256 from journal where number = ${seal.number}`
  const subject = 'sealed sums'
  if (journal?.sha256 !== seal.sha256 || journal.last_entry !== seal.last_entry)
    return [{ subject, found: `the journal's seal ${seal.number} is another one` }]
  const sums = await tx<Sum>`select account as id, posted_sun, held_sun from sealed_sum`
  if (sumOf(seal.sha256, sums) === seal.sums_sha256) return []
  return [{ subject, found: 'they are not those that were kept' }]
}

/** Whether what is kept is what the entries come to. */
export async function wrongSums(tx: Tx): Promise<SealFinding[]> {
  const seal = await findSumsSeal(tx)
  if (!seal) return []
  const wrong = await wrongSeal(tx, seal)
  if (wrong.length > 0) return wrong
  const sums = await sumsUpTo(tx, seal.last_entry)
  if (sumOf(seal.sha256, sums) === seal.sums_sha256) return []
  const found = `the entries up to ${seal.last_entry} come to other sums than were kept`
  return [{ subject: 'sealed sums', found }]
}

/** Every account: what is kept, and what came after that seal. */
export async function sumsFromSeal(tx: Tx, { last_entry }: SumsSeal): Promise<AccountSum[]> {
  return tx<AccountSum>`
    with side as (
      select account as id, posted_sun as posted, held_sun as held from sealed_sum
      union all
      select debit, case when kind in ('move', 'capture') then -amount_sun else 0 end,
        case kind when 'hold' then amount_sun when 'move' then 0 else -(
          select hold.amount_sun from transfer as hold where hold.id = entry.hold_id) end
      from transfer as entry where number > ${last_entry}
      union all
      select credit, amount_sun, 0 from transfer
      where number > ${last_entry} and kind in ('move', 'capture')
    ), sums as (
      select id, sum(posted)::bigint as posted, sum(held)::bigint as held from side group by id
    )
    select id, account.id is not null as exists, not coalesce(may_go_negative, true) as keeps_sum,
           coalesce(account.posted_sun, 0) as kept_posted_sun, coalesce(account.held_sun,
             0) as kept_held_sun,
           coalesce(sums.posted, 0) as posted_sun, coalesce(sums.held, 0) as held_sun
    from account full join sums using (id) order by id`
}
