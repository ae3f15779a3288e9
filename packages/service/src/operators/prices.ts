// What is sold and for how much: tiers, flat prices, switches. A price is a row that is never
// changed: a new one begins when the old one ends, to the instant, and what was in force at any
// time can be read back. Every process takes a change up within a second; an order keeps the price
// it was placed at.

import type { Sql, Tx } from '../database/sql.ts'
import { type Action, type Change, listActions } from '../ledger/actions.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { trxText } from '../lib/json.ts'
import { charge } from '../market/prices.ts'
import { setSwitches, switches } from '../market/switches.ts'
import type { Resource } from '../node/node.ts'
import { type Bounds, changeText, type PriceChange, requireWithin } from './bounds.ts'
import {
  type Answer,
  change,
  command,
  flag,
  LIMIT,
  many,
  needed,
  oneOf,
  paging,
  readTrx,
  text,
  trx,
} from './command.ts'

const RESOURCES: readonly Resource[] = ['energy', 'bandwidth']

export type PriceRow = {
  resource: Resource
  min_amount: bigint
  max_amount: bigint
  /** Of 1000 units. */
  price_sun: bigint
  since: Date
  until: Date | null
  changed_by: string
}

type TierWanted = { min_amount: bigint; max_amount: bigint; price_sun: bigint }

/** The tiers in force, by resource and amount, with what common amounts cost. */
export async function pricesInForce(sql: Sql | Tx) {
  const rows = await sql<PriceRow>`
    select resource, min_amount, max_amount, price_sun, since, until, changed_by from price
    where until is null order by resource desc, min_amount`
  return rows.map(({ until: _, ...row }) => ({ ...row, ...examples(row) }))
}

/** What the smallest and the largest amount of a tier cost. */
function examples({ min_amount, max_amount, price_sun }: TierWanted) {
  return {
    cost_of_min_sun: charge(price_sun, min_amount),
    cost_of_max_sun: charge(price_sun, max_amount),
  }
}

type PricesWanted = {
  resource: Resource
  tiers: readonly TierWanted[]
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
function priceChanges(fresh: readonly TierWanted[], before: readonly PriceRow[]): PriceChange[] {
  return fresh.flatMap((tier): PriceChange[] => {
    const olds = before.filter((old) => overlap(old, tier))
    const change = { what: rangeText(tier), after: tier.price_sun }
    if (olds.length === 0) return [{ ...change, before: undefined }]
    return olds.map(({ price_sun }) => ({ ...change, before: price_sun }))
  })
}

/** Puts tiers of a resource in force. A tier with the same range is ended in favour of the new one;
 *  with `replace`, so are all others of the resource. A tier that would overlap one that stays is
 *  refused, and then nothing is changed. */
export async function setPrices(
  tx: Tx,
  wanted: PricesWanted,
): Promise<Change<PriceRow[]> & { changes: PriceChange[] }> {
  const { resource, tiers, replace, confirmed, at, changed_by } = wanted
  // Operators change prices one after another; readers are not held up.
  await tx`lock table price in share row exclusive mode`
  const before = await tiersOf(tx, resource)
  const kept = tiers.filter((tier) =>
    before.some((old) => sameRange(old, tier) && old.price_sun === tier.price_sun),
  )
  const fresh = tiers.filter((tier) => !kept.includes(tier))
  const ends = (old: PriceRow) =>
    fresh.some((tier) => sameRange(old, tier)) ||
    (replace && !kept.some((tier) => sameRange(old, tier)))
  const ended = before.filter(ends)
  refuseOverlap(
    resource,
    fresh,
    before.filter((old) => !ends(old)),
  )
  const changes = priceChanges(fresh, before)
  requireWithin(changes, BOUNDS[resource], confirmed)
  for (const { min_amount } of ended) await endTier(tx, { resource, min_amount, at })
  for (const { min_amount, max_amount, price_sun } of fresh) {
    await tx`
      insert into price (resource, min_amount, max_amount, price_sun, since, changed_by)
      values (${resource}, ${min_amount}, ${max_amount}, ${price_sun}, ${at}, ${changed_by})`
  }
  const after = await tiersOf(tx, resource)
  const changed = ended.length + fresh.length > 0
  return { result: after, actions: changed ? [tiersChanged(resource, before, after)] : [], changes }
}

/** Ends the tier of a resource with exactly this range. */
export async function removePrice(
  tx: Tx,
  {
    resource,
    min_amount,
    max_amount,
    at,
  }: Omit<TierWanted, 'price_sun'> & { resource: Resource; at: Date },
): Promise<Change<PriceRow[]>> {
  await tx`lock table price in share row exclusive mode`
  const before = await tiersOf(tx, resource)
  if (!before.some((old) => sameRange(old, { min_amount, max_amount }))) {
    throw refusal(
      `No tier of ${resource} goes from ${min_amount} to ${max_amount}; ${inForce(before)}.`,
    )
  }
  await endTier(tx, { resource, min_amount, at })
  const after = await tiersOf(tx, resource)
  return { result: after, actions: [tiersChanged(resource, before, after)] }
}

async function endTier(
  tx: Tx,
  { resource, min_amount, at }: { resource: Resource; min_amount: bigint; at: Date },
) {
  await tx`
    update price set until = greatest(${at}::timestamptz, since)
    where resource = ${resource} and min_amount = ${min_amount} and until is null`
}

function tiersOf(tx: Tx, resource: Resource): Promise<PriceRow[]> {
  return tx<PriceRow>`
    select resource, min_amount, max_amount, price_sun, since, until, changed_by from price
    where resource = ${resource} and until is null order by min_amount`
}

type Range = { min_amount: bigint; max_amount: bigint }

const sameRange = (a: Range, b: Range) =>
  a.min_amount === b.min_amount && a.max_amount === b.max_amount
const overlap = (a: Range, b: Range) => a.min_amount <= b.max_amount && b.min_amount <= a.max_amount
const rangeText = ({ min_amount, max_amount }: Range) => `${min_amount}-${max_amount}`

function inForce(tiers: readonly PriceRow[]): string {
  return tiers.length === 0 ? 'none is in force' : `in force: ${tiers.map(rangeText).join(', ')}`
}

function refuseOverlap(
  resource: Resource,
  fresh: readonly TierWanted[],
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
      `${rangeText(tier)} overlaps the tier ${rangeText(old)} of ${resource}, which is in force: remove that one first, or give all tiers of ${resource} at once with --replace.`,
    )
  }
}

function tiersChanged(
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
    select resource, min_amount, max_amount, price_sun, since, until, changed_by from price
    where ${resource}::text is null or resource = ${resource}
    order by since desc, resource desc, min_amount limit ${limit}`
}

export type FeeRow = {
  name: string
  price_sun: bigint
  since: Date
  until: Date | null
  changed_by: string
}

/** The flat price of an activation, and those of checks: `aml_` and their type. */
export async function feesInForce(sql: Sql | Tx): Promise<Omit<FeeRow, 'until'>[]> {
  return sql<Omit<FeeRow, 'until'>>`
    select name, price_sun, since, changed_by from fee where until is null
    union all select 'aml_' || type, price_sun, since, changed_by from aml_price where until is null order by name`
}

/** Every flat price has one to compare with. */
const FEE_BOUNDS: Bounds = { least: 1n, most: 1_000_000_000n }

/** Puts a flat price in force and ends the one before. */
export async function setFee(
  tx: Tx,
  wanted: { name: string; price_sun: bigint; confirmed: boolean; at: Date; changed_by: string },
): Promise<Change<Omit<FeeRow, 'until'>[]> & { changes: PriceChange[] }> {
  const { name, price_sun, confirmed, at, changed_by } = wanted
  await tx`lock table fee, aml_price in share row exclusive mode`
  const fees = await feesInForce(tx)
  const old = fees.find((fee) => fee.name === name)
  if (!old)
    throw refusal(
      `There is no flat price ${name}; there are: ${fees.map((fee) => fee.name).join(', ')}.`,
    )
  if (old.price_sun === price_sun) return { result: fees, actions: [], changes: [] }
  const changes = [{ what: name, before: old.price_sun, after: price_sun }]
  requireWithin(changes, FEE_BOUNDS, confirmed)
  const type = checkType(name)
  if (type === undefined) {
    await tx`update fee set until = greatest(${at}::timestamptz, since) where name = ${name} and until is null`
    await tx`insert into fee (name, price_sun, since, changed_by) values (${name}, ${price_sun}, ${at}, ${changed_by})`
  } else {
    await tx`update aml_price set until = greatest(${at}::timestamptz, since) where type = ${type} and until is null`
    await tx`
      insert into aml_price (type, price_sun, since, changed_by) values (${type}, ${price_sun}, ${at}, ${changed_by})`
  }
  const [before, after] = [old.price_sun, price_sun].map((sun) => ({ price_trx: trxText(sun) }))
  const actions = [{ subject: `fee:${name}`, before: before!, after: after! }]
  return { result: await feesInForce(tx), actions, changes }
}

/** The type of check that a name stands for. */
const checkType = (name: string): string | undefined => /^aml_(.+)$/.exec(name)?.[1]

export async function feeHistory(
  sql: Sql,
  wanted: { name?: string | undefined; limit: number },
): Promise<FeeRow[]> {
  const { name = null, limit } = wanted
  return sql<FeeRow>`
    select * from (
      select name, price_sun, since, until, changed_by from fee
      union all select 'aml_' || type, price_sun, since, until, changed_by from aml_price) as fees
    where ${name}::text is null or name = ${name} order by since desc, name limit ${limit}`
}

/** `32000-130999=0.045` */
function readTier(given: string): TierWanted {
  const [, from, to, price] = /^(\d{1,15})-(\d{1,15})=(.+)$/.exec(given) ?? []
  if (from === undefined || to === undefined || price === undefined) {
    throw misuse(`${given} is not a tier: it has the form FROM-TO=PRICE, like 32000-130999=0.045.`)
  }
  return {
    min_amount: BigInt(from),
    max_amount: BigInt(to),
    price_sun: readTrx(price, 'The price'),
  }
}

function readRange(given: string): Range {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(given) ?? []
  if (from === undefined || to === undefined)
    throw misuse(`${given} is not a range: it has the form FROM-TO.`)
  return { min_amount: BigInt(from), max_amount: BigInt(to) }
}

const asTable = (rows: readonly PriceRow[]) =>
  rows.map(({ until: _, ...row }) => ({ ...row, ...examples(row) }))

/** What a change leads to; its note says what was changed, or that there was nothing to change. */
export function changed<Row>(
  { result, actions, changes = [] }: Change<Row[]> & { changes?: readonly PriceChange[] },
  value: unknown = result,
): Change<Answer> {
  const lines = [...changes.map(changeText), 'Changed: in force in every process within a second.']
  const note = actions.length > 0 ? lines.join('\n') : 'It was so already.'
  return { result: { value, note }, actions }
}

export const yes = flag('also a price that leaves the bounds')

const resource = oneOf(RESOURCES, 'the resource')

export const priceCommands = [
  command({
    words: 'prices list',
    summary: 'the tiers in force',
    run: async ({ sql }) => ({ value: await pricesInForce(sql) }),
  }),
  change({
    words: 'prices set',
    summary: 'put tiers of a resource in force',
    details:
      'A tier is FROM-TO=PRICE, the price in TRX for 1000 units. It ends the tier of the same range. Ranges never overlap: to move their bounds, give all tiers of the resource with --replace. A price of a tenth or less, or of ten times or more, of what the amount costs now needs --yes.',
    operands: {
      resource: needed(resource),
      tiers: many(text('FROM-TO=PRICE', 'such as 32000-130999=0.045')),
    },
    options: { replace: flag('end every other tier of the resource'), yes },
    async run(tx, _needs, { resource, tiers, replace, yes: confirmed, changed_by, at }) {
      if (tiers.length === 0)
        throw misuse('prices set: no tier was given, such as 32000-130999=0.045.')
      const wanted = { resource, tiers: tiers.map(readTier), replace, confirmed, at, changed_by }
      const made = await setPrices(tx, wanted)
      return changed(made, asTable(made.result))
    },
  }),
  change({
    words: 'prices remove',
    summary: 'end a tier: amounts in its range are no longer sold',
    operands: {
      resource: needed(resource),
      range: needed(text('FROM-TO', 'the range of the tier')),
    },
    async run(tx, _needs, { resource, range, at }) {
      const made = await removePrice(tx, { resource, ...readRange(range), at })
      return changed(made, asTable(made.result))
    },
  }),
  command({
    words: 'prices history',
    summary: 'every price there was, newest first',
    operands: { resource },
    options: { limit: paging.limit },
    run: async ({ sql }, { resource, limit = LIMIT }) => ({
      value: await priceHistory(sql, { resource, limit }),
    }),
  }),
  command({
    words: 'fees list',
    summary: 'the flat prices in force',
    run: async ({ sql }) => ({ value: await feesInForce(sql) }),
  }),
  change({
    words: 'fees set',
    summary: 'change a flat price',
    operands: { name: needed(text('NAME', 'which one')), price: needed(trx('TRX', 'the price')) },
    options: { yes },
    run: async (tx, _needs, { name, price: price_sun, yes: confirmed, changed_by, at }) =>
      changed(await setFee(tx, { name, price_sun, confirmed, at, changed_by })),
  }),
  command({
    words: 'fees history',
    summary: 'every flat price there was, newest first',
    operands: { name: text('NAME', 'only this one') },
    options: { limit: paging.limit },
    run: async ({ sql }, { name, limit = LIMIT }) => ({
      value: await feeHistory(sql, { name, limit }),
    }),
  }),
]

/** `services on` and `services off`. */
const switching = (word: 'on' | 'off', summary: string) =>
  change({
    words: `services ${word}`,
    summary,
    operands: { names: many(text('SERVICE', 'one or more')) },
    options: { all: flag('all of them') },
    async run(tx, _needs, { names, all, changed_by }) {
      if (all === names.length > 0) throw misuse(`services ${word}: give the services, or --all.`)
      const meant = all ? (await switches(tx)).map(({ name }) => name) : names
      return changed(await setSwitches(tx, { names: meant, on_sale: word === 'on', changed_by }))
    },
  })

export const switchCommands = [
  command({
    words: 'services list',
    summary: 'what is on sale and what is not',
    run: async ({ sql }) => ({ value: await switches(sql) }),
  }),
  switching('on', 'put services on sale'),
  switching(
    'off',
    'take services off sale: purchases are refused with code 35, open orders are delivered',
  ),
  command({
    words: 'services history',
    summary: 'when services were put on sale or taken off, and by whom, newest first',
    operands: { name: text('SERVICE', 'only this one') },
    options: { limit: paging.limit },
    async run({ sql }, { name, limit = LIMIT }) {
      const subject = name === undefined ? 'service' : `service:${name}`
      const actions = await listActions(sql, { subject, limit })
      const onSale = (state: unknown) => (state as { on_sale: boolean }).on_sale
      return {
        value: actions.map(({ made_at, subject, after, made_by, reason }) => ({
          ...{
            made_at,
            name: subject.slice('service:'.length),
            on_sale: onSale(after),
            made_by,
            reason,
          },
        })),
      }
    },
  }),
]
