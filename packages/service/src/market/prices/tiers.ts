// The tiers of energy and bandwidth. A price is a row that is never changed: a new one begins when
// the old one ends, to the instant, and what was in force at any time can be read back. Every
// process takes a change up within a second; an order keeps the price it was placed at.

import type { Resource } from '../../chain/node/node.ts'
import { noteForAll } from '../../events/log/notes.ts'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { wireTime } from '../../lib/clock.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type Bounds, type PriceChange, requireWithin } from './bounds.ts'
import { type NewTier, printTier } from './forms.ts'
import { charge } from './prices.ts'

export type PriceRow = {
  resource: Resource
  min_amount: bigint
  max_amount: bigint
  /** Of 1000 units. */
  price_sun: bigint
  /** The price that was set, where a rule has raised it; null: that is the price. */
  base_sun: bigint | null
  since: Date
  until: Date | null
  changed_by: string
}

/** The price that was set, whatever a rule makes of it. */
export const baseOf = ({ price_sun, base_sun }: Pick<PriceRow, 'price_sun' | 'base_sun'>) =>
  base_sun ?? price_sun

/** The tiers in force, by resource and amount, with what common amounts cost. */
export async function pricesInForce(sql: Sql | Tx) {
  const rows = await sql<PriceRow>`
    select resource, min_amount, max_amount, price_sun, base_sun, since, until, changed_by
    from price
    where until is null order by resource desc, min_amount`
  return rows.map(({ until: _, ...row }) => ({ ...row, ...examples(row) }))
}

/** Tiers for reading, with what common amounts cost. */
export const asTable = (rows: readonly PriceRow[]) =>
  rows.map(({ until: _, ...row }) => ({ ...row, ...examples(row) }))

/** What the smallest and the largest amount of a tier cost. */
function examples({ min_amount, max_amount, price_sun }: NewTier) {
  return {
    cost_of_min_sun: charge(price_sun, min_amount),
    cost_of_max_sun: charge(price_sun, max_amount),
  }
}

type TierChange = {
  resource: Resource
  tiers: readonly NewTier[]
  replace: boolean
  /** Also prices that leave the bounds. */
  confirmed: boolean
  at: Date
  changed_by: string
}

/** What 1000 units may cost where none of them is sold yet. Burning TRX costs 0.1 for energy and 1
 *  for bandwidth. */
const BOUNDS: Record<Resource, Bounds> = {
  energy: { least: 1_000n, most: 1_000_000n },
  bandwidth: { least: 10_000n, most: 10_000_000n },
}

/** What the amounts of the new tiers cost until now, and shall cost. */
function priceChanges(fresh: readonly NewTier[], before: readonly PriceRow[]): PriceChange[] {
  return fresh.flatMap((tier): PriceChange[] => {
    const olds = before.filter((old) => overlap(old, tier))
    const change = { what: rangeText(tier), after: tier.price_sun }
    if (olds.length === 0) return [{ ...change, before: undefined }]
    return olds.map((old) => ({ ...change, before: baseOf(old) }))
  })
}

/** Puts tiers of a resource in force. A tier with the same range is ended in favour of the new one;
 *  with `replace`, so are all others of the resource. A tier that would overlap one that stays is
 *  refused, and then nothing is changed. */
export async function setPrices(
  tx: Tx,
  wanted: TierChange,
): Promise<Change<PriceRow[]> & { changes: PriceChange[] }> {
  const { resource, tiers, replace, confirmed, at, changed_by } = wanted
  await lockPrices(tx, resource)
  const before = await tiersOf(tx, resource)
  const { ended, fresh } = planTiers(before, { resource, tiers, replace })
  const changes = priceChanges(fresh, before)
  requireWithin(changes, BOUNDS[resource], confirmed)
  for (const { min_amount } of ended) await endTier(tx, { resource, min_amount, at })
  for (const { min_amount, max_amount, price_sun } of fresh) {
    // What a rule makes of it is in force at once.
    await tx`
      insert into price (resource, min_amount, max_amount, price_sun, base_sun, since, changed_by)
      select ${resource}, ${min_amount}, ${max_amount}, ruled,
        nullif(${price_sun}::bigint, ruled), ${at}, ${changed_by}
      from (select ruled_sun(${resource}, ${price_sun}) as ruled) as r`
  }
  const after = await tiersOf(tx, resource)
  if (ended.length + fresh.length === 0) return { result: after, actions: [], changes }
  noteTiers(tx, { resource, tiers: after, at })
  return { result: after, actions: [tiersChanged(resource, before, after)], changes }
}

/** Prices of a resource are changed one after another, by operators and by its rule, which is
 *  locked first; readers are not held up. */
async function lockPrices(tx: Tx, resource: Resource): Promise<void> {
  await tx`select 1 from price_rule where resource = ${resource} for update`
  await tx`lock table price in share row exclusive mode`
}

/** The same tiers at the prices that the rule of the resource makes of theirs. */
export async function ruledTiers(
  sql: Sql | Tx,
  resource: Resource,
  tiers: readonly NewTier[],
): Promise<NewTier[]> {
  const rows = await sql<{ ruled: bigint }>`
    select ruled_sun(${resource}, base) as ruled
    from unnest(${tiers.map(({ price_sun }) => price_sun)}::bigint[]) with ordinality
      as t (base, place)
    order by place`
  return tiers.map((tier, i) => ({ ...tier, price_sun: rows[i]!.ruled }))
}

/** Which tiers end and which begin when these are put in force, and which stay. Throws Misuse when
 *  two would answer for one amount. */
export function planTiers(
  before: readonly PriceRow[],
  { resource, tiers, replace }: Pick<TierChange, 'resource' | 'tiers' | 'replace'>,
): { ended: PriceRow[]; fresh: NewTier[]; staying: PriceRow[] } {
  const kept = tiers.filter((tier) =>
    before.some((old) => sameRange(old, tier) && baseOf(old) === tier.price_sun),
  )
  const fresh = tiers.filter((tier) => !kept.includes(tier))
  const ends = (old: PriceRow) =>
    fresh.some((tier) => sameRange(old, tier)) ||
    (replace && !kept.some((tier) => sameRange(old, tier)))
  const staying = before.filter((old) => !ends(old))
  refuseOverlap(resource, fresh, staying)
  return { ended: before.filter(ends), fresh, staying }
}

/** Ends the tier of a resource with exactly this range. */
export async function removePrice(
  tx: Tx,
  {
    resource,
    min_amount,
    max_amount,
    at,
  }: Omit<NewTier, 'price_sun'> & { resource: Resource; at: Date },
): Promise<Change<PriceRow[]>> {
  await lockPrices(tx, resource)
  const before = await tiersOf(tx, resource)
  if (!before.some((old) => sameRange(old, { min_amount, max_amount }))) {
    throw refusal(
      `No tier of ${resource} goes from ${min_amount} to ${max_amount}; ${inForce(before)}.`,
    )
  }
  await endTier(tx, { resource, min_amount, at })
  const after = await tiersOf(tx, resource)
  noteTiers(tx, { resource, tiers: after, at })
  return { result: after, actions: [tiersChanged(resource, before, after)] }
}

/** Tells every customer what a resource costs from now on. */
export function noteTiers(
  tx: Tx,
  { resource, tiers, at }: { resource: Resource; tiers: readonly PriceRow[]; at: Date },
): void {
  const data = { name: resource, since: wireTime(at), tiers: tiers.map(printTier) }
  noteForAll(tx, { type: 'price.changed', subject: `price:${resource}`, at, data })
}

async function endTier(
  tx: Tx,
  { resource, min_amount, at }: { resource: Resource; min_amount: bigint; at: Date },
) {
  await tx`
    update price set until = greatest(${at}::timestamptz, since)
    where resource = ${resource} and min_amount = ${min_amount} and until is null`
}

export function tiersOf(tx: Sql | Tx, resource: Resource): Promise<PriceRow[]> {
  return tx<PriceRow>`
    select resource, min_amount, max_amount, price_sun, base_sun, since, until, changed_by
    from price
    where resource = ${resource} and until is null order by min_amount`
}

export type Range = { min_amount: bigint; max_amount: bigint }

const sameRange = (a: Range, b: Range) =>
  a.min_amount === b.min_amount && a.max_amount === b.max_amount
const overlap = (a: Range, b: Range) => a.min_amount <= b.max_amount && b.min_amount <= a.max_amount
const rangeText = ({ min_amount, max_amount }: Range) => `${min_amount}-${max_amount}`

function inForce(tiers: readonly PriceRow[]): string {
  return tiers.length === 0 ? 'none is in force' : `in force: ${tiers.map(rangeText).join(', ')}`
}

function refuseOverlap(
  resource: Resource,
  fresh: readonly NewTier[],
  staying: readonly PriceRow[],
): void {
  for (const [i, tier] of fresh.entries()) {
    const twin = fresh.slice(0, i).find((other) => overlap(tier, other))
    if (twin)
      throw misuse(
        `${rangeText(twin)} and ${rangeText(tier)} overlap: one tier answers for an amount.`,
      )
    const old = staying.find((other) => overlap(tier, other))
    if (!old) continue
    throw misuse(
      `${rangeText(tier)} overlaps the tier ${rangeText(old)} of ${resource}, ` +
        `which is in force: remove that one first, or give all tiers of ${resource} at once ` +
        'with --replace.',
    )
  }
}

export function tiersChanged(
  resource: Resource,
  before: readonly PriceRow[],
  after: readonly PriceRow[],
): Action {
  const short = (rows: readonly PriceRow[]) =>
    Object.fromEntries(rows.map((row) => [rangeText(row), trxText(row.price_sun)]))
  return { subject: `price:${resource}`, before: short(before), after: short(after) }
}

/** All rows, newest first. */
export async function priceHistory(
  sql: Sql,
  wanted: { resource?: Resource | undefined; limit: number },
) {
  const { resource = null, limit } = wanted
  return sql<PriceRow>`
    select resource, min_amount, max_amount, price_sun, base_sun, since, until, changed_by
    from price
    where ${resource}::text is null or resource = ${resource}
    order by since desc, resource desc, min_amount limit ${limit}`
}
