// Screening checks: what they are, and every arrow between their states.
//
//   pending -> processing -> completed (charged) | failed (nothing charged)
//
// How many checks a customer has in each state is counted with the arrow, and a step adds it up
// (history.ts). A check is asked for in placing.ts and answered in answering.ts.

import { type EventType, noteEvents } from '../../events/log/notes.ts'
import { captureAll } from '../../ledger/accounts/ledger.ts'
import { holdPrices, type Price, releasePrice } from '../../people/customers/purse.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Bars } from '../engine/bars.ts'
import { sha256Of } from '../engine/evidence.ts'
import type { Outcome } from '../engine/scoring.ts'
import { CHECK_COLUMNS, type Check, type CheckState, checkForms, printCheck } from './forms.ts'
import { hurryFailed, noteWatchAnswers } from './watch_rules.ts'

export { CHECK_STATES, type Check, type CheckState, type CheckType } from './forms.ts'

/** What a check is answered with. */
export type Result = {
  outcome: Outcome
  /** Canonical JSON. */
  evidence: string
  /** Who answered. */
  provider: string
  policy: number
  /** Of the embedded engine, if it had a part in it: the label set, the generation and the last
   *  block that it knew. */
  index: { label_set: number; generation: number; number: number } | undefined
  /** What bars the address, as the answer read it; undefined: it is not known whom the money is
   *  from. */
  bars: Bars | undefined
}

/** The hold that pays for a check. */
const holdOfCheck = (check_id: string) => `aml:${check_id}`

/** What a check costs, and the hold that pays it. */
const priceOf = ({ id, customer_id, key_id, price_sun }: Check): Price => ({
  hold_id: holdOfCheck(id),
  customer_id,
  key_id,
  price_sun,
})

/** What is asked for. */
export type NewCheck = Pick<
  Check,
  'customer_id' | 'idempotency_key' | 'type' | 'network' | 'address'
> &
  Partial<Pick<Check, 'hash' | 'direction' | 'supersedes'>>

export function newCheck(
  asked: NewCheck,
  made: Pick<Check, 'id' | 'price_sun' | 'solid_number' | 'created_at'> &
    Partial<Pick<Check, 'key_id'>>,
): Check {
  return {
    hash: null,
    direction: null,
    supersedes: null,
    key_id: null,
    ...asked,
    ...made,
    state: 'pending',
    due_at: made.created_at,
    tries: 0,
    ended_at: null,
    risk_score: null,
    risk_level: null,
    blacklist: false,
    risk_factors: [],
    sent_factors: [],
    error: null,
    provider: null,
    policy: null,
    label_set: null,
    generation: null,
    index_number: null,
    evidence_sha256: null,
  }
}

/** The customer's check by its id. */
export async function findCheck(
  sql: Sql | Tx,
  by: { id: string; customer_id: string },
): Promise<Check | undefined> {
  const [check] = await sql<Check>`
      select ${CHECK_COLUMNS} from aml_check
      where id = ${by.id} and customer_id = ${by.customer_id}`
  return check
}

/** -> pending: places checks and holds their prices. The caller has opened a purse of those who
 *  pay. */
export function placeChecks(tx: Tx, checks: readonly Check[]): void {
  const [first] = checks
  if (!first) return
  const column = <K extends keyof Check>(name: K) => checks.map((check) => check[name])
  tx.send`
    with made as (
    insert into aml_check (id, customer_id, idempotency_key, type, network, address, hash,
      direction, price_sun, key_id,
                           solid_number, due_at, created_at, supersedes)
    select * from unnest(${column('id')}::text[], ${column('customer_id')}::text[],
                         ${column('idempotency_key')}::text[],
      ${column('type')}::text[], ${column('network')}::text[], ${column('address')}::text[],
      ${column('hash')}::text[],
      ${column('direction')}::text[], ${column('price_sun')}::bigint[], ${column('key_id')}::text[],
      ${column('solid_number')}::bigint[], ${column('due_at')}::timestamptz[],
      ${column('created_at')}::timestamptz[],
      ${column('supersedes')}::text[])
    returning customer_id, created_at)
    insert into aml_count_delta (customer_id, day, state, d)
    select customer_id, (created_at at time zone 'UTC')::date, 'pending', count(*) from made
      group by 1, 2`
  holdPrices(tx, checks.map(priceOf), first.created_at)
}

/** pending | processing -> processing: takes up checks of these routes that are due and that the
 *  index can answer, and leaves them to the caller until `until`. Nothing waits for this to be on
 *  disk: what is lost in a crash is taken up again. */
export function takeUpChecks(
  sql: Sql,
  what: {
    routes: readonly string[]
    index_number: number
    at_once: number
    now: Date
    until: Date
  },
): Promise<Check[]> {
  return sql<Check>`
    with unhurried as materialized (
      select set_config('synchronous_commit', 'off', true)
    ), due as (
      select id, customer_id, created_at, state from aml_check
      where state in ('pending', 'processing') and due_at <= ${what.now}
        and solid_number <= ${what.index_number}
        and network || '/' || type = any(${what.routes})
      order by due_at, id limit ${what.at_once} for update skip locked
    ), taken as (
      update aml_check as c set state = 'processing', due_at = ${what.until}, tries = tries + 1
      from due where c.id = due.id returning c.${CHECK_COLUMNS}
    ), counted as (
      insert into aml_count_delta (customer_id, day, state, d)
      select customer_id, (created_at at time zone 'UTC')::date, s.state, s.sign * count(*)
      from due cross join (values ('pending', -1), ('processing', 1)) as s (state, sign)
      where due.state = 'pending' group by 1, 2, s.state, s.sign
    )
    select taken.* from taken, unhurried order by created_at, id`
}

/** The checks that are in one of the states, locked in the order of their ids. Not their keys: who
 *  has locked a watch meanwhile may ask anew, and names the check that is superseded. */
export function lockChecks(
  tx: Tx,
  ids: readonly string[],
  states: readonly CheckState[],
): Promise<Check[]> {
  return tx<Check>`
    select ${CHECK_COLUMNS} from aml_check where id = any(${ids}) and state = any(${states})
    order by id for no key update`
}

/** processing -> processing: they are due again at a later time. The caller has locked them. */
export function postponeChecks(tx: Tx, waiting: readonly { id: string; due_at: Date }[]): void {
  if (waiting.length === 0) return
  tx.send`
    update aml_check as c set due_at = w.due_at
    from unnest(${waiting.map((one) => one.id)}::text[],
                ${waiting.map((one) => one.due_at)}::timestamptz[])
      as w (id, due_at)
    where c.id = w.id`
}

export type AnsweredCheck = { check: Check; result: Result }

/** processing -> completed: keeps results and their evidence, and takes the prices. The caller has
 *  locked the accounts and the checks. */
export async function completeChecks(
  tx: Tx,
  done: readonly AnsweredCheck[],
  now: Date,
): Promise<void> {
  if (done.length === 0) return
  const results = done.map(({ result }) => result)
  const outcomes = results.map(({ outcome }) => outcome)
  tx.send`
    with result as (
      select * from unnest(
        ${done.map(({ check }) => check.id)}::text[], ${outcomes.map((one) => one.score)}::text[],
        ${outcomes.map((one) => one.level)}::text[],
        ${outcomes.map((one) => one.blacklist)}::boolean[],
        ${outcomes.map((one) => JSON.stringify(one.factors))}::jsonb[],
        ${outcomes.map((one) => JSON.stringify(one.sent_factors ?? []))}::jsonb[],
        ${results.map((one) => one.provider)}::text[],
        ${results.map((one) => one.policy)}::integer[],
        ${results.map((one) => one.index?.label_set ?? null)}::integer[],
        ${results.map((one) => one.index?.generation ?? null)}::integer[],
        ${results.map((one) => one.index?.number ?? null)}::bigint[],
        ${results.map((one) => one.evidence)}::text[],
        ${results.map((one) => sha256Of(one.evidence))}::text[])
        as r (id, score, level, blacklist, factors, sent_factors, provider, policy, label_set,
          generation, number, evidence, sha256)
    ), ended as (
      update aml_check as c set state = 'completed', ended_at = ${now}, risk_score = r.score,
        risk_level = r.level,
        blacklist = r.blacklist, risk_factors = r.factors, sent_factors = r.sent_factors,
        provider = r.provider, policy = r.policy,
        label_set = r.label_set, generation = r.generation, index_number = r.number,
          evidence_sha256 = r.sha256
      from result as r where c.id = r.id and c.state = 'processing'
      returning c.id, c.customer_id, c.created_at
    ), stored as (
      insert into aml_evidence (check_id, canonical, sha256)
      select r.id, r.evidence, r.sha256 from result as r join ended using (id)
    ), counted as (
      insert into aml_count_delta (customer_id, day, state, d)
      select customer_id, (created_at at time zone 'UTC')::date, s.state, s.sign * count(*)
      from ended cross join (values ('processing', -1), ('completed', 1)) as s (state, sign)
      group by 1, 2, s.state, s.sign
    )
    select must(count(*) = ${done.length}, 'a check that is completed was not being processed')
      from ended`
  const charged = done.filter(({ check }) => check.price_sun > 0n)
  captureAll(
    tx,
    charged.map(({ check }) => ({ hold_id: holdOfCheck(check.id), amount_sun: check.price_sun })),
    now,
  )
  const checks = done.map(({ check }) => check)
  await noteChecks(tx, 'aml_check.completed', { checks, now })
  await noteChangedLevels(tx, checks, now)
  const answers = done.map(({ check, result: { outcome, evidence, policy, index } }) => ({
    check,
    outcome,
    evidence,
    policy,
    label_set: index?.label_set,
  }))
  await noteWatchAnswers(tx, answers, now)
}

/** pending | processing -> failed: gives the prices back. The caller has locked the accounts and
 *  the checks. */
export async function failChecks(
  tx: Tx,
  failed: readonly { check: Check; error: string }[],
  now: Date,
): Promise<void> {
  if (failed.length === 0) return
  const checks = failed.map(({ check }) => check)
  tx.send`
    with wanted as (
      select id, error, before from unnest(${checks.map(({ id }) => id)}::text[],
        ${failed.map(({ error }) => error)}::text[], ${checks.map(({ state }) => state)}::text[])
        as f (id, error, before)
    ), ended as (
      update aml_check as c set state = 'failed', ended_at = ${now}, error = w.error
      from wanted as w where c.id = w.id and c.state = w.before
        and c.state in ('pending', 'processing')
      returning c.customer_id, c.created_at, w.before
    ), counted as (
      insert into aml_count_delta (customer_id, day, state, d)
      select customer_id, (created_at at time zone 'UTC')::date, s.state, sum(s.sign)
      from ended cross join lateral (values (before, -1), ('failed', 1)) as s (state, sign)
      group by 1, 2, s.state
    )
    select must(count(*) = ${failed.length}, 'a check that failed was not open') from ended`
  for (const check of checks)
    await releasePrice(tx, priceOf(check), { held_at: check.created_at, now })
  await noteChecks(tx, 'aml_check.failed', { checks, now })
  await hurryFailed(tx, failed, now)
}

/** Notes what the endpoint of each check answers now. */
async function noteChecks(
  tx: Tx,
  type: EventType,
  { checks, now }: { checks: readonly Check[]; now: Date },
): Promise<void> {
  const form_of = await checkForms(
    tx,
    checks.map(({ id }) => id),
  )
  noteEvents(
    tx,
    checks.map(({ id, customer_id }) => ({
      type,
      subject: `aml_check:${id}`,
      customer_id,
      at: now,
      data: form_of.get(id)!,
    })),
  )
}

/** Notes which of these checks, which are completed, have another level than the answer that they
 *  supersede. Checks that were never answered are passed over. */
async function noteChangedLevels(tx: Tx, checks: readonly Check[], now: Date): Promise<void> {
  const ids = checks.flatMap(({ id, supersedes }) => (supersedes === null ? [] : [id]))
  if (ids.length === 0) return
  const changed = await tx<Check & { level_before: string }>`
    with recursive back as (
      select id, supersedes as before_id from aml_check where id = any(${ids})
      union all
      select back.id, gone.supersedes from back join aml_check as gone on gone.id = back.before_id
      where gone.state <> 'completed'
    )
    select c.${CHECK_COLUMNS}, before.risk_level as level_before
    from back join aml_check as c using (id) join aml_check as before on before.id = back.before_id
    where before.state = 'completed' and before.risk_level <> c.risk_level
    order by c.id`
  noteEvents(
    tx,
    changed.map(({ level_before, ...check }) => ({
      type: 'aml_watch.changed',
      subject: `aml_watch:${check.address}`,
      customer_id: check.customer_id,
      at: now,
      data: { ...printCheck(check), level_before },
    })),
  )
}
