// How a result is printed: as JSON, or as tables and fields for reading. What others have written
// must not steer a terminal.

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

/** One thing: its fields, and what it holds below. */
export const valueText = (value: unknown): string => `${shown(value).join('\n').trimStart()}\n`

function shown(value: unknown): string[] {
  if (isTable(value)) return tableLines(value)
  if (!isRow(value)) return [cell(value)]
  const isPart = (one: unknown) => isRow(one) || (isTable(one) && one.length > 0)
  const fields = Object.entries(value).filter(([, one]) => !isPart(one))
  const parts = Object.entries(value).filter(([, one]) => isPart(one))
  const width = Math.max(0, ...fields.map(([key]) => heading(key).length)) + 2
  const lines = fields.map(([key, one]) => `${heading(key).padEnd(width)}${cell(one) || '-'}`)
  return [
    ...lines,
    ...parts.flatMap(([key, one]) => [
      '',
      cleaned(heading(key)),
      ...shown(one).map((line) => `  ${line}`),
    ]),
  ]
}

/** Rows as a table, with the columns that are named (`params.address` is inside), or with what is
 *  no list and no object. */
export function tableLines(rows: readonly Row[], columns?: readonly string[]): string[] {
  const [first] = rows
  if (!first) return ['none']
  const plain = Object.keys(first).filter((key) => rows.every((row) => !isDeep(row[key])))
  const keys = columns ?? plain
  const lines = [keys.map(heading), ...rows.map((row) => keys.map((key) => cell(inside(row, key))))]
  const widths = keys.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)))
  const right = keys.map((key) =>
    rows.every((row) => /^(number|undefined)$/.test(typeof (inside(row, key) ?? undefined))),
  )
  const pad = (text: string, i: number) =>
    right[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)
  return lines.map((line) => line.map(pad).join('  ').trimEnd())
}

const isDeep = (value: unknown) => isRow(value) || (isTable(value) && value.length > 0)

const inside = (row: Row, key: string): unknown =>
  key.split('.').reduce<unknown>((at, part) => (isRow(at) ? at[part] : undefined), row)
