// Answers checks: takes those that are due, has them screened, and settles them together. Two steps
// do it, so that checks that our own engine answers never wait for those that an outside provider
// is asked about. Nothing is ever answered from an index that lags behind what was solid when the
// check was asked for, or while the chain is not heard of: such a check waits, and after ten
// minutes fails and costs nothing.

import { chainState, isStale } from '../chain/progress.ts'
import type { Sql } from '../database/sql.ts'
import { type LoadedList, listsOfSet } from '../labels/label_sets.ts'
import { customerAccount, lockAccounts } from '../ledger/ledger.ts'
import { type Clock, later } from '../lib/clock.ts'
import { Outage, TooManyRequests } from '../lib/fault.ts'
import type { Whereabouts } from '../node/node.ts'
import { checksReader, type Reads } from '../node/reads.ts'
import type { Provider } from '../providers/provider.ts'
import { EMBEDDED, type Policy, policyReader } from '../screening/policy.ts'
import {
  type Bench,
  type Screened,
  screenAddress,
  screenTransfers,
} from '../screening/screening.ts'
import type { Step } from '../steps/step.ts'
import type { Generation, Generations } from '../tracing/generations.ts'
import { type TransferReader, transferReader } from '../tracing/paths.ts'
import type { Check } from './checks.ts'
import { askAll } from './outside.ts'
import { type Answered, fail, type Settled, settle } from './settling.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  reads: Reads
  generations: Pick<Generations, 'current'>
  carried_blocks: number
  /** Outside services that a policy can name; none when left out. */
  providers?: readonly Provider[]
}

const AT_ONCE = 100
/** Each of these may take up to the budget of its providers. */
const OUTSIDE_AT_ONCE = 16
/** How long a check that is being answered is left alone before somebody else takes it up. */
const LEASE_MS = 90_000
/** After this a check fails, whatever it waits for. */
const WAIT_MAX_MS = 600_000
/** A transaction that no node knows may have been sent a moment ago. */
const UNKNOWN_MAX_MS = 6_000
const LOOK_AGAIN_MS = 1_000
/** A transaction is looked for more and more seldom, and then once a block. */
const LOOK_SELDOM_MS = 3_000
const LOOK_FOR_LATE_MS = 5_000
const HEARD_MS = 500

const isInner = (policy: Policy, key: string) =>
  policy.routes[key]!.use.every((name) => name === EMBEDDED)

/** Answers what the policy leaves to our own engine alone. */
export function screenStep(needs: Needs): Step {
  const benchOf = benchMaker(needs)
  const readPolicy = policyReader(needs)
  let looked_ms = Number.NEGATIVE_INFINITY
  return {
    name: 'screen',
    rest_ms: 1_000,
    after: ['index', 'rescreen'],
    async run() {
      const now_ms = needs.clock.now().getTime()
      const look = Math.abs(now_ms - looked_ms) >= LOOK_FOR_LATE_MS
      if (look) looked_ms = now_ms
      const late = look && (await failLate(needs))
      const policy = await readPolicy()
      const bench = await benchOf(policy)
      if (!bench) return late
      const keys = Object.keys(policy.routes).filter((key) => isInner(policy, key))
      const checks = await claim(needs, {
        keys,
        index_number: bench.generation.index.block_number,
        at_once: AT_ONCE,
      })
      return (await answerAll(needs, checks, (check) => answerInside(needs, bench, check))) || late
    },
  }
}

/** Answers what the policy has outside providers asked about. */
export function askProvidersStep(needs: Needs): Step {
  const benchOf = benchMaker(needs)
  const readPolicy = policyReader(needs)
  return {
    name: 'ask_providers',
    rest_ms: 1_000,
    async run() {
      const policy = await readPolicy()
      const keys = Object.keys(policy.routes).filter((key) => !isInner(policy, key))
      if (keys.length === 0) return false
      const bench = await benchOf(policy)
      const index_number = bench?.generation.index.block_number ?? Number.MAX_SAFE_INTEGER
      const checks = await claim(needs, { keys, index_number, at_once: OUTSIDE_AT_ONCE })
      const inside = (check: Check) => (bench ? answerInside(needs, bench, check) : undefined)
      return answerAll(needs, checks, (check) =>
        askAll(
          { providers: needs.providers ?? [], policy, inside },
          policy.routes[`${check.network}/${check.type}`]!,
          check,
        ),
      )
    },
  }
}

async function answerAll(
  needs: Needs,
  checks: readonly Check[],
  answer: (check: Check) => Promise<Answered>,
): Promise<boolean> {
  if (checks.length === 0) return false
  const outcomes = await Promise.allSettled(checks.map(answer))
  const settled = checks.map((check, i): Settled => {
    const outcome = outcomes[i]!
    return {
      check,
      answered:
        outcome.status === 'fulfilled' ? outcome.value : { state: 'wait', ms: LOOK_AGAIN_MS },
    }
  })
  await settle(needs, settled)
  // Whoever runs the step should hear of it.
  const broken = outcomes.find((one) => one.status === 'rejected')
  if (broken) throw broken.reason
  const ours = settled
    .flatMap(({ answered }) => answered.answers ?? [])
    .find(({ outcome }) => /^(auth|quota)$/.test(outcome))
  if (ours) throw new Outage(`the provider ${ours.provider} refuses us: ${ours.outcome}`)
  return true
}

/** Makes what a screening works on; undefined while there is no index, or nothing is heard of the
 *  chain. */
function benchMaker({
  sql,
  clock,
  generations,
  carried_blocks,
}: Needs): (policy: Policy) => Promise<Bench | undefined> {
  type Reading = { generation: number; reader: TransferReader; lists: LoadedList[] }
  let reading: Reading | undefined
  let heard_until_ms = Number.NEGATIVE_INFINITY
  /** Asked again only after a while: silence counts after many times as long. */
  async function hearsOfChain(): Promise<boolean> {
    const now_ms = clock.now().getTime()
    if (now_ms >= heard_until_ms - HEARD_MS && now_ms < heard_until_ms) return true
    const chain = await chainState(sql)
    const heard = chain !== undefined && !isStale(chain, clock)
    heard_until_ms = heard ? now_ms + HEARD_MS : Number.NEGATIVE_INFINITY
    return heard
  }
  /** What of a generation never changes, and what of the log was read for it. */
  async function readingOf(generation: Generation): Promise<Reading> {
    const { number, label_set } = generation
    if (reading?.generation === number) return reading
    const lists = await listsOfSet(sql, label_set)
    reading = { generation: number, reader: transferReader(sql, generation), lists }
    return reading
  }
  return async (policy) => {
    const heard = await hearsOfChain()
    const generation = generations.current()
    if (!heard || generation?.block_id === undefined) return undefined
    const { lists, reader } = await readingOf(generation)
    return { sql, generation, policy, lists, reader, carried_blocks }
  }
}

/** Takes up checks of these routes that are due and that the index can answer. Nothing waits for
 *  this to be on disk: what is lost in a crash is taken up again. */
async function claim(
  { sql, clock }: Needs,
  what: { keys: readonly string[]; index_number: number; at_once: number },
): Promise<Check[]> {
  return sql<Check>`
    with unhurried as materialized (
      select set_config('synchronous_commit', 'off', true)
    ), due as (
      select id, customer_id, created_at, state from aml_check
      where state in ('pending', 'processing') and due_at <= ${clock.now()}
        and solid_number <= ${what.index_number}
        and network || '/' || type = any(${what.keys})
      order by due_at, id limit ${what.at_once} for update skip locked
    ), claimed as (
      update aml_check as c set state = 'processing', due_at = ${later(clock, LEASE_MS)},
        tries = tries + 1
      from due where c.id = due.id returning c.*
    ), counted as (
      insert into aml_count_delta (customer_id, day, state, d)
      select customer_id, (created_at at time zone 'UTC')::date, s.state, s.sign * count(*)
      from due cross join (values ('pending', -1), ('processing', 1)) as s (state, sign)
      where due.state = 'pending' group by 1, 2, s.state, s.sign
    )
    select claimed.* from claimed, unhurried order by created_at, id`
}

/** Answers a check from our own index. */
async function answerInside(
  { clock, reads }: Needs,
  bench: Bench,
  check: Check,
): Promise<Answered> {
  if (check.hash === null) return completed(bench, await screenAddress(bench, check))
  const age_ms = clock.now().getTime() - check.created_at.getTime()
  const where = await whereabouts(reads, check.customer_id, check.hash)
  if (!where) return { state: 'wait', ms: LOOK_AGAIN_MS }
  const wait = { state: 'wait', ms: Math.min(check.tries * LOOK_AGAIN_MS, LOOK_SELDOM_MS) } as const
  if (where.found === 'nowhere') {
    return age_ms < UNKNOWN_MAX_MS ? wait : { state: 'failed', error: 'tx_not_found' }
  }
  const { generation } = bench
  if (where.found === 'head' || where.block_number > generation.index.block_number) {
    return wait
  }
  if (where.block_number < generation.first_block) return { state: 'failed', error: 'not_covered' }
  const transfers = await bench.reader.ofTransaction(where.block_number, check.hash)
  if (transfers.length > 0) return completed(bench, await screenTransfers(bench, check, transfers))
  return { state: 'failed', error: 'no_transfer' }
}

/** Where the transaction of a check is; undefined when the customer's checks ask the chain too
 *  often. */
async function whereabouts(
  reads: Reads,
  customer_id: string,
  tx_id: string,
): Promise<Whereabouts | undefined> {
  try {
    return await reads(checksReader(customer_id)).whereabouts(tx_id)
  } catch (thrown) {
    if (thrown instanceof TooManyRequests) return undefined
    throw thrown
  }
}

function completed(
  { generation, policy }: Bench,
  { outcome, evidence, index_number }: Screened,
): Answered {
  const { label_set, number } = generation
  const index = { label_set, generation: number, number: index_number }
  return {
    state: 'completed',
    result: { outcome, evidence, provider: EMBEDDED, policy: policy.version, index },
  }
}

/** Fails what has waited too long: for the index, for a transaction to become solid, or for a fault
 *  to pass. */
async function failLate({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Promise<boolean> {
  const before = later(clock, -WAIT_MAX_MS)
  const late = await sql<{ id: string }>`
    select id from aml_check where state in ('pending', 'processing') and created_at < ${before}
      and due_at <= ${clock.now()}
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
      select * from aml_check where id = any(${late.map(({ id }) => id)})
        and state in ('pending', 'processing')
      order by id for update`
    await fail(
      tx,
      clock.now(),
      checks.map((check) => ({
        check,
        error: check.state === 'pending' ? 'index_stale' : 'timed_out',
      })),
    )
    return checks.length > 0
  })
}
