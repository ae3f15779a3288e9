// Calls of smart contracts: in a transaction (TriggerSmartContract), and without one (constant
// calls and estimates). A transaction whose call fails is in a block all the same: its energy is
// paid and nothing else of it remains.

import type { Message } from 'penstock-tron/protobuf.ts'
import { accountOf, isAddressHex, requireAccount } from '../state/accounts.ts'
import {
  type CallEffects,
  type Contract,
  type ExecutionContext,
  integerOf,
  type Log,
  textOf,
} from '../state/execution_context.ts'
import type { SampleContract, Token } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import { Layer, type View } from '../state/state.ts'
import { chargeEnergy, energyLimit } from './energy.ts'
import { penaltyAt } from './energy_penalty.ts'
import { runSample, sampleFunctionOf, sampleOf } from './sample_contract.ts'
import { functionOf } from './token_functions.ts'
import { type Cost, energyOf, Revert, tokenOf } from './tokens.ts'

type CallContext = Pick<ExecutionContext, 'cycle' | 'parameters'> & { readonly state: View }
type Run = Omit<CallEffects, 'contract_address' | 'energy'> & {
  readonly total: number
  readonly penalty: number
}

/** The token at an address, its penalty brought up to the present cycle. */
export function calledToken(
  { state, cycle, parameters }: CallContext,
  address: string,
): Token | undefined {
  const token = tokenOf(state, address)
  return token && { ...token, ...penaltyAt(token, cycle, parameters) }
}

/** The contract at an address, of whatever kind. */
export const contractAt = (view: View, address: string): Token | SampleContract | undefined =>
  tokenOf(view, address) ?? sampleOf(view, address)

/** Whether call data ask for a function that only reads. */
export function isViewCall(view: View, address: string, data: string): boolean {
  if (tokenOf(view, address)) return functionOf(data)?.view ?? false
  return sampleFunctionOf(data)?.mutability === 'View'
}

/** Runs a call with no more than some energy. Its changes are in the state only if it succeeds. */
function runCall(context: ExecutionContext, message: Message, limit: number): Run {
  const address = textOf(message, 'contract_address')
  const token = calledToken(context, address)
  if (token) return runToken(context.state, token, message, limit)
  const call = {
    caller: textOf(message, 'owner_address'),
    sun: integerOf(message, 'call_value'),
    data: textOf(message, 'data'),
  }
  const contract = sampleOf(context.state, address)!
  const { ended, output, energy, internal } = runSample(context, contract, call, limit)
  const costs = { total: energy, penalty: 0 }
  const list = internal.list
  if (ended === 'OUT_OF_ENERGY') return { ...outOfEnergy(limit, costs), internal: list }
  const failure = ended === 'SUCCESS' ? '' : REVERTED
  return { contract_ret: ended, output, logs: [], failure, internal: list, ...costs }
}

const REVERTED = 'REVERT opcode executed'

function runToken(state: Layer, token: Token, message: Message, limit: number): Run {
  const caller = textOf(message, 'owner_address')
  const inner = new Layer(state)
  const logs: Log[] = []
  const data = textOf(message, 'data')
  const call = { state: inner, token, caller, data, logs }
  const wanted = functionOf(data)
  const payable = integerOf(message, 'call_value') === 0n
  const result = attempt(() => {
    if (!wanted || !payable) throw new Revert('no such function')
    const cost = wanted.cost(call)
    return { output: wanted.run(call), cost }
  })
  const energy = energyOf(result.cost, token.factor)
  if (energy.total > limit) return outOfEnergy(limit, energy)
  if (result.output === undefined)
    return { ...nothingDone, contract_ret: 'REVERT', failure: REVERTED, ...energy }
  state.merge(inner)
  noteUse(state, token, energy.total - energy.penalty)
  const { output } = result
  return { ...nothingDone, contract_ret: 'SUCCESS', output, logs, failure: '', ...energy }
}

/** Adds to what the contract used since the last maintenance. Only calls that succeed count. */
function noteUse(
  state: Layer,
  { address, factor, cycle, energy_used }: Token,
  energy: number,
): void {
  state.write('token', address, {
    ...tokenOf(state, address)!,
    factor,
    cycle,
    energy_used: energy_used + energy,
  })
}

/** A call's output and cost; without output it was reverted. */
type Attempt = { readonly output?: string; readonly cost: Cost }

function attempt(work: () => Attempt): Attempt {
  try {
    return work()
  } catch (error) {
    if (error instanceof Revert) return { cost: error.cost }
    throw error
  }
}

const nothingDone = { output: '', logs: [], internal: [] }

/** All of the energy is gone, and the call with it. */
function outOfEnergy(limit: number, energy: { total: number; penalty: number }): Run {
  const penalty = energy.total === 0 ? 0 : Math.trunc((limit * energy.penalty) / energy.total)
  const failure =
    `Not enough energy for 'SSTORE' operation executing: curInvokeEnergyLimit[${limit}], ` +
    `curOpEnergy[5000], penaltyEnergy[${penalty}], usedEnergy[${limit}]`
  return { ...nothingDone, contract_ret: 'OUT_OF_ENERGY', failure, total: limit, penalty }
}

export const triggerContract: Contract = {
  validate({ state, parameters, fee_limit_sun }, message) {
    const owner = textOf(message, 'owner_address')
    const most = parameters.getMaxFeeLimit
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    if (fee_limit_sun < 0n || fee_limit_sun > BigInt(most))
      throw invalid(`feeLimit must be >= 0 and <= ${most}`)
    if (!contractAt(state, textOf(message, 'contract_address'))) {
      throw invalid('No contract or not a valid smart contract')
    }
    const value = integerOf(message, 'call_value')
    if (value < 0n) throw invalid('callValue must be >= 0')
    if ((accountOf(state, owner)?.balance ?? 0n) < value) throw invalid('balance is not sufficient')
  },

  execute(context, message) {
    const owner = textOf(message, 'owner_address')
    const contract_address = textOf(message, 'contract_address')
    const limit = energyLimit(
      context,
      requireAccount(context.state, owner),
      integerOf(message, 'call_value'),
    )
    const { total, penalty, ...run } = runCall(context, message, limit)
    const succeeded = run.contract_ret === 'SUCCESS'
    const energy = chargeEnergy(context, owner, { total, penalty, succeeded })
    return { fee_sun: energy.fee_sun, call: { ...run, contract_address, energy } }
  },
}

/** The energy that a constant call may use: the node's own bound. A fee limit of the request lowers
 *  it. */
const CONSTANT_ENERGY_MAX = 100_000_000

/** Runs a call on a state of its own that is thrown away afterwards. Throws when there is no such
 *  contract. */
export function runConstantCall(context: ExecutionContext, message: Message): Run {
  if (!contractAt(context.state, textOf(message, 'contract_address'))) {
    throw invalid('Smart contract is not exist.')
  }
  const limit = context.fee_limit_sun / BigInt(context.parameters.getEnergyFee)
  const capped = limit > 0n && limit < CONSTANT_ENERGY_MAX ? Number(limit) : CONSTANT_ENERGY_MAX
  return runCall(context, message, capped)
}
