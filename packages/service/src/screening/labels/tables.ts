// Lists in the form of tables (CSV with a header): the operator's own labels, and Israel's seizure
// orders. The operator's file is refused as a whole at its first mistake, with the line: half of a
// list is worse than the one before it.

import { isAddress } from 'penstock-tron/address.ts'
import { refusal } from '../../lib/fault.ts'
import { categoryNamed } from '../flow/category_names.ts'
import { csvRecords } from './csv.ts'
import {
  Collected,
  type ListContents,
  type ListEntry,
  type ListReader,
  readInstant,
} from './list_entries.ts'

export type TableRow = { line: number; fields: Record<string, string> }

/** The name of a column, however it is written. */
export const columnName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '_')

/** The rows of a CSV file with a header, as many at once as a chunk of it has. Throws Refused for a
 *  row that has not as many columns as the header. */
async function* portionsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly TableRow[]> {
  let names: string[] | undefined
  for await (const records of csvRecords(bytes)) {
    const rows: TableRow[] = []
    for (const { line, fields } of records) {
      if (names === undefined) {
        names = fields.map(columnName)
        continue
      }
      if (fields.length !== names.length)
        throw refusal(`line ${line}: it has ${fields.length} columns, and not ${names.length}.`)
      const row: TableRow = { line, fields: {} }
      for (let i = 0; i < names.length; i++) row.fields[names[i]!] = fields[i]!
      rows.push(row)
    }
    yield rows
  }
}

/** The same, one by one. */
export async function* rowsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TableRow> {
  for await (const rows of portionsOf(bytes)) yield* rows
}

/** The first of the named columns that has something. */
export function field({ fields }: TableRow, ...names: string[]): string {
  for (const name of names) if (fields[name]) return fields[name]
  return ''
}

/** The fields of a table. */
export const TABLE_FIELDS = [
  'address',
  'category',
  'entity',
  'confidence',
  'source',
  'valid_from',
  'valid_to',
] as const
export type TableField = (typeof TABLE_FIELDS)[number]

/** Where a table has what, and what all its addresses are if it does not say it. */
export type TableShape = {
  columns?: Partial<Record<TableField, string>> | undefined
  category?: string | undefined
}

/** Columns: address, category, and if wanted entity, confidence (100), source, valid_from,
 *  valid_to. */
export const readOperatorTable: ListReader = (bytes) => readTable(bytes, {})

/** A row with its columns under the names of fields. Throws Refused when one that was named is
 *  not there. */
function mapped(row: TableRow, columns: NonNullable<TableShape['columns']>): TableRow {
  const fields = { ...row.fields }
  for (const [name, column] of Object.entries(columns)) {
    const found = row.fields[columnName(column)]
    if (found === undefined) throw refusal(`line ${row.line}: there is no column "${column}".`)
    fields[name] = found
  }
  return { ...row, fields }
}

/** A table whose columns may have other names. */
export async function readTable(
  bytes: AsyncIterable<Uint8Array>,
  { columns, category: common }: TableShape,
): Promise<ListContents> {
  const collected = new Collected()
  const texts = new Texts()
  for await (const rows of portionsOf(bytes))
    for (const row of rows)
      collected.put(entryOf(columns ? mapped(row, columns) : row, common ?? '', texts))
  return collected
}

const TEXTS_MAX = 100_000

/** Texts that come again and again, each kept once: a million entries have some thousand. */
class Texts {
  private readonly known = new Map<string, string>()
  private readonly categories = new Map<string, string | undefined>()

  once(text: string): string {
    const known = this.known.get(text)
    if (known !== undefined) return known
    if (this.known.size < TEXTS_MAX) this.known.set(text, text)
    return text
  }

  category(text: string): string | undefined {
    if (!this.categories.has(text)) this.categories.set(text, categoryNamed(text))
    return this.categories.get(text)
  }
}

/** Throws Refused with the line. */
function entryOf(row: TableRow, common: string, texts: Texts): ListEntry {
  const where = `line ${row.line}`
  const address = field(row, 'address')
  if (!isAddress(address)) throw refusal(`${where}: "${address}" is not an address.`)
  const said = field(row, 'category') || common
  const category = texts.category(said)
  if (category === undefined) throw refusal(`${where}: there is no category "${said}".`)
  const valid_from = readInstant(field(row, 'valid_from'), where)
  const valid_to = readInstant(field(row, 'valid_to'), where)
  if (valid_from && valid_to && valid_to <= valid_from)
    throw refusal(`${where}: valid_to is not after valid_from.`)
  return {
    address,
    category,
    valid_from,
    valid_to,
    entity: texts.once(field(row, 'entity', 'label') || 'unnamed'),
    kind: 'curated',
    confidence: readConfidence(field(row, 'confidence'), where),
    reference: field(row, 'source', 'reference'),
  }
}

function readConfidence(text: string, where: string): number {
  if (text === '') return 100
  const confidence = Number(text)
  if (!/^\d{1,3}$/.test(text) || confidence > 100)
    throw refusal(`${where}: the confidence "${text}" is not a whole number from 0 to 100.`)
  return confidence
}

const WALLET_COLUMNS = ['address', 'wallet', 'wallet_address', 'crypto_address', 'account']

/** Seizure orders: an address (or several, apart) in each row, the order's number, and the time it
 *  is in force. */
export const readSeizureOrders: ListReader = async (bytes) => {
  const collected = new Collected()
  for await (const row of rowsOf(bytes)) {
    const where = `line ${row.line}`
    const order = field(row, 'order', 'order_number', 'aso', 'order_no', 'number')
    const valid_to = readInstant(
      field(row, 'valid_to', 'valid_until', 'expires', 'expiry', 'end_date'),
      where,
    )
    if (!WALLET_COLUMNS.some((name) => name in row.fields))
      throw refusal(`there is none of the columns ${WALLET_COLUMNS.join(', ')}.`)
    const wallets = field(row, ...WALLET_COLUMNS).split(/[\s;,]+/)
    for (const address of wallets) {
      const entry = {
        category: 'terrorism_financing',
        valid_to,
        entity: order === '' ? 'NBCTF order' : `NBCTF order ${order}`,
        kind: 'authority',
        confidence: 100,
        reference: order,
        valid_from: undefined,
      } as const
      collected.add(address, entry, where)
    }
  }
  return collected
}
