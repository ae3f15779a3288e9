// Lists of the operator's own: another authority's, a court's, or curated ones. Made once under a
// code; what it counts for and how it is read never changes, because answers name it.

import { refusal } from '../../lib/fault.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { categoryNamed } from '../flow/category_names.ts'
import type { ReaderName } from './lists.ts'
import { columnName, TABLE_FIELDS, type TableField } from './tables.ts'

export type NewList = {
  code: string
  title: string
  licence: string
  /** An address on a list of an authority is blacklisted. */
  kind: 'authority' | 'curated'
  reader: ReaderName
  /** `FIELD=COLUMN`. */
  columns: readonly string[]
  category: string | undefined
  url: string | undefined
  hours: number | undefined
  made_by: string
}

export type MadeList = Omit<NewList, 'columns' | 'category' | 'url' | 'hours'> & {
  columns: Record<string, string> | null
  category: string | null
  url: string | null
  refresh_hours: number | null
}

const CODE = /^[a-z][a-z0-9_]{1,29}$/
/** These say with each address how sure they are, so they never bar one. */
const NEVER_AUTHORITIES: readonly ReaderName[] = ['tagpack', 'opensanctions']

/** Makes a list, which has nothing yet. Throws Refused when it is not sound, or its code is
 *  taken. */
export async function makeList(tx: Tx, wanted: NewList): Promise<MadeList> {
  const { code, title, licence, kind, reader, url = null, hours = null, made_by } = wanted
  if (!CODE.test(code))
    throw refusal(`${code} is no code of a list: 2 to 30 of a-z, 0-9 and _, a letter first.`)
  if (kind === 'authority' && NEVER_AUTHORITIES.includes(reader))
    throw refusal(`What ${reader} reads says itself how sure it is: make it --kind curated.`)
  if (hours !== null && url === null) throw refusal('--hours needs --url.')
  if (reader !== 'table' && (wanted.columns.length > 0 || wanted.category !== undefined))
    throw refusal('--columns and --category belong to --reader table.')
  const columns = wanted.columns.length > 0 ? columnsOf(wanted.columns) : null
  const category = wanted.category === undefined ? null : knownCategory(wanted.category)
  const [taken] = await tx`select 1 from list where code = ${code}`
  if (taken) throw refusal(`There is a list ${code} already.`)
  await tx`
    insert into list (code, title, licence, kind, reader, columns, category, url, refresh_hours,
      made_by)
    values (${code}, ${title}, ${licence}, ${kind}, ${reader}, ${JSON.stringify(columns)}::jsonb,
      ${category}, ${url}, ${hours}, ${made_by})`
  return {
    code,
    title,
    licence,
    kind,
    reader,
    made_by,
    columns,
    category,
    url,
    refresh_hours: hours,
  }
}

function columnsOf(given: readonly string[]): Record<string, string> {
  const columns: Record<string, string> = {}
  for (const one of given) {
    const [name = '', column = ''] = one.split(/=(.*)/s)
    if (!TABLE_FIELDS.includes(name as TableField))
      throw refusal(`"${one}" maps no field: there are ${TABLE_FIELDS.join(', ')}.`)
    if (columnName(column.trim()) === '') throw refusal(`"${one}" names no column.`)
    if (columns[name] !== undefined) throw refusal(`${name} is mapped twice.`)
    columns[name] = column.trim()
  }
  return columns
}

function knownCategory(name: string): string {
  const category = categoryNamed(name)
  if (category === undefined) throw refusal(`There is no category "${name}".`)
  return category
}
