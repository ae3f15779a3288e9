// Answers checks: takes those that are due, screens them, and settles them together. The charge, the result and the evidence
// are one transaction. Nothing is ever answered from an index that lags behind what was solid when the check was asked
// for: such a check waits, and after ten minutes fails and costs nothing.

import { addSpending } from '../customers/spending.ts'
import { captureAll, customerAccount, lockAccounts, release } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { Sql, Tx } from '../lib/sql.ts'
import type { Step } from '../lib/step.ts'
import type { Node } from '../tron/node.ts'
import { type Check, type CheckState, countChanges, holdOfCheck } from './checks.ts'
import { sha256Of, storeEvidence } from './evidence.ts'
import type { Generation, Generations } from './generations.ts'
import { listsOfSet } from './label_sets.ts'
import { storedCarried, type TransferReader, transferReader } from './paths.ts'
import { currentPolicy } from './policy.ts'
import type { Outcome } from './scoring.ts'
import { type Bench, type Screened, screenAddress, screenTransfers } from './screening.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Pick<Node, 'whereabouts'>
  generations: Pick<Generations, 'current'>
  carried_blocks: number
}

/** What became of a check: answered, failed for good, or to be looked at again. */
export type Answered =
  | { state: 'completed'; provider: string; screened: Screened }
  | { state: 'failed'; error: string }
  | { state: 'wait'; ms: number }

const AT_ONCE = 100
/** How long a check that is being answered is left alone before somebody else takes it up. */
const LEASE_MS = 60_000
/** After this a check fails, whatever it waits for. */
const WAIT_MAX_MS = 600_000
/** A transaction that no node knows may have been sent a moment ago. */
const UNKNOWN_MAX_MS = 6_000
const LOOK_AGAIN_MS = 1_000

const later = (clock: Clock, ms: number) => new Date(clock.now().getTime() + ms)

export function screenStep(needs: Needs): Step {
  let reading: { generation: number; reader: TransferReader } | undefined
  function readerFor({ number }: Generation): TransferReader {
    if (reading?.generation !== number) {
      reading = { generation: number, reader: transferReader(needs.sql, storedCarried(needs.sql, number)) }
    }
    return reading.reader
  }
  return {
    name: 'screen',
    rest_ms: 1_000,
    wakes: ['fold_counts', 'watched'],
    async run() {
      const late = await failLate(needs)
      const generation = needs.generations.current()
      if (!generation) return late
      const checks = await claim(needs, generation.index.block_number)
      if (checks.length === 0) return late
      const { sql, carried_blocks } = needs
      const [policy, lists] = await Promise.all([currentPolicy(sql), listsOfSet(sql, generation.label_set)])
      const bench = { sql, generation, policy, lists, reader: readerFor(generation), carried_blocks }
      const outcomes = await Promise.allSettled(checks.map((check) => answer(needs, bench, check)))
      const answers = outcomes.map(
        (one): Answered => (one.status === 'fulfilled' ? one.value : { state: 'wait', ms: LOOK_AGAIN_MS }),
      )
      await settle(
        needs,
        bench,
        checks.map((check, i) => ({ check, answered: answers[i]! })),
      )
      const broken = outcomes.find((one) => one.status === 'rejected')
      if (broken) throw broken.reason
      return true
    },
  }
}

/** Takes up checks that are due and that the index can answer. */
async function claim({ sql, clock }: Needs, index_number: number): Promise<Check[]> {
  return sql<Check>`
    with due as (
      select id, customer_id, state from aml_check
      where state in ('pending', 'processing') and due_at <= ${clock.now()} and solid_number <= ${index_number}
      order by due_at, id limit ${AT_ONCE} for update skip locked
    ), claimed as (
      update aml_check as c set state = 'processing', due_at = ${later(clock, LEASE_MS)}, tries = tries + 1
      from due where c.id = due.id returning c.*
    ), counted as (
      insert into aml_count_delta (customer_id, state, d)
      select customer_id, s.state, s.sign * count(*)
      from due cross join (values ('pending', -1), ('processing', 1)) as s (state, sign)
      where due.state = 'pending' group by customer_id, s.state, s.sign
    )
    select * from claimed order by created_at, id`
}

async function answer({ clock, node }: Needs, bench: Bench, check: Check): Promise<Answered> {
  if (check.hash === null) return completed(await screenAddress(bench, check))
  const age_ms = clock.now().getTime() - check.created_at.getTime()
  const where = await node.whereabouts(check.hash)
  if (where.found === 'nowhere') {
    return age_ms < UNKNOWN_MAX_MS ? { state: 'wait', ms: LOOK_AGAIN_MS } : { state: 'failed', error: 'tx_not_found' }
  }
  const { generation } = bench
  if (where.found === 'head' || where.block_number > generation.index.block_number) {
    return { state: 'wait', ms: LOOK_AGAIN_MS }
  }
  const transfers = await bench.reader.ofTransaction(where.block_number, check.hash)
  if (transfers.length > 0) return completed(await screenTransfers(bench, check, transfers))
  const covered = generation.first_block !== undefined && where.block_number >= generation.first_block
  return { state: 'failed', error: covered ? 'no_transfer' : 'not_covered' }
}

const completed = (screened: Screened): Answered => ({ state: 'completed', provider: 'embedded', screened })

type Settled = { check: Check; answered: Answered }

async function settle({ sql, clock }: Needs, bench: Bench, all: readonly Settled[]): Promise<void> {
  const now = clock.now()
  const customers = [...new Set(all.map(({ check }) => customerAccount(check.customer_id)))]
  await sql.begin(async (tx) => {
    await lockAccounts(tx, customers)
    await complete(tx, now, {
      bench,
      done: all.flatMap(({ check, answered }) => (answered.state === 'completed' ? [{ check, ...answered }] : [])),
    })
    await fail(
      tx,
      now,
      all.flatMap(({ check, answered }) => (answered.state === 'failed' ? [{ check, error: answered.error }] : [])),
    )
    const waiting = all.flatMap(({ check, answered }) =>
      answered.state === 'wait' ? [{ check, ms: answered.ms }] : [],
    )
    if (waiting.length > 0) {
      await tx`
        update aml_check as c set due_at = w.due_at
        from unnest(${waiting.map(({ check }) => check.id)}::text[], ${waiting.map(({ ms }) => later(clock, ms))}::timestamptz[])
          as w (id, due_at)
        where c.id = w.id and c.state = 'processing'`
    }
  })
}

type Done = { check: Check; provider: string; screened: Screened }

async function complete(tx: Tx, now: Date, { bench, done }: { bench: Bench; done: readonly Done[] }): Promise<void> {
  if (done.length === 0) return
  const { generation, policy } = bench
  const outcomes: Outcome[] = done.map(({ screened }) => screened.outcome)
  const evidence = done.map(({ check, screened }) => ({
    check_id: check.id,
    canonical: screened.evidence,
    sha256: sha256Of(screened.evidence),
  }))
  const ended = await tx<Check>`
    update aml_check as c set state = 'completed', ended_at = ${now}, risk_score = a.score, risk_level = a.level,
      blacklist = a.blacklist, risk_factors = a.factors, provider = a.provider, policy = ${policy.version},
      label_set = ${generation.label_set}, generation = ${generation.number}, index_number = a.index_number,
      evidence_sha256 = a.sha256
    from unnest(${done.map(({ check }) => check.id)}::text[], ${outcomes.map((one) => one.score)}::text[],
                ${outcomes.map((one) => one.level)}::text[], ${outcomes.map((one) => one.blacklist)}::boolean[],
                ${outcomes.map((one) => JSON.stringify(one.factors))}::jsonb[],
                ${done.map((one) => one.provider)}::text[], ${done.map((one) => one.screened.index_number)}::bigint[],
                ${evidence.map((one) => one.sha256)}::text[])
      as a (id, score, level, blacklist, factors, provider, index_number, sha256)
    where c.id = a.id and c.state = 'processing'
    returning c.*`
  const ended_ids = new Set(ended.map(({ id }) => id))
  await storeEvidence(
    tx,
    evidence.filter(({ check_id }) => ended_ids.has(check_id)),
  )
  const charged = ended.filter(({ price_sun }) => price_sun > 0n)
  if (charged.length > 0) {
    await captureAll(
      tx,
      charged.map(({ id, price_sun }) => ({ hold_id: holdOfCheck(id), amount_sun: price_sun })),
      now,
    )
  }
  await count(tx, ended, 'completed')
}

async function fail(tx: Tx, now: Date, failed: readonly { check: Check; error: string }[]): Promise<void> {
  if (failed.length === 0) return
  const before = new Map(failed.map(({ check }) => [check.id, check.state]))
  const ended = await tx<Check>`
    update aml_check as c set state = 'failed', ended_at = ${now}, error = f.error
    from unnest(${failed.map(({ check }) => check.id)}::text[], ${failed.map(({ error }) => error)}::text[]) as f (id, error)
    where c.id = f.id and c.state in ('pending', 'processing')
    returning c.*`
  for (const { id, price_sun, key_id, created_at } of ended) {
    if (price_sun > 0n) await release(tx, holdOfCheck(id), now)
    if (key_id !== null) await addSpending(tx, key_id, { sun: -price_sun, at: created_at })
  }
  await countChanges(
    tx,
    ended.map(({ id, customer_id }) => ({ customer_id, from: before.get(id)!, to: 'failed' })),
  )
}

const count = (tx: Tx, ended: readonly Check[], to: CheckState) =>
  countChanges(
    tx,
    ended.map(({ customer_id }) => ({ customer_id, from: 'processing', to })),
  )

/** Fails what has waited too long: for the index, for a transaction to become solid, or for a fault to pass. */
async function failLate({ sql, clock }: Needs): Promise<boolean> {
  const before = later(clock, -WAIT_MAX_MS)
  const late = await sql<{ id: string }>`
    select id from aml_check where state in ('pending', 'processing') and created_at < ${before} and due_at <= ${clock.now()}
    limit ${AT_ONCE}`
  if (late.length === 0) return false
  return sql.begin(async (tx) => {
    const accounts = await tx<{ customer_id: string }>`
      select distinct customer_id from aml_check where id = any(${late.map(({ id }) => id)})`
    await lockAccounts(
      tx,
      accounts.map(({ customer_id }) => customerAccount(customer_id)),
    )
    const checks = await tx<Check>`
      select * from aml_check where id = any(${late.map(({ id }) => id)}) and state in ('pending', 'processing')
      order by id for update`
    await fail(
      tx,
      clock.now(),
      checks.map((check) => ({ check, error: check.state === 'pending' ? 'index_stale' : 'timed_out' })),
    )
    return checks.length > 0
  })
}
