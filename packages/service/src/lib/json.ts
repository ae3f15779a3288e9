// JSON at the edge. parseJson() reads bytes from outside and refuses whatever two readers could
// understand differently: keys given twice, lone surrogates, a byte-order mark, names that reach a
// prototype. Only an integer literal becomes a number: 1.0, 1e3 and 2^53 stay an OtherNumber, so
// nothing later can take them for an amount. money() is the way out: integer sun printed as an
// exact decimal, never a float on the way.

export type Json = null | boolean | number | OtherNumber | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** A number that is not an integer literal within ±(2^53-1), as it was written. */
export class OtherNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The bytes are not a JSON document that this service accepts. */
export class JsonError extends Error {
  override name = 'JsonError'
  readonly complaint: string
  /** Where, in bytes from the beginning. */
  readonly byte: number
  /** It is JSON, which two readers could understand differently. */
  readonly is_json: boolean
  constructor(complaint: string, byte: number, is_json = false) {
    super(`${complaint} at byte ${byte}`)
    this.complaint = complaint
    this.byte = byte
    this.is_json = is_json
  }
}

const DEPTH_MAX = 16
const KEYS_MAX = 200

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads one document. Beyond what JSON itself refuses: a byte-order mark, invalid UTF-8, lone
 *  surrogates, U+0000 (the database stores no such text), a key given twice or named `__proto__`,
 *  `constructor` or `prototype`, more than KEYS_MAX keys in an object, nesting deeper than
 *  DEPTH_MAX. Throws JsonError. */
export function parseJson(bytes: Uint8Array): Json {
  return new Reader(decode(bytes)).document()
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new JsonError('invalid UTF-8', validBytes(bytes))
  }
}

const REPLACEMENT = '\ufffd'

/** How many of the bytes are UTF-8 up to the first character that is none. */
function validBytes(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  let valid = 0
  for (const piece of text.split(REPLACEMENT)) {
    valid += Buffer.byteLength(piece)
    // Somebody may have sent the very character that stands for those that are none.
    if (Buffer.from(bytes.subarray(valid, valid + 3)).toString('hex') !== 'efbfbd') return valid
    valid += 3
  }
  return valid
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const NINE = 0x39
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const HEX4 = /[0-9a-fA-F]{4}/y
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
/** Names through which an object that is merged or looked up carelessly reaches a prototype. */
const REFUSED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

class Reader {
  readonly text: string
  at = 0
  constructor(text: string) {
    this.text = text
  }

  document(): Json {
    const value = this.value(0)
    this.blanks()
    if (this.at < this.text.length) this.refuse('more after its end')
    return value
  }

  refuse(complaint: string, at = this.at): never {
    const ended = at >= this.text.length
    throw new JsonError(ended ? 'unexpected end' : complaint, this.byteAt(at))
  }

  /** Refuses what is JSON, and is not taken. */
  refuseJson(complaint: string, at: number): never {
    throw new JsonError(complaint, this.byteAt(at), true)
  }

  byteAt(at: number): number {
    return Buffer.byteLength(this.text.slice(0, at))
  }

  blanks(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.at)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
      this.at += 1
    }
  }

  /** Steps over the character when it is the next one that is not blank. */
  takes(character: string): boolean {
    this.blanks()
    if (this.text[this.at] !== character) return false
    this.at += 1
    return true
  }

  value(depth: number): Json {
    this.blanks()
    switch (this.text[this.at]) {
      case '"':
        return this.string()
      case '{':
        return this.object(depth + 1)
      case '[':
        return this.array(depth + 1)
      case 't':
        return this.word('true', true)
      case 'f':
        return this.word('false', false)
      case 'n':
        return this.word('null', null)
      default:
        return this.number()
    }
  }

  word(word: string, value: boolean | null): boolean | null {
    if (!this.text.startsWith(word, this.at)) this.refuse('unexpected text')
    this.at += word.length
    return value
  }

  object(depth: number): JsonObject {
    if (depth > DEPTH_MAX) this.refuseJson('nested too deeply', this.at)
    this.at += 1
    const object: JsonObject = {}
    if (this.takes('}')) return object
    let keys = 0
    do {
      this.blanks()
      const key_at = this.at
      if (this.text.charCodeAt(key_at) !== QUOTE) this.refuse('a key was expected')
      const key = this.string()
      if (REFUSED_KEYS.has(key)) this.refuseJson('a key that is not taken', key_at)
      if (Object.hasOwn(object, key)) this.refuseJson('a key given twice', key_at)
      keys += 1
      if (keys > KEYS_MAX) this.refuseJson('too many keys', key_at)
      if (!this.takes(':')) this.refuse('a colon was expected')
      object[key] = this.value(depth)
    } while (this.takes(','))
    if (!this.takes('}')) this.refuse('a comma or the end of the object was expected')
    return object
  }

  array(depth: number): Json[] {
    if (depth > DEPTH_MAX) this.refuseJson('nested too deeply', this.at)
    this.at += 1
    const items: Json[] = []
    if (this.takes(']')) return items
    do items.push(this.value(depth))
    while (this.takes(','))
    if (!this.takes(']')) this.refuse('a comma or the end of the array was expected')
    return items
  }

  string(): string {
    const { text } = this
    const start = this.at + 1
    for (let i = start; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit === QUOTE) {
        this.at = i + 1
        return text.slice(start, i)
      }
      if (unit === BACKSLASH) return this.escapedString(start, i)
      if (unit < 0x20) return this.refuse('a control character in a text', i)
    }
    return this.refuse('unexpected end', text.length)
  }

  escapedString(start: number, first_escape_at: number): string {
    const { text } = this
    let sofar = text.slice(start, first_escape_at)
    let from = first_escape_at
    for (let i = from; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < 0x20) return this.refuse('a control character in a text', i)
      if (unit !== QUOTE && unit !== BACKSLASH) continue
      sofar += text.slice(from, i)
      if (unit === QUOTE) {
        if (!sofar.isWellFormed() || sofar.includes('\0'))
          this.refuseJson('a character that is not taken', oddEscape(text, start))
        this.at = i + 1
        return sofar
      }
      this.at = i + 1
      sofar += this.escape()
      from = this.at
      i = from - 1
    }
    return this.refuse('unexpected end', text.length)
  }

  escape(): string {
    const begun_at = this.at - 1
    const letter = this.text[this.at] ?? ''
    if (letter === '') this.refuse('unexpected end', this.text.length)
    this.at += 1
    if (letter === 'u') {
      HEX4.lastIndex = this.at
      if (!HEX4.test(this.text)) this.refuse('invalid escape', begun_at)
      const unit = Number.parseInt(this.text.slice(this.at, this.at + 4), 16)
      this.at += 4
      return String.fromCharCode(unit)
    }
    return ESCAPES[letter] ?? this.refuse('invalid escape', begun_at)
  }

  number(): number | OtherNumber {
    const { text } = this
    NUMBER.lastIndex = this.at
    if (!NUMBER.test(text)) this.refuse('unexpected text')
    const start = this.at
    this.at = NUMBER.lastIndex
    let value = 0
    for (let i = text[start] === '-' ? start + 1 : start; i < this.at; i++) {
      const unit = text.charCodeAt(i)
      if (unit < ZERO || unit > NINE) return new OtherNumber(text.slice(start, this.at))
      // Beyond 2^53 the sum is no longer exact, but it never comes back below.
      value = value * 10 + (unit - ZERO)
    }
    if (value > Number.MAX_SAFE_INTEGER) return new OtherNumber(text.slice(start, this.at))
    return text[start] === '-' && value !== 0 ? -value : value
  }
}

/** Each escape of a text, that of a character that is not taken in `odd`: zero, and the half of a
 *  pair. */
const EVERY_ESCAPE = /\\u(?:d[89ab]..\\u(?=d[c-f])....|(?<odd>0000|d[89a-f]..)|....)|\\[^u]/gi

/** Where the first of them stands, from a place on. */
function oddEscape(text: string, from: number): number {
  EVERY_ESCAPE.lastIndex = from
  for (;;) {
    const found = EVERY_ESCAPE.exec(text)
    if (!found || found.groups?.odd !== undefined) return found?.index ?? from
  }
}

declare global {
  interface JSON {
    /** Text that JSON.stringify() prints as it stands (the compiler's library lacks it). */
    rawJSON(text: string): { readonly rawJSON: string }
  }
}

/** An amount of TRX that printJson() prints as a number. */
export type Money = { readonly rawJSON: string }

/** Amounts are in sun everywhere but on the wire. */
export const SUN_PER_TRX = 1_000_000n

/** Integer sun as TRX: a number with at most 6 decimals, exact. */
export function money(sun: bigint): Money {
  return JSON.rawJSON(trxText(sun))
}

/** Integer sun as TRX in decimal text: 12100000n is `12.1`. */
export function trxText(sun: bigint): string {
  const positive = sun < 0n ? -sun : sun
  const decimals = (positive % SUN_PER_TRX).toString().padStart(6, '0').replace(/0+$/, '')
  return `${sun < 0n ? '-' : ''}${positive / SUN_PER_TRX}${decimals === '' ? '' : `.${decimals}`}`
}

/** TRX in decimal text as integer sun: `12.1` is 12100000n. Undefined when it is no such amount,
 *  from 0 to a million million TRX. */
export function sunOf(text: string): bigint | undefined {
  const [, trx, decimals = ''] = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  return trx === undefined ? undefined : BigInt(trx + decimals.padEnd(6, '0'))
}

/** JSON text of a reply. Throws on a bigint: money goes through money(), and nothing else that
 *  leaves is beyond 2^53. */
export function printJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('a value that JSON cannot express')
  return text
}

/** JSON with whole integers and times as text. Control characters that JSON lets through are
 *  written as escapes. */
export function jsonOf(value: unknown, indent?: number): string {
  const text = JSON.stringify(
    value,
    (_key, one: unknown) => (typeof one === 'bigint' ? JSON.rawJSON(one.toString()) : one),
    indent,
  )
  return text.replace(/[\x7f-\x9f]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)
}

/** The least of some whole numbers; Math.min() takes no bigint. */
export const least = (first: bigint, ...others: readonly bigint[]): bigint =>
  others.reduce((one, other) => (one < other ? one : other), first)
