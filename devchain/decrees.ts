// Decrees: changes that no transaction makes, by which tests set a scene. A decree holds at once for whoever reads the
// head (it is applied to the pending state) and enters the chain with the next block, before its transactions. So it
// becomes solid like anything else, and a reorganisation makes it wait for the next block again.

import { accountOf, adjustBalance, newAccount, writeAccount } from './accounts.ts'
import { addTotals, type Layer, totalsOf } from './state.ts'

export type Decree =
  /** Sun out of nothing, for an account that is made if need be. */
  | { readonly kind: 'fund'; readonly address: string; readonly sun: bigint }
  /** The weights of the rest of the network, in TRX. */
  | { readonly kind: 'weights'; readonly energy_weight_trx?: bigint; readonly net_weight_trx?: bigint }

export function applyDecree(state: Layer, decree: Decree, now_ms: number): void {
  if (decree.kind === 'fund') {
    if (!accountOf(state, decree.address)) writeAccount(state, newAccount(decree.address, now_ms))
    adjustBalance(state, decree.address, decree.sun)
    addTotals(state, { issued_sun: decree.sun })
  } else {
    const { rest_energy_weight, rest_net_weight } = totalsOf(state)
    addTotals(state, {
      rest_energy_weight: (decree.energy_weight_trx ?? rest_energy_weight) - rest_energy_weight,
      rest_net_weight: (decree.net_weight_trx ?? rest_net_weight) - rest_net_weight,
    })
  }
}
