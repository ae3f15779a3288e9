// The transfers of a new collection: how much each address can send is asked of the nodes, less
// what its own transfers may cost it. The amount is fixed then, so what comes later stays for the
// next time, and a balance that was less than a node said makes a transfer that nobody takes.

import type { Address } from 'penstock-tron/address.ts'
import { addressWord, numberWord } from 'penstock-tron/tokens.ts'
import type { BlockHead, Node } from '../../chain/node/node.ts'
import { Outage, refusal } from '../../lib/fault.ts'
import { least } from '../../lib/json.ts'
import { eachAtOnce } from '../../lib/portions.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { bandwidthOf, readTransfer, transferBytes, type Validity } from './batch.ts'
import type { NewTransfer } from './collections.ts'
import { type Place, type TokenPlace, tokenPlaces, trxPlaces } from './places.ts'

const AT_ONCE = 8
/** Sun for a unit of bandwidth and of energy, where the chain does not say. */
const BANDWIDTH_FEE_SUN = 1_000n
const ENERGY_FEE_SUN = 100n
/** The energy of a call when it is sent, of that when it was asked about, in hundredths. */
const ENERGY_MARGIN = 120n

export type CollectionOrder = {
  to: Address
  /** Less TRX than this stays, and less of a token. */
  min_sun: bigint
  tokens: readonly Address[]
  min_token: bigint
  hours: number
  /** Energy is burned from what lies at the address; else it must come from elsewhere. */
  burn: boolean
}

/** Addresses that were left out: too little, blacklisted senders, a transfer that is under way, no
 *  TRX for what the transfer of a token burns. */
export type LeftOut = { dust: number; blocked: number; under_way: number; without_trx: number }

export type PreparedCollection = {
  transfers: NewTransfer[]
  left_out: LeftOut
  /** The id of the chain's first block. */
  network: string
  /** Energy that transfers of tokens need beyond what is there. */
  energy_needed: bigint
  /** The most that the network takes for all of them. */
  fees_max_sun: bigint
}

export type Needs = { sql: Sql; node: Node; tell(done: number, whole: number): void }

type Prices = { bandwidth_sun: bigint; energy_sun: bigint }
type Source = { place: Place; tokens: readonly TokenPlace[] }

/** Throws Refused when the receiver is not there, or may not be one. */
async function requireReceiver(sql: Sql, node: Node, to: Address): Promise<void> {
  const [customer] = await sql<{ id: string }>`
    select id from customer where deposit_address = ${to}`
  if (customer) throw refusal(`${to} is the deposit address of ${customer.id}: it would be paid.`)
  const states = await node.accountEverywhere(to)
  if (!states.every(({ active }) => active))
    throw refusal(`${to} is not active on the chain: send it 1 TRX first.`)
}

/** The network that the nodes are of: the id of its first block. */
export async function networkOf(node: Node): Promise<string> {
  const [genesis] = await node.blocks(0, 0, 'solid')
  if (!genesis) throw new Outage('no node says which network it is of')
  return genesis.id
}

/** Works out the transfers, in the order of the addresses' indexes. Throws Refused when nothing is
 *  there to collect. */
export async function prepareCollection(
  { sql, node, tell }: Needs,
  order: CollectionOrder,
): Promise<PreparedCollection> {
  await requireReceiver(sql, node, order.to)
  const network = await networkOf(node)
  const head = await node.head()
  const validity = { head, reference: await referenceOf(node), hours: order.hours }
  const parameters = await node.parameters()
  const prices = {
    bandwidth_sun: parameters.get('getTransactionFee') ?? BANDWIDTH_FEE_SUN,
    energy_sun: parameters.get('getEnergyFee') ?? ENERGY_FEE_SUN,
  }
  const left_out = { dust: 0, blocked: 0, under_way: 0, without_trx: 0 }
  const sources = await sourcesOf(sql, order, left_out)
  const found: (AddressPart | undefined)[] = []
  let done = 0
  await eachAtOnce([...sources.entries()], AT_ONCE, async ([i, source]) => {
    found[i] = await transfersOf({ node, order, validity, prices, left_out }, source)
    tell(++done, sources.length)
  })
  const all = found.flatMap((one) => one ?? [])
  const transfers = all.flatMap((one) => one.transfers)
  if (transfers.length === 0) throw refusal('There is nothing to collect.')
  const sum = (of: (one: AddressPart) => bigint) => all.reduce((total, one) => total + of(one), 0n)
  return {
    transfers,
    left_out,
    network,
    energy_needed: sum(({ energy_short }) => energy_short),
    fees_max_sun: sum(({ fees_max_sun }) => fees_max_sun),
  }
}

/** A solid block that nodes remember for longer than any transfer is valid. */
const referenceOf = (node: Node): Promise<BlockHead> => node.solidHead()

/** The addresses with money, by the rows: the nodes are asked about these addresses only. */
async function sourcesOf(
  sql: Sql,
  { min_sun, tokens, min_token }: CollectionOrder,
  left_out: LeftOut,
): Promise<Source[]> {
  const wanted = (await tokenPlaces(sql)).filter(({ token }) => tokens.includes(token))
  const by_address = Map.groupBy(wanted, ({ address }) => address)
  const places = await sql<Pick<Place, 'address' | 'deposit_index' | 'customer_id'>>`
    select deposit_address as address, deposit_index, id as customer_id from customer
    where deposit_address = any(${[...by_address.keys()]})`
  const known = new Map((await trxPlaces(sql)).map((one) => [one.address, one]))
  const nothing = { trx_sun: 0n, under_way_sun: 0n, blocked_sun: 0n, since: null }
  for (const place of places)
    if (!known.has(place.address)) known.set(place.address, { ...place, ...nothing })
  const sources = [...known.values()].map((place) => {
    const of = by_address.get(place.address) ?? []
    const free = of.filter((one) => !one.blocked && one.under_way === 0n && one.amount >= min_token)
    left_out.blocked += of.filter(({ blocked }) => blocked).length
    left_out.under_way += of.filter(({ under_way }) => under_way > 0n).length
    return { place, tokens: free }
  })
  for (const { place } of sources) {
    if (place.under_way_sun > 0n) left_out.under_way += 1
    else if (place.blocked_sun > 0n && place.trx_sun - place.blocked_sun < min_sun)
      left_out.blocked += 1
    else if (place.trx_sun > 0n && place.trx_sun < min_sun) left_out.dust += 1
  }
  return sources
    .filter(({ place, tokens }) => tokens.length > 0 || mayGive(place, min_sun))
    .sort((a, b) => a.place.deposit_index - b.place.deposit_index)
}

const mayGive = ({ trx_sun, blocked_sun, under_way_sun }: Place, min_sun: bigint) =>
  under_way_sun === 0n && trx_sun > 0n && trx_sun - blocked_sun >= min_sun

type Setting = {
  node: Node
  order: CollectionOrder
  validity: Validity
  prices: Prices
  left_out: LeftOut
}
type AddressPart = { transfers: NewTransfer[]; energy_short: bigint; fees_max_sun: bigint }

/** The transfers of one address. */
async function transfersOf(setting: Setting, { place, tokens }: Source): Promise<AddressPart> {
  const { node, order, prices, left_out } = setting
  const { address, blocked_sun } = place
  const [{ balance_sun }, held_sun, resources] = await Promise.all([
    node.account(address),
    node.holdings(address),
    node.resources(address),
  ])
  // More may have come since, of a blacklisted sender: it stays for the next time.
  const known_sun = place.trx_sun > 0n ? place.trx_sun : 0n
  let free_sun = least(balance_sun, held_sun, known_sun) - blocked_sun
  let energy_left = resources.energy.left
  const found: AddressPart = { transfers: [], energy_short: 0n, fees_max_sun: 0n }
  const bandwidth = () => found.transfers.map(({ raw }) => bandwidthOf(raw))
  const carry = (sizes: number[]) =>
    bandwidthFee(sizes, resources.bandwidth.left, prices.bandwidth_sun)
  for (const one of tokens) {
    const { token } = one
    const call = await tokenCall(setting, one)
    if (!call) continue
    const { amount, energy } = call
    const short = energy > energy_left ? energy - energy_left : 0n
    const limit = (energy * prices.energy_sun * ENERGY_MARGIN) / 100n
    const burn_sun = order.burn && short > 0n ? limit : 0n
    const transfer = made(setting, place, { token, amount, fee_limit_sun: limit, energy })
    const fee_sun = carry([...bandwidth(), bandwidthOf(transfer.raw)])
    if (free_sun < burn_sun + fee_sun) {
      left_out.without_trx += 1
      continue
    }
    energy_left -= energy - short
    free_sun -= burn_sun
    found.transfers.push(transfer)
    found.energy_short += short
    found.fees_max_sun += burn_sun
  }
  if (mayGive(place, order.min_sun) && free_sun >= order.min_sun) {
    const largest = made(setting, place, { token: null, amount: free_sun, fee_limit_sun: 0n })
    const amount = free_sun - carry([...bandwidth(), bandwidthOf(largest.raw)])
    if (amount >= order.min_sun)
      found.transfers.push(made(setting, place, { token: null, amount, fee_limit_sun: 0n }))
  }
  return { ...found, fees_max_sun: found.fees_max_sun + carry(bandwidth()) }
}

/** The most that transfers of these sizes burn when they are sent in any order: the free bandwidth
 *  pays for a whole transaction or for nothing of it. */
export function bandwidthFee(sizes: readonly number[], left: bigint, price_sun: bigint): bigint {
  const all = BigInt(sizes.reduce((sum, size) => sum + size, 0))
  if (sizes.length === 0 || left >= all) return 0n
  const smallest = BigInt(Math.min(...sizes))
  return (left >= smallest ? all - smallest : all) * price_sun
}

type Part = { token: Address | null; amount: bigint; fee_limit_sun: bigint; energy?: bigint }

function made({ order, validity }: Setting, place: Place, part: Part): NewTransfer {
  const { token, amount, fee_limit_sun, energy } = part
  const bytes = { from: place.address, to: order.to, token, amount, fee_limit_sun }
  const read = readTransfer(transferBytes(bytes, validity))
  const needs = energy === undefined ? {} : { energy: Number(energy) }
  return { ...read, index: place.deposit_index, ...needs }
}

/** How much of a token an address can send, and the energy that takes; undefined when it is too
 *  little, or the token does not let it go. */
async function tokenCall({ node, order }: Setting, place: TokenPlace) {
  const { address: owner, token: contract, known } = place
  const balance = await node.constantCall({
    owner,
    contract,
    selector: 'balanceOf(address)',
    parameter: addressWord(owner),
  })
  const amount = least(balance.succeeded ? BigInt(`0x${balance.result || '0'}`) : 0n, known)
  if (amount <= 0n || amount < order.min_token) return undefined
  const parameter = addressWord(order.to) + numberWord(amount)
  const selector = 'transfer(address,uint256)'
  const { succeeded, energy } = await node.constantCall({ owner, contract, selector, parameter })
  return succeeded ? { amount, energy } : undefined
}
