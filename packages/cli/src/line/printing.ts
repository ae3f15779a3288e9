// How a result is printed: as JSON, or as tables and fields for reading. What others have written
// must not steer a terminal.

import { type Column, fieldLines, tableIn } from 'penstock-command-line/fitting.ts'
import type { Row } from './command.ts'

/** JSON whose control characters are escapes. */
export const jsonText = (value: unknown, indent?: number): string =>
  `${JSON.stringify(value, null, indent).replace(
    /[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )}\n`

/** Text on one line, without what a terminal would act on. */
export const cleaned = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, '\u00b7')

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isTable = (value: unknown): value is Row[] => Array.isArray(value) && value.every(isRow)
const heading = (key: string) => key.split('.').at(-1)!.replaceAll('_', ' ')

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(cell).join(', ')
  return cleaned(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** What is TRX wherever the wire has it. */
const TRX = /^(price|balance|spendable|daily_cap|spent_today|balance_low)$/
const unitOf = (key: string, value: unknown) =>
  typeof value === 'number' && TRX.test(key) ? ' TRX' : ''

/** One thing: its fields, and what it holds below, in lines of at most this width. */
export const valueText = (value: unknown, width = Number.POSITIVE_INFINITY): string =>
  `${shown(value, width).join('\n').trimStart()}\n`

function shown(value: unknown, width: number): string[] {
  if (isTable(value)) return tableLines(value, undefined, width)
  if (!isRow(value)) return fieldLines('', cell(value), width)
  const isPart = (one: unknown) => isRow(one) || (isTable(one) && one.length > 0)
  const fields = Object.entries(value).filter(([, one]) => !isPart(one))
  const parts = Object.entries(value).filter(([, one]) => isPart(one))
  const longest = Math.max(0, ...fields.map(([key]) => heading(key).length)) + 2
  const lines = fields.flatMap(([key, one]) => {
    const text = cell(one) === '' ? '-' : `${cell(one)}${unitOf(key, one)}`
    return fieldLines(heading(key).padEnd(longest), text, width)
  })
  return [
    ...lines,
    ...parts.flatMap(([key, one]) => [
      '',
      // As the wire has it: what is listed by a key is asked for by it, as a plan is.
      cleaned(key),
      ...shown(one, width - 2).map((line) => `  ${line}`.trimEnd()),
    ]),
  ]
}

/** Rows as a table, with the columns that are named (`params.address` is inside), or with what is
 *  no list and no object. */
export function tableLines(
  rows: readonly Row[],
  columns: readonly string[] | undefined,
  width: number,
): string[] {
  const [first] = rows
  if (!first) return ['none']
  const plain = Object.keys(first).filter((key) => rows.every((row) => !isDeep(row[key])))
  const table = (columns ?? plain).map((key): Column => {
    const values = rows.map((row) => inside(row, key))
    const right = values.every((one) => /^(number|undefined)$/.test(typeof (one ?? undefined)))
    return { heading: heading(key), cells: values.map(cell), right }
  })
  return tableIn(table, width)
}

const isDeep = (value: unknown) => isRow(value) || (isTable(value) && value.length > 0)

const inside = (row: Row, key: string): unknown =>
  key.split('.').reduce<unknown>((at, part) => (isRow(at) ? at[part] : undefined), row)
