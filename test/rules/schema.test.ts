// packages/service/db/schema.sql is what the migrations add up to, and rights.txt what they grant.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { printRights, printSchema, RIGHTS_FILE, SCHEMA_FILE } from '../../tools/print.ts'
import { freshDatabase } from '../harness/database.ts'

test('db/schema.sql is what the migrations make (if not: npm run print)', async (t) => {
  const { url } = await freshDatabase(t)
  requireFresh('db/schema.sql', await readFile(SCHEMA_FILE, 'utf8'), await printSchema(url))
})

test('db/rights.txt is what the migrations grant (if not: npm run print)', async (t) => {
  const { url } = await freshDatabase(t)
  requireFresh('db/rights.txt', await readFile(RIGHTS_FILE, 'utf8'), await printRights(url))
})

function requireFresh(name: string, kept_text: string, made_text: string): void {
  const [kept, made] = [kept_text.split('\n'), made_text.split('\n')]
  const line = made.findIndex((text, i) => text !== kept[i])
  assert.equal(kept[line], made[line], `${name}:${line + 1} is not fresh`)
  assert.equal(kept.length, made.length)
}

test('the printed schema changes with every kind of thing in it', async (t) => {
  const { sql, url } = await freshDatabase(t)
  let before = await printSchema(url)
  const changed = async (what: string) => {
    const now = await printSchema(url)
    assert.notEqual(now, before, what)
    before = now
  }
  await sql`
    create table printed (id bigint generated always as identity, name text default 'x', twice int)`
  await changed('a table')
  await sql`alter table printed add constraint printed_pk primary key (id)`
  await changed('a constraint')
  await sql`alter table printed alter column name set not null`
  await changed('not null')
  await sql`create index printed_by_name on printed (name) where twice > 1`
  await changed('an index')
  await sql`comment on column printed.name is 'why'`
  await changed('a comment')
  await sql`
    create function printed_guard() returns trigger language plpgsql as 'begin return new; end'`
  await changed('a function')
  await sql`
    create trigger printed_guard before update on printed
      for each row execute function printed_guard()`
  await changed('a trigger')
  await sql`create type printed_color as enum ('red', 'green')`
  await changed('a type')
  await sql`create view printed_names as select name from printed`
  await changed('a view')
  await sql`create sequence printed_numbers`
  await changed('a sequence')
})
