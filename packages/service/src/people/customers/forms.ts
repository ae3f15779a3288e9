// What the house is told of customers.

import { Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'

export const customerKinds: readonly EventKind[] = [
  eventKind('customer.created', {
    data: Type.Object({
      id: Type.String(),
      name: Type.String(),
      deposit_address: Type.String(),
      created_at: Type.String(),
    }),
    when: 'there is a new customer',
    scope: 'house',
    sample: {
      id: '01m7xps0ca8ksnnfg71x89vdp6',
      name: 'shop.example',
      deposit_address: EXAMPLE.address,
      created_at: '2026-11-21T00:05:57Z',
    },
  }),
]
