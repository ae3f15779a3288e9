// Energy for the tokens of a collection: burned, or from our own pool.

import { Type } from 'typebox'
import { unitCostOf } from '../../market/pool/costs.ts'
import { readPrices } from '../../market/prices/prices.ts'
import { Count, OrNull, optional, Sun, Text, text, Whole } from '../../platform/wire/schemas.ts'
import { findCollection } from '../../treasury/collecting/collections.ts'
import { askForEnergy, energyChoice } from '../../treasury/collecting/energy.ts'
import { undertaking } from '../table/operation.ts'

const COST_HOURS = 24

export const collectionEnergyOperations = [
  undertaking({
    path: '/operator/treasury/energy',
    role: 'admin',
    careful: true,
    summary: 'what energy the tokens of a collection need, and buy it from our own pool',
    description:
      'Without --customer nothing is changed. `burning_sun` is what --burn would take of the TRX ' +
      'at the addresses, `pool_cost_sun` what that energy costs the house (pool costs), and ' +
      '`buying_sun` what the customer pays for it; `least` is what costs the house less. With ' +
      '--customer that customer of yours buys it for each address that lacks it, as anybody ' +
      'does, which wants a second operator where the rule is for two. It lasts for an hour: ask ' +
      'when the signed file is at hand, then send it.',
    body: Type.Object({
      collection: text('COLLECTION', 'its id'),
      customer: optional(text('CUSTOMER', 'the id of a customer of the house, who pays')),
    }),
    reply: Type.Object({
      transfers: Count,
      energy: Whole,
      burning_sun: Sun,
      pool_cost_sun: Sun,
      buying_sun: OrNull(Sun),
      least: Text,
      asked: Count,
    }),
    cli: { operands: ['collection'], node: 'solid' },
    // It spends what a customer has: that wants as many as a correction does.
    second: ({ body }) => body.customer !== undefined,
    async handle({ sql, clock, body: { collection, customer }, record, ...needs }) {
      const { id } = await findCollection(sql, collection)
      const prices = await readPrices(sql)
      const choice = await energyChoice(sql, needs.node(), { collection_id: id, prices })
      const at = { now: clock.now(), hours: COST_HOURS }
      const { cost_sun } = await unitCostOf(sql, 'energy', at)
      const pool_cost_sun = (choice.energy * cost_sun) / 1_000n
      const least = pool_cost_sun < choice.burning_sun ? 'pool' : 'burn'
      const of = { collection_id: id, customer_id: customer ?? '' }
      const asked =
        customer === undefined ? 0 : await record((tx, made_at) => askForEnergy(tx, of, made_at))
      if (asked > 0) needs.wake('energize')
      const note =
        asked > 0
          ? `Asked for ${asked}: orders list --customer ${customer} says when it is there.`
          : undefined
      return { value: { ...choice, pool_cost_sun, least, asked }, note }
    },
  }),
]
