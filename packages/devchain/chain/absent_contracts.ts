// Contracts about things that this chain never has: exchanges, proposals, orders, and contracts
// that somebody deployed. They are refused in the words that a node has for what does not exist, in
// its order of looking.

import type { Message } from 'penstock-tron/protobuf.ts'
import { contractAt } from '../calls/calls.ts'
import { candidateOf } from '../contracts/candidates.ts'
import { accountOf, isAddressHex } from '../state/accounts.ts'
import {
  type Contract,
  type ExecutionContext,
  integerOf,
  textOf,
} from '../state/execution_context.ts'
import { invalid } from '../state/refusal.ts'

/** A contract that ends with the words that `judge` has. */
function absent(
  judge: (context: ExecutionContext, message: Message, owner: string) => string,
): Contract {
  const refuse = (context: ExecutionContext, message: Message): never => {
    const owner = textOf(message, 'owner_address')
    if (!isAddressHex(owner)) throw invalid('Invalid address')
    if (!accountOf(context.state, owner)) throw invalid(`Account[${owner}] not exists`)
    throw invalid(judge(context, message, owner))
  }
  return { validate: refuse, execute: refuse }
}

const noExchange = absent(
  (_world, message) => `Exchange[${integerOf(message, 'exchange_id')}] not exists`,
)

const noProposal = (message: Message) => `Proposal[${integerOf(message, 'proposal_id')}] not exists`

/** Nobody may change a contract here, its owner included: contracts are part of this program. */
function ofContract(
  missing: string,
  check: (message: Message) => string | undefined = () => undefined,
): Contract {
  return absent(({ state }, message, owner) => {
    const wrong = check(message)
    if (wrong !== undefined) return wrong
    const found = contractAt(state, textOf(message, 'contract_address'))
    if (!found) return missing
    const named = `Account[${owner}]`
    if (found.owner !== owner) return `${named} is not the owner of the contract`
    return 'contracts cannot be changed on this chain'
  })
}

export const absentContracts: Readonly<Record<string, Contract>> = {
  ExchangeInjectContract: noExchange,
  ExchangeWithdrawContract: noExchange,
  ExchangeTransactionContract: noExchange,
  ProposalApproveContract: absent(({ state }, message, owner) =>
    candidateOf(state, owner) ? noProposal(message) : `Witness[${owner}] not exists`,
  ),
  ProposalDeleteContract: absent((_world, message) => noProposal(message)),
  MarketCancelOrderContract: absent(() => 'orderId not exists'),
  ClearABIContract: ofContract('Contract not exists'),
  UpdateSettingContract: ofContract('Contract does not exist', (message) => {
    const percent = integerOf(message, 'consume_user_resource_percent')
    return percent < 0n || percent > 100n ? 'percent not in [0, 100]' : undefined
  }),
  UpdateEnergyLimitContract: ofContract('Contract does not exist', (message) =>
    integerOf(message, 'origin_energy_limit') <= 0n ? 'origin energy limit must be > 0' : undefined,
  ),
}
