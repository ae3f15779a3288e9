// What is sold and for how much: tiers, flat prices, plans, and what is on sale.

import { Type } from 'typebox'
import type { Resource } from '../../chain/node/node.ts'
import { acceptFindings } from '../../health/books/watch.ts'
import { type Change, listActions } from '../../ledger/accounts/actions.ts'
import { later } from '../../lib/clock.ts'
import { misuse } from '../../lib/fault.ts'
import { changeText, type PriceChange } from '../../market/prices/bounds.ts'
import { feeHistory, feesInForce, setFee } from '../../market/prices/fees.ts'
import type { NewTier } from '../../market/prices/forms.ts'
import { repriceOrders } from '../../market/prices/price_preview.ts'
import { setSwitches, switches } from '../../market/prices/switches.ts'
import {
  asTable,
  priceHistory,
  pricesInForce,
  type Range,
  removePrice,
  setPrices,
} from '../../market/prices/tiers.ts'
import { changeOffer, readOffer } from '../../market/quotes/offer.ts'
import { listPlans, planHistory, removePlan, setPlan } from '../../market/subscriptions/plans.ts'
import {
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Sun,
  sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { type Answer, change, LIMIT, limit, look, readTrx } from '../table/operation.ts'

const RESOURCES: readonly Resource[] = ['energy', 'bandwidth']
const resource = oneOf(RESOURCES, 'the resource')
const yes = flag('also a price that leaves the bounds')
const leavesBounds = ({ body }: { body: { yes?: boolean | undefined } }) => body.yes === true

const RANGE = {
  min_amount: Type.Integer({ minimum: 0 }),
  max_amount: Type.Integer({ minimum: 0 }),
}
const tiersField = Type.Array(Type.Object({ ...RANGE, price_sun: Type.Integer({ minimum: 0 }) }), {
  title: 'FROM-TO=PRICE',
  description: 'such as 32000-130999=0.045',
})
const Amounts = {
  resource: Type.Enum([...RESOURCES]),
  min_amount: Whole,
  max_amount: Whole,
  price_sun: Sun,
}
const Tiers = ListOf({
  ...Amounts,
  base_sun: OrNull(Sun),
  since: Moment,
  changed_by: Text,
  cost_of_min_sun: Sun,
  cost_of_max_sun: Sun,
})
const Fee = { name: Text, price_sun: Sun, since: Moment, changed_by: Text }
const Until = { until: OrNull(Moment) }
const Switches = ListOf({ name: Text, on_sale: Flag, changed_by: Text })

/** `32000-130999=0.045` */
function readTier(given: string) {
  const [, from, to, price] = /^(\d{1,15})-(\d{1,15})=(.+)$/.exec(given) ?? []
  if (from === undefined || to === undefined || price === undefined) {
    throw misuse(`${given} is not a tier: it has the form FROM-TO=PRICE, like 32000-130999=0.045.`)
  }
  const price_sun = readTrx(price, 'The price')
  return { min_amount: Number(from), max_amount: Number(to), price_sun }
}

/** `32000-130999` */
function readRange(given: string) {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(given) ?? []
  if (from === undefined || to === undefined)
    throw misuse(`${given} is not a range: it has the form FROM-TO.`)
  return { min_amount: Number(from), max_amount: Number(to) }
}

const rangeOf = ({ min_amount, max_amount }: Record<keyof Range, number>): Range => ({
  min_amount: BigInt(min_amount),
  max_amount: BigInt(max_amount),
})

const tierOf = ({ price_sun, ...range }: Record<keyof Range | 'price_sun', number>): NewTier => ({
  ...rangeOf(range),
  price_sun: BigInt(price_sun),
})

/** What a change leads to; its note says what was changed, or that there was nothing to change. */
function changed<Row, Value = Row[]>(
  { result, actions, changes = [] }: Change<Row[]> & { changes?: readonly PriceChange[] },
  show: (rows: Row[]) => Value = (rows) => rows as Value,
): Change<Answer<Value>> {
  const lines = [...changes.map(changeText), 'Changed: in force in every process within a second.']
  const note = actions.length > 0 ? lines.join('\n') : 'No change.'
  return { result: { value: show(result), note }, actions }
}

const prices = [
  look({
    path: '/operator/prices/list',
    summary: 'the tiers in force',
    description: '`base_sun` is the price that was set, where a rule has raised it (price-rules).',
    body: NOTHING,
    reply: Tiers,
    handle: async ({ sql }) => ({ value: await pricesInForce(sql) }),
  }),
  look({
    path: '/operator/prices/burning',
    summary: 'what is burned for 1000 units of an address that has none, as the node says',
    description: 'In place of buying them. Null: the node has not said.',
    body: NOTHING,
    reply: Type.Object({ energy_sun: OrNull(Sun), bandwidth_sun: OrNull(Sun) }),
    cli: { node: 'plain' },
    async handle({ node }) {
      const parameters = await node().parameters()
      const of1000 = (name: string) => {
        const sun = parameters.get(name)
        return sun === undefined ? null : 1_000n * sun
      }
      const [energy_sun, bandwidth_sun] = [of1000('getEnergyFee'), of1000('getTransactionFee')]
      return { value: { energy_sun, bandwidth_sun } }
    },
  }),
  change({
    path: '/operator/prices/set',
    careful: true,
    summary: 'put tiers of a resource in force',
    description:
      'A tier is FROM-TO=PRICE, the price in TRX for 1000 units. It ends the tier of the same ' +
      'range. Ranges never overlap: to move their bounds, give all tiers of the resource with ' +
      '--replace. A price of a tenth or less, or of ten times or more, of what the amount costs ' +
      'now needs --yes.',
    body: Type.Object({
      resource,
      tiers: optional(tiersField),
      replace: flag('end every other tier of the resource'),
      yes,
    }),
    reply: Tiers,
    cli: { operands: ['resource', 'tiers'], read: { tiers: readTier } },
    second: leavesBounds,
    async handle({ tx, body, by, at }) {
      const { resource, tiers = [], replace = false, yes = false } = body
      if (tiers.length === 0)
        throw misuse('prices set: no tier was given, such as 32000-130999=0.045.')
      const wanted = tiers.map(tierOf)
      const how = { replace, confirmed: yes, at, changed_by: by }
      return changed(await setPrices(tx, { resource, tiers: wanted, ...how }), asTable)
    },
  }),
  look({
    path: '/operator/prices/preview',
    summary: 'what the orders of the last hours would have cost with tiers that are not in force',
    description:
      'Given like those of `prices set`, and nothing is changed. Customers may order otherwise ' +
      'at another price: what is shown is what they did order.',
    body: Type.Object({
      resource,
      tiers: optional(tiersField),
      replace: flag('as if every other tier of the resource were ended'),
      hours: optional(whole('N', 'of so many hours (24)', { max: 744 })),
    }),
    reply: ListOf({
      min_amount: Whole,
      max_amount: Whole,
      price_sun_before: OrNull(Sun),
      price_sun_after: OrNull(Sun),
      orders: Whole,
      units: Whole,
      before_sun: Sun,
      after_sun: Sun,
    }),
    cli: { operands: ['resource', 'tiers'], read: { tiers: readTier } },
    async handle({ sql, clock, body: { resource, tiers = [], replace = false, hours = 24 } }) {
      const since = later(clock, -3_600_000 * hours)
      const wanted = { resource, tiers: tiers.map(tierOf), replace, since }
      return { value: await repriceOrders(sql, wanted) }
    },
  }),
  change({
    path: '/operator/prices/remove',
    careful: true,
    summary: 'end a tier: amounts in its range are no longer sold',
    body: Type.Object({
      resource,
      range: Type.Object(RANGE, { title: 'FROM-TO', description: 'the range of the tier' }),
    }),
    reply: Tiers,
    cli: { operands: ['resource', 'range'], read: { range: readRange } },
    handle: async ({ tx, at, body: { resource, range } }) =>
      changed(await removePrice(tx, { resource, ...rangeOf(range), at }), asTable),
  }),
  look({
    path: '/operator/prices/history',
    summary: 'every price there was, newest first',
    body: Type.Object({ resource: optional(resource), limit }),
    reply: ListOf({ ...Amounts, base_sun: OrNull(Sun), since: Moment, ...Until, changed_by: Text }),
    cli: { operands: ['resource'] },
    handle: async ({ sql, body: { resource, limit = LIMIT } }) => ({
      value: await priceHistory(sql, { resource, limit }),
    }),
  }),
]

const fees = [
  look({
    path: '/operator/fees/list',
    summary: 'the flat prices in force',
    body: NOTHING,
    reply: ListOf(Fee),
    handle: async ({ sql }) => ({ value: await feesInForce(sql) }),
  }),
  change({
    path: '/operator/fees/set',
    careful: true,
    summary: 'change a flat price',
    body: Type.Object({ name: text('NAME', 'which one'), price_sun: sun('TRX', 'the price'), yes }),
    reply: ListOf(Fee),
    cli: { operands: ['name', 'price_sun'] },
    second: leavesBounds,
    async handle({ tx, at, by, body: { name, price_sun, yes = false } }) {
      const wanted = { name, price_sun: BigInt(price_sun), confirmed: yes, at, changed_by: by }
      return changed(await setFee(tx, wanted))
    },
  }),
  look({
    path: '/operator/fees/history',
    summary: 'every flat price there was, newest first',
    body: Type.Object({ name: optional(text('NAME', 'only this one')), limit }),
    reply: ListOf({ ...Fee, ...Until }),
    cli: { operands: ['name'] },
    handle: async ({ sql, body: { name, limit = LIMIT } }) => ({
      value: await feeHistory(sql, { name, limit }),
    }),
  }),
]

const Plan = {
  id: Count,
  key: Text,
  name: Text,
  activation_fee_sun: Sun,
  initial_price_sun: Sun,
  price_sun: Sun,
  included: Count,
  transactions_limit: Count,
  duration_days: Count,
  energy_per_transaction: Count,
  idle_hours: Count,
}
const PlanVersion = { ...Plan, since: Moment, ...Until, changed_by: Text }
const plan = text('PLAN', 'the key of the plan')
const upTo = (max: number) => ({ min: 0, max })

const plans = [
  look({
    path: '/operator/plans/list',
    summary: 'the plans that customers can subscribe to',
    body: NOTHING,
    reply: ListOf(PlanVersion),
    handle: async ({ sql }) => ({ value: await listPlans(sql) }),
  }),
  change({
    path: '/operator/plans/set',
    careful: true,
    summary: 'put a plan on sale, or change its terms for new subscriptions',
    description:
      'What is not given stays as it is. Running subscriptions keep the terms they began with.',
    body: Type.Object({
      plan,
      name: optional(text('NAME', 'what customers read')),
      activation_fee_sun: optional(sun('TRX', 'charged once')),
      initial_price_sun: optional(sun('TRX', 'charged at the start')),
      price_sun: optional(sun('TRX', 'for each transaction served beyond those included')),
      included: optional(whole('N', 'transactions that the initial price covers', upTo(1_000_000))),
      transactions_limit: optional(whole('N', 'ends after so many; 0: never', upTo(1_000_000))),
      duration_days: optional(whole('DAYS', 'ends after so many; 0: never', upTo(10_000))),
      energy: optional(
        whole('N', 'energy that an address is kept supplied with (65000)', { max: 10_000_000 }),
      ),
      idle_hours: optional(
        whole('HOURS', 'supplied so long without a use (2); 0: for ever', upTo(10_000)),
      ),
      yes,
    }),
    reply: ListOf(PlanVersion),
    cli: { operands: ['plan'] },
    second: leavesBounds,
    async handle({ tx, by, at, body }) {
      const { plan: key, yes = false, energy, ...given } = body
      if (!/^[\w-]{1,64}$/.test(key))
        throw misuse('The key of a plan is 1 to 64 letters, digits, - and _.')
      const wanted = {
        ...given,
        energy_per_transaction: energy,
        activation_fee_sun: sunOf(body.activation_fee_sun),
        initial_price_sun: sunOf(body.initial_price_sun),
        price_sun: sunOf(body.price_sun),
      }
      const terms = Object.fromEntries(
        Object.entries(wanted).filter(([, value]) => value !== undefined),
      )
      return changed(await setPlan(tx, { key, terms, confirmed: yes, at, changed_by: by }))
    },
  }),
  change({
    path: '/operator/plans/remove',
    careful: true,
    summary: 'take a plan off sale; running subscriptions go on',
    body: Type.Object({ plan }),
    reply: ListOf(PlanVersion),
    cli: { operands: ['plan'] },
    handle: async ({ tx, at, body: { plan: key } }) => changed(await removePlan(tx, { key, at })),
  }),
  look({
    path: '/operator/plans/history',
    summary: 'every version of the plans, newest first',
    body: Type.Object({ plan: optional(text('PLAN', 'only this one')), limit }),
    reply: ListOf(PlanVersion),
    cli: { operands: ['plan'] },
    handle: async ({ sql, body: { plan: key = null, limit = LIMIT } }) => ({
      value: await planHistory(sql, { key, limit }),
    }),
  }),
]

const sunOf = (given: number | undefined) => (given === undefined ? undefined : BigInt(given))

/** `services on` and `services off`. */
const switching = (word: 'on' | 'off', summary: string) =>
  change({
    path: `/operator/services/${word}`,
    // Taking something off sale must be quick.
    careful: word === 'on',
    summary,
    body: Type.Object({
      names: optional(Type.Array(text('SERVICE', 'one or more'))),
      all: flag('all of them'),
    }),
    reply: Switches,
    cli: { operands: ['names'] },
    async handle({ tx, by, at, body: { names = [], all = false } }) {
      if (all === names.length > 0) throw misuse(`services ${word}: give the services, or --all.`)
      const meant = all ? (await switches(tx)).map(({ name }) => name) : names
      const wanted = { names: meant, on_sale: word === 'on', changed_by: by, at }
      const { result, actions } = await setSwitches(tx, wanted)
      const is_seen_to = result.every((one) => one.on_sale || one.changed_by !== 'books check')
      const accepted = word === 'on' && is_seen_to ? await acceptFindings(tx, at) : []
      return changed({ result, actions: [...actions, ...accepted] })
    },
  })

const services = [
  look({
    path: '/operator/services/list',
    summary: 'what is on sale and what is not',
    body: NOTHING,
    reply: Switches,
    handle: async ({ sql }) => ({ value: await switches(sql) }),
  }),
  switching('on', 'put services on sale'),
  switching(
    'off',
    'take services off sale: purchases are refused with code 35, open orders are delivered',
  ),
  look({
    path: '/operator/services/history',
    summary: 'when services were put on sale or taken off, and by whom, newest first',
    body: Type.Object({ name: optional(text('SERVICE', 'only this one')), limit }),
    reply: ListOf({
      made_at: Moment,
      name: Text,
      on_sale: Flag,
      made_by: Text,
      reason: OrNull(Text),
    }),
    cli: { operands: ['name'] },
    async handle({ sql, body: { name, limit = LIMIT } }) {
      const subject = name === undefined ? 'service' : `service:${name}`
      const actions = await listActions(sql, { subject, limit })
      const onSale = (state: unknown) => (state as { on_sale: boolean }).on_sale
      return {
        value: actions.map(({ made_at, subject, after, made_by, reason }) => ({
          made_at,
          name: subject.slice('service:'.length),
          on_sale: onSale(after),
          made_by,
          reason,
        })),
      }
    },
  }),
]

const Offer = Type.Object({ quote_seconds_max: Count, forecast_shown: Flag })

const offers = [
  look({
    path: '/operator/offers/show',
    summary: 'for how long a quote may bind us, and whether customers see forecasts of the pool',
    body: NOTHING,
    reply: Offer,
    handle: async ({ sql }) => ({ value: await readOffer(sql) }),
  }),
  change({
    path: '/operator/offers/set',
    summary: 'change what is offered; quotes that were given stay good',
    body: Type.Object({
      quote_seconds: optional(
        whole('SECONDS', 'the longest that a quote may bind us: 5 to 300, or 0: no quotes', {
          min: 0,
          max: 300,
        }),
      ),
      forecast: optional(oneOf(['shown', 'hidden'], 'whether customers see forecasts of the pool')),
    }),
    reply: Offer,
    async handle({ tx, body: { quote_seconds, forecast } }) {
      if (quote_seconds === undefined && forecast === undefined)
        throw misuse('offers set: nothing to change is given.')
      if (quote_seconds !== undefined && quote_seconds !== 0 && quote_seconds < 5)
        throw misuse('--quote-seconds is 0, or 5 to 300.')
      const forecast_shown = forecast === undefined ? undefined : forecast === 'shown'
      const given = { quote_seconds_max: quote_seconds, forecast_shown }
      const { result, actions } = await changeOffer(tx, given)
      const note = actions.length === 0 ? 'No change.' : 'In force at once.'
      return { result: { value: result, note }, actions }
    },
  }),
]

export const priceOperations = [...prices, ...fees, ...plans]
export const serviceOperations = [...services, ...offers]
