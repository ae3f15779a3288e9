// The journal: seals the entries of the ledger in the order of their numbers into a chain of sums,
// behind those who write them. An entry gets its number before it is visible, so a range is sealed
// only when every transaction that may still bring one of its numbers has ended; nobody is made to
// wait for that.

import type { Sql, Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { Step } from '../steps/step.ts'

/** Numbers covered by one row of the journal. */
const SEALED_AT_ONCE = 20_000n

/** Up to which number entries were asked for, and the transactions that wrote then. */
type Mark = { last_entry: bigint; writers: string[] }

export function sealStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  let waiting: Mark | undefined
  return {
    name: 'seal',
    rest_ms: 30_000,
    async run() {
      const mark = waiting ?? (await newMark(sql))
      waiting = (await stillWrite(sql, mark)) ? mark : undefined
      return waiting === undefined && sql.begin((tx) => seal(tx, mark.last_entry, clock.now()))
    },
  }
}

/** The number is read before the writers: whoever has a lower one holds the lock on the table by
 *  then, or has ended. */
async function newMark(sql: Sql): Promise<Mark> {
  const [last] = await sql<{ last_entry: bigint }>`
    select case when is_called then last_value else 0 end as last_entry from transfer_number_seq`
  const writers = await sql<{ writer: string }>`
    select distinct virtualtransaction as writer from pg_locks
    where relation = 'transfer'::regclass and mode <> 'AccessShareLock'
      and database = (select oid from pg_database where datname = current_database())`
  return { last_entry: last!.last_entry, writers: writers.map(({ writer }) => writer) }
}

async function stillWrite(sql: Sql, { writers }: Mark): Promise<boolean> {
  if (writers.length === 0) return false
  const still = await sql`
    select 1 from pg_locks
    where relation = 'transfer'::regclass and mode <> 'AccessShareLock'
      and virtualtransaction = any(${writers})
      and database = (select oid from pg_database where datname = current_database())
    limit 1`
  return still.length > 0
}

/** Seals what is not sealed yet up to a number, at most so much at once. True when it has sealed
 *  something. */
async function seal(tx: Tx, reached: bigint, now: Date): Promise<boolean> {
  const [before] = await tx<{ number: bigint; last_entry: bigint; sha256: string }>`
    select number, last_entry, sha256 from journal order by number desc limit 1`
  const { number, last_entry, sha256 } = before ?? { number: 0n, last_entry: 0n, sha256: '' }
  if (reached <= last_entry) return false
  const first = last_entry + 1n
  const last = reached < last_entry + SEALED_AT_ONCE ? reached : last_entry + SEALED_AT_ONCE
  // Another process may have sealed them meanwhile: its row stands.
  const sealed = await tx`
    with body as (
      select count(*) as entries, string_agg(entry_text(t), E'\\n' order by t.number) as text
      from transfer as t where t.number between ${first} and ${last}
    ), record as (
      select number, sha256 from operator_action order by number desc limit 1
    ), fresh as (
      select row(${number}::bigint + 1, ${first}::bigint, ${last}::bigint, body.entries,
        coalesce(record.number, 0),
                 ${now}::timestamptz, '')::journal as head, record.sha256 as record, body.text
      from body left join record on true
    )
    insert into journal
    select (head).number, (head).first_entry, (head).last_entry, (head).entries, (head).actions,
      (head).sealed_at,
           journal_sum(head, ${sha256}, record, text)
    from fresh
    on conflict (number) do nothing returning 1`
  return sealed.length > 0
}
