// Cases are opened by what was found: an answer that waits for a person, and an alert of a watch
// about severe money. What is found of an address that has a case is added to that.
//
//   review without a case, alert -> in a case (new, or the one that is not closed)
//   case that is due -> late, with an event, once for each day that it was due

import type { Clock } from '../../lib/clock.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { insertSubject } from './case_subjects.ts'
import { type Case, findOpenCase, insertCase, joinCase, remindCase } from './cases.ts'

type Needs = { sql: Sql; clock: Clock; new_id: NewId }

const AT_ONCE = 50
const BY = 'screening'

/** An alert of a watch, as far as cases have it. */
export type CaseAlert = {
  customer_id: string
  at: Date
  data: {
    address: string
    rule: string
    transfer: {
      tx_id: string
      asset: string
      usd: string
      counterparty: string
      category: string | null
    } | null
    before: string | null
    after: string | null
  }
}

/** Alerts about severe money wait until they are in a case. An amount alone is the customer's own
 *  matter: it does not say where the money is from. */
export function keepAlerts(tx: Tx, alerts: readonly CaseAlert[]): void {
  const severe = alerts.filter(({ data }) => data.rule !== 'any_incoming_usd')
  if (severe.length === 0) return
  tx.send`
    insert into aml_case_alert (customer_id, address, at, text)
    select * from unnest(${severe.map(({ customer_id }) => customer_id)}::text[],
      ${severe.map(({ data }) => data.address)}::text[],
      ${severe.map(({ at }) => at)}::timestamptz[],
      ${severe.map(({ data }) => alertText(data))}::text[])`
}

function alertText({ rule, transfer, before, after }: CaseAlert['data']): string {
  if (transfer === null) return `${rule}: ${before ?? 'not known'} before, ${after} now`
  const { usd, asset, counterparty, category, tx_id } = transfer
  return `${rule}: ${usd} USD of ${asset} to ${counterparty} (${category}) in ${tx_id}`
}

export function openCasesStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'open_cases',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from aml_review as r where r.state = 'open' and not exists (
        select from aml_case_subject as s where s.kind = 'check' and s.subject = r.check_id)
      union all
      select from aml_case_alert`,
    after: ['screen', 'ask_providers', 'watch_blocks'],
    before: ['publish'],
    run: () =>
      sql.begin(async (tx) => {
        const at = clock.now()
        const reviews = await openForReviews(tx, needs, at)
        return (await openForAlerts(tx, needs, at)) || reviews
      }),
  }
}

type OpenReview = {
  check_id: string
  customer_id: string
  address: string
  risk_score: string
  risk_level: Case['risk_level']
  blacklist: boolean
}

async function openForReviews(tx: Tx, needs: Needs, at: Date): Promise<boolean> {
  const waiting = await tx<OpenReview>`
    select r.check_id, r.customer_id, r.address, r.risk_score::text, c.risk_level, c.blacklist
    from aml_review as r join aml_check as c on c.id = r.check_id
    where r.state = 'open' and not exists (
      select from aml_case_subject as s where s.kind = 'check' and s.subject = r.check_id)
    order by r.check_id limit ${AT_ONCE}`
  for (const { check_id, risk_score, risk_level, blacklist, ...whose } of waiting) {
    const priority = blacklist ? ('urgent' as const) : ('high' as const)
    const text = `The answer of check ${check_id} waits: ${risk_score}.`
    const found = { ...whose, priority, risk_level }
    const { one, is_new } = await caseOf(tx, needs, found, { at, text })
    const subject = { kind: 'check' as const, subject: check_id, added_at: at, added_by: BY }
    const added = await insertSubject(tx, one.id, subject)
    // Another process may have been here since the answers were read.
    if (added && !is_new) await joinCase(tx, one, found, { kind: 'review', text, by: BY, at })
  }
  return waiting.length > 0
}

type KeptAlert = { customer_id: string; address: string; text: string }

/** Of the alerts of a case, those that it has: a watch can fire at every block. The events have
 *  all. */
const ALERTS_MAX = 200

async function openForAlerts(tx: Tx, needs: Needs, at: Date): Promise<boolean> {
  const alerts = await tx<KeptAlert>`
    delete from aml_case_alert where id in (
      select id from aml_case_alert order by id limit ${AT_ONCE} for update skip locked)
    returning customer_id, address, text`
  for (const { text, ...whose } of alerts) {
    const found = { ...whose, priority: 'normal' as const, risk_level: null }
    const { one, is_new } = await caseOf(tx, needs, found, { at, text })
    if (is_new) continue
    const [counted] = await tx<{ n: number }>`
      select count(*)::int as n from aml_case_entry where case_id = ${one.id} and kind = 'alert'`
    if (counted!.n < ALERTS_MAX) await joinCase(tx, one, found, { kind: 'alert', text, by: BY, at })
  }
  return alerts.length > 0
}

type Finding = Pick<Case, 'address' | 'priority' | 'risk_level'> & { customer_id: string }

/** The case that has what was found, locked. */
async function caseOf(
  tx: Tx,
  { new_id }: Needs,
  found: Finding,
  { at, text }: { at: Date; text: string },
): Promise<{ one: Case; is_new: boolean }> {
  const made = await insertCase(tx, { id: new_id(), ...found }, { by: BY, at, text })
  if (made) return { one: made, is_new: true }
  const one = await findOpenCase(tx, found.customer_id, found.address)
  // The step comes again.
  if (!one) throw new Error(`the case of ${found.address} was closed in between`)
  return { one, is_new: false }
}

/** Tells of cases that are not closed when they were due. */
export function remindCasesStep({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Step {
  return {
    name: 'remind_cases',
    rest_ms: 10_000,
    due: (sql) => sql`
      select from aml_case
      where state <> 'closed' and reminded_at is null and due_at <= ${clock.now()}::timestamptz`,
    before: ['publish'],
    async run() {
      const now = clock.now()
      const late = await sql<{ id: string }>`
        select id from aml_case
        where state <> 'closed' and reminded_at is null and due_at <= ${now}
        order by due_at limit ${AT_ONCE}`
      let reminded = false
      for (const { id } of late)
        reminded = (await sql.begin((tx) => remindCase(tx, id, now))) || reminded
      return reminded
    },
  }
}
