// Energy: how much a call may use, and who pays for what it used. Staked energy first, TRX burned
// for the rest; the fee limit of the transaction caps both together, rented energy included.

import { burn, requireAccount, writeAccount } from '../state/accounts.ts'
import type { EnergyBill, ExecutionContext } from '../state/execution_context.ts'
import type { Parameters } from '../state/parameters.ts'
import type { Account } from '../state/records.ts'
import { fadedUsage, increaseUsage, limitOfAccount } from '../state/resources.ts'
import type { View } from '../state/state.ts'

type CallEnergy = { readonly total: number; readonly penalty: number; readonly succeeded: boolean }
type EnergyInput = { readonly state: View; readonly parameters: Parameters; readonly slot: number }

/** The unused energy of an account's stakes. */
function leftEnergy({ state, parameters, slot }: EnergyInput, account: Account): number {
  return Math.max(
    0,
    limitOfAccount(state, account, 'ENERGY', parameters) - fadedUsage(account.energy, slot),
  )
}

/** The most energy that a call of this account may use. */
export function energyLimit(
  context: ExecutionContext,
  account: Account,
  call_value_sun: bigint,
): number {
  const price = BigInt(context.parameters.getEnergyFee)
  const spendable = account.balance > call_value_sun ? account.balance - call_value_sun : 0n
  const available = BigInt(leftEnergy(context, account)) + spendable / price
  const capped = context.fee_limit_sun / price
  return Number(available < capped ? available : capped)
}

/** Charges the energy of a call to an account. The node brings the account's usage up to date
 *  before it runs a call, and forgets that when the call fails: the rounding differs by a unit now
 *  and then. */
export function chargeEnergy(
  context: ExecutionContext,
  address: string,
  used: CallEnergy,
): EnergyBill {
  const { state, slot, parameters } = context
  const { total, penalty, succeeded } = used
  const account = requireAccount(state, address)
  const usage = Math.min(total, leftEnergy(context, account))
  const before = succeeded ? increaseUsage(account.energy, 0, slot) : account.energy
  if (total > 0) writeAccount(state, { ...account, energy: increaseUsage(before, usage, slot) })
  const fee_sun = BigInt(total - usage) * BigInt(parameters.getEnergyFee)
  if (fee_sun > 0n) burn(state, address, fee_sun)
  return { usage, fee_sun, total, penalty }
}
