// What a list says about addresses, whatever its publisher's format. A reader takes bytes as they
// come and returns entries for this network's addresses, told by their own shape: publishers tag
// them with all kinds of currency names. Rows about other networks are passed over and counted.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import { isDay } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import type { Kind } from '../flow/labels.ts'

/** What a list says about one address. */
export type ListEntry = {
  address: Address
  /** Name of a category. */
  category: string
  /** Who it is said to be. Of official lists, the number of the listing: names of people stay with
   *  the publisher. */
  entity: string
  kind: Kind
  /** 0 to 100. */
  confidence: number
  /** Where the publisher says so. */
  reference: string
  /** Undefined: since ever. */
  valid_from: Date | undefined
  /** Undefined: still. Not valid at this instant itself. */
  valid_to: Date | undefined
}

/** `misspelt`: the places and texts that look like addresses of this network and are none: one with
 *  a letter that is another, or two in one field. They are not among those passed over.
 *  `designations`: of an official list, how many persons and other parties it names: one that names
 *  some and none of their addresses is a list all the same. */
export type ListContents = {
  entries: ListEntry[]
  passed_over: number
  misspelt: string[]
  designations?: number | undefined
}

/** Reads a list. Throws Refused with the place when the bytes are not in the publisher's
 *  format. */
export type ListReader = (bytes: AsyncIterable<Uint8Array>) => Promise<ListContents>

/** Some ten times the largest list there is. */
const ENTRIES_MAX = 5_000_000

/** Of a letter T and about as many of the alphabet as an address has; other networks' begin
 *  otherwise or are shorter. */
const LOOKS_LIKE_ONE = /(?<![A-Za-z0-9])T[A-Za-z0-9]{30,35}(?![A-Za-z0-9])/
const ALL_THAT_LOOK_SO = new RegExp(LOOKS_LIKE_ONE, 'g')
const TEXT_SHOWN = 100

/** Collects entries; what is not an address of this network is counted. */
export class Collected {
  readonly entries: ListEntry[] = []
  readonly misspelt: string[] = []
  passed_over = 0
  designations: number | undefined

  /** The addresses among the words of a sentence. */
  addFrom(text: string, rest: Omit<ListEntry, 'address'>, where: string): void {
    for (const [found] of text.matchAll(ALL_THAT_LOOK_SO)) this.add(found, rest, where)
  }

  add(text: string, rest: Omit<ListEntry, 'address'>, where: string): void {
    const address: string = text.trim()
    const shown = address.slice(0, TEXT_SHOWN)
    if (isAddress(address)) this.put({ address, ...rest })
    else if (LOOKS_LIKE_ONE.test(text)) this.misspelt.push(`${where}: ${shown}`)
    else this.passed_over += 1
  }

  /** Of an address that is known to be one: to find out takes longer than all the rest. */
  put(entry: ListEntry): void {
    if (this.entries.push(entry) > ENTRIES_MAX)
      throw refusal(`There are more than ${ENTRIES_MAX} addresses in this list.`)
  }
}

const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/
const ZONE = /(Z|[+-]\d{2}:\d{2})$/

/** A date (its midnight) or an instant, in UTC. Undefined when there is none. Throws Refused
 *  when it is neither. */
export function readInstant(text: string | undefined, where: string): Date | undefined {
  const given = text?.trim() ?? ''
  if (given === '') return undefined
  const iso = /^\d{4}-\d{2}-\d{2}$/.test(given)
    ? `${given}T00:00:00Z`
    : INSTANT.test(given)
      ? given.replace(' ', 'T') + (ZONE.test(given) ? '' : 'Z')
      : ''
  const at = new Date(iso)
  if (Number.isNaN(at.getTime()) || !isDay(iso.slice(0, 10)))
    throw refusal(`${where}: "${given}" is not a date like 2026-01-31 or 2026-01-31T12:00:00Z.`)
  return at
}

const LINE_MAX = 16_000_000

/** The lines of a text, without their ends. Throws Refused when one is longer than any line of a
 *  list is. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > LINE_MAX) throw refusal('There is a line of more than 16 million characters.')
    for (const line of lines) yield line.replace(/\r$/, '')
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}

/** Passes bytes on and tells, as they pass, how many there were. */
export async function* counted(
  bytes: AsyncIterable<Uint8Array>,
  tell: (bytes_read: number) => void,
): AsyncGenerator<Uint8Array> {
  let read = 0
  for await (const chunk of bytes) {
    read += chunk.length
    tell(read)
    yield chunk
  }
}
