// The contract types that the chain executes. All others of the protocol are understood, and refused.

import { ContractType } from '../src/tron/contracts.ts'
import { triggerContract } from './calls.ts'
import { delegate, undelegate } from './delegations.ts'
import { updatePermissions } from './permissions.ts'
import { invalid } from './refusal.ts'
import { cancelAllUnfreeze, freeze, unfreeze, withdrawExpired } from './staking.ts'
import { createAccount, transfer } from './transfers.ts'
import type { Contract } from './world.ts'

const refused = (message: string): Contract => ({
  validate() {
    throw invalid(message)
  },
  execute() {
    throw invalid(message)
  },
})

const contracts: Readonly<Record<string, Contract>> = {
  AccountCreateContract: createAccount,
  TransferContract: transfer,
  FreezeBalanceV2Contract: freeze,
  UnfreezeBalanceV2Contract: unfreeze,
  WithdrawExpireUnfreezeContract: withdrawExpired,
  CancelAllUnfreezeV2Contract: cancelAllUnfreeze,
  DelegateResourceContract: delegate,
  UnDelegateResourceContract: undelegate,
  AccountPermissionUpdateContract: updatePermissions,
  TriggerSmartContract: triggerContract,
  FreezeBalanceContract: refused('freeze v2 is open, old freeze is closed'),
  UnfreezeBalanceContract: refused('no frozenBalance(BANDWIDTH)'),
}

/** The contract of a type. A type of the protocol that this chain does not execute refuses every transaction. */
export function contractOf(type: string): Contract {
  const found = Object.hasOwn(contracts, type) ? contracts[type] : undefined
  return found ?? refused(type in ContractType.values ? `${type} is not executed by this chain` : 'No contract!')
}
