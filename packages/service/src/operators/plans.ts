// Plans of subscriptions, by the operator's hand. A version of a plan is a row that is never
// changed; a running subscription keeps the version that it began with.

import { misuse } from '../lib/fault.ts'
import { listPlans, planHistory, removePlan, setPlan } from '../subscriptions/plans.ts'
import { change, command, LIMIT, needed, paging, text, trx, whole } from './command.ts'
import { changed, yes } from './prices.ts'

const plan = needed(text('PLAN', 'the key of the plan'))

export const planCommands = [
  command({
    words: 'plans list',
    summary: 'the plans that customers can subscribe to',
    run: async ({ sql }) => ({ value: await listPlans(sql) }),
  }),
  change({
    words: 'plans set',
    summary: 'put a plan on sale, or change its terms for new subscriptions',
    details:
      'What is not given stays as it is. Running subscriptions keep the terms they began with.',
    operands: { plan },
    options: {
      name: text('NAME', 'what customers read'),
      activation_fee: trx('TRX', 'charged once'),
      initial_price: trx('TRX', 'charged at the start'),
      price: trx('TRX', 'for each transaction served beyond those included'),
      included: whole('N', 'transactions that the initial price covers', {
        min: 0,
        max: 1_000_000,
      }),
      transactions_limit: whole('N', 'ends after so many; 0: never', { min: 0, max: 1_000_000 }),
      duration_days: whole('DAYS', 'ends after so many; 0: never', { min: 0, max: 10_000 }),
      energy: whole('N', 'energy that an address is kept supplied with (65000)', {
        max: 10_000_000,
      }),
      idle_hours: whole('HOURS', 'supplied so long without a use (2); 0: for ever', {
        min: 0,
        max: 10_000,
      }),
      yes,
    },
    async run(tx, _needs, { plan: key, changed_by, at, ...given }) {
      if (!/^[\w-]{1,64}$/.test(key))
        throw misuse('The key of a plan is 1 to 64 letters, digits, - and _.')
      const wanted = {
        ...{
          name: given.name,
          activation_fee_sun: given.activation_fee,
          initial_price_sun: given.initial_price,
        },
        ...{
          price_sun: given.price,
          included: given.included,
          transactions_limit: given.transactions_limit,
        },
        ...{ duration_days: given.duration_days, energy_per_transaction: given.energy },
        idle_hours: given.idle_hours,
      }
      const terms = Object.fromEntries(
        Object.entries(wanted).filter(([, value]) => value !== undefined),
      )
      return changed(await setPlan(tx, { key, terms, confirmed: given.yes, at, changed_by }))
    },
  }),
  change({
    words: 'plans remove',
    summary: 'take a plan off sale; running subscriptions go on',
    operands: { plan },
    run: async (tx, _needs, { plan: key, at }) => changed(await removePlan(tx, { key, at })),
  }),
  command({
    words: 'plans history',
    summary: 'every version of the plans, newest first',
    operands: { plan: text('PLAN', 'only this one') },
    options: { limit: paging.limit },
    run: async ({ sql }, { plan: key = null, limit = LIMIT }) => ({
      value: await planHistory(sql, { key, limit }),
    }),
  }),
]
