// No line is longer than 100 columns: code, SQL, comments, documentation, titles of tests. The
// formatter does not break strings and comments; this does not let them grow.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  isNode,
  parseSource,
  ROOT,
  readSources,
  type Source,
  walk,
  where,
} from '../../tools/source.ts'

const COLUMNS = 100

/** Written by programs, taken from elsewhere, or released and so never changed again. */
const NOT_OURS = [
  /(^|\/)fixtures\//,
  /(^|\/)LICENSE$/,
  /(^|\/)package-lock\.json$/,
  /^packages\/service\/db\/(schema\.sql|rights\.txt)$/,
  /^packages\/service\/openapi(-3\.0)?\.json$/,
  /^docs\/(customers\/reference\.md|guarantees\/figures\.json)$/,
  /^packages\/web\/portal\/webhooks\/receivers\.json$/,
  /^deploy\/grafana\/\w+\.json$/,
  /^deploy\/prometheus\/rules(_test)?\.yml$/,
  /\.(png|webp|svg)$/,
  // A sentence is a line.
  /^packages\/web\/shared\/languages\//,
  /^packages\/service\/src\/(health\/status|screening\/reports)\/(en|ru|zh)\.json$/,
]

/** Migrations up to this one have been applied somewhere, and one that has changed is refused. */
const LAST_RELEASED = 29

function isOurs(path: string): boolean {
  const migration = /^packages\/service\/db\/(\d{4})_/.exec(path)?.[1]
  if (migration !== undefined && Number(migration) <= LAST_RELEASED) return false
  return !NOT_OURS.some((pattern) => pattern.test(path))
}

/** The numbers of the lines that are too long. */
const longLines = (text: string) =>
  text.split('\n').flatMap((line, i) => ([...line].length > COLUMNS ? [i + 1] : []))

test('no line is longer than 100 columns', () => {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  const found = listed.split('\0').filter((path) => path !== '' && isOurs(path))
  const lines = found.flatMap((path) =>
    longLines(readFileSync(join(ROOT, path), 'utf8')).map((number) => `${path}:${number}`),
  )
  assert.deepEqual(lines, [])
})

/** Objects written inside of objects, as `...{ a, b }`: places that only keep the formatter from
 *  putting each field on a line of its own. */
function spreads(source: Source): string[] {
  return [...walk(source.tree)]
    .filter(isObject)
    .flatMap(({ properties }) => properties)
    .filter(isNode)
    .filter(({ type, argument }) => type === 'SpreadElement' && isObject(argument))
    .map(({ start }) => where(source, start))
}

const isObject = (value: unknown) => isNode(value) && value.type === 'ObjectExpression'

test('no object is spread to outwit the formatter', async () => {
  const sources = await readSources('packages', 'test', 'tools', 'bench')
  assert.deepEqual(sources.flatMap(spreads), [])
  const bad = 'const a = { ...{ b: 1 }, c: [{ ...d }], ...(e && { f: 2 }) }'
  assert.deepEqual(spreads(parseSource('a.ts', bad)), ['a.ts:1'])
})

test('a line is long by its characters, and what is printed or released is left alone', () => {
  assert.deepEqual(longLines(`${'é'.repeat(100)}\n${'a'.repeat(101)}\n`), [2])
  assert.equal(isOurs('packages/service/db/0001_ledger.sql'), false)
  assert.equal(isOurs('packages/service/db/9999_next.sql'), true)
})
