// Reading what a node answers. A node is trusted with nothing: a field of another kind than it
// should be is an Outage.

import { type Address, addressFromHex, isAddress } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'

/** The node is asked too much, and says so: nothing is wrong with it. */
export class NodeBusy extends Outage {
  override name = 'NodeBusy'
}

/** Statuses of those who limit how much they are asked. A provider says 403, too, while it has
 *  suspended a key for that. */
const BUSY_STATUSES: readonly number[] = [429, 503]
const SUSPENDED = /suspended|frequency limit|rate limit|too many requests/i
/** What a node itself says, with status 200. */
const NO_RESOURCES = /lack of computing resources/i

/** Whether an answer says that the node is asked too much. */
export const isBusyAnswer = ({ status, body }: { status: number; body: string }): boolean =>
  BUSY_STATUSES.includes(status) ||
  (status === 403 && SUSPENDED.test(body)) ||
  (status === 200 && body.length < 500 && NO_RESOURCES.test(body))

/** Parses JSON and keeps 64-bit integers whole: those beyond 2^53 come back as bigint. */
export function parseNodeJson(text: string, where: string): unknown {
  try {
    // The reviver is slow, and sixteen digits in a row outside of text are rare.
    return /[:[,]\s*-?\d{16}/.test(text) ? JSON.parse(text, keepWhole) : JSON.parse(text)
  } catch (cause) {
    throw new Outage(`${where}: the answer is not JSON`, { cause })
  }
}

function keepWhole(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value
  return /^-?\d+$/.test(source) ? BigInt(source) : value
}

export function fieldsOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw odd(where, 'an object')
  return value as Record<string, unknown>
}

export function listOf(value: unknown, where: string): unknown[] {
  if (!Array.isArray(value)) throw odd(where, 'a list')
  return value
}

export function text(value: unknown, where: string): string {
  if (typeof value !== 'string') throw odd(where, 'text')
  return value
}

/** Lower-case hexadecimal text of exactly `length` characters. */
export function hex(value: unknown, length: number, where: string): string {
  const given = text(value, where)
  if (given.length !== length || !/^[0-9a-f]*$/.test(given))
    throw odd(where, `${length} hexadecimal characters`)
  return given
}

/** Hexadecimal text of any length, as it was written. */
export function hexOfAnyCase(value: unknown, where: string): string {
  const given = text(value, where)
  if (!/^[0-9a-f]*$/i.test(given)) throw odd(where, 'hexadecimal text')
  return given
}

/** An integer that is not negative. */
export function integer(value: unknown, where: string): number | bigint {
  const whole = signed(value, where)
  if (whole < 0) throw odd(where, 'an integer from 0 on')
  return whole
}

/** An integer of either sign. */
export function signed(value: unknown, where: string): number | bigint {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value)))
    return value
  throw odd(where, 'an integer')
}

/** The words of a refusal. Of some values that JSON has, no text can be made. */
export const refusalText = (given: unknown): string =>
  typeof given === 'object' && given !== null ? 'an object' : String(given)

const NAME_MAX = 64

/** A name that a node gives to something, as it may be kept: PostgreSQL reads no JSON with a zero
 *  byte or half a character in it. */
export const keptName = (given: string): string =>
  given.replace(/\p{C}/gu, ' ').slice(0, NAME_MAX).toWellFormed()

/** The number of a TRC-10 asset, as text: its bytes are digits, which a node prints in
 *  hexadecimal. */
export function assetOf(value: unknown, where: string): string {
  const given = text(value, where)
  const digits = Buffer.from(given, 'hex').toString()
  return /^\d+$/.test(digits) ? digits : keptName(given)
}

/** A message as a node prints it: plain, or in hexadecimal, depending on the node and on
 *  `visible`. */
export function plain(message: string): string {
  const is_hex = /^(?:[0-9a-f]{2})+$/.test(message)
  return is_hex ? Buffer.from(message, 'hex').toString() : message
}

export function addressOf(value: unknown, where: string): Address {
  const given = text(value, where)
  if (isAddress(given)) return given
  try {
    return addressFromHex(given)
  } catch (cause) {
    throw new Outage(`${where} has no address`, { cause })
  }
}

function odd(where: string, wanted: string): Outage {
  return new Outage(`${where}: the node's answer is not ${wanted}`)
}
