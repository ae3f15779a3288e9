// The contract types of the protocol and the fields of their messages: the table that protobuf.ts
// reads. Field numbers and enum values are those of `core/Tron.proto` and `core/contract/*.proto`
// in the repository tronprotocol/protocol.

import { enumeration, message, type Schema } from './protobuf.ts'

/** The resource of a stake (`resource` of staking and delegation). */
export const ResourceCode = enumeration({ BANDWIDTH: 0, ENERGY: 1, TRON_POWER: 2 })
/** The type of an account (`type` of AccountCreateContract). */
export const AccountType = enumeration({ Normal: 0, AssetIssue: 1, Contract: 2 })
/** The type of a permission (`type` of Permission). */
export const PermissionType = enumeration({ Owner: 0, Witness: 1, Active: 2 })

/** The number of each contract type, as in `raw_data.contract[0].type`. */
export const ContractType = enumeration({
  AccountCreateContract: 0,
  TransferContract: 1,
  TransferAssetContract: 2,
  VoteAssetContract: 3,
  VoteWitnessContract: 4,
  WitnessCreateContract: 5,
  AssetIssueContract: 6,
  WitnessUpdateContract: 8,
  ParticipateAssetIssueContract: 9,
  AccountUpdateContract: 10,
  FreezeBalanceContract: 11,
  UnfreezeBalanceContract: 12,
  WithdrawBalanceContract: 13,
  UnfreezeAssetContract: 14,
  UpdateAssetContract: 15,
  ProposalCreateContract: 16,
  ProposalApproveContract: 17,
  ProposalDeleteContract: 18,
  SetAccountIdContract: 19,
  CustomContract: 20,
  CreateSmartContract: 30,
  TriggerSmartContract: 31,
  GetContract: 32,
  UpdateSettingContract: 33,
  ExchangeCreateContract: 41,
  ExchangeInjectContract: 42,
  ExchangeWithdrawContract: 43,
  ExchangeTransactionContract: 44,
  UpdateEnergyLimitContract: 45,
  AccountPermissionUpdateContract: 46,
  ClearABIContract: 48,
  UpdateBrokerageContract: 49,
  ShieldedTransferContract: 51,
  MarketSellAssetContract: 52,
  MarketCancelOrderContract: 53,
  FreezeBalanceV2Contract: 54,
  UnfreezeBalanceV2Contract: 55,
  WithdrawExpireUnfreezeContract: 56,
  DelegateResourceContract: 57,
  UnDelegateResourceContract: 58,
  CancelAllUnfreezeV2Contract: 59,
})

/** The outcome that a block records for a transaction (`ret[0].contractRet`). */
export const ContractResult = enumeration({
  DEFAULT: 0,
  SUCCESS: 1,
  REVERT: 2,
  BAD_JUMP_DESTINATION: 3,
  OUT_OF_MEMORY: 4,
  PRECOMPILED_CONTRACT: 5,
  STACK_TOO_SMALL: 6,
  STACK_TOO_LARGE: 7,
  ILLEGAL_OPERATION: 8,
  STACK_OVERFLOW: 9,
  OUT_OF_ENERGY: 10,
  OUT_OF_TIME: 11,
  JVM_STACK_OVER_FLOW: 12,
  UNKNOWN: 13,
  TRANSFER_FAILED: 14,
  INVALID_CODE: 15,
})

const Key = message({ address: [1, 'address'], weight: [2, 'int64'] })

/** Who may sign for an account: keys with weights, and the weight that is enough. `operations` is a
 *  mask of 256 bits: bit n, counted from the lowest of the first byte, stands for contract type
 *  n. */
export const Permission = message({
  type: [1, PermissionType],
  id: [2, 'int32'],
  permission_name: [3, 'string'],
  threshold: [4, 'int64'],
  parent_id: [5, 'int32'],
  operations: [6, 'bytes'],
  keys: [7, Key, 'repeated'],
})

const Vote = message({ vote_address: [1, 'address'], vote_count: [2, 'int64'] })

const FrozenSupply = message({ frozen_amount: [1, 'int64'], frozen_days: [2, 'int64'] })

const AbiParameter = message({ indexed: [1, 'bool'], name: [2, 'string'], type: [3, 'string'] })

const AbiEntry = message({
  anonymous: [1, 'bool'],
  constant: [2, 'bool'],
  name: [3, 'string'],
  inputs: [4, AbiParameter, 'repeated'],
  outputs: [5, AbiParameter, 'repeated'],
  type: [
    6,
    enumeration({
      UnknownEntryType: 0,
      Constructor: 1,
      Function: 2,
      Event: 3,
      Fallback: 4,
      Receive: 5,
      Error: 6,
    }),
  ],
  payable: [7, 'bool'],
  stateMutability: [
    8,
    enumeration({ UnknownMutabilityType: 0, Pure: 1, View: 2, Nonpayable: 3, Payable: 4 }),
  ],
})

const SmartContract = message({
  origin_address: [1, 'address'],
  contract_address: [2, 'address'],
  abi: [3, message({ entrys: [1, AbiEntry, 'repeated'] })],
  bytecode: [4, 'bytes'],
  call_value: [5, 'int64'],
  consume_user_resource_percent: [6, 'int64'],
  name: [7, 'string'],
  origin_energy_limit: [8, 'int64'],
  code_hash: [9, 'bytes'],
  trx_hash: [10, 'bytes'],
  version: [11, 'int32'],
})

/** An entry of a map of the protocol, which is a repeated message of key and value on the wire. */
const Int64Entry = message({ key: [1, 'int64', 'kept'], value: [2, 'int64', 'kept'] })

/** The schema of each contract type's message: all but those that need the virtual machine's
 *  shielded transfers, and `CustomContract` and `GetContract`, which carry nothing. */
export const contractSchemas: Readonly<Record<string, Schema>> = {
  AccountCreateContract: message({
    owner_address: [1, 'address'],
    account_address: [2, 'address'],
    type: [3, AccountType],
  }),
  TransferContract: message({
    owner_address: [1, 'address'],
    to_address: [2, 'address'],
    amount: [3, 'int64'],
  }),
  TransferAssetContract: message({
    asset_name: [1, 'text_bytes'],
    owner_address: [2, 'address'],
    to_address: [3, 'address'],
    amount: [4, 'int64'],
  }),
  VoteAssetContract: message({
    owner_address: [1, 'address'],
    vote_address: [2, 'address', 'repeated'],
    support: [3, 'bool'],
    count: [5, 'int32'],
  }),
  VoteWitnessContract: message({
    owner_address: [1, 'address'],
    votes: [2, Vote, 'repeated'],
    support: [3, 'bool'],
  }),
  WitnessCreateContract: message({ owner_address: [1, 'address'], url: [2, 'text_bytes'] }),
  WitnessUpdateContract: message({ owner_address: [1, 'address'], update_url: [12, 'text_bytes'] }),
  AccountUpdateContract: message({
    account_name: [1, 'text_bytes'],
    owner_address: [2, 'address'],
  }),
  SetAccountIdContract: message({ account_id: [1, 'text_bytes'], owner_address: [2, 'address'] }),
  FreezeBalanceContract: message({
    owner_address: [1, 'address'],
    frozen_balance: [2, 'int64'],
    frozen_duration: [3, 'int64'],
    resource: [10, ResourceCode],
    receiver_address: [15, 'address'],
  }),
  UnfreezeBalanceContract: message({
    owner_address: [1, 'address'],
    resource: [10, ResourceCode],
    receiver_address: [15, 'address'],
  }),
  AssetIssueContract: message({
    owner_address: [1, 'address'],
    name: [2, 'text_bytes'],
    abbr: [3, 'text_bytes'],
    total_supply: [4, 'int64'],
    frozen_supply: [5, FrozenSupply, 'repeated'],
    trx_num: [6, 'int32'],
    precision: [7, 'int32'],
    num: [8, 'int32'],
    start_time: [9, 'int64'],
    end_time: [10, 'int64'],
    order: [11, 'int64'],
    vote_score: [16, 'int32'],
    description: [20, 'text_bytes'],
    url: [21, 'text_bytes'],
    free_asset_net_limit: [22, 'int64'],
    public_free_asset_net_limit: [23, 'int64'],
    public_free_asset_net_usage: [24, 'int64'],
    public_latest_free_net_time: [25, 'int64'],
    id: [41, 'string'],
  }),
  ParticipateAssetIssueContract: message({
    owner_address: [1, 'address'],
    to_address: [2, 'address'],
    asset_name: [3, 'text_bytes'],
    amount: [4, 'int64'],
  }),
  UnfreezeAssetContract: message({ owner_address: [1, 'address'] }),
  UpdateAssetContract: message({
    owner_address: [1, 'address'],
    description: [2, 'text_bytes'],
    url: [3, 'text_bytes'],
    new_limit: [4, 'int64'],
    new_public_limit: [5, 'int64'],
  }),
  ProposalCreateContract: message({
    owner_address: [1, 'address'],
    parameters: [2, Int64Entry, 'repeated'],
  }),
  ProposalApproveContract: message({
    owner_address: [1, 'address'],
    proposal_id: [2, 'int64'],
    is_add_approval: [3, 'bool'],
  }),
  ProposalDeleteContract: message({ owner_address: [1, 'address'], proposal_id: [2, 'int64'] }),
  WithdrawBalanceContract: message({ owner_address: [1, 'address'] }),
  TriggerSmartContract: message({
    owner_address: [1, 'address'],
    contract_address: [2, 'address'],
    call_value: [3, 'int64'],
    data: [4, 'bytes'],
    call_token_value: [5, 'int64'],
    token_id: [6, 'int64'],
  }),
  CreateSmartContract: message({
    owner_address: [1, 'address'],
    new_contract: [2, SmartContract],
    call_token_value: [3, 'int64'],
    token_id: [4, 'int64'],
  }),
  UpdateSettingContract: message({
    owner_address: [1, 'address'],
    contract_address: [2, 'address'],
    consume_user_resource_percent: [3, 'int64'],
  }),
  UpdateEnergyLimitContract: message({
    owner_address: [1, 'address'],
    contract_address: [2, 'address'],
    origin_energy_limit: [3, 'int64'],
  }),
  ClearABIContract: message({ owner_address: [1, 'address'], contract_address: [2, 'address'] }),
  ExchangeCreateContract: message({
    owner_address: [1, 'address'],
    first_token_id: [2, 'text_bytes'],
    first_token_balance: [3, 'int64'],
    second_token_id: [4, 'text_bytes'],
    second_token_balance: [5, 'int64'],
  }),
  ExchangeInjectContract: message({
    owner_address: [1, 'address'],
    exchange_id: [2, 'int64'],
    token_id: [3, 'text_bytes'],
    quant: [4, 'int64'],
  }),
  ExchangeWithdrawContract: message({
    owner_address: [1, 'address'],
    exchange_id: [2, 'int64'],
    token_id: [3, 'text_bytes'],
    quant: [4, 'int64'],
  }),
  ExchangeTransactionContract: message({
    owner_address: [1, 'address'],
    exchange_id: [2, 'int64'],
    token_id: [3, 'text_bytes'],
    quant: [4, 'int64'],
    expected: [5, 'int64'],
  }),
  MarketSellAssetContract: message({
    owner_address: [1, 'address'],
    sell_token_id: [2, 'text_bytes'],
    sell_token_quantity: [3, 'int64'],
    buy_token_id: [4, 'text_bytes'],
    buy_token_quantity: [5, 'int64'],
  }),
  MarketCancelOrderContract: message({ owner_address: [1, 'address'], order_id: [2, 'bytes'] }),
  AccountPermissionUpdateContract: message({
    owner_address: [1, 'address'],
    owner: [2, Permission],
    witness: [3, Permission],
    actives: [4, Permission, 'repeated'],
  }),
  UpdateBrokerageContract: message({ owner_address: [1, 'address'], brokerage: [2, 'int32'] }),
  FreezeBalanceV2Contract: message({
    owner_address: [1, 'address'],
    frozen_balance: [2, 'int64'],
    resource: [3, ResourceCode],
  }),
  UnfreezeBalanceV2Contract: message({
    owner_address: [1, 'address'],
    unfreeze_balance: [2, 'int64'],
    resource: [3, ResourceCode],
  }),
  WithdrawExpireUnfreezeContract: message({ owner_address: [1, 'address'] }),
  DelegateResourceContract: message({
    owner_address: [1, 'address'],
    resource: [2, ResourceCode],
    balance: [3, 'int64'],
    receiver_address: [4, 'address'],
    lock: [5, 'bool'],
    lock_period: [6, 'int64'],
  }),
  UnDelegateResourceContract: message({
    owner_address: [1, 'address'],
    resource: [2, ResourceCode],
    balance: [3, 'int64'],
    receiver_address: [4, 'address'],
  }),
  CancelAllUnfreezeV2Contract: message({ owner_address: [1, 'address'] }),
}
