// Plans: rows with history, as prices are. A version is a row that is never changed; a running
// subscription keeps the version of its plan that it began with.

import type { Change } from '../../ledger/accounts/actions.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type Bounds, type PriceChange, requireWithin } from '../prices/bounds.ts'

export type Plan = {
  id: number
  key: string
  name: string
  activation_fee_sun: bigint
  initial_price_sun: bigint
  price_sun: bigint
  included: number
  transactions_limit: number
  duration_days: number
  energy_per_transaction: number
  /** So long without a use an address is kept supplied. 0: for ever. */
  idle_hours: number
}

/** The plans on sale, in the order in which they were first made. */
export async function listPlans(sql: Sql | Tx): Promise<PlanVersion[]> {
  return sql<PlanVersion>`
    select ${PLAN_COLUMNS} from plan where until is null
    order by (select min(p.id) from plan as p where p.key = plan.key)`
}

export async function findPlan(sql: Sql | Tx, key: string): Promise<Plan | undefined> {
  const [plan] =
    await sql<Plan>`select ${PLAN_COLUMNS} from plan where key = ${key} and until is null`
  return plan
}

export type PlanVersion = Plan & { since: Date; until: Date | null; changed_by: string }

const PLAN_COLUMNS = columnsOf<PlanVersion>()([
  'id',
  'key',
  'name',
  'activation_fee_sun',
  'initial_price_sun',
  'price_sun',
  'included',
  'transactions_limit',
  'duration_days',
  'energy_per_transaction',
  'idle_hours',
  'since',
  'until',
  'changed_by',
])

/** What of a plan can be changed. */
export type PlanTerms = Omit<Plan, 'id' | 'key'>

const TERMS = [
  ...(['name', 'activation_fee_sun', 'initial_price_sun', 'price_sun', 'included'] as const),
  ...(['transactions_limit', 'duration_days', 'energy_per_transaction', 'idle_hours'] as const),
]
/** What a plan that was never sold has when nothing is said. */
const NEW_PLAN = {
  activation_fee_sun: 0n,
  included: 0,
  transactions_limit: 0,
  duration_days: 0,
  energy_per_transaction: 65_000,
  idle_hours: 2,
}

const termsOf = (plan: Partial<PlanTerms>) =>
  Object.fromEntries(TERMS.map((term) => [term, plan[term]])) as PlanTerms

/** A price of a plan may be nothing, as long as the others are not. */
const PLAN_BOUNDS: Bounds = { least: 0n, most: 10_000_000_000n }
const PRICES = ['activation_fee_sun', 'initial_price_sun', 'price_sun'] as const

const priceChanges = (old: PlanTerms | undefined, after: PlanTerms): PriceChange[] =>
  PRICES.filter((term) => old?.[term] !== after[term]).map((term) => ({
    what: term.replace(/_sun$/, '').replaceAll('_', ' '),
    before: old?.[term],
    after: after[term],
  }))

/** The share of the initial price in each transaction that it covers; undefined: it covers none. */
const sunOfEach = ({ included, initial_price_sun, activation_fee_sun }: PlanTerms) =>
  included === 0 ? undefined : (initial_price_sun + activation_fee_sun) / BigInt(included)

/** Ten times as much for the same price is as good as a price that leaves its bounds. */
function giveaway(old: PlanTerms | undefined, after: PlanTerms): string | undefined {
  const [before_sun, after_sun] = [old && sunOfEach(old), sunOfEach(after)]
  const base_sun = before_sun ?? after.price_sun
  if (after_sun !== undefined && after_sun !== before_sun && after_sun * 10n <= base_sun)
    return (
      `for each of the ${after.included} transactions that it covers, the initial price is a ` +
      'tenth or less'
    )
  return old && after.energy_per_transaction >= 10 * old.energy_per_transaction
    ? 'a transaction would have ten times the energy or more'
    : undefined
}

/** Puts a new version of a plan on sale, with the terms given and, for the rest, those of the
 *  version before, which ends. A plan that was never sold needs a name and its prices. Running
 *  subscriptions keep the version they began with. */
export async function setPlan(
  tx: Tx,
  wanted: {
    key: string
    terms: Partial<PlanTerms>
    confirmed: boolean
    at: Date
    changed_by: string
  },
): Promise<Change<PlanVersion[]> & { changes?: PriceChange[] }> {
  const { key, terms, confirmed, at, changed_by } = wanted
  await tx`lock table plan in share row exclusive mode`
  const [old] =
    await tx<PlanVersion>`select ${PLAN_COLUMNS} from plan where key = ${key} and until is null`
  const after = termsOf({ ...NEW_PLAN, ...old, ...terms })
  if (TERMS.some((term) => after[term] === undefined)) {
    throw misuse(`There is no plan ${key}: a new one needs --name, --initial-price and --price.`)
  }
  const before = old ? termsOf(old) : null
  if (before && TERMS.every((term) => before[term] === after[term]))
    return { result: await listPlans(tx), actions: [] }
  const changes = priceChanges(old, after)
  requireWithin(changes, PLAN_BOUNDS, confirmed)
  if (!confirmed && after.initial_price_sun === 0n && after.price_sun === 0n)
    throw misuse(
      `The plan ${key} would cost nothing. Nothing is changed; --yes does it all the same.`,
    )
  const given_away = confirmed ? undefined : giveaway(old, after)
  if (given_away !== undefined)
    throw misuse(`The plan ${key}: ${given_away}. Nothing is changed; --yes does it all the same.`)
  await endPlan(tx, key, at)
  await tx`
    insert into plan (key, name, activation_fee_sun, initial_price_sun, price_sun, included,
      transactions_limit,
                      duration_days, energy_per_transaction, idle_hours, since, changed_by)
    values (${key}, ${after.name}, ${after.activation_fee_sun}, ${after.initial_price_sun},
            ${after.price_sun},
            ${after.included}, ${after.transactions_limit}, ${after.duration_days},
            ${after.energy_per_transaction},
            ${after.idle_hours}, ${at}, ${changed_by})`
  return {
    result: await listPlans(tx),
    actions: [{ subject: `plan:${key}`, before, after }],
    changes,
  }
}

/** Takes a plan off sale. Running subscriptions go on. */
export async function removePlan(
  tx: Tx,
  { key, at }: { key: string; at: Date },
): Promise<Change<PlanVersion[]>> {
  const [ended] = await endPlan(tx, key, at)
  if (!ended)
    throw refusal(
      `There is no plan ${key}; there are: ` +
        `${(await listPlans(tx)).map((plan) => plan.key).join(', ')}.`,
    )
  return {
    result: await listPlans(tx),
    actions: [{ subject: `plan:${key}`, before: { name: ended.name }, after: null }],
  }
}

const endPlan = (tx: Tx, key: string, at: Date) =>
  tx<PlanVersion>`
    update plan set until = greatest(${at}::timestamptz, since) where key = ${key} and until is null
      returning ${PLAN_COLUMNS}`

export async function planHistory(
  sql: Sql,
  { key = null, limit }: { key?: string | null; limit: number },
): Promise<PlanVersion[]> {
  return sql<PlanVersion>`
    select ${PLAN_COLUMNS} from plan where ${key}::text is null or key = ${key}
    order by since desc, id desc
      limit ${limit}`
}
