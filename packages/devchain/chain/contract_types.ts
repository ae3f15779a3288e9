// The contract types that the chain executes. All others of the protocol are understood, and
// refused.

import { ContractType } from 'penstock-tron/contracts.ts'
import { triggerContract } from '../calls/calls.ts'
import {
  issueAsset,
  participate,
  transferAsset,
  unfreezeAsset,
  updateAsset,
} from '../contracts/assets.ts'
import { delegate, undelegate } from '../contracts/delegations.ts'
import { setAccountId, updateAccount } from '../contracts/names.ts'
import { updatePermissions } from '../contracts/permissions.ts'
import { withdrawReward } from '../contracts/rewards.ts'
import { cancelAllUnfreeze, freeze, unfreeze, withdrawExpired } from '../contracts/staking.ts'
import { createAccount, transfer } from '../contracts/transfers.ts'
import { createWitness, updateBrokerage, updateWitness, vote } from '../contracts/witnesses.ts'
import { type Contract, resourceOf } from '../state/execution_context.ts'
import { invalid } from '../state/refusal.ts'
import { absentContracts } from './absent_contracts.ts'

const refused = (message: string): Contract => ({
  validate() {
    throw invalid(message)
  },
  execute() {
    throw invalid(message)
  },
})

/** Nobody has a stake of the old kind. */
const noOldStake: Contract = {
  ...refused('no frozenBalance(BANDWIDTH)'),
  validate(_world, message) {
    const resource = resourceOf(message)
    if (resource === 'BANDWIDTH') throw invalid('no frozenBalance(BANDWIDTH)')
    if (resource === 'ENERGY') throw invalid('no frozenBalance(Energy)')
    throw invalid('ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]')
  },
}

const contracts: Readonly<Record<string, Contract>> = {
  ...absentContracts,
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
  AssetIssueContract: issueAsset,
  TransferAssetContract: transferAsset,
  ParticipateAssetIssueContract: participate,
  UpdateAssetContract: updateAsset,
  UnfreezeAssetContract: unfreezeAsset,
  AccountUpdateContract: updateAccount,
  SetAccountIdContract: setAccountId,
  WitnessCreateContract: createWitness,
  WitnessUpdateContract: updateWitness,
  VoteWitnessContract: vote,
  WithdrawBalanceContract: withdrawReward,
  UpdateBrokerageContract: updateBrokerage,
  FreezeBalanceContract: refused('freeze v2 is open, old freeze is closed'),
  UnfreezeBalanceContract: noOldStake,
}

/** The contract of a type. A type of the protocol that this chain does not execute refuses every
 *  transaction. */
export function contractOf(type: string): Contract {
  const found = Object.hasOwn(contracts, type) ? contracts[type] : undefined
  return (
    found ??
    refused(type in ContractType.values ? `${type} is not executed by this chain` : 'No contract!')
  )
}
