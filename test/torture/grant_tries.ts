// What a thief of a role writes, made of its grants alone: each row that there is a kind of once
// more, as his; each column of each kind of row with what it could be worth to him; and each row
// taken away. Nobody has thought of any of it: a new grant is tried because it is there.

import type pg from 'pg'
import type { Grant, Thief } from '../harness/grants.ts'

/** Who he is: what he wants to be paid, delivered and signed in as. */
export type Loot = { address: string; address_hex: string; customer_id: string }

export type Try = { role: Thief; table: string; name: string; text: string; values: unknown[] }

type Column = {
  name: string
  type: string
  nullable: boolean
  generated: boolean
  /** Part of the primary key or of another unique index, and no foreign key. */
  own: boolean
  /** The literals that the table's checks name beside it. */
  words: string[]
}

/** No more rows of a table than this are tried. */
const KINDS_MAX = 6
const KIND = /^(state|kind|type|resource|name|rule|service|debit|credit)$/
const YEAR = `interval '1 year'`
const ADDRESS = '^T[1-9A-HJ-NP-Za-km-z]{33}$'

const columnsOf = async (client: pg.Client, table: string): Promise<Column[]> => {
  const { rows } = await client.query<Column>(
    `select a.attname as name, format_type(a.atttypid, null) as type, not a.attnotnull as nullable,
       a.attgenerated <> '' or a.attidentity = 'a' as generated,
       exists (select from pg_index where indrelid = a.attrelid and indisunique
         and a.attnum = any(indkey)) and not exists (select from pg_constraint
         where conrelid = a.attrelid and contype = 'f' and a.attnum = any(conkey)) as own,
       array(select distinct found[1] from pg_constraint,
         regexp_matches(pg_get_constraintdef(oid), '''([^'']*)''::text', 'g') as found
         where conrelid = a.attrelid and contype = 'c' and conkey = array[a.attnum]) as words
     from pg_attribute as a where attrelid = $1::regclass and attnum > 0 and not attisdropped
     order by attnum`,
    [table],
  )
  return rows
}

const quoted = (name: string) => `"${name}"`
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`

/** What a column could be made: expressions over the row that is there. */
function valuesFor({ name, type, nullable, words }: Column, loot: Loot): string[] {
  const it = quoted(name)
  const none = nullable ? ['null'] : []
  if (name === 'customer_id') return [literal(loot.customer_id), ...none]
  if (/^(bigint|integer|smallint|numeric)$/.test(type))
    return [`${it} * 1000 + 1000000`, '0', '1', ...none]
  if (type === 'boolean') return [`not ${it}`]
  if (type.startsWith('timestamp') || type === 'date')
    return [`now() - ${YEAR}`, `now() + ${YEAR}`, ...none]
  if (type === 'jsonb') return [forgedJson(it, loot)]
  if (type === 'text') return [...textsFor(it, words, loot), ...none]
  if (type.endsWith('[]')) return [`'{}'`]
  return none
}

/** Every address in it is the thief's, but that which pays; every amount is larger. */
const forgedJson = (it: string, { address, address_hex }: Loot) =>
  `regexp_replace(regexp_replace(regexp_replace(${it}::text,
    '"(receiver_address|to_address|account_address)": "41[0-9a-f]{40}"',
    '"\\1": "${address_hex}"', 'g'), '"T[1-9A-HJ-NP-Za-km-z]{33}"', '"${address}"', 'g'),
    '"int64": "([0-9]+)"', '"int64": "\\19"', 'g')::jsonb`

const textsFor = (it: string, words: readonly string[], { address, customer_id }: Loot) =>
  words.length > 0
    ? words.map(literal)
    : [
        `case when ${it} ~ '${ADDRESS}' then '${address}'
           when ${it} ~ '^customer:' then 'customer:${customer_id}' else 'forged' end`,
      ]

/** One row of each kind, by its state, kind and the like, and then more where there are few. */
async function keysOf(client: pg.Client, table: string, columns: readonly Column[]) {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name from pg_index join pg_attribute on attrelid = indrelid
       and attnum = any(indkey) where indrelid = $1::regclass and indisprimary order by attnum`,
    [table],
  )
  const row = (names: readonly string[]) =>
    names.length === 0 ? `concat('one')` : `row(${names.map(quoted).join(', ')})::text`
  const key = row(rows.map(({ name }) => name))
  const kind = row(
    columns
      .filter(({ name, type, words }) => {
        return type === 'boolean' || words.length > 0 || KIND.test(name)
      })
      .map(({ name }) => name),
  )
  const found = await client.query<{ key: string }>(
    `select key from (select ${key} as key, md5(${kind}) as kind,
         row_number() over (partition by ${kind} order by ${key} desc) as nth
       from ${quoted(table)}) as one
     order by nth, kind limit ${KINDS_MAX}`,
  )
  return { key, keys: found.rows.map((one) => one.key) }
}

/** All that the grants let him write. `client` has all rights. */
export async function triesOf(
  client: pg.Client,
  grants: readonly Grant[],
  loot: Loot,
): Promise<Try[]> {
  const tries: Try[] = []
  for (const grant of grants) {
    const { role, table, word } = grant
    const columns = await columnsOf(client, table)
    const of_kinds = await keysOf(client, table, columns)
    const add = (name: string, text: string, values: unknown[] = []) =>
      tries.push({ role, table, name: `${word} ${name}`.trim(), text, values })
    const may = columns.filter(({ name, generated }) => {
      return !generated && (grant.columns?.includes(name) ?? true)
    })
    const { rows: seen } = await client.query<{ all: boolean }>(
      'select has_table_privilege($1, $2::regclass, $3) as all',
      [role, table, 'select'],
    )
    // Who sees nothing of a table writes all of it, or nothing.
    const where = seen[0]!.all ? `where ${of_kinds.key} = any($1)` : ''
    const which = seen[0]!.all ? [of_kinds.keys] : []
    if (word === 'delete') add('', `delete from ${quoted(table)} ${where}`, which)
    if (word === 'update')
      for (const column of may)
        for (const value of valuesFor(column, loot))
          add(
            `${column.name} = ${value.replaceAll(/\s+/g, ' ')}`,
            `update ${quoted(table)} set ${quoted(column.name)} = ${value} ${where}`,
            which,
          )
    if (word !== 'insert') continue
    const names = may.map(({ name }) => quoted(name)).join(', ')
    const places = may.map(({ type }, i) => `$${i + 1}::${type}`).join(', ')
    for (const [i, key] of of_kinds.keys.entries())
      for (const [name, values] of Object.entries(copiesOf(may, loot))) {
        const { rows } = await client.query<(string | null)[]>({
          text: `select ${values.map((value) => `(${value})::text`).join(', ')}
            from ${quoted(table)} where ${of_kinds.key} = $1`,
          values: [key],
          rowMode: 'array',
        })
        const text = `insert into ${quoted(table)} (${names}) values (${places})`
        add(`${name} of row ${i}`, text, rows[0]!)
      }
  }
  return tries
}

/** A row once more with a name of its own: as it is, as the thief's, and as the thief's with
 *  larger amounts. */
function copiesOf(columns: readonly Column[], loot: Loot): Record<string, string[]> {
  const copy = (change: (column: Column) => string | undefined) =>
    columns.map((column) => {
      return change(column) ?? (column.own ? freshValue(column) : quoted(column.name))
    })
  const mine = ({ name, type, own, words }: Column) => {
    if (name === 'customer_id') return literal(loot.customer_id)
    if (type === 'jsonb') return forgedJson(quoted(name), loot)
    if (type !== 'text' || own || words.length > 0) return undefined
    if (name === 'wallet' || name === 'to_address') return undefined
    return `case when ${quoted(name)} ~ '${ADDRESS}' then '${loot.address}'
      when ${quoted(name)} ~ '^customer:' then 'customer:${loot.customer_id}'
      else ${quoted(name)} end`
  }
  const more = (column: Column) =>
    column.type === 'bigint' && /sun|amount|energy/.test(column.name)
      ? `${quoted(column.name)} * 100`
      : mine(column)
  return {
    copy: copy(() => undefined),
    'copy for the thief': copy(mine),
    'more for the thief': copy(more),
  }
}

/** Something that no other row has. */
function freshValue({ name, type }: Column): string {
  const it = quoted(name)
  if (type === 'text') return `coalesce(left(${it}, 40), '') || ':forged'`
  if (/^(bigint|integer|numeric)$/.test(type)) return `${it} + 1000000007`
  if (type.startsWith('timestamp')) return `${it} + interval '1 microsecond'`
  return it
}
