// Calls of smart contracts over HTTP. These endpoints never use `Error`: what is wrong is a code
// and a hexadecimal message inside `result`.

import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { contractSchemas } from 'penstock-tron/contracts.ts'
import { decode, encode, type Message } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData } from 'penstock-tron/transaction.ts'
import { selectorOf } from '../calls/abi.ts'
import { calledToken, isViewCall, runConstantCall, triggerContract } from '../calls/calls.ts'
import { printSampleAbi, printTokenAbi } from '../calls/contract_abi.ts'
import { sampleOf } from '../calls/sample_contract.ts'
import { referenceTo } from '../chain/blocks.ts'
import { type SignedTransaction, signedTransaction } from '../chain/transactions.ts'
import {
  NodeException,
  printInternal,
  printTransaction,
  readHex,
  reading,
} from '../http/messages.ts'
import { type Call, contextOf, type Routes, viewOf } from '../http/routes.ts'
import { type ExecutionContext, textOf } from '../state/execution_context.ts'
import { type Json, type JsonObject, withoutDefaults } from '../state/json.ts'
import { SLOT_MS } from '../state/parameters.ts'
import type { SampleContract, Token } from '../state/records.ts'
import { invalid, Refusal } from '../state/refusal.ts'
import { Layer } from '../state/state.ts'

const TRIGGER = 'TriggerSmartContract'

/** The message of a call: its data are given, or a function's signature and its encoded
 *  arguments. */
function readCall({ given }: Call): Message {
  const selector = given.text('function_selector')
  const data = selector === '' ? given.text('data') : selectorOf(selector) + given.text('parameter')
  const message = {
    owner_address: given.address('owner_address'),
    contract_address: given.address('contract_address'),
    data: readHex(data),
    call_value: given.integer('call_value'),
    call_token_value: given.integer('call_token_value'),
    token_id: given.integer('token_id'),
  }
  const schema = contractSchemas[TRIGGER]!
  return reading(() => decode(schema, encode(schema, message)))
}

/** Byte code without a contract's address is to be tried out as a new contract: there are none
 *  here. */
function refuseDeployment(message: Message): void {
  if (textOf(message, 'contract_address') === '')
    throw invalid('CreateSmartContract is not executed by this chain')
}

/** A transaction of the call, unsigned. */
function transactionOf({ chain, given }: Call, message: Message): SignedTransaction {
  const fee_limit = given.integer('fee_limit')
  const raw_data = {
    ...referenceTo(chain.solid_block),
    expiration: chain.head_time_ms + 60_000,
    contract: [contract(TRIGGER, message, given.permissionId())],
    timestamp: chain.head_time_ms + (chain.nextBuild() % SLOT_MS),
    ...(fee_limit === 0n ? {} : { fee_limit }),
  }
  return signedTransaction(encodeRawData(raw_data), [])
}

function contextOfCall(call: Call): ExecutionContext {
  const newest = { ...contextOf(call), state: new Layer(viewOf(call)) }
  return { ...newest, fee_limit_sun: call.given.integer('fee_limit') }
}

/** Refusals as these endpoints say them, and what cannot be read. */
function refusing(call: Call, work: () => JsonObject): JsonObject {
  const refuse = (code: string, message: string) => ({
    result: { code, message: spoken(call, message) },
  })
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return refuse(error.code, error.message)
    if (error instanceof NodeException)
      return refuse('OTHER_ERROR', `class ${error.java_class} : ${error.message}`)
    throw error
  }
}

const spoken = ({ given }: Call, text: string) =>
  given.visible ? text : bytesToHex(utf8ToBytes(text))

function constantCall(call: Call): JsonObject {
  return refusing(call, () => {
    const message = readCall(call)
    refuseDeployment(message)
    const { visible } = call.given
    const built = transactionOf(call, message)
    const transaction = printTransaction(built, visible)
    const context = { ...contextOfCall(call), transaction_id: built.id }
    const run = runConstantCall(context, message)
    const { contract_ret, output, logs, failure, total, penalty } = run
    const failed = contract_ret !== 'SUCCESS'
    return {
      result: { result: true, ...(failed ? { message: spoken(call, failure) } : {}) },
      energy_used: total,
      ...withoutDefaults({ energy_penalty: penalty }),
      constant_result: [output],
      ...withoutDefaults({
        logs: logs.map(({ address, topics, data }) => ({ address, topics, data })),
        internal_transactions: printInternal(run, visible, 'all'),
      }),
      transaction: { ret: [failed ? { ret: 'FAILED' } : {}], visible, ...transaction },
    }
  })
}

function buildCall(call: Call): JsonObject {
  return refusing(call, () => {
    const message = readCall(call)
    const address = textOf(message, 'contract_address')
    if (isViewCall(viewOf(call), address, textOf(message, 'data'))) return constantCall(call)
    triggerContract.validate(contextOfCall(call), message)
    const { visible } = call.given
    return {
      result: { result: true },
      transaction: { visible, ...printTransaction(transactionOf(call, message), visible) },
    }
  })
}

function estimateEnergy(call: Call): JsonObject {
  return refusing(call, () => {
    const message = readCall(call)
    refuseDeployment(message)
    const { contract_ret, failure, total } = runConstantCall(contextOfCall(call), message)
    if (contract_ret === 'SUCCESS') return { result: { result: true }, energy_required: total }
    return { result: { code: 'CONTRACT_EXE_ERROR', message: spoken(call, failure) } }
  })
}

type CallTarget = { readonly token?: Token; readonly sample?: SampleContract }

function printContract({ given }: Call, { token, sample }: CallTarget): Json {
  const { address, owner } = (token ?? sample)!
  return {
    contract_address: given.print(address),
    origin_address: given.print(owner),
    abi: { entrys: token ? printTokenAbi() : printSampleAbi() },
    name: token ? token.symbol : 'SampleContract',
    consume_user_resource_percent: 100,
    origin_energy_limit: 10_000_000,
  }
}

function findContract(call: Call): CallTarget | undefined {
  const address = call.given.address('value')
  const token = calledToken(contextOf(call), address)
  if (token) return { token }
  const sample = sampleOf(viewOf(call), address)
  return sample && { sample }
}

export const callRoutes: Routes = {
  triggerconstantcontract: { post_only: true, answer: constantCall },
  triggersmartcontract: { post_only: true, answer: buildCall },
  estimateenergy: { post_only: true, answer: estimateEnergy },
  getcontract: {
    answer(call) {
      const found = findContract(call)
      return found ? printContract(call, found) : {}
    },
  },
  getcontractinfo: {
    answer(call) {
      const found = findContract(call)
      if (!found) return {}
      const { token } = found
      return {
        smart_contract: printContract(call, found),
        contract_state: withoutDefaults({
          energy_usage: token?.energy_used,
          energy_factor: token?.factor,
          update_cycle: token?.cycle,
        }),
      }
    },
  },
}
