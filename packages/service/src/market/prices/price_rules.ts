// Rules of prices: optional, and off until an operator sets one. A floor holds prices above the
// cost of what is sold; steps raise them as the pool fills. A rule only raises: the prices that an
// operator has set stay beside those in force, and come back when the rule ends.
//
// The floor follows the cost, and is kept while that moves by less than a fiftieth. One that is ten
// times a price or more is not put in force, as no price that is typed would be: somebody should
// look. One that is in force already when a price is lowered below its tenth makes that ten times
// as high at most; the database sees to it. A raise begins at once, and is lowered ten minutes
// later at the earliest, when the pool is a little emptier then.
// A trigger of the database puts the tiers in force, for operators and for the step alike.

import type { Resource } from '../../chain/node/node.ts'
import { perform } from '../../events/log/changes.ts'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { unitCostOf } from '../pool/costs.ts'
import { poolRows } from '../pool/figures.ts'
import { baseOf, noteTiers, type PriceRow, tiersChanged, tiersOf } from './tiers.ts'

/** From `full_percent` of the pool on, prices are so much of a hundred higher. */
export type FullStep = { full_percent: number; raise_percent: number }

export type PriceRule = {
  resource: Resource
  margin_percent: number | null
  steps: FullStep[]
  floor_sun: bigint | null
  refused_sun: bigint | null
  floor_at: Date | null
  raise_percent: number
  full_percent: number
  raised_at: Date
  looked_at: Date
  set_at: Date
  set_by: string
}

const RULE_COLUMNS = columnsOf<PriceRule>()([
  'resource',
  'margin_percent',
  'steps',
  'floor_sun',
  'refused_sun',
  'floor_at',
  'raise_percent',
  'full_percent',
  'raised_at',
  'looked_at',
  'set_at',
  'set_by',
])

/** The author of changes that the step makes. */
const BY = 'price rules'
const LOOK_MS = 30_000
const FLOOR_MS = 600_000
const LOWER_MS = 600_000
/** The hours of which the cost makes the floor. */
const COST_HOURS = 24
const EMPTIER_PERCENT = 3
const KEPT_SHARE = 50n
const FACTOR_MAX = 10n
const FLOOR_UNIT_SUN = 100n

export const readRules = (sql: Sql | Tx): Promise<PriceRule[]> =>
  sql<PriceRule>`select ${RULE_COLUMNS} from price_rule order by resource desc`

/** Locked before the prices are. */
async function lockRule(tx: Tx, resource: Resource): Promise<PriceRule | undefined> {
  const [rule] = await tx<PriceRule>`
    select ${RULE_COLUMNS} from price_rule where resource = ${resource} for update`
  return rule
}

/** The raise of the highest step that the pool has reached. */
export function raiseAt(steps: readonly FullStep[], full_percent: number): number {
  const reached = steps.filter((one) => one.full_percent <= full_percent)
  return Math.max(0, ...reached.map(({ raise_percent }) => raise_percent))
}

/** The floor of 1000 units by their cost; null: it has none. */
export function floorOf(cost_sun: bigint, margin_percent: number): bigint | null {
  const wanted = cost_sun * BigInt(100 + margin_percent)
  const unit = 100n * FLOOR_UNIT_SUN
  const floor_sun = ((wanted + unit - 1n) / unit) * FLOOR_UNIT_SUN
  return floor_sun > 0n ? floor_sun : null
}

/** The floor that goes on, and one that is refused for being too far from the prices. */
function nextFloor(
  wanted: bigint | null,
  now: bigint | null,
  bases: readonly bigint[],
): Pick<PriceRule, 'floor_sun' | 'refused_sun'> {
  const is_wild = wanted !== null && bases.some((base) => wanted >= FACTOR_MAX * base)
  // What is in force goes on, and follows a cost that falls.
  if (is_wild) {
    const floor_sun = now !== null && wanted < now ? wanted : now
    return { floor_sun, refused_sun: wanted }
  }
  if (wanted === null || now === null) return { floor_sun: wanted, refused_sun: null }
  const moved = wanted > now ? wanted - now : now - wanted
  return { floor_sun: KEPT_SHARE * moved < now ? now : wanted, refused_sun: null }
}

/** How much of the pool is out or reserved, of a hundred. */
export async function fullPercentOf(sql: Sql | Tx, resource: Resource): Promise<number> {
  const pool = (await poolRows(sql)).find((one) => one.resource === resource)
  if (!pool) return 0
  const whole = pool.out + pool.room
  if (whole <= 0n) return 0
  const percent = Number((100n * (pool.out + pool.reserved)) / whole)
  return Math.min(100, Math.max(0, percent))
}

/** `cost_sun` undefined: it was not asked for. */
type LookFigures = { full_percent: number; cost_sun: bigint | undefined }
type Look = LookFigures & { at: Date }

/** The rule as it is after a look; `cost_sun` undefined: the floor stays. */
function nextOf(rule: PriceRule, bases: readonly bigint[], look: Look): PriceRule {
  const { at, full_percent, cost_sun } = look
  const { margin_percent, steps, raise_percent } = rule
  const up = raiseAt(steps, full_percent)
  const down = raiseAt(steps, Math.min(100, full_percent + EMPTIER_PERCENT))
  const is_known = raise_percent === 0 || steps.some((one) => one.raise_percent === raise_percent)
  const may_lower = !is_known || at.getTime() - rule.raised_at.getTime() >= LOWER_MS
  const lowered = may_lower && down < raise_percent ? (is_known ? down : up) : raise_percent
  const raise = up > raise_percent ? up : lowered
  const changed = raise !== raise_percent
  const floor =
    margin_percent === null
      ? { floor_sun: null, refused_sun: null, floor_at: null }
      : cost_sun !== undefined && {
          ...nextFloor(floorOf(cost_sun, margin_percent), rule.floor_sun, bases),
          floor_at: at,
        }
  const raised = { raise_percent: raise, raised_at: changed ? at : rule.raised_at }
  return { ...rule, ...floor, ...raised, full_percent, looked_at: at }
}

/** Looks at the rule again; the database puts the tiers in force that it wants. What changed of the
 *  prices is to be recorded. */
async function applyRule(tx: Tx, rule: PriceRule, look: Look): Promise<Action[]> {
  const { resource } = rule
  const before = await tiersOf(tx, resource)
  const next = nextOf(rule, before.map(baseOf), look)
  await tx`
    update price_rule set floor_sun = ${next.floor_sun}, refused_sun = ${next.refused_sun},
      floor_at = ${next.floor_at}, raise_percent = ${next.raise_percent},
      full_percent = ${next.full_percent}, raised_at = ${next.raised_at},
      looked_at = ${next.looked_at}
    where resource = ${resource}`
  return pricesMoved(tx, resource, before, look.at)
}

/** Tells customers of prices that are others than before, and returns the record of it. */
async function pricesMoved(
  tx: Tx,
  resource: Resource,
  before: readonly PriceRow[],
  at: Date,
): Promise<Action[]> {
  const after = await tiersOf(tx, resource)
  const same = after.every((one, i) => one.price_sun === before[i]?.price_sun)
  if (same && after.length === before.length) return []
  noteTiers(tx, { resource, tiers: after, at })
  return [tiersChanged(resource, before, after)]
}

/** The rule ends: the prices that were set are in force. */
async function endRule(tx: Tx, resource: Resource, at: Date): Promise<Action[]> {
  const before = await tiersOf(tx, resource)
  await tx`
    update price_rule set margin_percent = null, floor_sun = null, raise_percent = 0,
      looked_at = ${at}
    where resource = ${resource}`
  await tx`delete from price_rule where resource = ${resource}`
  return pricesMoved(tx, resource, before, at)
}

/** Raises prices by their rules, and lowers them again. */
export function repriceStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  return {
    name: 'reprice',
    rest_ms: LOOK_MS,
    due: (sql) => sql`
      select from price_rule where looked_at <= ${later(clock, -LOOK_MS)}`,
    duty: 'upkeep',
    after: ['survey'],
    before: ['publish'],
    async run() {
      const due = await sql<PriceRule>`
        select ${RULE_COLUMNS} from price_rule where looked_at <= ${later(clock, -LOOK_MS)}
        order by resource desc`
      const operator = { made_by: BY, reason: 'by the rule for its prices' }
      return eachRow(
        due,
        async (seen) => {
          const found = await lookAt(sql, seen, clock.now())
          return perform({ sql, clock }, { operator, action: BY }, async (tx, at) => {
            const rule = await lockRule(tx, seen.resource)
            if (!rule || rule.looked_at > later(clock, -LOOK_MS)) return none
            const actions = await applyRule(tx, rule, { ...found, at })
            return { result: actions.length > 0, actions }
          })
        },
        async () => {},
      )
    },
  }
}

const none: Change<boolean> = { result: false, actions: [] }

/** Looks at the pool and, where the floor was worked out long ago or never, at the costs. That
 *  reads all of a day, so nothing is locked meanwhile, and new prices begin after it: an order at
 *  those that ended seconds ago is signed, and one at those that ended before is not. */
async function lookAt(
  sql: Sql | Tx,
  {
    resource,
    margin_percent,
    floor_at,
  }: Pick<PriceRule, 'resource' | 'margin_percent' | 'floor_at'>,
  now: Date,
): Promise<LookFigures> {
  const full_percent = await fullPercentOf(sql, resource)
  const floor_due = floor_at === null || now.getTime() - floor_at.getTime() >= FLOOR_MS
  const cost =
    margin_percent !== null && floor_due
      ? await unitCostOf(sql, resource, { now, hours: COST_HOURS })
      : undefined
  return { full_percent, cost_sun: cost?.cost_sun }
}

export type NewRule = {
  resource: Resource
  margin_percent: number | null
  steps: readonly FullStep[]
}

const shown = ({ margin_percent, steps }: Pick<PriceRule, 'margin_percent' | 'steps'>) => ({
  margin_percent,
  steps,
})

/** Sets the whole rule of a resource, or takes it away where nothing is wanted. Prices follow at
 *  once. */
export async function setRule(
  tx: Tx,
  wanted: NewRule,
  { clock, by }: { clock: Clock; by: string },
): Promise<Change<PriceRule | undefined>> {
  const { resource, margin_percent, steps } = wanted
  const found = await lookAt(tx, { resource, margin_percent, floor_at: null }, clock.now())
  const before = await lockRule(tx, resource)
  const at = clock.now()
  const is_none = margin_percent === null && steps.length === 0
  const after = is_none ? null : shown({ margin_percent, steps: [...steps] })
  const subject = `price_rule:${resource}`
  const same = JSON.stringify(before ? shown(before) : null) === JSON.stringify(after)
  if (same) return { result: before, actions: [] }
  const actions: Action[] = [{ subject, before: before ? shown(before) : null, after }]
  if (is_none)
    return { result: undefined, actions: [...actions, ...(await endRule(tx, resource, at))] }
  const text = JSON.stringify(steps)
  await tx`
    insert into price_rule (resource, margin_percent, steps, raised_at, looked_at, set_at, set_by)
    values (${resource}, ${margin_percent}, ${text}::jsonb, ${at}, ${at}, ${at}, ${by})
    on conflict (resource) do update set margin_percent = excluded.margin_percent,
      steps = excluded.steps, floor_at = null, set_at = excluded.set_at,
      set_by = excluded.set_by`
  const rule = (await lockRule(tx, resource))!
  actions.push(...(await applyRule(tx, rule, { ...found, at })))
  return { result: await lockRule(tx, resource), actions }
}
