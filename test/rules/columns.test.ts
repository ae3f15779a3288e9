// No line is longer than 100 columns: code, SQL, comments, documentation, titles of tests. The
// formatter does not break strings and comments; this does not let them grow.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

const COLUMNS = 100

/** Written by programs, taken from elsewhere, or released and so never changed again. */
const NOT_OURS = [
  /(^|\/)fixtures\//,
  /(^|\/)LICENSE$/,
  /(^|\/)package-lock\.json$/,
  /^packages\/service\/db\/schema\.sql$/,
  /^packages\/service\/openapi\.json$/,
  /^docs\/reference\.md$/,
]

/** Migrations up to this one have been applied somewhere, and one that has changed is refused. */
const LAST_RELEASED = 29

/** How many long lines a folder still has. These numbers only fall. */
const REMAINING: Readonly<Record<string, number>> = {
  'ARCHITECTURE.md': 8,
  docs: 81,
  'packages/devchain': 120,
  'packages/service': 460,
  test: 290,
}

function isOurs(path: string): boolean {
  const migration = /^packages\/service\/db\/(\d{4})_/.exec(path)?.[1]
  if (migration !== undefined && Number(migration) <= LAST_RELEASED) return false
  return !NOT_OURS.some((pattern) => pattern.test(path))
}

/** The numbers of the lines that are too long. */
const longLines = (text: string) =>
  text.split('\n').flatMap((line, i) => ([...line].length > COLUMNS ? [i + 1] : []))

/** What a file is counted with: its package, its folder at the top, or itself. */
const folderOf = (path: string) => /^(packages\/\w+|[^/]+)/.exec(path)![1]!

test('no line is longer than 100 columns', () => {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  const found = listed.split('\0').filter((path) => path !== '' && isOurs(path))
  const lines = found.flatMap((path) =>
    longLines(readFileSync(join(ROOT, path), 'utf8')).map((number) => ({ path, number })),
  )
  const folders = Map.groupBy(lines, ({ path }) => folderOf(path))
  for (const [folder, there] of folders) {
    const places = there.map(({ path, number }) => `${path}:${number}`).join('\n')
    assert.ok(there.length <= (REMAINING[folder] ?? 0), `too long in ${folder}:\n${places}`)
  }
})

test('a line is long by its characters, and what is printed or released is left alone', () => {
  assert.deepEqual(longLines(`${'é'.repeat(100)}\n${'a'.repeat(101)}\n`), [2])
  assert.equal(isOurs('packages/service/db/0001_ledger.sql'), false)
  assert.equal(isOurs('packages/service/db/9999_next.sql'), true)
  assert.equal(folderOf('packages/service/src/market/orders.ts'), 'packages/service')
})
