// TRC20 tokens as Tether's contract has them, freeze list included, but executed by this program and not by a virtual
// machine: every function is written here, and what it costs in energy comes from a table.

import {
  addressOfWord,
  encodeText,
  integerOfWord,
  selectorOf,
  topicOf,
  wordAt,
  wordOfAddress,
  wordOfInteger,
} from './abi.ts'
import type { Token } from './records.ts'
import type { Layer, View } from './state.ts'
import type { Log } from './world.ts'

/** A call as a function of a token sees it. */
export type TokenCall = {
  readonly state: Layer
  readonly token: Token
  readonly caller: string
  readonly data: string
  readonly logs: Log[]
}

/** What ends a call with REVERT; nothing that it did remains. */
export class Revert extends Error {
  override name = 'Revert'
}

/** Energy without the penalty of a hot contract, and with the greatest that there is (factor 3.4). */
type Cost = { readonly base: number; readonly dearest: number }

type TokenFunction = {
  readonly signature: string
  readonly outputs: readonly string[]
  readonly view: boolean
  /** What the call costs, by the state it finds. */
  cost(call: TokenCall): Cost
  /** Does it, and returns the words of its result. Throws a Revert. */
  run(call: TokenCall): string
}

const MAX_FACTOR = 34_000
const UINT_MAX = 2n ** 256n
const TRUE = wordOfInteger(1n)

const slotKey = (token: Token, kind: string, ...addresses: string[]) => [token.address, kind, ...addresses].join(':')

/** A number that a token keeps under a name and addresses: a balance, an allowance, a place on the freeze list. */
export function slotOf(view: View, token: Token, kind: string, ...addresses: string[]): bigint {
  return view.read('slot', slotKey(token, kind, ...addresses)) ?? 0n
}

export function writeSlot(state: Layer, token: Token, value: bigint, kind: string, ...addresses: string[]): void {
  state.write('slot', slotKey(token, kind, ...addresses), value === 0n ? undefined : value)
}

export const tokenOf = (view: View, address: string): Token | undefined => view.read('token', address)

const plain = (base: number): Cost => ({ base, dearest: Math.trunc(base * (1 + MAX_FACTOR / 10_000)) })

/** The measured costs of sending USDT: to somebody who holds some, and to somebody who does not. */
const toHolder: Cost = { base: 14_631, dearest: 64_285 }
const toNewHolder: Cost = { base: 29_631, dearest: 130_285 }

/** The energy of a call at a token's factor, and how much of it is the penalty. */
export function energyOf({ base, dearest }: Cost, factor: number): { total: number; penalty: number } {
  const penalty = Math.trunc(((dearest - base) * factor) / MAX_FACTOR)
  return { total: base + penalty, penalty }
}

function addressArgument({ data }: TokenCall, index: number): string {
  const word = wordAt(data, index)
  if (word === undefined) throw new Revert('arguments are missing')
  return addressOfWord(word)
}

function integerArgument({ data }: TokenCall, index: number): bigint {
  const word = wordAt(data, index)
  if (word === undefined) throw new Revert('arguments are missing')
  return integerOfWord(word)
}

function emit({ logs, token }: TokenCall, event: string, indexed: readonly string[], data: string): void {
  logs.push({ address: token.address.slice(2), topics: [topicOf(event), ...indexed.map(wordOfAddress)], data })
}

function requireOwner({ caller, token }: TokenCall): void {
  if (caller !== token.owner) throw new Revert('only the owner')
}

function move(call: TokenCall, from: string, to: string, amount: bigint): void {
  const { state, token } = call
  const held = slotOf(state, token, 'balance', from)
  if (held < amount) throw new Revert('balance too low')
  writeSlot(state, token, held - amount, 'balance', from)
  writeSlot(state, token, slotOf(state, token, 'balance', to) + amount, 'balance', to)
  emit(call, 'Transfer(address,address,uint256)', [from, to], wordOfInteger(amount))
}

function checkMovable({ state, token }: TokenCall, from: string): void {
  if (token.paused) throw new Revert('paused')
  if (slotOf(state, token, 'blacklisted', from) > 0n) throw new Revert('blacklisted')
}

/** Creates tokens for an account. */
export function mint(state: Layer, token: Token, to: string, amount: bigint): void {
  writeSlot(state, token, slotOf(state, token, 'balance', to) + amount, 'balance', to)
  state.write('token', token.address, { ...token, total_supply: token.total_supply + amount })
}

function read(signature: string, output: string, value: (call: TokenCall) => string, base = 935): TokenFunction {
  return { signature, outputs: [output], view: true, cost: () => plain(base), run: value }
}

const bool = (value: boolean) => wordOfInteger(value ? 1n : 0n)
const listed = (call: TokenCall) => bool(slotOf(call.state, call.token, 'blacklisted', addressArgument(call, 0)) > 0n)
const owner = ({ token }: TokenCall) => wordOfAddress(token.owner)
const zero = () => wordOfInteger(0n)

const reads: TokenFunction[] = [
  read('name()', 'string', ({ token }) => encodeText(token.name)),
  read('symbol()', 'string', ({ token }) => encodeText(token.symbol)),
  read('decimals()', 'uint8', ({ token }) => wordOfInteger(BigInt(token.decimals)), 700),
  read('totalSupply()', 'uint256', ({ token }) => wordOfInteger(token.total_supply), 700),
  read('balanceOf(address)', 'uint256', (call) =>
    wordOfInteger(slotOf(call.state, call.token, 'balance', addressArgument(call, 0))),
  ),
  read('allowance(address,address)', 'uint256', (call) =>
    wordOfInteger(slotOf(call.state, call.token, 'allowance', addressArgument(call, 0), addressArgument(call, 1))),
  ),
  read('isBlackListed(address)', 'bool', listed),
  read('getBlackListStatus(address)', 'bool', listed),
  read('paused()', 'bool', ({ token }) => bool(token.paused), 700),
  read('deprecated()', 'bool', zero, 700),
  read('upgradedAddress()', 'address', zero, 700),
  read('owner()', 'address', owner, 700),
  read('getOwner()', 'address', owner, 700),
  read('basisPointsRate()', 'uint256', zero, 700),
  read('maximumFee()', 'uint256', zero, 700),
]

const writes: TokenFunction[] = [
  {
    signature: 'transfer(address,uint256)',
    outputs: ['bool'],
    view: false,
    cost: (call) => costOfReceiving(call, 0),
    run(call) {
      checkMovable(call, call.caller)
      move(call, call.caller, addressArgument(call, 0), integerArgument(call, 1))
      return TRUE
    },
  },
  {
    signature: 'transferFrom(address,address,uint256)',
    outputs: ['bool'],
    view: false,
    cost(call) {
      const { base, dearest } = costOfReceiving(call, 1)
      return { base: base + 5_600, dearest: dearest + Math.trunc(5_600 * 4.4) }
    },
    run(call) {
      const { state, token, caller } = call
      const from = addressArgument(call, 0)
      const amount = integerArgument(call, 2)
      checkMovable(call, from)
      const allowed = slotOf(state, token, 'allowance', from, caller)
      if (allowed < amount) throw new Revert('allowance too low')
      // An allowance of everything is for ever.
      if (allowed < UINT_MAX - 1n) writeSlot(state, token, allowed - amount, 'allowance', from, caller)
      move(call, from, addressArgument(call, 1), amount)
      return TRUE
    },
  },
  {
    signature: 'approve(address,uint256)',
    outputs: ['bool'],
    view: false,
    cost({ state, token, caller, data }) {
      const spender = addressOfWord(wordAt(data, 0) ?? wordOfInteger(0n))
      return plain(slotOf(state, token, 'allowance', caller, spender) === 0n ? 22_674 : 7_674)
    },
    run(call) {
      const spender = addressArgument(call, 0)
      const amount = integerArgument(call, 1)
      writeSlot(call.state, call.token, amount, 'allowance', call.caller, spender)
      emit(call, 'Approval(address,address,uint256)', [call.caller, spender], wordOfInteger(amount))
      return TRUE
    },
  },
  byOwner('addBlackList(address)', (call) => {
    const user = addressArgument(call, 0)
    writeSlot(call.state, call.token, 1n, 'blacklisted', user)
    emit(call, 'AddedBlackList(address)', [], wordOfAddress(user))
  }),
  byOwner('removeBlackList(address)', (call) => {
    const user = addressArgument(call, 0)
    writeSlot(call.state, call.token, 0n, 'blacklisted', user)
    emit(call, 'RemovedBlackList(address)', [], wordOfAddress(user))
  }),
  byOwner('destroyBlackFunds(address)', (call) => {
    const { state, token } = call
    const user = addressArgument(call, 0)
    if (slotOf(state, token, 'blacklisted', user) === 0n) throw new Revert('not blacklisted')
    const amount = slotOf(state, token, 'balance', user)
    writeSlot(state, token, 0n, 'balance', user)
    state.write('token', token.address, { ...token, total_supply: token.total_supply - amount })
    emit(call, 'DestroyedBlackFunds(address,uint256)', [], wordOfAddress(user) + wordOfInteger(amount))
  }),
  byOwner('issue(uint256)', (call) => {
    const amount = integerArgument(call, 0)
    if (call.token.total_supply + amount >= UINT_MAX) throw new Revert('overflow')
    mint(call.state, call.token, call.token.owner, amount)
    emit(call, 'Issue(uint256)', [], wordOfInteger(amount))
  }),
  byOwner('pause()', ({ state, token }) => state.write('token', token.address, { ...token, paused: true })),
  byOwner('unpause()', ({ state, token }) => state.write('token', token.address, { ...token, paused: false })),
]

function costOfReceiving({ state, token, data }: TokenCall, argument: number): Cost {
  const word = wordAt(data, argument)
  const held = word === undefined ? 0n : slotOf(state, token, 'balance', addressOfWord(word))
  return held > 0n ? toHolder : toNewHolder
}

function byOwner(signature: string, change: (call: TokenCall) => void): TokenFunction {
  return {
    signature,
    outputs: [],
    view: false,
    cost: () => plain(21_000),
    run(call) {
      requireOwner(call)
      change(call)
      return ''
    },
  }
}

export const tokenFunctions: readonly TokenFunction[] = [...reads, ...writes]

const bySelector = new Map(tokenFunctions.map((one) => [selectorOf(one.signature), one]))

/** The function that call data asks for. */
export const functionOf = (data: string): TokenFunction | undefined => bySelector.get(data.slice(0, 8))

/** What a call that ends before it does anything costs. */
export const costOfRevert = plain(1_200)
