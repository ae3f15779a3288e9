// TRC20 tokens: the arguments of their calls and their events, as words of 32 bytes. An event's
// topic is the Keccak-256 of its signature. Tokens differ in which arguments of an event are
// indexed, so an argument is taken from the topics as far as they reach, and then from the data.
//
// Freezes and destructions are those of USDT: AddedBlackList(address), RemovedBlackList(address)
// and DestroyedBlackFunds(address,uint256).

import { type Address, addressFromHex, addressToHex } from './address.ts'

/** USDT's contract on the main network: 6 decimals, a list of frozen addresses. */
export const USDT: Address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const FROZEN = '42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc'
const UNFROZEN = 'd7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c'
const DESTROYED = '61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6'

/** `amount` is in the token's smallest unit. */
export type TokenTransfer = { contract: Address; from: Address; to: Address; amount: bigint }
/** A change of the list of frozen addresses; `frozen` false: taken off it. */
export type Freeze = { contract: Address; address: Address; frozen: boolean }
/** The whole balance of a frozen address is destroyed. */
export type Destruction = { contract: Address; address: Address; amount: bigint }

/** The argument word of an address: its last 20 bytes, padded. Throws when the text is not one. */
export function addressWord(address: Address): string {
  return addressToHex(address).slice(2).padStart(64, '0')
}

/** The argument word of a number. Throws a RangeError unless it is from 0 to 2^256-1. */
export function numberWord(value: bigint): string {
  if (value < 0n || value >> 256n !== 0n) throw new RangeError(`not a word of 256 bits: ${value}`)
  return value.toString(16).padStart(64, '0')
}

const addressOf = (word: string): Address => addressFromHex(`41${word.slice(24)}`)

/** An event in the receipt of a transaction: who wrote it, its topics and its data in lower-case
 *  hexadecimal without 0x. (A node prints the contract's address as 40 characters, without the
 *  41.) */
export type ContractLog = { contract: Address; topics: string[]; data: string }

function words({ topics, data }: ContractLog): string[] {
  const rest = Array.from({ length: Math.floor(data.length / 64) }, (_, i) =>
    data.slice(64 * i, 64 * i + 64),
  )
  return [...topics.slice(1), ...rest]
}

/** The transfer of `Transfer(address,address,uint256)`; undefined when the event is another one, or
 *  lacks an argument. */
export function transferOf(log: ContractLog): TokenTransfer | undefined {
  const [from, to, amount] = log.topics[0] === TRANSFER ? words(log) : []
  if (from === undefined || to === undefined || amount === undefined) return undefined
  return {
    contract: log.contract,
    from: addressOf(from),
    to: addressOf(to),
    amount: BigInt(`0x${amount}`),
  }
}

/** The change of the list of frozen addresses; undefined for every other event. */
export function freezeOf(log: ContractLog): Freeze | undefined {
  const [topic] = log.topics
  const [address] = topic === FROZEN || topic === UNFROZEN ? words(log) : []
  return address === undefined
    ? undefined
    : { contract: log.contract, address: addressOf(address), frozen: topic === FROZEN }
}

/** The destruction of a frozen address's funds; undefined for every other event. */
export function destructionOf(log: ContractLog): Destruction | undefined {
  const [address, amount] = log.topics[0] === DESTROYED ? words(log) : []
  if (address === undefined || amount === undefined) return undefined
  return { contract: log.contract, address: addressOf(address), amount: BigInt(`0x${amount}`) }
}
