// What of the books is about records: each change of operators has one, none was altered, and what
// is in force is what was recorded last.

import { createHash } from 'node:crypto'
import { readPlainly } from '../../ledger/accounts/seals.ts'
import { epochText } from '../../lib/canonical.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'
import { alteredCustomerRecords } from './customer_records.ts'

/** Everything about records that does not hold. */
export const unrecorded = async (tx: Tx): Promise<Finding[]> => [
  ...(await alteredRecords(tx)),
  ...(await alteredCustomerRecords(tx)),
  ...(await withoutRecord(tx)),
  ...(await notAsRecorded(tx)),
]

/** A record as plain columns: what is JSON is the text that PostgreSQL prints of it. */
type RecordRow = {
  number: bigint
  made_at: string
  made_by: string
  reason: string | null
  action: string
  subject: string
  before: string | null
  after: string | null
  /** What the database saw of who made it; null in records from before it was noted. */
  made_role: string | null
  made_from: string | null
  sha256: string
}

const RECORDS_AT_ONCE = 2_000
/** What is before the first. */
const NO_RECORD: Pick<RecordRow, 'number' | 'sha256' | 'made_role'> = {
  number: 0n,
  sha256: '',
  made_role: null,
}

/** The sum of a record, as the trigger that writes it works it out: of the sum before and of a list
 *  in JSON. */
export function recordSum(previous: string, record: RecordRow): string {
  return createHash('sha256')
    .update(`${previous}${recordText(record)}`)
    .digest('hex')
}

/** What the sum of a record is of, after the sum before. */
function recordText(record: RecordRow): string {
  const { number, made_at, made_by, reason, action, subject, before, after, made_role, made_from } =
    record
  const words = [made_by, reason, action, subject].map((text) => JSON.stringify(text))
  const seen = made_role === null ? [] : [made_role, made_from].map((text) => JSON.stringify(text))
  const list = [
    number,
    epochText(made_at),
    ...words,
    before ?? 'null',
    after ?? 'null',
    ...seen,
  ].join(', ')
  return `[${list}]`
}

/** A record as its sum was made: SHA-256 of the sum before and the text, whatever reads it. */
export type RecordProof = {
  number: bigint
  previous_sha256: string
  text: string
  sha256: string
}

/** Records with what proves that they are whole, newest first. */
export function proveRecords(
  sql: Sql,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<RecordProof[]> {
  return sql.begin(async (tx) => {
    await readPlainly(tx)
    const rows = await tx<RecordRow>`
      select number, made_at::text as made_at, made_by, reason, action, subject,
        before::text as before, after::text as after, made_role, made_from, sha256
      from operator_action where ${before ?? null}::bigint is null or number < ${before ?? null}
      order by number desc limit ${limit + 1}`
    return rows.slice(0, limit).map((row, i) => {
      const previous_sha256 = rows[i + 1]?.sha256 ?? ''
      return { number: row.number, previous_sha256, text: recordText(row), sha256: row.sha256 }
    })
  })
}

/** Records that are not what was written: worked out here, from plain columns. */
async function alteredRecords(tx: Tx): Promise<Finding[]> {
  await readPlainly(tx)
  const findings: Finding[] = []
  for (let before = NO_RECORD, page: RecordRow[] = []; findings.length < FINDINGS_MAX; ) {
    const after: bigint | null = page.length === 0 ? null : before.number
    page = await tx<RecordRow>`
      select number, made_at::text as made_at, made_by, reason, action, subject,
        before::text as before,
             after::text as after, made_role, made_from, sha256
      from operator_action where ${after}::bigint is null or number > ${after}
      order by number limit ${RECORDS_AT_ONCE}`
    for (const record of page) {
      // Since the database notes who it was, no record is without.
      const named = record.made_role !== null || before.made_role === null
      const linked =
        record.number === before.number + 1n && record.sha256 === recordSum(before.sha256, record)
      const follows = named && linked
      if (!follows)
        findings.push({
          subject: `record ${record.number}`,
          found: 'it is not the one that was written',
        })
      before = record
    }
    if (page.length < RECORDS_AT_ONCE) break
  }
  return findings
}

/** Changes that have no record. */
function withoutRecord(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with change as (
      select 'price:' || resource as subject, 'row' as what, since, changed_by from price
      union all select 'fee:' || name, 'row', since, changed_by from fee
      union all select 'fee:aml_' || type, 'row', since, changed_by from aml_price
      union all select 'plan:' || key, 'version', since, changed_by from plan
      union all select 'correction:' || id, 'correction', made_at, made_by from correction
      union all
      select 'proposal:' || id, 'proposal', proposed_at, proposed_by from correction_proposal
      union all select 'approvals', 'rule', since, set_by from approval_rule
      union all
      select 'deposit:' || tx_id || case position when 0 then ''
        else '/' || position end, 'resolution', made_at, made_by
      from deposit_resolution
    )
    select subject, format('the %s since %s has no record', what, since) as found from change
    where changed_by <> 'shipped' and not exists (
      select 1 from operator_action as a where a.subject = change.subject and a.made_at = since)
    order by 1 limit ${FINDINGS_MAX}`
}

/** What is in force and is not what the last record about it says. What was shipped has no
 *  record. */
function notAsRecorded(tx: Tx): Promise<Finding[]> {
  return tx<Finding>`
    with last as (
      select distinct on (subject) subject, after from operator_action order by subject, number desc
    ), fees as (
      select name, price_sun from fee where until is null
      union all select 'aml_' || type, price_sun from aml_price where until is null
    ), tiers as (
      select resource, jsonb_object_agg(min_amount || '-' || max_amount,
        price_sun::numeric) as prices
      from price where until is null group by resource
    ), switched as (
      select name, on_sale from service union all select 'aml_' || type, on_sale from aml_service
    ), limits as (
      select distinct on (subject) subject,
        (after ->> 'subscriptions_limit')::integer as subscriptions_limit,
             (after ->> 'open_orders_limit')::integer as open_orders_limit
      from operator_action where action = 'customers limits' order by subject, number desc
    ), rule as (
      select second, from_sun from approval_rule order by since desc limit 1
    ), found as (
      select last.subject from last left join rule on true
      where last.subject = 'approvals'
        and jsonb_build_object('second', second, 'from_sun', from_sun) is distinct from last.after
      union all
      select last.subject from last left join tiers on last.subject = 'price:' || resource
      where starts_with(last.subject, 'price:') and coalesce(prices, '{}') <> coalesce((
        select jsonb_object_agg(key, (value::numeric * 1000000)::bigint)
          from jsonb_each_text(last.after)), '{}')
      union all
      select last.subject from last left join fees on last.subject = 'fee:' || name
      where starts_with(last.subject, 'fee:') and price_sun is distinct
        from (last.after ->> 'price_trx')::numeric * 1000000
      union all
      select 'service:' || name from switched left join last on last.subject = 'service:' || name
      where on_sale <> coalesce((last.after ->> 'on_sale')::boolean, true)
      union all
      select 'signing' from signing left join last on last.subject = 'signing'
      where stopped <> coalesce((last.after ->> 'stopped')::boolean, false)
      union all
      select last.subject from last left join plan on last.subject = 'plan:' || key
        and until is null
      where starts_with(last.subject, 'plan:')
        and ((plan.id is null) <> (last.after is null)
          or not coalesce(to_jsonb(plan) @> last.after, true))
      union all
      select 'customer:' || c.id from customer as c left join limits as l
        on l.subject = 'customer:' || c.id
      where c.subscriptions_limit is distinct from l.subscriptions_limit
         or c.open_orders_limit is distinct from l.open_orders_limit
    )
    select subject, 'it is not what was recorded last' as found from found order by 1
      limit ${FINDINGS_MAX}`
}
