// A contract for tests: it passes TRX on, splits what it is sent, makes and ends contracts, stakes
// and delegates, so that receipts have internal transactions of every kind. Like the tokens it is
// a function of this program; what it does with balances and stakes is real.
//
// TRX that arrive without call data are divided among its receivers, if it has any: a deposit
// address of an exchange that forwards. Anyone who calls another contract runs that one's own rule,
// so contracts that forward to contracts nest.

import { addAsset, assetBalance } from '../contracts/assets.ts'
import { delegate, undelegate } from '../contracts/delegations.ts'
import { cancelAllUnfreeze, freeze, unfreeze, withdrawExpired } from '../contracts/staking.ts'
import {
  accountOf,
  adjustBalance,
  newAccount,
  requireAccount,
  writeAccount,
} from '../state/accounts.ts'
import type { Contract, Effects, ExecutionContext } from '../state/execution_context.ts'
import { InternalList } from '../state/internal.ts'
import type { Account, SampleContract } from '../state/records.ts'
import { Refusal } from '../state/refusal.ts'
import { Layer, type View } from '../state/state.ts'
import {
  addressOfWord,
  integerOfWord,
  selectorOf,
  wordAt,
  wordOfAddress,
  wordOfInteger,
} from './abi.ts'
import { Revert, tokenOf } from './tokens.ts'

/** The virtual machine's energy for each of these operations. */
const energyOfOperation = {
  call: 40,
  value: 9000,
  new_account: 25_000,
  create: 32_000,
  suicide: 5000,
  stake: 10_000,
}
/** Finding the function and reading its arguments. */
const ENERGY_OF_ENTRY = 700
const DEPTH_MAX = 64
const LIST_MAX = 100n

/** A call used more energy than it may. */
class OutOfEnergy extends Error {
  override name = 'OutOfEnergy'
}

/** Shared by all calls of one transaction. */
type TransactionFrame = { readonly internal: InternalList; readonly limit: number; energy: number }

/** One call of a contract; its state is its own until it has succeeded. */
type Frame = {
  readonly context: ExecutionContext
  readonly contract: SampleContract
  readonly caller: string
  readonly sun: bigint
  readonly data: string
  readonly parent_hash: string
  readonly depth: number
  readonly shared: TransactionFrame
}

type SampleFunction = {
  readonly signature: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly mutability: 'View' | 'Payable' | 'Nonpayable'
  readonly by_owner: boolean
  /** Does it, and returns the words of its result. Throws a Revert. */
  run(frame: Frame): string
}

export const sampleOf = (view: View, address: string): SampleContract | undefined =>
  view.read('sample', address)

function spend(shared: TransactionFrame, energy: number): void {
  shared.energy += energy
  if (shared.energy > shared.limit) throw new OutOfEnergy('the energy is used up')
}

function word({ data }: Frame, index: number): string {
  const found = wordAt(data, index)
  if (found === undefined) throw new Revert('arguments are missing')
  return found
}

const addressArgument = (frame: Frame, index: number) => addressOfWord(word(frame, index))
const integerArgument = (frame: Frame, index: number) => integerOfWord(word(frame, index))

/** The words of a list whose place the argument tells. */
function listArgument(frame: Frame, index: number): string[] {
  const start = integerArgument(frame, index)
  if (start % 32n !== 0n || start > 100_000n) throw new Revert('the list is nowhere')
  const first = Number(start / 32n)
  const length = integerArgument(frame, first)
  if (length > LIST_MAX) throw new Revert('the list is too long')
  return Array.from({ length: Number(length) }, (_, at) => word(frame, first + 1 + at))
}

const bool = (value: boolean) => wordOfInteger(value ? 1n : 0n)
const stateOf = ({ context }: Frame) => context.state
const selfOf = ({ contract }: Frame) => contract.address

function moveSun(state: Layer, from: string, to: string, sun: bigint): void {
  if (!accountOf(state, from) || !adjustBalance(state, from, -sun)) {
    throw new Revert('the balance is too low')
  }
  adjustBalance(state, to, sun)
}

/** Makes the account of an address that has none: a contract's call does so without a fee. */
function ensureAccount({ context, shared }: Frame, state: Layer, address: string): void {
  if (accountOf(state, address)) return
  spend(shared, energyOfOperation.new_account)
  writeAccount(state, newAccount(address, context.now_ms))
}

/** The value that a call sends: sun, or an amount of a TRC10 token. */
type Value = {
  readonly sun: bigint
  readonly asset?: { readonly id: string; readonly amount: bigint }
}

function moveValue(state: Layer, from: string, to: string, { sun, asset }: Value): void {
  if (!asset) {
    moveSun(state, from, to, sun)
    return
  }
  addAsset(state, from, asset.id, -asset.amount)
  addAsset(state, to, asset.id, asset.amount)
}

/** Calls an address without data and sends it something. False when the contract does not have as
 *  much, which leaves no trace, or when what is there refuses it, which leaves a rejected one. */
function send(frame: Frame, to: string, value: Value): boolean {
  const { context, shared, parent_hash, depth } = frame
  const from = selfOf(frame)
  const own = requireAccount(stateOf(frame), from)
  const { sun, asset } = value
  spend(shared, energyOfOperation.call + energyOfOperation.value)
  const enough = asset ? assetBalance(own, asset.id) >= asset.amount : own.balance >= sun
  if (depth >= DEPTH_MAX || !enough) return false
  if (to === from) throw new Revert('a contract does not pay itself')
  const state = new Layer(context.state)
  ensureAccount(frame, state, to)
  moveValue(state, from, to, value)
  const index = shared.internal.list.length
  const assets = asset ? { [asset.id]: asset.amount } : {}
  const { hash } = shared.internal.add(parent_hash, { caller: from, to, sun, note: 'call', assets })
  try {
    const contract = sampleOf(state, to)
    if (tokenOf(state, to)) throw new Revert('a token takes no TRX')
    const inner = { caller: from, sun, data: '', parent_hash: hash, depth: depth + 1, shared }
    if (contract) enter({ ...inner, contract, context: { ...context, state } })
  } catch (error) {
    if (!(error instanceof Revert)) throw error
    shared.internal.rejectFrom(index)
    return false
  }
  context.state.merge(state)
  return true
}

function pay(frame: Frame, to: string, sun: bigint): void {
  if (!send(frame, to, { sun })) throw new Revert('a payment failed')
}

/** Divides what has come among the receivers; what does not divide stays. */
function receive(frame: Frame): string {
  const { receivers } = frame.contract
  const share = receivers.length === 0 ? 0n : frame.sun / BigInt(receivers.length)
  if (share > 0n) for (const receiver of receivers) pay(frame, receiver, share)
  return ''
}

/** Makes a contract of the same kind, and sends it some TRX. */
function create(frame: Frame): string {
  const { context, shared, contract, parent_hash } = frame
  const sun = integerArgument(frame, 0)
  spend(shared, energyOfOperation.create)
  if (requireAccount(context.state, contract.address).balance < sun) return wordOfInteger(0n)
  const address = shared.internal.next_address
  writeAccount(context.state, { ...newAccount(address, context.now_ms), type: 'Contract' })
  writeSample(context.state, { address, owner: contract.owner, receivers: [] })
  moveSun(context.state, contract.address, address, sun)
  shared.internal.add(parent_hash, { caller: contract.address, to: address, sun, note: 'create' })
  return wordOfAddress(address)
}

export function writeSample(state: Layer, contract: SampleContract): void {
  state.write('sample', contract.address, contract)
}

function hasStakes({ frozen, delegated, acquired, unfreezing }: Account): boolean {
  const sums = [frozen, delegated, acquired].flatMap((one) => Object.values(one) as bigint[])
  return unfreezing.length > 0 || sums.some((sun) => sun > 0n)
}

/** Sends all that the contract has to an heir. The contract itself stays, as it does on the main
 *  network by now; one that has stakes cannot. */
function destroy(frame: Frame): string {
  const { context, shared, contract, parent_hash } = frame
  const { state } = context
  const heir = addressArgument(frame, 0)
  const own = requireAccount(state, contract.address)
  spend(shared, energyOfOperation.suicide)
  if (hasStakes(own)) throw new Revert('the contract has stakes')
  if (heir === contract.address) return ''
  const { balance: sun, assets = {} } = own
  const ended = { caller: contract.address, to: heir, sun, note: 'suicide', assets }
  shared.internal.add(parent_hash, ended)
  ensureAccount(frame, state, heir)
  moveSun(state, contract.address, heir, sun)
  for (const [id, amount] of Object.entries(assets)) {
    addAsset(state, contract.address, id, -amount)
    addAsset(state, heir, id, amount)
  }
  return ''
}

type Staking = {
  readonly contract: Contract
  readonly note: string
  readonly to?: string
  readonly sun?: bigint
  readonly message?: { readonly [name: string]: unknown }
  /** Its value where that is found out while it runs: the hash does not know it. */
  readonly found?: (effects: Effects) => bigint
  /** The operation succeeds although there is nothing to do. */
  readonly lenient?: boolean
}

const INT64_MAX = 2n ** 63n - 1n

/** An operation on the contract's own stakes. Undefined when the chain refuses it: then it stays in
 *  the list as rejected, and the call goes on. */
function stake(frame: Frame, operation: Staking): Effects | undefined {
  const { context, shared, parent_hash } = frame
  const caller = selfOf(frame)
  const { contract, note, to = caller, sun = 0n, message = {}, found, lenient = false } = operation
  spend(shared, energyOfOperation.stake)
  const kept = shared.internal.add(parent_hash, { caller, to, sun: BigInt.asUintN(63, sun), note })
  const state = new Layer(context.state)
  const inner = { ...context, state }
  const asked = { owner_address: caller, ...message }
  try {
    if (sun > INT64_MAX) throw new Refusal('CONTRACT_VALIDATE_ERROR', 'out of range')
    if (!lenient) contract.validate(inner, asked)
    const effects = contract.execute(inner, asked)
    context.state.merge(state)
    if (found) kept.sun = found(effects)
    return effects
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    kept.rejected = true
    return undefined
  }
}

/** What came out of its delay on the way is an internal transaction of its own. */
function addWithdrawn({ shared, parent_hash, contract }: Frame, effects: Effects, note: string) {
  const { withdrawn_sun: sun = 0n } = effects
  const { address } = contract
  if (sun > 0n) shared.internal.add(parent_hash, { caller: address, to: address, sun, note })
}

const resources = [
  { resource: 'BANDWIDTH', name: 'Bandwidth' },
  { resource: 'ENERGY', name: 'Energy' },
]

/** The resource of an argument: 0 is bandwidth and 1 energy; of others the chain knows nothing. */
function resourceArgument(frame: Frame, index: number): { resource: string; name: string } {
  const number = integerArgument(frame, index)
  return resources[Number(number)] ?? { resource: 'UNRECOGNIZED', name: 'UnknownType' }
}

function freezeSun(frame: Frame): string {
  const sun = integerArgument(frame, 0)
  const { resource, name } = resourceArgument(frame, 1)
  const message = { frozen_balance: sun, resource }
  const note = `freezeBalanceV2For${name}`
  return bool(stake(frame, { contract: freeze, note, sun, message }) !== undefined)
}

function unfreezeSun(frame: Frame): string {
  const sun = integerArgument(frame, 0)
  const { resource, name } = resourceArgument(frame, 1)
  const message = { unfreeze_balance: sun, resource }
  const note = `unfreezeBalanceV2For${name}`
  const effects = stake(frame, { contract: unfreeze, note, sun, message })
  if (effects) addWithdrawn(frame, effects, 'withdrawExpireUnfreezeWhileUnfreezing')
  return bool(effects !== undefined)
}

function lend(contract: Contract, verb: string) {
  return (frame: Frame): string => {
    const to = addressArgument(frame, 0)
    const sun = integerArgument(frame, 1)
    const { resource, name } = resourceArgument(frame, 2)
    const message = { receiver_address: to, balance: sun, resource }
    const note = `${verb}ResourceOf${name}`
    return bool(stake(frame, { contract, note, to, sun, message }) !== undefined)
  }
}

function withdraw(frame: Frame): string {
  const note = 'withdrawExpireUnfreeze'
  const found = ({ withdrawn_sun = 0n }: Effects) => withdrawn_sun
  const effects = stake(frame, { contract: withdrawExpired, note, found, lenient: true })
  return wordOfInteger(effects?.withdrawn_sun ?? 0n)
}

function cancel(frame: Frame): string {
  const note = 'cancelAllUnfreezeV2'
  const effects = stake(frame, { contract: cancelAllUnfreeze, note, lenient: true })
  if (effects) addWithdrawn(frame, effects, 'withdrawExpireUnfreezeWhileCanceling')
  return bool(effects !== undefined)
}

function payMany(frame: Frame): string {
  const receivers = listArgument(frame, 0).map(addressOfWord)
  const sums = listArgument(frame, 1).map(integerOfWord)
  if (receivers.length !== sums.length) throw new Revert('the lists differ in length')
  for (const [at, receiver] of receivers.entries()) pay(frame, receiver, sums[at]!)
  return ''
}

function sendAsset(frame: Frame): string {
  const [amount, id] = [integerArgument(frame, 1), integerArgument(frame, 2).toString()]
  return bool(send(frame, addressArgument(frame, 0), { sun: 0n, asset: { id, amount } }))
}

const list = (names: string) => names.split(' ').filter(Boolean)

function made(
  signature: string,
  inputs: string,
  outputs: string,
  run: SampleFunction['run'],
  rest: Partial<Pick<SampleFunction, 'mutability' | 'by_owner'>> = {},
): SampleFunction {
  const common = { mutability: 'Payable' as const, by_owner: true }
  return { signature, inputs: list(inputs), outputs: list(outputs), run, ...common, ...rest }
}

export const sampleFunctions: readonly SampleFunction[] = [
  made('owner()', '', 'address', ({ contract }) => wordOfAddress(contract.owner), {
    mutability: 'View',
    by_owner: false,
  }),
  made(
    'forward(address)',
    'to',
    '',
    (frame) => {
      pay(frame, addressArgument(frame, 0), frame.sun)
      return ''
    },
    { by_owner: false },
  ),
  made('pay(address,uint256)', 'to sun', '', (frame) => {
    pay(frame, addressArgument(frame, 0), integerArgument(frame, 1))
    return ''
  }),
  made('payMany(address[],uint256[])', 'to sun', '', payMany),
  made('send(address,uint256)', 'to sun', 'bool', (frame) =>
    bool(send(frame, addressArgument(frame, 0), { sun: integerArgument(frame, 1) })),
  ),
  made('sendAsset(address,uint256,uint256)', 'to amount id', 'bool', sendAsset),
  made('create(uint256)', 'sun', 'address', create),
  made('destroy(address)', 'heir', '', destroy),
  made('freeze(uint256,uint256)', 'sun resource', 'bool', freezeSun),
  made('unfreeze(uint256,uint256)', 'sun resource', 'bool', unfreezeSun),
  made('delegate(address,uint256,uint256)', 'to sun resource', 'bool', lend(delegate, 'delegate')),
  made(
    'undelegate(address,uint256,uint256)',
    'to sun resource',
    'bool',
    lend(undelegate, 'unDelegate'),
  ),
  made('withdraw()', '', 'uint256', withdraw),
  made('cancel()', '', 'bool', cancel),
]

const bySelector = new Map(sampleFunctions.map((one) => [selectorOf(one.signature), one]))

/** The function that call data asks for. */
export const sampleFunctionOf = (data: string): SampleFunction | undefined =>
  bySelector.get(data.slice(0, 8))

/** Runs a call whose TRX have arrived already. */
function enter(frame: Frame): string {
  spend(frame.shared, ENERGY_OF_ENTRY)
  if (frame.data === '') return receive(frame)
  const wanted = sampleFunctionOf(frame.data)
  if (!wanted) throw new Revert('no such function')
  if (wanted.mutability !== 'Payable' && frame.sun > 0n) throw new Revert('it takes no TRX')
  if (wanted.by_owner && frame.caller !== frame.contract.owner) throw new Revert('only the owner')
  return wanted.run(frame)
}

/** A transaction's request to a contract. */
export type SampleCall = { readonly caller: string; readonly sun: bigint; readonly data: string }

export type SampleRun = {
  readonly ended: 'SUCCESS' | 'REVERT' | 'OUT_OF_ENERGY'
  readonly output: string
  readonly energy: number
  readonly internal: InternalList
}

/** Runs a call with no more than some energy. Its changes are in the state only if it succeeds. */
export function runSample(
  context: ExecutionContext,
  contract: SampleContract,
  call: SampleCall,
  limit: number,
): SampleRun {
  const internal = new InternalList(context.transaction_id)
  const shared: TransactionFrame = { internal, limit, energy: 0 }
  const state = new Layer(context.state)
  const inner = { ...context, state }
  const parent_hash = context.transaction_id
  try {
    if (call.sun > 0n) moveSun(state, call.caller, contract.address, call.sun)
    const output = enter({ ...call, context: inner, contract, parent_hash, depth: 0, shared })
    context.state.merge(state)
    return { ended: 'SUCCESS', output, energy: shared.energy, internal }
  } catch (error) {
    internal.rejectFrom(0)
    const failed = { output: '', internal }
    if (error instanceof Revert) return { ...failed, ended: 'REVERT', energy: shared.energy }
    if (!(error instanceof OutOfEnergy)) throw error
    return { ...failed, ended: 'OUT_OF_ENERGY', energy: limit }
  }
}
