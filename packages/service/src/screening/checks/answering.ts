// Answers checks: takes those that are due, has them screened, and settles them together. Two steps
// do it, so that checks that our own engine answers never wait for those that an outside provider
// is asked about. Nothing is ever answered from an index that lags behind what was solid when the
// check was asked for, or while the chain is not live: such a check waits, and after ten
// minutes fails and costs nothing.

import { chainState, isStale } from '../../chain/follow/progress.ts'
import type { Whereabouts } from '../../chain/node/node.ts'
import { checksReader, type Reads } from '../../chain/reads/reads.ts'
import { customerAccount, lockAccounts } from '../../ledger/accounts/ledger.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { Outage, TooManyRequests } from '../../lib/fault.ts'
import type { Fragment, WriteFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type Bars, barsAgree, type Party, readBars } from '../engine/bars.ts'
import { type Basis, counterpartyOf } from '../engine/findings.ts'
import type { Issuers } from '../engine/issuers.ts'
import { EMBEDDED, type Policy, policyReader } from '../engine/policy.ts'
import { type ScreeningResult, screenAddress, screenTransaction } from '../engine/screening.ts'
import { BUDGET_MS } from '../providers/guard.ts'
import type { Provider } from '../providers/provider.ts'
import type { Generations } from '../tracing/generations.ts'
import type { SentReading } from '../tracing/sent.ts'
import {
  type AnsweredCheck,
  type Check,
  completeChecks,
  failChecks,
  lockChecks,
  postponeChecks,
  takeUpChecks,
} from './checks.ts'
import { type Answer, askProviders, type Counterparty, storeAnswers } from './outside.ts'
import { openReviews } from './reviews.ts'
import { lockWatches } from './watch_rules.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  reads: Reads
  generations: Pick<Generations, 'current'>
  /** Where what addresses sent has ended; nobody knows when left out. */
  sent?: Pick<SentReading, 'current'>
  carried_blocks: number
  issuers: Pick<Issuers, 'ask'>
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
/** For how long the chain counts as live once it was. */
const LIVE_MS = 500

const isInner = (policy: Policy, route: string) =>
  policy.routes[route]!.use.every((name) => name === EMBEDDED)

/** Some that may be taken up, by whatever route and with whatever they wait for. */
const openChecks = (sql: WriteFragment, now: Date): Fragment => sql`
  select from aml_check where state in ('pending', 'processing') and due_at <= ${now}`

/** Answers what the policy leaves to our own engine alone. */
export function screenStep(needs: Needs): Step {
  const readBasis = basisReader(needs)
  const readPolicy = policyReader(needs)
  return {
    name: 'screen',
    rest_ms: 1_000,
    needs_index: true,
    due: (sql) => openChecks(sql, needs.clock.now()),
    after: ['index', 'rescreen'],
    before: ['publish'],
    async run() {
      const policy = await readPolicy()
      const basis = await readBasis(policy)
      if (!basis) return false
      const routes = Object.keys(policy.routes).filter((route) => isInner(policy, route))
      const checks = await takeUp(needs, { routes, basis, at_once: AT_ONCE })
      return answerAll(needs, checks, (check) => screen(needs, basis, check))
    },
  }
}

/** Answers what the policy has outside providers asked about. */
export function askProvidersStep(needs: Needs): Step {
  const readBasis = basisReader(needs)
  const readPolicy = policyReader(needs)
  return {
    name: 'ask_providers',
    rest_ms: 1_000,
    needs_index: true,
    due: (sql) => openChecks(sql, needs.clock.now()),
    before: ['publish'],
    async run() {
      const policy = await readPolicy()
      const routes = Object.keys(policy.routes).filter((route) => !isInner(policy, route))
      if (routes.length === 0) return false
      const basis = await readBasis(policy)
      // As long as all that it asks may take: who takes it up again pays them again.
      const asked = Math.max(...routes.map((key) => policy.routes[key]!.use.length))
      const lease_ms = LEASE_MS + asked * BUDGET_MS
      const checks = await takeUp(needs, { routes, basis, at_once: OUTSIDE_AT_ONCE, lease_ms })
      const inside = (check: Check) => (basis ? screen(needs, basis, check) : undefined)
      const { providers = [] } = needs
      const bars = barsReader(needs)
      const counterparty = (check: Check) => readCounterparty(needs, basis, check)
      const asking = { providers, policy, inside, counterparty, bars }
      return answerAll(needs, checks, (check) => askProviders(asking, check))
    },
  }
}

const barsReader =
  ({ sql, clock, issuers }: Pick<Needs, 'sql' | 'clock' | 'issuers'>) =>
  async (party: Party): Promise<Bars> => {
    await issuers.ask([party.address])
    return (await readBars(sql, [party], clock.now()))[0]!
  }

/** `basis`: undefined while our own engine has no index; then it is not waited for here. */
function takeUp(
  { sql, clock }: Needs,
  what: {
    routes: readonly string[]
    basis: Basis | undefined
    at_once: number
    lease_ms?: number
  },
): Promise<Check[]> {
  const { routes, basis, at_once, lease_ms = LEASE_MS } = what
  const index_number = basis?.generation.index.block_number ?? Number.MAX_SAFE_INTEGER
  const until = later(clock, lease_ms)
  return takeUpChecks(sql, { routes, index_number, at_once, now: clock.now(), until })
}

async function answerAll(
  needs: Needs,
  checks: readonly Check[],
  answer: (check: Check) => Promise<Answer>,
): Promise<boolean> {
  if (checks.length === 0) return false
  const outcomes = await Promise.allSettled(checks.map(answer))
  const settled = checks.map((check, i): CheckWithAnswer => {
    const outcome = outcomes[i]!
    return {
      check,
      answered:
        outcome.status === 'fulfilled' ? outcome.value : { state: 'wait', ms: LOOK_AGAIN_MS },
    }
  })
  await settleChecks(needs, settled)
  // Anyone who runs the step should hear of it.
  const broken = outcomes.find((one) => one.status === 'rejected')
  if (broken) throw broken.reason
  const ours = settled
    .flatMap(({ answered }) => answered.answers ?? [])
    .find(({ outcome }) => /^(auth|quota)$/.test(outcome))
  if (ours) throw new Outage(`the provider ${ours.provider} refuses us: ${ours.outcome}`)
  return true
}

type CheckWithAnswer = { check: Check; answered: Answer }

/** Settles checks together: the results, their evidence, the charges and the counts are one
 *  transaction. A check that has ended meanwhile, because somebody else was faster or it was given
 *  up, is left as it is; what a provider answered is kept all the same. */
async function settleChecks({ sql, clock }: Needs, all: readonly CheckWithAnswer[]): Promise<void> {
  const now = clock.now()
  const ids = all.map(({ check }) => check.id)
  await sql.begin(async (tx) => {
    const [, locked] = await Promise.all([
      lockAccounts(tx, accountsOf(all.map(({ check }) => check))),
      lockChecks(tx, ids, ['processing']),
      lockWatches(tx, ids),
    ])
    const open = new Set(locked.map(({ id }) => id))
    const done: AnsweredCheck[] = []
    const failed: { check: Check; error: string }[] = []
    const waiting: { id: string; due_at: Date }[] = []
    const outdated = await outdatedAmong(tx, all, now)
    for (const { check, answered } of all.filter(({ check }) => open.has(check.id))) {
      if (outdated.has(check.id)) waiting.push({ id: check.id, due_at: now })
      else if (answered.state === 'completed') done.push({ check, result: answered.result })
      else if (answered.state === 'failed') failed.push({ check, error: answered.error })
      else waiting.push({ id: check.id, due_at: later(clock, answered.ms) })
    }
    const answers = all.flatMap(({ check, answered }) =>
      (answered.answers ?? []).map((answer) => ({ check_id: check.id, ...answer })),
    )
    storeAnswers(tx, answers, now)
    postponeChecks(tx, waiting)
    await completeChecks(tx, done, now)
    await openReviews(tx, done, now)
    await failChecks(tx, failed, now)
  })
}

/** The checks whose address was barred, or was not any more, while they were answered: they are
 *  answered again, so that no answer is stored that the newest rows contradict. */
async function outdatedAmong(
  tx: Tx,
  all: readonly CheckWithAnswer[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const answers = all.flatMap(({ check, answered }) =>
    answered.state === 'completed' && answered.result.bars
      ? { check, bars: answered.result.bars }
      : [],
  )
  if (answers.length === 0) return new Set()
  const parties = answers.map(({ check: { customer_id }, bars: { address } }) => ({
    address,
    customer_id,
  }))
  const newest = await readBars(tx, parties, now)
  const outdated = answers.filter(({ bars }, i) => !barsAgree(bars, newest[i]!))
  return new Set(outdated.map(({ check }) => check.id))
}

const accountsOf = (checks: readonly Pick<Check, 'customer_id'>[]) => [
  ...new Set(checks.map(({ customer_id }) => customerAccount(customer_id))),
]

/** Reads what a screening rests on; undefined while there is no index, or the chain is not live. */
function basisReader(needs: Needs): (policy: Policy) => Promise<Basis | undefined> {
  const { sql, clock, generations, sent: reading, carried_blocks, issuers } = needs
  const bars = barsReader({ sql, clock, issuers })
  let live_until_ms = Number.NEGATIVE_INFINITY
  /** Asked again only after a while: silence counts after many times as long. */
  async function chainIsLive(): Promise<boolean> {
    const now_ms = clock.now().getTime()
    if (now_ms >= live_until_ms - LIVE_MS && now_ms < live_until_ms) return true
    const chain = await chainState(sql)
    const live = chain !== undefined && !isStale(chain, clock)
    live_until_ms = live ? now_ms + LIVE_MS : Number.NEGATIVE_INFINITY
    return live
  }
  return async (policy) => {
    const live = await chainIsLive()
    const generation = generations.current()
    if (!live || generation?.block_id === undefined) return undefined
    const read = policy.sent ? reading?.current() : undefined
    const sent = read && read.height <= generation.index.block_number ? read : undefined
    return { sql, generation, policy, carried_blocks, bars, sent }
  }
}

/** Answers a check from our own index. */
async function screen(needs: Needs, basis: Basis, check: Check): Promise<Answer> {
  const { hash } = check
  if (hash === null) return completed(basis, await screenAddress(basis, check))
  const found = await findTransaction(needs, basis, { ...check, hash })
  if ('wait_ms' in found) return { state: 'wait', ms: found.wait_ms }
  if ('error' in found) return { state: 'failed', error: found.error }
  const screened = await screenTransaction(basis, { ...check, hash }, found.block_number)
  return typeof screened === 'string'
    ? { state: 'failed', error: screened }
    : completed(basis, screened)
}

type TransactionPlace =
  | { block_number: number }
  | { wait_ms: number }
  | { error: 'tx_not_found' | 'not_covered' }

/** Looks for the transaction of a check in the index. */
async function findTransaction(
  { clock, reads }: Needs,
  { generation: { index, first_block } }: Basis,
  check: Check & { hash: string },
): Promise<TransactionPlace> {
  const age_ms = clock.now().getTime() - check.created_at.getTime()
  const where = await whereabouts(reads, check.customer_id, check.hash)
  if (!where) return { wait_ms: LOOK_AGAIN_MS }
  const wait_ms = Math.min(check.tries * LOOK_AGAIN_MS, LOOK_SELDOM_MS)
  if (where.found === 'nowhere')
    return age_ms < UNKNOWN_MAX_MS ? { wait_ms } : { error: 'tx_not_found' }
  if (where.found === 'head' || where.block_number > index.block_number) return { wait_ms }
  if (where.block_number < first_block) return { error: 'not_covered' }
  return { block_number: where.block_number }
}

/** Whom a check is about that an outside provider is asked about. Of a transaction that our index
 *  cannot have it is the recipient for a withdrawal, and for a deposit nobody knows. */
async function readCounterparty(
  needs: Needs,
  basis: Basis | undefined,
  check: Check,
): Promise<Counterparty> {
  const { address, hash, direction, network } = check
  if (hash === null) return { address }
  const unknown = { address: direction === 'withdrawal' ? address : undefined }
  if (network !== 'TRX') return unknown
  if (!basis) return { wait_ms: LOOK_AGAIN_MS }
  const found = await findTransaction(needs, basis, { ...check, hash })
  if ('wait_ms' in found) return found
  if ('error' in found) return unknown
  const party = await counterpartyOf(basis, { ...check, hash }, found.block_number)
  return party ? { address: party } : unknown
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
  { generation, policy }: Basis,
  { outcome, evidence, index_number, bars }: ScreeningResult,
): Answer {
  const { label_set, number } = generation
  const index = { label_set, generation: number, number: index_number }
  return {
    state: 'completed',
    result: { outcome, evidence, provider: EMBEDDED, policy: policy.version, index, bars },
  }
}

/** Fails checks that have waited too long: for the index, for a transaction to become solid, or for
 *  a fault to pass. */
export const failLateStep = (needs: Pick<Needs, 'sql' | 'clock'>): Step => ({
  name: 'fail_late',
  rest_ms: 5_000,
  duty: 'upkeep',
  due: (sql) => sql`
    select from aml_check where state in ('pending', 'processing')
      and created_at < ${later(needs.clock, -WAIT_MAX_MS)} and due_at <= ${needs.clock.now()}`,
  before: ['publish'],
  run: () => failLate(needs),
})

async function failLate({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Promise<boolean> {
  const late = await sql<{ id: string }>`
    select id from aml_check where state in ('pending', 'processing')
      and created_at < ${later(clock, -WAIT_MAX_MS)} and due_at <= ${clock.now()}
    limit ${AT_ONCE}`
  if (late.length === 0) return false
  return sql.begin(async (tx) => {
    const owners = await tx<{ customer_id: string }>`
      select distinct customer_id from aml_check where id = any(${late.map(({ id }) => id)})`
    await lockAccounts(tx, accountsOf(owners))
    const ids = late.map(({ id }) => id)
    const failed = (await lockChecks(tx, ids, ['pending', 'processing'])).map((check) => ({
      check,
      error: check.state === 'pending' ? 'index_stale' : 'timed_out',
    }))
    await failChecks(tx, failed, clock.now())
    return failed.length > 0
  })
}
