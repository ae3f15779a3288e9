// What is on sale, what it costs, and what the chain says of an address.

import type { Caller } from '../wire/calls.ts'
import { methodsOf } from '../wire/methods.ts'

export function market(caller: Caller) {
  const { call, read, byAddress } = methodsOf(caller)
  return {
    services: {
      /** What is on sale, and its prices. */
      list: read('/v1/services'),
    },
    prices: {
      /** What a purchase would cost. */
      calculate: call('/v1/calculate'),
      /** The energy that a transfer of a token needs, and its price. */
      estimate: call('/v1/estimate-energy'),
      /** What things cost, and have cost, the newest first. */
      history: call('/v1/prices/history'),
    },
    addresses: {
      /** What an address has and can use on the chain. */
      get: byAddress('/v1/address-info'),
    },
    pool: {
      /** What can be delivered now and in the coming hours, if nothing more is sold. */
      forecast: call('/v1/pool-forecast'),
    },
  }
}
