// Decrees: changes that no transaction makes, by which tests set a scene. A decree holds at once
// for anyone who reads the head (it is applied to the pending state) and enters the chain with the
// next block, before its transactions. So it becomes solid like anything else, and a reorganisation
// makes it wait for the next block again.

import { writeSample } from '../calls/sample_contract.ts'
import { mint, tokenOf, writeSlot } from '../calls/tokens.ts'
import { accountOf, newAccount, writeAccount } from '../state/accounts.ts'
import type { Token } from '../state/records.ts'
import { addTotals, type Layer, totalsOf } from '../state/state.ts'

export type Decree =
  /** Sun out of nothing, for an account that is made if need be; less than nothing takes it
   *  away. */
  | { readonly kind: 'fund'; readonly address: string; readonly sun: bigint }
  /** A TRC20 token without supply. */
  | {
      readonly kind: 'token'
      readonly address: string
      readonly name: string
      readonly symbol: string
      readonly decimals: bigint
      readonly owner: string
    }
  /** A contract for tests. */
  | {
      readonly kind: 'contract'
      readonly address: string
      readonly owner: string
      readonly receivers: readonly string[]
    }
  /** Tokens out of nothing. */
  | {
      readonly kind: 'mint'
      readonly token: string
      readonly address: string
      readonly amount: bigint
    }
  /** The factor of a contract's energy penalty, in ten-thousandths; held, it stays whatever the
   *  contract's use. */
  | {
      readonly kind: 'factor'
      readonly token: string
      readonly factor: bigint
      readonly held?: boolean
    }
  /** Onto a token's freeze list, or off it, without a transaction of its owner. */
  | {
      readonly kind: 'blacklist'
      readonly token: string
      readonly address: string
      readonly listed: boolean
    }
  /** The weights of the rest of the network, in TRX. */
  | {
      readonly kind: 'weights'
      readonly energy_weight_trx?: bigint
      readonly net_weight_trx?: bigint
    }

type ContractDecree = Extract<Decree, { kind: 'contract' }>

/** The highest energy penalty, which the main network's most used contract has. */
export const HOT_FACTOR = 34_000n

/** When a decree is applied, as a ExecutionContext has it. */
type Moment = { readonly now_ms: number; readonly cycle: number }

export function applyDecree(state: Layer, decree: Decree, { now_ms, cycle }: Moment): void {
  switch (decree.kind) {
    case 'fund':
      fund(state, decree.address, decree.sun, now_ms)
      break
    case 'weights':
      setWeights(state, decree)
      break
    case 'token':
      foundToken(state, decree, { now_ms, cycle })
      break
    case 'contract':
      foundContract(state, decree, now_ms)
      break
    case 'mint':
      mint(state, requireToken(state, decree.token), decree.address, decree.amount)
      break
    case 'factor':
      setFactor(state, decree, cycle)
      break
    case 'blacklist':
      writeSlot(
        state,
        requireToken(state, decree.token),
        decree.listed ? 1n : 0n,
        'blacklisted',
        decree.address,
      )
  }
}

function fund(state: Layer, address: string, sun: bigint, now_ms: number): void {
  const account = accountOf(state, address) ?? newAccount(address, now_ms)
  writeAccount(state, { ...account, balance: account.balance + sun })
  addTotals(state, { issued_sun: sun })
}

function foundToken(
  state: Layer,
  decree: Extract<Decree, { kind: 'token' }>,
  { now_ms, cycle }: Moment,
): void {
  const { kind: _, decimals, ...named } = decree
  const account = accountOf(state, decree.address) ?? newAccount(decree.address, now_ms)
  writeAccount(state, { ...account, type: 'Contract' })
  const fresh = {
    total_supply: 0n,
    paused: false,
    factor: Number(HOT_FACTOR),
    held: true,
    energy_used: 0,
    cycle,
  }
  state.write('token', decree.address, { ...named, decimals: Number(decimals), ...fresh })
}

function foundContract(state: Layer, decree: ContractDecree, now_ms: number): void {
  const { kind: _, ...contract } = decree
  const account = accountOf(state, contract.address) ?? newAccount(contract.address, now_ms)
  writeAccount(state, { ...account, type: 'Contract' })
  writeSample(state, contract)
}

function setFactor(state: Layer, decree: Extract<Decree, { kind: 'factor' }>, cycle: number): void {
  const { token, factor, held = true } = decree
  state.write('token', token, {
    ...requireToken(state, token),
    factor: Number(factor),
    held,
    energy_used: 0,
    cycle,
  })
}

function requireToken(state: Layer, address: string): Token {
  const token = tokenOf(state, address)
  if (!token) throw new RangeError('there is no token at this address')
  return token
}

function setWeights(state: Layer, decree: Extract<Decree, { kind: 'weights' }>): void {
  const { rest_energy_weight, rest_net_weight } = totalsOf(state)
  addTotals(state, {
    rest_energy_weight: (decree.energy_weight_trx ?? rest_energy_weight) - rest_energy_weight,
    rest_net_weight: (decree.net_weight_trx ?? rest_net_weight) - rest_net_weight,
  })
}
