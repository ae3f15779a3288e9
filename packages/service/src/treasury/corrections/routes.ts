// Money at the border, on the wire: the balance and where to send more, and the public address for
// direct recharge.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { customerAccount, spendable, WalletNotFound } from '../../ledger/accounts/ledger.ts'
import { money } from '../../lib/json.ts'
import { printEnergyTier } from '../../market/orders/forms.ts'
import type { Prices } from '../../market/prices/prices.ts'
import { findCustomer } from '../../people/customers/customers.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  Money,
  refuses,
  ServiceUnavailable,
} from '../../platform/wire/endpoint.ts'

export type Needs = { sql: Sql; prices: () => Promise<Prices>; recharge_address: Address }

export function routes({ sql, prices, recharge_address }: Needs): Endpoint[] {
  return [
    endpoint({
      path: '/v1/balance',
      auth: 'signature',
      scope: 'read',
      summary: 'What can be spent, and where to send more',
      body: Type.Object({}),
      reply: Type.Object({
        balance: Money({
          description: 'TRX that can be spent: what open purchases hold is already taken off',
        }),
        address: Type.String({ description: 'TRX sent here is added to the balance' }),
      }),
      faults: [refuses(WalletNotFound, 'The customer has no wallet')],
      async handle({ customer }) {
        const owner = await findCustomer(sql, customer.customer_id)
        const free_sun = await spendable(sql, customerAccount(customer.customer_id))
        if (!owner || free_sun === undefined) throw WalletNotFound()
        return { balance: money(free_sun), address: owner.deposit_address }
      },
    }),

    endpoint({
      path: '/v1/direct-recharge-info',
      auth: 'public',
      summary: 'The address to which anybody may send TRX for energy, and the rates',
      body: Type.Object({}),
      reply: Type.Object({
        address: Type.String(),
        rates: Type.Array(
          Type.Object({
            duration: Type.Integer({ description: 'Hours; always 1' }),
            min_amount: Type.Integer(),
            max_amount: Type.Integer(),
            min_energy: Type.Integer(),
            max_energy: Type.Integer(),
            price: Money({ description: 'TRX for 1000 energy' }),
            price_32k: Money({ description: 'TRX for 32,000 energy' }),
            price_65k: Money({ description: 'TRX for 65,000 energy' }),
            price_131k: Money({ description: 'TRX for 131,000 energy' }),
          }),
        ),
      }),
      faults: [refuses(ServiceUnavailable, 'Direct recharge is off sale')],
      async handle() {
        const { tiers, on_sale } = await prices()
        const rates = tiers.filter((tier) => tier.resource === 'energy').map(printEnergyTier)
        if (!on_sale.has('direct_recharge') || rates.length === 0)
          throw ServiceUnavailable().because('direct recharge is off sale')
        return { address: recharge_address, rates }
      },
    }),
  ]
}
