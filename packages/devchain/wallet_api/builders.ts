// Endpoints that build an unsigned transaction: the contract is validated against the head with all
// that is pending, and the transaction refers to the solid block and expires a minute after the
// head.

import { bytesToHex } from '@noble/hashes/utils.js'
import { contractSchemas } from 'penstock-tron/contracts.ts'
import { decode, encode } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData } from 'penstock-tron/transaction.ts'
import { referenceTo } from '../chain/blocks.ts'
import { contractOf } from '../chain/contract_types.ts'
import { signedTransaction } from '../chain/transactions.ts'
import { printTransaction, readHex, reading, readMessage } from '../http/messages.ts'
import type { Call, Route, Routes } from '../http/routes.ts'
import type { Json } from '../state/json.ts'
import { SLOT_MS } from '../state/parameters.ts'

const EXPIRATION_MS = 60_000

const built = {
  createtransaction: 'TransferContract',
  createaccount: 'AccountCreateContract',
  freezebalancev2: 'FreezeBalanceV2Contract',
  unfreezebalancev2: 'UnfreezeBalanceV2Contract',
  withdrawexpireunfreeze: 'WithdrawExpireUnfreezeContract',
  cancelallunfreezev2: 'CancelAllUnfreezeV2Contract',
  delegateresource: 'DelegateResourceContract',
  undelegateresource: 'UnDelegateResourceContract',
  accountpermissionupdate: 'AccountPermissionUpdateContract',
  updateaccount: 'AccountUpdateContract',
  setaccountid: 'SetAccountIdContract',
  createwitness: 'WitnessCreateContract',
  updatewitness: 'WitnessUpdateContract',
  votewitnessaccount: 'VoteWitnessContract',
  withdrawbalance: 'WithdrawBalanceContract',
  updateBrokerage: 'UpdateBrokerageContract',
  createassetissue: 'AssetIssueContract',
  updateasset: 'UpdateAssetContract',
  transferasset: 'TransferAssetContract',
  participateassetissue: 'ParticipateAssetIssueContract',
  unfreezeasset: 'UnfreezeAssetContract',
  // Any further text is refused.
  freezebalance: 'FreezeBalanceContract',
  unfreezebalance: 'UnfreezeBalanceContract',
  proposalcreate: 'ProposalCreateContract',
  proposalapprove: 'ProposalApproveContract',
  proposaldelete: 'ProposalDeleteContract',
  exchangecreate: 'ExchangeCreateContract',
  exchangeinject: 'ExchangeInjectContract',
  exchangewithdraw: 'ExchangeWithdrawContract',
  exchangetransaction: 'ExchangeTransactionContract',
  marketsellasset: 'MarketSellAssetContract',
  marketcancelorder: 'MarketCancelOrderContract',
  deploycontract: 'CreateSmartContract',
  updatesetting: 'UpdateSettingContract',
  updateenergylimit: 'UpdateEnergyLimitContract',
  clearabi: 'ClearABIContract',
}

function build({ chain, given }: Call, type: string): Json {
  const { visible } = given
  const schema = contractSchemas[type]!
  const message = reading(() =>
    decode(schema, encode(schema, readMessage(schema, given.members, visible))),
  )
  contractOf(type).validate(chain.context(chain.headView(), true), message)
  const memo = given.text('extra_data')
  const raw_data = {
    ...referenceTo(chain.solid_block),
    expiration: chain.head_time_ms + EXPIRATION_MS,
    contract: [contract(type, message, given.permissionId())],
    // A real node puts its clock here; two equal requests must differ here too, and a replay must
    // repeat them.
    timestamp: chain.head_time_ms + (chain.nextBuild() % SLOT_MS),
    ...(memo === ''
      ? {}
      : { data: visible ? bytesToHex(new TextEncoder().encode(memo)) : readHex(memo) }),
  }
  return { visible, ...printTransaction(signedTransaction(encodeRawData(raw_data), []), visible) }
}

export const builderRoutes: Routes = Object.fromEntries(
  Object.entries(built).map(([name, type]): [string, Route] => [
    name,
    { post_only: true, answer: (call) => build(call, type) },
  ]),
)
