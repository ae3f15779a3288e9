// After the answer: addresses that are screened again whenever the labels change, and how long
// evidence is kept. A new answer stands beside the one that it supersedes; the old one never
// changes.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { type Clock, later } from '../lib/clock.ts'
import { firstIdAt, type NewId } from '../lib/ids.ts'
import type { Step } from '../steps/step.ts'
import type { Generations } from '../tracing/generations.ts'
import { placeAgain } from './placing.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  generations: Pick<Generations, 'current'>
}

export type Watch = {
  customer_id: string
  address: Address
  made_at: Date
  label_set: number
  check_id: string | null
}

/** Watches an address for a customer from now on. Watching it again changes nothing. */
export async function watch(
  tx: Tx,
  wanted: { customer_id: string; address: Address; made_at: Date },
): Promise<void> {
  const { customer_id, address, made_at } = wanted
  // Minus one is before every label set: it is screened for the first time at once.
  await tx`
    insert into aml_watch (customer_id, address, made_at, label_set)
      values (${customer_id}, ${address}, ${made_at}, -1)
    on conflict do nothing`
}

/** False when it was not watched. */
export async function unwatch(
  tx: Tx,
  which: { customer_id: string; address: Address },
): Promise<boolean> {
  const gone = await tx`
    delete from aml_watch where customer_id = ${which.customer_id} and address = ${which.address}
      returning 1`
  return gone.length > 0
}

const AT_ONCE = 100

/** Places checks of watched addresses that were last screened under older labels, in a process that
 *  lags behind as well, or before an issuer's last word on them; and of those that no index was
 *  there for. */
export function rescreenStep(needs: Needs): Step {
  const { sql, generations } = needs
  return {
    name: 'rescreen',
    rest_ms: 10_000,
    after: ['index'],
    async run() {
      const label_set = generations.current()?.label_set
      if (label_set === undefined) return false
      return sql.begin(async (tx) => {
        const due = await tx<Watch>`
          select w.* from aml_watch as w left join aml_check as c on c.id = w.check_id
          where w.label_set < ${label_set} or (c.state = 'failed' and c.error = 'index_stale')
            or (c.state = 'completed' and (c.label_set < least(w.label_set, ${label_set})
              or exists (
              select 1 from flow_freeze as f where f.address = w.address
                and f.number > c.index_number)))
          order by w.label_set, w.customer_id, w.address
            limit ${AT_ONCE} for update of w skip locked`
        for (const { customer_id, address, check_id } of due) {
          const { id } = await placeAgain(tx, needs, { customer_id, address, supersedes: check_id })
          await tx`
            update aml_watch set label_set = greatest(label_set, ${label_set}::integer),
              check_id = ${id}
            where customer_id = ${customer_id} and address = ${address}`
        }
        return due.length > 0
      })
    },
  }
}

export type LevelChange = {
  customer_id: string
  address: Address
  check_id: string
  from_level: string
  to_level: string
  ended_at: Date
}

/** Answers since an instant whose level is another than that of the answer they supersede, oldest
 *  first. Checks that were never answered are passed over. */
export async function levelChanges(sql: Sql | Tx, since: Date): Promise<LevelChange[]> {
  return sql<LevelChange>`
    with recursive back as (
      select id, supersedes as before_id from aml_check
      where state = 'completed' and ended_at >= ${since} and supersedes is not null
      union all
      select back.id, gone.supersedes from back join aml_check as gone on gone.id = back.before_id
      where gone.state <> 'completed'
    )
    select c.customer_id, c.address, c.id as check_id, before.risk_level as from_level,
      c.risk_level as to_level, c.ended_at
    from back join aml_check as c using (id) join aml_check as before on before.id = back.before_id
    where before.state = 'completed' and c.risk_level <> before.risk_level
    order by c.ended_at, c.id`
}

/** Five years, as the recommendations for those who keep such records ask. */
export const DEFAULT_RETENTION_DAYS = 5 * 366

/** Deletes evidence and providers' answers of checks that ended longer ago than is to be kept. The
 *  checks stay. */
export function retainStep(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  retention_days: number,
): Step {
  return {
    name: 'retain',
    rest_ms: 3_600_000,
    async run() {
      const before = later(clock, -retention_days * 86_400_000)
      // By their ids, which tell when they were asked: there is no index of when they ended.
      const made_before = firstIdAt(before)
      const evidence = await sql`
        delete from aml_evidence where check_id in (
          select e.check_id from aml_evidence as e join aml_check as c on c.id = e.check_id
          where e.check_id < ${made_before} and c.ended_at < ${before} limit 1000)
        returning 1`
      const answers = await sql`
        delete from aml_answer where id in (
          select a.id from aml_answer as a join aml_check as c on c.id = a.check_id
          where a.check_id < ${made_before} and c.ended_at < ${before} limit 1000)
        returning 1`
      return evidence.length + answers.length > 0
    },
  }
}
