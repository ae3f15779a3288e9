// Changing what makes sense into what may not: bytes, text, JSON, and the fields of a message.

import type { Message, Schema } from 'penstock-tron/protobuf.ts'
import type { RandomSeries } from '../http/faults.ts'

const oddNumbers = [0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e21, 1e308, Number.NaN]
const oddIntegers = [
  0n,
  -1n,
  1n,
  1_000_000n,
  2n ** 31n,
  2n ** 53n + 1n,
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 63n),
]
const oddTexts = [
  '',
  '0',
  'zz',
  '41',
  '41'.repeat(21),
  '00'.repeat(32),
  'T',
  'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  '-1',
  '9223372036854775808',
  '1e3',
  'constructor',
  '__proto__',
  '\u0000',
  '💧'.repeat(50),
  'f'.repeat(5000),
  'true',
]
const oddNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'visible']

export class Mutator {
  private readonly random: RandomSeries

  constructor(random: RandomSeries) {
    this.random = random
  }

  private pick<Item>(list: readonly Item[]): Item {
    return list[Math.floor(this.random.next() * list.length)]!
  }

  private below(limit: number): number {
    return Math.floor(this.random.next() * limit)
  }

  /** Bytes with one to four of them changed, gone, doubled or new. */
  bytes(given: Uint8Array): Uint8Array {
    const bytes = [...given]
    for (let changes = 1 + this.below(4); changes > 0; changes--) {
      const at = this.below(bytes.length + 1)
      const how = this.below(9)
      if (how === 0) bytes[at] = this.below(256)
      else if (how === 1) bytes.splice(at, 1 + this.below(8))
      else if (how === 2) bytes.splice(at, 0, ...bytes.slice(at, at + 1 + this.below(8)))
      else if (how === 3) bytes.splice(at, 0, this.below(256))
      else bytes[at] = (bytes[at] ?? 0) ^ (1 << this.below(8))
    }
    return Uint8Array.from(
      this.below(30) === 0 ? bytes.slice(0, this.below(bytes.length + 1)) : bytes,
    )
  }

  /** Text with its bytes changed. */
  text(given: string): string {
    return Buffer.from(this.bytes(Buffer.from(given))).toString()
  }

  /** An object with one to three members changed somewhere in its depth. */
  object(given: object): object {
    const copy = structuredClone(given) as Message
    for (let changes = 1 + this.below(3); changes > 0; changes--) this.change(copy)
    return copy
  }

  private change(within: Message): void {
    const names = Object.keys(within)
    const name = names.length === 0 || this.below(20) === 0 ? this.pick(oddNames) : this.pick(names)
    const value = Object.hasOwn(within, name) ? within[name] : undefined
    if (typeof value === 'object' && value !== null && this.below(4) > 0)
      this.change(value as Message)
    else if (this.below(5) === 0) delete within[name]
    else {
      const changed = this.value()
      Object.defineProperty(within, name, {
        value: changed,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
  }

  private value(): unknown {
    const others: unknown[] = [
      null,
      true,
      false,
      [],
      {},
      [[]],
      [null],
      { a: 1 },
      ['x', 1],
      { toString: 1 },
      [2 ** 67],
    ]
    const how = this.below(8)
    if (how < 3) return this.pick(oddTexts)
    if (how < 5) return this.pick(oddNumbers)
    return this.pick(others)
  }

  /** A message with some of its fields changed to other values that can be encoded. */
  message(schema: Schema, given: Message): Message {
    const changed: Message = { ...given }
    for (const { name, type, repeated } of schema.fields) {
      if (this.below(3) > 0) continue
      if (typeof type === 'object' && 'fields' in type) {
        const one = () => this.message(type, {})
        changed[name] = repeated ? Array.from({ length: this.below(4) }, one) : one()
      } else {
        const one = () => this.scalar(type)
        changed[name] = repeated ? [one(), one()] : one()
      }
    }
    return changed
  }

  private scalar(type: Exclude<Schema['fields'][number]['type'], Schema>): unknown {
    if (type === 'int64') return this.pick(oddIntegers)
    if (type === 'int32') return this.pick([0, 1, -1, 2 ** 31 - 1])
    if (type === 'bool') return this.below(2) === 0
    if (type === 'string') return this.pick(oddTexts)
    if (typeof type === 'object') return this.below(9)
    return this.pick(['', '41', '00', '41'.repeat(21), `41${'22'.repeat(20)}`, 'ff'.repeat(300)])
  }
}
