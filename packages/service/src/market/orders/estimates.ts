// What a transfer of a token will take, and what an address has: questions to the chain, priced by
// the market.
//
// A contract call is limited by its fee_limit even when its energy is delegated: a caller with all
// the energy and a fee limit below energy times its price still fails. So an estimate names the
// least fee limit too.

import type { Address } from 'penstock-tron/address.ts'
import { addressWord, numberWord } from 'penstock-tron/tokens.ts'
import type { ConstantCall } from '../../chain/node/node.ts'
import type { ReadNode } from '../../chain/reads/reads.ts'
import { chainSilent, type Receiver } from '../../chain/receivers/receivers.ts'
import { Outage } from '../../lib/fault.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { InvalidAddress } from '../../platform/wire/reading.ts'
import { charge, isOnSale, offSale, type Prices, tierFor } from '../prices/prices.ts'

export type Needs = {
  node: ReadNode
  prices: () => Promise<Prices>
  receiver: (address: Address) => Promise<Receiver>
}

/** Taken when the chain cannot try the transfer out: what one of USDT takes to an address that
 *  holds some, or none. */
const TO_HOLDER = 65_000n
const TO_NEW_HOLDER = 131_000n
/** Bytes of a signed token transfer, and what the chain adds to them. */
const TRANSFER_BANDWIDTH = 345
/** The price of energy in sun when the chain does not say. */
const ENERGY_FEE_SUN = 100n

export type Estimate = {
  amount: number
  price_sun: bigint
  activation_sun: bigint
  fee_limit_sun: bigint
  bandwidth: number
}

/** An outage of the chain, said as the wire says it. */
export async function orUnavailable<T>(asking: Promise<T>): Promise<T> {
  return asking.catch((thrown: unknown) => {
    if (thrown instanceof Outage) throw chainSilent()
    throw thrown
  })
}

/** The energy that a transfer of a token from one address to another takes, never below the least
 *  that is sold. Throws 10 when there is no such contract and 35 when the chain cannot be
 *  reached. */
export async function estimateTransfer(
  { node, prices, receiver }: Needs,
  transfer: Transfer,
): Promise<Estimate> {
  const { from } = transfer
  const [current, sender, parameters, tried] = await orUnavailable(
    Promise.all([prices(), receiver(from), node.parameters(), callTransfer(node, transfer)]),
  )
  const energy = tried.succeeded
    ? tried.energy
    : await orUnavailable(fallBack(node, transfer, tried))
  const tiers = current.tiers.filter((tier) => tier.resource === 'energy')
  const [lowest, highest] = [tiers[0], tiers.at(-1)]
  const on_sale = isOnSale(current, 'energy', sender === 'inactive')
  if (sender === 'unknown') throw chainSilent()
  if (!on_sale) throw offSale(current, 'energy')
  if (!lowest || !highest) throw ServiceUnavailable().because('no amount of energy has a price')
  const amount = Math.max(Number(energy), lowest.min_amount)
  const { price_sun } = tierFor(current, 'energy', amount) ?? highest
  return {
    amount,
    price_sun: charge(price_sun, amount),
    activation_sun: sender === 'inactive' ? current.activation_sun : 0n,
    fee_limit_sun: energy * (parameters.get('getEnergyFee') ?? ENERGY_FEE_SUN),
    bandwidth: TRANSFER_BANDWIDTH,
  }
}

/** `contract_param`: the field that names the contract. */
type Transfer = { from: Address; to: Address; contract: Address; contract_param: string }

function callTransfer(
  node: Pick<ReadNode, 'constantCall'>,
  { from, to, contract }: Omit<Transfer, 'contract_param'>,
): Promise<ConstantCall> {
  const parameter = addressWord(to) + numberWord(1n)
  return node.constantCall({
    owner: from,
    contract,
    selector: 'transfer(address,uint256)',
    parameter,
  })
}

/** The sender has no tokens to try with, or may not send: then it depends on whether the receiver
 *  holds some. */
async function fallBack(
  node: Pick<ReadNode, 'constantCall'>,
  { from, to, contract, contract_param }: Transfer,
  tried: ConstantCall,
): Promise<bigint> {
  if (/contract is not exist/i.test(tried.said))
    throw InvalidAddress('contract_address', 'There is no such contract').at(
      contract_param,
      'the address of a token contract',
    )
  return (await tokenBalance(node, { owner: from, holder: to, contract })) > 0n
    ? TO_HOLDER
    : TO_NEW_HOLDER
}

/** How much of a token an address holds, in its smallest unit; 0 when the contract does not say. */
export async function tokenBalance(
  node: Pick<ReadNode, 'constantCall'>,
  { owner, holder, contract }: { owner: Address; holder: Address; contract: Address },
): Promise<bigint> {
  const parameter = addressWord(holder)
  const called = await node.constantCall({
    owner,
    contract,
    selector: 'balanceOf(address)',
    parameter,
  })
  return called.succeeded && /^[0-9a-f]{64}$/.test(called.result)
    ? BigInt(`0x${called.result}`)
    : 0n
}
