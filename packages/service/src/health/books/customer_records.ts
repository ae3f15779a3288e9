// The records of what customers' users and keys have changed: each is the one that was written, and
// none is missing between the first of a customer and the last.

import { createHash } from 'node:crypto'
import { readPlainly } from '../../ledger/accounts/seals.ts'
import { epochText } from '../../lib/canonical.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { FINDINGS_MAX, type Finding } from './chain.ts'

/** A record as plain columns: what is JSON is the text that PostgreSQL prints of it. */
type RecordRow = {
  customer_id: string
  number: bigint
  made_at: string
  made_by: string
  action: string
  subject: string
  before: string | null
  after: string | null
  ip: string | null
  sha256: string
}

const RECORDS_AT_ONCE = 2_000
/** What is before the first of a customer. */
const NO_RECORD = { customer_id: '', number: 0n, sha256: '' }

/** The sum of a record, as the trigger that writes it works it out: of the sum before and of a list
 *  in JSON. */
function recordSum(previous: string, record: RecordRow): string {
  const { customer_id, number, made_at, made_by, action, subject, before, after, ip } = record
  const words = [made_by, action, subject].map((text) => JSON.stringify(text))
  const list = [
    JSON.stringify(customer_id),
    number,
    epochText(made_at),
    ...words,
    before ?? 'null',
    after ?? 'null',
    JSON.stringify(ip),
  ].join(', ')
  return createHash('sha256').update(`${previous}[${list}]`).digest('hex')
}

/** Records of customers that are not what was written: worked out here, from plain columns. */
export async function alteredCustomerRecords(tx: Tx): Promise<Finding[]> {
  await readPlainly(tx)
  const findings: Finding[] = []
  for (let last = NO_RECORD, page: RecordRow[] = []; findings.length < FINDINGS_MAX; ) {
    page = await tx<RecordRow>`
      select customer_id, number, made_at::text as made_at, made_by, action, subject,
        before::text as before, after::text as after, ip, sha256
      from customer_action where (customer_id, number) > (${last.customer_id}, ${last.number})
      order by customer_id, number limit ${RECORDS_AT_ONCE}`
    for (const record of page) {
      const { customer_id, number } = record
      const previous = customer_id === last.customer_id ? last : NO_RECORD
      if (number !== previous.number + 1n || record.sha256 !== recordSum(previous.sha256, record))
        findings.push({
          subject: `record ${number} of customer ${customer_id}`,
          found: 'it is not the one that was written',
        })
      last = record
    }
    if (page.length < RECORDS_AT_ONCE) break
  }
  return findings
}
