// Settles checks: the result, its evidence, the charge and the counts are one transaction. A check
// that has ended meanwhile, because somebody else was faster or it was given up, is left as it is;
// what a provider answered is kept all the same.

import { releasePrice } from '../customers/purse.ts'
import type { Sql, Tx } from '../database/sql.ts'
import { captureAll, customerAccount, lockAccounts } from '../ledger/ledger.ts'
import { type Clock, later } from '../lib/clock.ts'
import { sha256Of } from '../screening/evidence.ts'
import type { Outcome } from '../screening/scoring.ts'
import { type Check, holdOfCheck, priceOf } from './checks.ts'
import { countChanges } from './history.ts'

export type Needs = { sql: Sql; clock: Clock }

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
}

/** What an outside provider said, byte for byte. */
export type OutsideAnswer = { provider: string; outcome: string; body: Uint8Array }

/** What became of a check: answered, failed for good, or to be looked at again. */
export type Answered = (
  | { state: 'completed'; result: Result }
  | { state: 'failed'; error: string }
  | { state: 'wait'; ms: number }
) & { answers?: OutsideAnswer[] }

export type Settled = { check: Check; answered: Answered }

export async function settle({ sql, clock }: Needs, all: readonly Settled[]): Promise<void> {
  const now = clock.now()
  const customers = [...new Set(all.map(({ check }) => customerAccount(check.customer_id)))]
  await sql.begin(async (tx) => {
    const [, rows] = await Promise.all([
      lockAccounts(tx, customers),
      tx<{ id: string }>`
        select id from aml_check where id = any(${all.map(({ check }) => check.id)})
          and state = 'processing'
        order by id for update`,
    ])
    const open = new Set(rows.map(({ id }) => id))
    const done: Done[] = []
    const failed: { check: Check; error: string }[] = []
    const waiting: { id: string; due_at: Date }[] = []
    for (const { check, answered } of all.filter(({ check }) => open.has(check.id))) {
      if (answered.state === 'completed') done.push({ check, result: answered.result })
      else if (answered.state === 'failed') failed.push({ check, error: answered.error })
      else waiting.push({ id: check.id, due_at: later(clock, answered.ms) })
    }
    storeAnswers(tx, now, all)
    postpone(tx, waiting)
    complete(tx, now, done)
    await fail(tx, now, failed)
  })
}

function storeAnswers(tx: Tx, now: Date, all: readonly Settled[]): void {
  const rows = all.flatMap(({ check, answered }) =>
    (answered.answers ?? []).map((one) => ({ check_id: check.id, ...one })),
  )
  if (rows.length === 0) return
  tx.send`
    insert into aml_answer (check_id, provider, outcome, body, sha256, received_at)
    select check_id, provider, outcome, body, encode(sha256(body), 'hex'), ${now}
    from unnest(${rows.map((row) => row.check_id)}::text[], ${rows.map((row) => row.provider)}::text[],
                ${rows.map((row) => row.outcome)}::text[], ${rows.map((row) => Buffer.from(row.body))}::bytea[])
      as a (check_id, provider, outcome, body)`
}

function postpone(tx: Tx, waiting: readonly { id: string; due_at: Date }[]): void {
  if (waiting.length === 0) return
  tx.send`
    update aml_check as c set due_at = w.due_at
    from unnest(${waiting.map((one) => one.id)}::text[], ${waiting.map((one) => one.due_at)}::timestamptz[])
      as w (id, due_at)
    where c.id = w.id and c.state = 'processing'`
}

type Done = { check: Check; result: Result }

/** Completes checks that are still open, and takes their prices. The caller has locked both. */
function complete(tx: Tx, now: Date, done: readonly Done[]): void {
  if (done.length === 0) return
  const results = done.map(({ result }) => result)
  const outcomes = results.map(({ outcome }) => outcome)
  tx.send`
    with result as (
      select * from unnest(
        ${done.map(({ check }) => check.id)}::text[], ${outcomes.map((one) => one.score)}::text[],
        ${outcomes.map((one) => one.level)}::text[], ${outcomes.map((one) => one.blacklist)}::boolean[],
        ${outcomes.map((one) => JSON.stringify(one.factors))}::jsonb[], ${results.map((one) => one.provider)}::text[],
        ${results.map((one) => one.policy)}::integer[], ${results.map((one) => one.index?.label_set ?? null)}::integer[],
        ${results.map((one) => one.index?.generation ?? null)}::integer[],
        ${results.map((one) => one.index?.number ?? null)}::bigint[], ${results.map((one) => one.evidence)}::text[],
        ${results.map((one) => sha256Of(one.evidence))}::text[])
        as r (id, score, level, blacklist, factors, provider, policy, label_set, generation,
          number, evidence, sha256)
    ), ended as (
      update aml_check as c set state = 'completed', ended_at = ${now}, risk_score = r.score,
        risk_level = r.level,
        blacklist = r.blacklist, risk_factors = r.factors, provider = r.provider, policy = r.policy,
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
    select must(count(*) = ${done.length}, 'a check that is completed was not being processed') from ended`
  const charged = done.filter(({ check }) => check.price_sun > 0n)
  captureAll(
    tx,
    charged.map(({ check }) => ({ hold_id: holdOfCheck(check.id), amount_sun: check.price_sun })),
    now,
  )
}

/** Fails checks and gives their money back. The caller has locked the accounts. */
export async function fail(
  tx: Tx,
  now: Date,
  failed: readonly { check: Check; error: string }[],
): Promise<void> {
  if (failed.length === 0) return
  const before = new Map(failed.map(({ check }) => [check.id, check.state]))
  const ended = await tx<Check>`
    update aml_check as c set state = 'failed', ended_at = ${now}, error = f.error
    from unnest(${failed.map(({ check }) => check.id)}::text[], ${failed.map(({ error }) => error)}::text[]) as f (id, error)
    where c.id = f.id and c.state in ('pending', 'processing')
    returning c.*`
  for (const check of ended)
    await releasePrice(tx, priceOf(check), { held_at: check.created_at, now })
  await countChanges(
    tx,
    ended.map(({ id, customer_id, created_at }) => ({
      customer_id,
      created_at,
      from: before.get(id)!,
      to: 'failed',
    })),
  )
}
