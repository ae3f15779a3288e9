// Fields that several endpoints read in the same way, with the refusals that are laid down for
// each.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { readMoment } from '../../lib/clock.ts'
import { type FaultKind, fault } from '../../lib/fault.ts'
import { type Json, type JsonObject, OtherNumber, sunOf } from '../../lib/json.ts'
import { addressRule } from './body.ts'
import { InvalidParams } from './endpoint.ts'

export const InvalidAddress: FaultKind = fault(
  10,
  'invalid_network_address',
  'Invalid network address',
)
export const InvalidDuration: FaultKind = fault(
  12,
  'invalid_duration',
  'Duration must be equal to 1 (1 hour)',
)

/** `""` and `null` are what old clients send for a field they leave out. */
export const isAbsent = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === ''

/** An address of the network. Throws 10, with `sub` where there are several. */
export function readAddress(value: Json | undefined, param: string, sub?: string): Address {
  if (!isAddress(value)) throw InvalidAddress(sub).at(param, addressRule(value))
  return value
}

/** One hour, the only duration on sale. Throws 12. */
export function readDuration(value: Json | undefined, param: string): 1 {
  if (value !== 1) throw InvalidDuration().at(param, 'the integer 1')
  return 1
}

/** True or false, false when absent. Throws 2. */
export function readFlag(value: Json | undefined, param: string): boolean {
  if (isAbsent(value)) return false
  if (typeof value !== 'boolean') throw InvalidParams().at(param, 'true or false')
  return value
}

/** An amount of TRX with at most six decimals, in sun. Throws 2, with the field's name. */
export function readMoney(value: Json | undefined, field: string): bigint {
  const text = value instanceof OtherNumber ? value.text : value
  const sun =
    typeof text === 'number' || value instanceof OtherNumber ? sunOf(`${text}`) : undefined
  if (sun === undefined)
    throw InvalidParams(field, `Invalid ${field}`).at(
      field,
      'an amount of TRX, a number from 0 with at most six decimals',
    )
  return sun
}

/** A time from which or until which something is listed. */
export const timeField = (field: string, description: string) =>
  Type.Optional(
    Type.String({
      format: 'moment',
      description: `${description}: a day in UTC, or \`2026-11-01T12:00:00Z\``,
      fault: () => InvalidParams(field, `Invalid ${field}`),
    }),
  )

/** The time that such a field names. */
export const timeOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : readMoment(text)

/** The object, or undefined for anything else. An empty list is what PHP makes of an empty
 *  object. */
export function objectOf(value: Json | undefined): JsonObject | undefined {
  if (Array.isArray(value)) return value.length === 0 ? {} : undefined
  return typeof value === 'object' && value !== null && !(value instanceof OtherNumber)
    ? value
    : undefined
}

/** What names a thing bought: our id, the customer's own, or both. Throws 2 when it is neither. */
export function readNames(id: Json | undefined, external_id: Json | undefined) {
  if (isAbsent(id) && isAbsent(external_id))
    throw InvalidParams('id', 'Either id or external_id is required').because(
      'both are missing',
      'id',
    )
  const read = (value: Json | undefined, field: string): string | null => {
    if (isAbsent(value)) return null
    if (typeof value !== 'string') throw InvalidParams(field, `Invalid ${field}`).at(field, 'text')
    return value
  }
  return { id: read(id, 'id'), external_id: read(external_id, 'external_id') }
}
