// The chain parameters, under the names that `getchainparameters` gives them, as the main network
// had them in the middle of 2026, and the numbers that the protocol itself fixes. Sums are sun,
// times milliseconds unless named.

export const SLOT_MS = 3000
export const SUN_PER_TRX = 1_000_000n
/** As much as there will ever be: all sums fit into 64 bits, as the node's do. */
export const ISSUED_SUN_MAX = 2n ** 63n - 1n
export const WITNESS_COUNT = 27
/** Slots that stay empty after the block that does maintenance. */
export const MAINTENANCE_SKIPPED_SLOTS = 2
export const VOTES_MAX = 30
export const DAY_MS = 86_400_000
/** The longest time ahead of the head block at which a transaction may expire. */
export const EXPIRATION_MAX_MS = DAY_MS
export const TRANSACTION_MAX_BYTES = 512_000
export const BLOCK_MAX_BYTES = 2_000_000
/** The bytes of a transaction's result, paid beyond its own. */
export const RESULT_BYTES = 64
export const PENDING_MAX = 2000
export const PENDING_MAX_MS = 60_000
export const SIGNATURES_MAX = 5
export const UNFREEZING_MAX = 32
export const DEFAULT_LOCK_PERIOD = 86_400

/** All that a node answers, in its order, as the main network had them in 2026. A zero is printed
 *  without its value. Most are switches of what the network once decided; this chain follows those
 *  that have to do with what it executes. */
export const defaultParameters = {
  getMaintenanceTimeInterval: 21_600_000,
  getAccountUpgradeCost: 9_999_000_000,
  getCreateAccountFee: 100_000,
  getTransactionFee: 1000,
  getAssetIssueFee: 1_024_000_000,
  getWitnessPayPerBlock: 8_000_000,
  getWitnessStandbyAllowance: 115_200_000_000,
  getCreateNewAccountFeeInSystemContract: 1_000_000,
  getCreateNewAccountBandwidthRate: 1,
  getAllowCreationOfContracts: 1,
  getRemoveThePowerOfTheGr: -1,
  getEnergyFee: 100,
  getExchangeCreateFee: 1_024_000_000,
  getMaxCpuTimeOfOneTx: 80,
  getAllowUpdateAccountName: 0,
  getAllowSameTokenName: 1,
  getAllowDelegateResource: 1,
  getTotalEnergyLimit: 180_000_000_000,
  getAllowTvmTransferTrc10: 1,
  getTotalEnergyCurrentLimit: 180_000_000_000,
  getAllowMultiSign: 1,
  getAllowAdaptiveEnergy: 0,
  getTotalEnergyTargetLimit: 12_500_000,
  getTotalEnergyAverageUsage: 0,
  getUpdateAccountPermissionFee: 100_000_000,
  getMultiSignFee: 1_000_000,
  getAllowAccountStateRoot: 0,
  getAllowProtoFilterNum: 0,
  getAllowTvmConstantinople: 1,
  getAllowTvmSolidity059: 1,
  getAllowTvmIstanbul: 1,
  getAllowShieldedTRC20Transaction: 1,
  getForbidTransferToContract: 0,
  getAdaptiveResourceLimitTargetRatio: 10,
  getAdaptiveResourceLimitMultiplier: 1000,
  getChangeDelegation: 1,
  getWitness127PayPerBlock: 128_000_000,
  getAllowMarketTransaction: 0,
  getMarketSellFee: 0,
  getMarketCancelFee: 0,
  getAllowPBFT: 0,
  getAllowTransactionFeePool: 0,
  getMaxFeeLimit: 15_000_000_000,
  getAllowOptimizeBlackHole: 1,
  getAllowNewResourceModel: 0,
  getAllowTvmFreeze: 0,
  getAllowTvmVote: 1,
  getAllowTvmLondon: 1,
  getAllowTvmCompatibleEvm: 0,
  getAllowAccountAssetOptimization: 0,
  getFreeNetLimit: 600,
  getTotalNetLimit: 43_200_000_000,
  getAllowHigherLimitForMaxCpuTimeOfOneTx: 1,
  getAllowAssetOptimization: 1,
  getAllowNewReward: 1,
  getMemoFee: 1_000_000,
  getAllowDelegateOptimization: 1,
  getUnfreezeDelayDays: 14,
  getAllowOptimizedReturnValueOfChainId: 1,
  getAllowDynamicEnergy: 1,
  getDynamicEnergyThreshold: 5_000_000_000,
  getDynamicEnergyIncreaseFactor: 2000,
  getDynamicEnergyMaxFactor: 34_000,
  getAllowTvmShangHai: 1,
  getAllowCancelAllUnfreezeV2: 1,
  getMaxDelegateLockPeriod: 864_000,
  getAllowOldRewardOpt: 1,
  getAllowEnergyAdjustment: 1,
  getMaxCreateAccountTxSize: 1000,
  getAllowStrictMath: 1,
  getConsensusLogicOptimization: 1,
  getAllowTvmCancun: 1,
  getAllowTvmBlob: 1,
  getAllowTvmSelfdestructRestriction: 1,
  getProposalExpireTime: 259_200_000,
  getAllowTvmOsaka: 1,
}

export type Parameters = { readonly [Name in keyof typeof defaultParameters]: number }

/** Weights of everybody else's stakes in TRX: they make the resources of one staked TRX what they
 *  are on mainnet. */
export const mainnetWeights = {
  energy_weight_trx: 18_755_883_722n,
  net_weight_trx: 26_859_313_515n,
}
