// The journal: seals the entries of the ledger in the order of their numbers into a chain of sums,
// behind those who write them. An entry gets its number before it is visible, so a range is sealed
// only when every transaction that may still bring one of its numbers has ended; nobody is made to
// wait for that.
//
// Numbers come from a sequence, and what a sequence has given is kept only by the next commit. So
// how far may be sealed is a row of its own, committed before anything is sealed by it, and a seal
// is made by the mark of the very server that it is made on: one that took over from another, or
// has come back after a crash, may lack the last numbers and then lacks the mark.

import type { Clock } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'

/** Numbers covered by one row of the journal. */
export const SEALED_AT_ONCE = 20_000n

/** Up to which number entries were asked for, and the transactions that wrote then. On a server
 *  that took over these have ended; one of its own that has the same name only makes it wait. */
type Mark = { last_entry: bigint; writers: string[] }

export function sealStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  const sealMarked = () => sql.begin((tx) => sealUpToMark(tx, clock.now()))
  return {
    name: 'seal',
    rest_ms: 30_000,
    duty: 'upkeep',
    due: (sql) => sql`
      with sealed as (
        select coalesce(max(last_entry), 0) as last_entry from journal
      )
      select from transfer_number_seq, sealed where is_called and last_value > sealed.last_entry
      union all
      select from journal_mark as mark, sealed where mark.last_entry > sealed.last_entry`,
    async run() {
      const done = await sealMarked()
      if (done !== 'nothing marked') return done === 'sealed'
      const marked = await sql.begin((tx) => mark(tx, clock.now()))
      return marked && (await sealMarked()) === 'sealed'
    },
  }
}

/** Marks how far may be sealed, when there are numbers beyond the last seal. They are read before
 *  the writers: one that has a lower one holds the lock on the table by then, or has ended. */
async function mark(tx: Tx, now: Date): Promise<boolean> {
  const [last] = await tx<{ last_entry: bigint }>`
    select case when is_called then last_value else 0 end as last_entry from transfer_number_seq`
  const writers = await tx<{ writer: string }>`
    select distinct virtualtransaction as writer from pg_locks
    where relation = 'transfer'::regclass and mode <> 'AccessShareLock'
      and database = (select oid from pg_database where datname = current_database())`
  const marked = await tx`
    insert into journal_mark (last_entry, writers, made_at)
    select ${last!.last_entry}::bigint, ${writers.map(({ writer }) => writer)}::text[],
      ${now}::timestamptz
    where ${last!.last_entry}::bigint > coalesce((select max(last_entry) from journal), 0)
    on conflict (one) do update set last_entry = excluded.last_entry,
      writers = excluded.writers, made_at = excluded.made_at
    returning 1`
  return marked.length > 0
}

async function sealUpToMark(tx: Tx, now: Date): Promise<'sealed' | 'nothing marked' | 'waits'> {
  const [marked] = await tx<Mark>`
    select last_entry, writers from journal_mark
    where last_entry > coalesce((select max(last_entry) from journal), 0)`
  if (!marked) return 'nothing marked'
  if (await stillWrite(tx, marked)) return 'waits'
  return (await seal(tx, marked.last_entry, now)) ? 'sealed' : 'waits'
}

async function stillWrite(tx: Tx, { writers }: Mark): Promise<boolean> {
  if (writers.length === 0) return false
  const still = await tx`
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
      select jsonb_populate_record(null::journal, jsonb_build_object(
          'number', ${number}::bigint + 1, 'first_entry', ${first}::bigint,
          'last_entry', ${last}::bigint, 'entries', body.entries,
          'actions', coalesce(record.number, 0), 'sealed_at', ${now}::timestamptz)) as head,
        record.sha256 as record, body.text
      from body left join record on true
    )
    insert into journal (number, first_entry, last_entry, entries, actions, sealed_at, sha256)
    select (head).number, (head).first_entry, (head).last_entry, (head).entries, (head).actions,
      (head).sealed_at,
           journal_sum(head, ${sha256}, record, text)
    from fresh
    on conflict (number) do nothing returning 1`
  return sealed.length > 0
}
