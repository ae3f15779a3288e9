// Tables that take any row, also one that no program of the service would write: no column is
// wanted, and no constraint, trigger or key looks at what is put there. For tests of what finds
// wrong rows.

import type { TestContext } from 'node:test'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import pg from 'pg'
import { freshDatabase } from './database.ts'

type Value = string | number | boolean | null | object

/** Rows of a table: the names of some columns, and what each row has there, in their order. */
export type BareRows = { table: string; columns: string; rows: readonly (readonly Value[])[] }

/** A database in which these tables are emptied and then have these rows alone. */
export async function bareTables(t: TestContext, all: readonly BareRows[]): Promise<Sql> {
  const { sql, url } = await freshDatabase(t)
  const hand = new pg.Client({ connectionString: url })
  await hand.connect()
  hand.on('error', () => {})
  t.after(() => hand.end())
  await hand.query('set session_replication_role = replica')
  for (const table of new Set(all.map((one) => one.table))) await strip(hand, table)
  for (const { table, columns, rows } of all) {
    const names = columns.split(' ')
    const named = rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])))
    const list = names.map((name) => `"${name}"`).join()
    await hand.query(
      `insert into ${table} (${list}) overriding system value
       select ${list} from jsonb_populate_recordset(null::${table}, $1)`,
      [JSON.stringify(named)],
    )
  }
  return sql
}

async function strip(hand: pg.Client, table: string): Promise<void> {
  await hand.query(`do $$ declare one record; begin
    delete from ${table};
    for one in select conname from pg_constraint
      where conrelid = '${table}'::regclass and contype in ('c', 'x', 'u')
    loop execute format('alter table ${table} drop constraint %I', one.conname); end loop;
    for one in select indexrelid::regclass::text as name from pg_index
      where indrelid = '${table}'::regclass and indisunique and not indisprimary
    loop execute format('drop index %s', one.name); end loop;
    for one in select attname from pg_attribute as a
      where attrelid = '${table}'::regclass and attnum > 0 and attnotnull and attidentity = ''
        and not exists (select from pg_constraint where conrelid = attrelid and contype = 'p'
          and attnum = any(conkey))
    loop execute format('alter table ${table} alter %I drop not null', one.attname); end loop;
  end $$`)
}
