// How an answer is printed: as JSON, or as tables and fields for reading.

import { tableIn } from 'penstock-command-line/fitting.ts'
import { wireTime } from '../../lib/clock.ts'
import { jsonOf, trxText } from '../../lib/json.ts'
import type { CommandLine, Progress, TerminalAnswer } from '../table/operation.ts'

/** JSON for reading. */
export const jsonText = (value: unknown): string => `${jsonOf(value, 2)}\n`

/** The value for reading, or the text that stands for it, and the note below. */
export function answerText({ value, text, note }: TerminalAnswer, cli: CommandLine): string {
  const shown_text = text ?? cli.text?.(value) ?? `${shown(value).join('\n').trimStart()}\n`
  return `${shown_text}${note === undefined ? '' : `\n${note}\n`}`
}

const BAR = 30

/** A bar of progress with what it counts; without an end that is known, only the count. */
export function progressText({ what, done, whole, unit }: Progress): string {
  const name = what === undefined ? '' : `${what} `
  if (whole === undefined || whole <= 0) return `${name}${done} ${unit}`
  const share = Math.min(1, done / whole)
  const filled = Math.round(share * BAR)
  const bar = `${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}`
  return `${name}[${bar}] ${Math.floor(share * 100)} %  ${done} of ${whole} ${unit}`
}

type Row = Record<string, unknown>

const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !(value instanceof Date) && !Array.isArray(value)
const isTable = (value: unknown): value is Row[] =>
  Array.isArray(value) && (value.length === 0 || value.every(isRow))

/** A list as a table; one thing as its fields, with what it holds below. */
function shown(value: unknown): string[] {
  if (isTable(value)) return table(value)
  if (!isRow(value)) return [cell('', value)]
  const parts = Object.entries(value).filter(([, one]) => isRow(one) || isTable(one))
  const fields = Object.entries(value).filter((field) => !parts.some(([key]) => key === field[0]))
  const width = Math.max(0, ...fields.map(([key]) => heading(key).length)) + 2
  const lines = fields.map(([key, one]) => `${heading(key).padEnd(width)}${cell(key, one) || '-'}`)
  return [
    ...lines,
    ...parts.flatMap(([key, one]) => ['', heading(key), ...shown(one).map((line) => `  ${line}`)]),
  ]
}

/** `amount_sun` is read in TRX. */
const heading = (key: string) => key.replace(/_sun$/, ' TRX').replaceAll('_', ' ')

function table(rows: readonly Row[]): string[] {
  const [first] = rows
  if (!first) return ['none']
  const keys = Object.keys(first)
  const columns = keys.map((key) => ({
    heading: heading(key),
    cells: rows.map((row) => cell(key, row[key])),
    right: rows.every((row) => row[key] === null || /^(bigint|number)$/.test(typeof row[key])),
  }))
  return tableIn(columns, Number.POSITIVE_INFINITY)
}

/** One value on one line. What customers have written must not steer a terminal. */
function cell(key: string, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (value instanceof Date) return wireTime(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'bigint') return key.endsWith('_sun') ? trxText(value) : value.toString()
  if (Array.isArray(value)) return value.map((one) => cell('', one)).join(', ')
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return text.replace(/\p{Cc}|\p{Cf}/gu, '\u00b7')
}
