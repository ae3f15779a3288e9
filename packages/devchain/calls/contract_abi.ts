// The ABIs of contracts: the names in their functions and events (a token's are those of
// Tether's contract), and how an event's topics and data read with them.

import type { Log } from '../state/execution_context.ts'
import { type Json, withoutDefaults } from '../state/json.ts'
import { addressOfWord, integerOfWord, topicOf } from './abi.ts'
import { sampleFunctions } from './sample_contract.ts'
import { tokenFunctions } from './token_functions.ts'

/** The names of a function's arguments; those of functions that have none here are ''. */
const argumentNames: Readonly<Record<string, readonly string[]>> = {
  'balanceOf(address)': ['who'],
  'allowance(address,address)': ['_owner', '_spender'],
  'getBlackListStatus(address)': ['_maker'],
  'transfer(address,uint256)': ['_to', '_value'],
  'transferFrom(address,address,uint256)': ['_from', '_to', '_value'],
  'approve(address,uint256)': ['_spender', '_value'],
  'addBlackList(address)': ['_evilUser'],
  'removeBlackList(address)': ['_clearedUser'],
  'destroyBlackFunds(address)': ['_blackListedUser'],
  'oldBalanceOf(address)': ['who'],
  'increaseApproval(address,uint256)': ['_spender', '_addedValue'],
  'decreaseApproval(address,uint256)': ['_spender', '_subtractedValue'],
  'calcFee(uint256)': ['_value'],
  'issue(uint256)': ['amount'],
  'redeem(uint256)': ['amount'],
  'setParams(uint256,uint256)': ['newBasisPoints', 'newMaxFee'],
  'transferOwnership(address)': ['newOwner'],
  'deprecate(address)': ['_upgradedAddress'],
}

type Parameter = {
  readonly name: string
  readonly type: 'address' | 'uint256'
  readonly indexed: boolean
}
export type TokenEvent = { readonly name: string; readonly parameters: readonly Parameter[] }

const indexed = (name: string): Parameter => ({ name, type: 'address', indexed: true })
const address = (name: string): Parameter => ({ name, type: 'address', indexed: false })
const amount = (name: string): Parameter => ({ name, type: 'uint256', indexed: false })

const tokenEvents: readonly TokenEvent[] = [
  { name: 'Transfer', parameters: [indexed('from'), indexed('to'), amount('value')] },
  { name: 'Approval', parameters: [indexed('owner'), indexed('spender'), amount('value')] },
  { name: 'Issue', parameters: [amount('amount')] },
  { name: 'Redeem', parameters: [amount('amount')] },
  { name: 'AddedBlackList', parameters: [indexed('_user')] },
  { name: 'RemovedBlackList', parameters: [indexed('_user')] },
  { name: 'DestroyedBlackFunds', parameters: [indexed('_blackListedUser'), amount('_balance')] },
  { name: 'Deprecate', parameters: [address('newAddress')] },
  { name: 'Params', parameters: [amount('feeBasisPoints'), amount('maxFee')] },
  { name: 'Pause', parameters: [] },
  { name: 'Unpause', parameters: [] },
  { name: 'OwnershipTransferred', parameters: [indexed('previousOwner'), indexed('newOwner')] },
]

const signatureOf = ({ name, parameters }: TokenEvent) =>
  `${name}(${parameters.map(({ type }) => type).join(',')})`
const byTopic = new Map(tokenEvents.map((event) => [topicOf(signatureOf(event)), event]))

/** An event with its arguments: addresses as 42 hexadecimal characters, numbers in decimal. */
export type ReadEvent = { readonly event: TokenEvent; readonly values: readonly string[] }

/** Reads a log; undefined when it is no event of a token. */
export function readLog({ topics, data }: Log): ReadEvent | undefined {
  const event = byTopic.get(topics[0] ?? '')
  if (!event) return undefined
  let topic = 1
  let word = 0
  const values = event.parameters.map(({ type, indexed }) => {
    const text = indexed ? topics[topic++]! : data.slice(word * 64, ++word * 64)
    return type === 'address' ? addressOfWord(text) : integerOfWord(text).toString()
  })
  return { event, values }
}

/** An event as its source code declares it. */
export function declarationOf({ name, parameters }: TokenEvent): string {
  const list = parameters.map((one) => `${one.type} ${one.indexed ? 'indexed ' : ''}${one.name}`)
  return `${name}(${list.join(', ')})`
}

type FunctionDescription = {
  readonly signature: string
  readonly names: readonly string[]
  readonly outputs: readonly string[]
  readonly stateMutability: string
}

function printFunction({ signature, names, outputs, stateMutability }: FunctionDescription): Json {
  const [name = '', rest = ''] = signature.split('(', 2)
  const types = rest.slice(0, -1).split(',').filter(Boolean)
  return {
    name,
    type: 'Function',
    stateMutability,
    ...withoutDefaults({
      inputs: types.map((type, index) => withoutDefaults({ name: names[index], type })),
      outputs: outputs.map((type) => ({ type })),
    }),
  }
}

export function printSampleAbi(): Json[] {
  const functions = sampleFunctions.map(({ signature, inputs, outputs, mutability }) =>
    printFunction({ signature, names: inputs, outputs, stateMutability: mutability }),
  )
  return [...functions, { type: 'Receive', stateMutability: 'Payable' }]
}

export function printTokenAbi(): Json[] {
  const functions = tokenFunctions.map(({ signature, outputs, view }) => {
    const names = argumentNames[signature] ?? []
    const stateMutability = view ? 'View' : 'Nonpayable'
    return printFunction({ signature, names, outputs, stateMutability })
  })
  const events = tokenEvents.map(({ name, parameters }) => {
    return { name, type: 'Event', inputs: parameters.map((one) => withoutDefaults(one)) }
  })
  return [...functions, ...events]
}
