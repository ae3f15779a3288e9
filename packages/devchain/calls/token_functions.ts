// The functions of a TRC20 token, as Tether's contract on the main network has them: freeze list,
// pause, fee, deprecation, and its best-known trap, `transfer`, which succeeds and returns false.
// They are executed by this program and not by a virtual machine; what they cost in energy is a
// table.

import type { Token } from '../state/records.ts'
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
import {
  type Cost,
  costOfPoorTransfer,
  mint,
  plain,
  Revert,
  slotOf,
  type TokenCall,
  type TokenFunction,
  UINT_END,
  writeSlot,
} from './tokens.ts'

const ZERO = wordOfInteger(0n)
const TRUE = wordOfInteger(1n)
const NOBODY = `41${'00'.repeat(20)}`
/** The bounds of the fee that the owner may ask: ten-thousandths, and whole tokens. */
const BASIS_POINTS_END = 20n
const MAXIMUM_FEE_END = 50n

/** The measured costs of sending USDT: to who holds some, and to who does not. */
const toHolder: Cost = { base: 14_631, dearest: 64_285 }
const toNewHolder: Cost = { base: 29_631, dearest: 130_285 }
/** The extra cost of `transferFrom`. */
const ALLOWANCE_COST = 5_600

function wordArgument({ data }: TokenCall, index: number): string {
  const word = wordAt(data, index)
  if (word === undefined) throw new Revert('arguments are missing')
  return word
}

const addressArgument = (call: TokenCall, index: number) => addressOfWord(wordArgument(call, index))
const integerArgument = (call: TokenCall, index: number) => integerOfWord(wordArgument(call, index))
const bool = (value: boolean) => (value ? TRUE : ZERO)

function emit(call: TokenCall, event: string, indexed: readonly string[], data = ''): void {
  const topics = [topicOf(event), ...indexed.map(wordOfAddress)]
  call.logs.push({ address: call.token.address.slice(2), topics, data })
}

/** The token as it is now: the call may have changed it already. */
const tokenNow = ({ state, token }: TokenCall): Token => state.read('token', token.address) ?? token

function changeToken(call: TokenCall, change: Partial<Token>): void {
  call.state.write('token', call.token.address, { ...tokenNow(call), ...change })
}

const slot = ({ state, token }: TokenCall, kind: string, ...addresses: string[]) =>
  slotOf(state, token, kind, ...addresses)

const write = ({ state, token }: TokenCall, value: bigint, kind: string, ...addresses: string[]) =>
  writeSlot(state, token, value, kind, ...addresses)

const isListed = (call: TokenCall, address: string) => slot(call, 'blacklisted', address) > 0n
const isDeprecated = (call: TokenCall) => slot(call, 'upgraded') > 0n

/** A deprecated token asks the one in its place, and there is none on this chain. */
function checkCurrent(call: TokenCall): void {
  if (isDeprecated(call)) throw new Revert('the token is deprecated')
}

function checkUsable(call: TokenCall): void {
  if (call.token.paused) throw new Revert('paused')
  checkCurrent(call)
}

function requireOwner({ caller, token }: TokenCall): void {
  if (caller !== token.owner) throw new Revert('only the owner')
}

/** The fee for an amount, of what the owner has asked for; nothing so far on the main network. */
function feeFor(call: TokenCall, amount: bigint): bigint {
  const product = amount * slot(call, 'basis_points')
  if (product >= UINT_END) throw new Revert('overflow')
  const fee = product / 10_000n
  const most = slot(call, 'maximum_fee')
  return fee > most ? most : fee
}

function move(call: TokenCall, from: string, to: string, amount: bigint): void {
  if (to === NOBODY) throw new Revert('nobody can receive')
  const held = slot(call, 'balance', from)
  if (held < amount) throw new Revert('balance too low', costOfPoorTransfer)
  write(call, held - amount, 'balance', from)
  write(call, slot(call, 'balance', to) + amount, 'balance', to)
  emit(call, 'Transfer(address,address,uint256)', [from, to], wordOfInteger(amount))
}

/** Sends an amount of which the owner of the token gets the fee. */
function moveWithFee(call: TokenCall, from: string, to: string, amount: bigint): void {
  const fee = feeFor(call, amount)
  move(call, from, to, amount - fee)
  if (fee > 0n) move(call, from, call.token.owner, fee)
}

type Run = TokenFunction['run']

const read = (signature: string, output: string, value: Run, base = 935): TokenFunction => ({
  signature,
  outputs: [output],
  view: true,
  cost: () => plain(base),
  run: value,
})

const listed = (call: TokenCall) => bool(isListed(call, addressArgument(call, 0)))
const number = (value: bigint) => wordOfInteger(value)
const balance = (call: TokenCall) => number(slot(call, 'balance', addressArgument(call, 0)))
const allowed = (call: TokenCall) =>
  number(slot(call, 'allowance', addressArgument(call, 0), addressArgument(call, 1)))

/** A reading that a deprecated token hands on, and so reverts. */
const current =
  (run: Run): Run =>
  (call) => {
    checkCurrent(call)
    return run(call)
  }

const reads: TokenFunction[] = [
  read('name()', 'string', ({ token }) => encodeText(token.name)),
  read('symbol()', 'string', ({ token }) => encodeText(token.symbol)),
  read('decimals()', 'uint8', ({ token }) => number(BigInt(token.decimals)), 700),
  read(
    'totalSupply()',
    'uint256',
    current(({ token }) => number(token.total_supply)),
    700,
  ),
  read('_totalSupply()', 'uint256', ({ token }) => number(token.total_supply), 700),
  read('MAX_UINT()', 'uint256', () => number(UINT_END - 1n), 700),
  read('balanceOf(address)', 'uint256', current(balance)),
  read('oldBalanceOf(address)', 'uint256', (call) => (isDeprecated(call) ? balance(call) : ZERO)),
  read('allowance(address,address)', 'uint256', current(allowed)),
  read('isBlackListed(address)', 'bool', listed),
  read('getBlackListStatus(address)', 'bool', listed),
  read('paused()', 'bool', ({ token }) => bool(token.paused), 700),
  read('deprecated()', 'bool', (call) => bool(isDeprecated(call)), 700),
  read('upgradedAddress()', 'address', (call) => number(slot(call, 'upgraded')), 700),
  read('owner()', 'address', ({ token }) => wordOfAddress(token.owner), 700),
  read('basisPointsRate()', 'uint256', (call) => number(slot(call, 'basis_points')), 700),
  read('maximumFee()', 'uint256', (call) => number(slot(call, 'maximum_fee')), 700),
  read('calcFee(uint256)', 'uint256', (call) => number(feeFor(call, integerArgument(call, 0)))),
]

function costOfReceiving(call: TokenCall, argument: number): Cost {
  const word = wordAt(call.data, argument)
  const held = word === undefined ? 0n : slot(call, 'balance', addressOfWord(word))
  return held > 0n ? toHolder : toNewHolder
}

function costOfAllowance(call: TokenCall): Cost {
  const spender = addressOfWord(wordAt(call.data, 0) ?? ZERO)
  return plain(slot(call, 'allowance', call.caller, spender) === 0n ? 22_674 : 7_674)
}

/** Sets what a spender may send of the caller's tokens to what `change` makes of it. */
function allowing(
  signature: string,
  change: (before: bigint, value: bigint) => bigint,
): TokenFunction {
  return {
    signature,
    outputs: ['bool'],
    view: false,
    cost: costOfAllowance,
    run(call) {
      checkUsable(call)
      const { caller } = call
      const spender = addressArgument(call, 0)
      const after = change(slot(call, 'allowance', caller, spender), integerArgument(call, 1))
      if (after >= UINT_END) throw new Revert('overflow')
      write(call, after, 'allowance', caller, spender)
      emit(call, 'Approval(address,address,uint256)', [caller, spender], number(after))
      return TRUE
    },
  }
}

const transfers: TokenFunction[] = [
  {
    signature: 'transfer(address,uint256)',
    outputs: ['bool'],
    view: false,
    cost: (call) => costOfReceiving(call, 0),
    run(call) {
      checkUsable(call)
      if (isListed(call, call.caller)) throw new Revert('blacklisted')
      moveWithFee(call, call.caller, addressArgument(call, 0), integerArgument(call, 1))
      // It says that it returns a bool and returns none, which reads as false.
      return ZERO
    },
  },
  {
    signature: 'transferFrom(address,address,uint256)',
    outputs: ['bool'],
    view: false,
    cost(call) {
      const { base, dearest } = costOfReceiving(call, 1)
      const more = plain(ALLOWANCE_COST)
      return { base: base + more.base, dearest: dearest + more.dearest }
    },
    run(call) {
      checkUsable(call)
      const { caller } = call
      const from = addressArgument(call, 0)
      const to = addressArgument(call, 1)
      const amount = integerArgument(call, 2)
      if (isListed(call, from)) throw new Revert('blacklisted')
      const most = slot(call, 'allowance', from, caller)
      if (most < amount) throw new Revert('allowance too low')
      // An allowance of everything is for ever.
      if (most < UINT_END - 1n) write(call, most - amount, 'allowance', from, caller)
      moveWithFee(call, from, to, amount)
      return TRUE
    },
  },
  allowing('approve(address,uint256)', (_before, value) => value),
  allowing('increaseApproval(address,uint256)', (before, value) => before + value),
  allowing('decreaseApproval(address,uint256)', (before, value) =>
    value > before ? 0n : before - value,
  ),
]

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

function list(call: TokenCall, value: bigint, event: string): void {
  const user = addressArgument(call, 0)
  write(call, value, 'blacklisted', user)
  emit(call, event, [user])
}

function destroyFunds(call: TokenCall): void {
  const user = addressArgument(call, 0)
  if (!isListed(call, user)) throw new Revert('not blacklisted')
  checkCurrent(call)
  const amount = slot(call, 'balance', user)
  write(call, 0n, 'balance', user)
  changeToken(call, { total_supply: call.token.total_supply - amount })
  emit(call, 'DestroyedBlackFunds(address,uint256)', [user], number(amount))
}

function issue(call: TokenCall): void {
  const { state, token } = call
  const amount = integerArgument(call, 0)
  if (token.total_supply + amount >= UINT_END) throw new Revert('overflow')
  mint(state, token, token.owner, amount)
  emit(call, 'Issue(uint256)', [], number(amount))
  emit(call, 'Transfer(address,address,uint256)', [NOBODY, token.owner], number(amount))
}

function redeem(call: TokenCall): void {
  const { token } = call
  const amount = integerArgument(call, 0)
  const held = slot(call, 'balance', token.owner)
  if (held < amount) throw new Revert('balance too low')
  write(call, held - amount, 'balance', token.owner)
  changeToken(call, { total_supply: token.total_supply - amount })
  emit(call, 'Redeem(uint256)', [], number(amount))
  emit(call, 'Transfer(address,address,uint256)', [token.owner, NOBODY], number(amount))
}

function setParams(call: TokenCall): void {
  const [points, fee] = [integerArgument(call, 0), integerArgument(call, 1)]
  if (points >= BASIS_POINTS_END || fee >= MAXIMUM_FEE_END) throw new Revert('fee too high')
  const most = fee * 10n ** BigInt(call.token.decimals)
  write(call, points, 'basis_points')
  write(call, most, 'maximum_fee')
  emit(call, 'Params(uint256,uint256)', [], number(points) + number(most))
}

function setPaused(call: TokenCall, paused: boolean): void {
  if (call.token.paused === paused) throw new Revert('it is so already')
  changeToken(call, { paused })
  emit(call, paused ? 'Pause()' : 'Unpause()', [])
}

function transferOwnership(call: TokenCall): void {
  const owner = addressArgument(call, 0)
  if (owner === NOBODY) throw new Revert('nobody cannot own it')
  changeToken(call, { owner })
  emit(call, 'OwnershipTransferred(address,address)', [call.token.owner, owner])
}

function deprecate(call: TokenCall): void {
  const place = addressArgument(call, 0)
  if (place === NOBODY) throw new Revert('nobody cannot take its place')
  write(call, integerOfWord(wordOfAddress(place)), 'upgraded')
  emit(call, 'Deprecate(address)', [], wordOfAddress(place))
}

const ownersFunctions: TokenFunction[] = [
  byOwner('addBlackList(address)', (call) => list(call, 1n, 'AddedBlackList(address)')),
  byOwner('removeBlackList(address)', (call) => list(call, 0n, 'RemovedBlackList(address)')),
  byOwner('destroyBlackFunds(address)', destroyFunds),
  byOwner('issue(uint256)', issue),
  byOwner('redeem(uint256)', redeem),
  byOwner('setParams(uint256,uint256)', setParams),
  byOwner('pause()', (call) => setPaused(call, true)),
  byOwner('unpause()', (call) => setPaused(call, false)),
  byOwner('transferOwnership(address)', transferOwnership),
  byOwner('deprecate(address)', deprecate),
]

export const tokenFunctions: readonly TokenFunction[] = [...reads, ...transfers, ...ownersFunctions]

const bySelector = new Map(tokenFunctions.map((one) => [selectorOf(one.signature), one]))

/** The function that call data ask for. */
export const functionOf = (data: string): TokenFunction | undefined =>
  bySelector.get(data.slice(0, 8))
