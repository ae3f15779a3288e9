// What is sold and for how much: tiers, flat prices, switches. A price is a row that is never
// changed: a new one begins when the old one ends, to the instant, and what was in force at any
// time can be read back. Every process takes a change up within a second; an order keeps the price
// it was placed at.

import { type Change, listActions } from '../ledger/actions.ts'
import { misuse } from '../lib/fault.ts'
import type { Resource } from '../node/node.ts'
import { changeText, type PriceChange } from '../prices/bounds.ts'
import { feeHistory, feesInForce, setFee } from '../prices/fees.ts'
import { setSwitches, switches } from '../prices/switches.ts'
import {
  asTable,
  priceHistory,
  pricesInForce,
  type Range,
  removePrice,
  setPrices,
  type TierWanted,
} from '../prices/tiers.ts'
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
