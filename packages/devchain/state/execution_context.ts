// The input and the output of a contract. A contract is validated and then executed, both
// against the state in which the transaction finds itself: the fees of the transaction are already
// paid.

import type { Message } from 'penstock-tron/protobuf.ts'
import type { InternalTransaction } from './internal.ts'
import type { Parameters } from './parameters.ts'
import type { StakeType } from './records.ts'
import type { Layer } from './state.ts'

/** The state that a contract works on, and the time it is executed at: that of the head block, as
 *  on the real chain. */
export type ExecutionContext = {
  readonly state: Layer
  readonly parameters: Parameters
  readonly now_ms: number
  /** now_ms in slots since genesis. */
  readonly slot: number
  /** The number of the present time between two maintenances, from 1. */
  readonly cycle: number
  readonly unfreeze_delay_ms: number
  /** The transaction is only being built: some limits are tighter then. */
  readonly building: boolean
  /** The most that the transaction may pay for energy, rented energy included at its price. */
  readonly fee_limit_sun: bigint
  /** 64 hexadecimal characters; '' where there is no transaction. */
  readonly transaction_id: string
}

export type Log = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

/** A call's energy by payer: staked energy, and TRX burned in place of energy. */
export type EnergyBill = {
  readonly usage: number
  readonly fee_sun: bigint
  readonly total: number
  readonly penalty: number
}

/** The outcome of a call of a smart contract. A failed one has one, too: its energy is paid. */
export type CallEffects = {
  readonly contract_address: string
  readonly contract_ret: 'SUCCESS' | 'REVERT' | 'OUT_OF_ENERGY'
  /** Hexadecimal words. */
  readonly output: string
  readonly logs: readonly Log[]
  /** Why it failed; '' when it did not. */
  readonly failure: string
  readonly energy: EnergyBill
  readonly internal: readonly InternalTransaction[]
}

/** The contract's part of the transaction's receipt. */
export type Effects = {
  readonly fee_sun: bigint
  readonly withdrawn_sun?: bigint
  /** Rewards that were paid out. */
  readonly reward_sun?: bigint
  /** The TRC10 token that came into being. */
  readonly asset_id?: string
  readonly cancelled?: { readonly [Type in StakeType]: bigint }
  readonly call?: CallEffects
}

export type Contract = {
  /** Throws CONTRACT_VALIDATE_ERROR with the node's message. */
  validate(context: ExecutionContext, message: Message): void
  execute(context: ExecutionContext, message: Message): Effects
}

// Fields of a decoded message: absent means the default.

export const integerOf = (message: Message, name: string): bigint =>
  BigInt((message[name] ?? 0n) as bigint | number)
export const textOf = (message: Message, name: string): string => (message[name] ?? '') as string
export const flagOf = (message: Message, name: string): boolean =>
  (message[name] ?? false) as boolean
/** The resource a message names: a name, or a number that names none. */
export const resourceOf = (message: Message): string => String(message.resource ?? 'BANDWIDTH')
