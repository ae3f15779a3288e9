// What is wrong with a request, in a sentence: the field, what it is, what it must be. A fault
// names field and rule; the value is looked up here in the body that was sent, when the refusal is
// written, so that a call that succeeds pays nothing for it. Of the caller's own text little is
// repeated, in escapes where it could steer a terminal, and nothing that could be a secret.

import type { Fault } from '../../lib/fault.ts'
import { type Json, type JsonObject, OtherNumber } from '../../lib/json.ts'
import { type HideOwn, holdsSecret, type Place } from '../../lib/secrets.ts'

/** The longest piece of the caller's text that is repeated. */
const QUOTED_MAX = 60

export type Complaint = { error: string; param: string | undefined }

/** What was sent; `body` is undefined when it could not be read. */
export type RequestBody = { body?: Json | undefined; hideOwn?: HideOwn | undefined }

/** The sentence of a refusal, and the field that it is about. */
export function complaintOf({ message, about }: Fault, sent: RequestBody): Complaint {
  if (!about) return { error: message, param: undefined }
  const { param } = about
  return { error: `${message}: ${reasonOf(about, sent)}`, param }
}

function reasonOf(about: NonNullable<Fault['about']>, { body, hideOwn }: RequestBody): string {
  if ('because' in about) return about.because
  const { param } = about
  const value = param === undefined ? body : valueAt(body, param)
  const name = param ?? 'the body'
  const place = { field: name, hideOwn }
  if ('absent' in about) {
    // An older name of the field may have it.
    if (value === undefined) return `no ${about.absent} has the ${name} that was given`
    const shown = typeof value === 'string' ? quoted(value, place) : valueText(value, place)
    return `no ${about.absent} has the ${name} ${shown}`
  }
  if (value !== undefined) return `${name} must be ${about.must}, not ${valueText(value, place)}`
  const other = similarName(body, name)
  const missing = `${name} is missing`
  return other === undefined
    ? `${missing}: it must be ${about.must}`
    : `${missing} (there is ${other})`
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof OtherNumber)

/** What stands at a path as `params.scopes[1]`. */
function valueAt(body: Json | undefined, path: string): Json | undefined {
  return stepsOf(path).reduce<Json | undefined>((value, step) => {
    if (Array.isArray(value)) return value[Number(step)]
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }, body)
}

const stepsOf = (path: string): string[] => path.replaceAll(']', '').split(/[.[]/)

/** What was sent, for people. */
function valueText(value: Json | undefined, place: Place): string {
  if (typeof value === 'string')
    return value === '' ? 'empty text' : `the text ${quoted(value, place)}`
  if (value instanceof OtherNumber) return shortened(value.text)
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  return isObject(value) ? 'an object' : String(value)
}

function quoted(text: string, place: Place): string {
  if (holdsSecret(text, place)) return `that was sent (${[...text].length} characters)`
  return shortened(JSON.stringify(text), '"')
}

/** At most so many characters, without those that hide, or steer what shows them. */
function shortened(text: string, end = ''): string {
  const visible = text.replace(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`,
  )
  const characters = [...visible]
  if (characters.length <= QUOTED_MAX) return visible
  return `${characters.slice(0, QUOTED_MAX).join('')}…${end}`
}

/** What was sent under a name that is nearly the one that is missing, or under the same in another
 *  place. */
function similarName(body: Json | undefined, path: string): string | undefined {
  const steps = stepsOf(path)
  const name = steps.at(-1)!
  const above = path.includes('.') ? path.slice(0, path.lastIndexOf('.')) : undefined
  const beside = above === undefined ? body : valueAt(body, above)
  const names = isObject(beside) ? Object.keys(beside) : []
  const near = names.find((one) => isSimilar(one, name))
  if (near !== undefined) return above === undefined ? near : `${above}.${near}`
  if (!isObject(body)) return undefined
  if (above !== undefined && Object.hasOwn(body, name)) return name
  return Object.entries(body).flatMap(([outer, inner]) =>
    isObject(inner) && /^\w{1,40}$/.test(outer) && outer !== above && Object.hasOwn(inner, name)
      ? [`${outer}.${name}`]
      : [],
  )[0]
}

const plain = (name: string) => name.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()

/** Whether one is the other but for capitals, signs, and a letter or two. */
function isSimilar(sent: string, name: string): boolean {
  if (sent === name || sent.length > name.length + 4 || !/^[\w -]+$/.test(sent)) return false
  const most = name.length > 4 ? 2 : 1
  return distance(plain(sent), plain(name)) <= most
}

/** How many letters must be put in, left out, exchanged or swapped with their neighbour. */
function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1]
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      row.push(
        Math.min(
          row[j - 1]! + 1,
          rows[i - 1]![j]! + 1,
          rows[i - 1]![j - 1]! + (same ? 0 : 1),
          swapped && i > 1 && j > 1 ? rows[i - 2]![j - 2]! + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    rows.push(row)
  }
  return rows[one.length]![other.length]!
}
