// The forms of prices on the wire, and what is told of them, and of what is on sale.

import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { money } from '../../lib/json.ts'
import { Money } from '../../platform/wire/endpoint.ts'

/** What amounts from one to another cost: 1000 units of them. */
export type NewTier = { min_amount: bigint; max_amount: bigint; price_sun: bigint }

export const TierForm = Type.Object({
  duration: Type.Integer({ description: 'Hours' }),
  min_amount: Type.Integer(),
  max_amount: Type.Integer(),
  price: Money({ description: 'TRX for 1000' }),
})

export const printTier = (tier: NewTier): Static<typeof TierForm> => ({
  duration: 1,
  min_amount: Number(tier.min_amount),
  max_amount: Number(tier.max_amount),
  price: money(tier.price_sun),
})

const Services = Type.Object({
  services: Type.Array(Type.String(), { description: 'Checks are aml_ and their type' }),
})

export const priceKinds: readonly EventKind[] = [
  eventKind('price.changed', {
    data: Type.Object({
      name: Type.String({
        description: 'energy, bandwidth, activate_address, or aml_ and the type of check',
      }),
      since: Type.String(),
      tiers: Type.Optional(
        Type.Array(TierForm, { description: 'Of energy and bandwidth: all that are in force' }),
      ),
      price: Type.Optional(Money({ description: 'TRX; where one costs the same as another' })),
    }),
    when: 'something costs more or less from now on; what was bought or quoted stays as it was',
    sample: {
      name: 'energy',
      since: '2026-11-21T00:05:57Z',
      tiers: [{ duration: 1, min_amount: 32_000, max_amount: 130_999, price: 0.045 }],
    },
  }),
  eventKind('service.off', {
    data: Services,
    when: 'something is not sold for now; what was bought is delivered all the same',
    sample: { services: ['bandwidth'] },
  }),
  eventKind('service.on', {
    data: Services,
    when: 'something is sold again',
    sample: { services: ['bandwidth'] },
  }),
]
