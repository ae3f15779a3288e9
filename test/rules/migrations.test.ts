// A migration that has reached main stays as it is, and the next one has a number above all that
// any commit of main has had: who has migrated in between could not go on otherwise.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { LATE } from 'penstock-service/platform/database/migrations.ts'
import { ROOT } from '../../tools/source.ts'

const FOLDER = 'packages/service/db'
/** The commit from which on this holds. */
const FIRST = '6cc0dba'
const MIGRATION = /(\d{4})_\w+\.sql$/

const git = (...args: string[]) =>
  execFileSync('git', ['-C', ROOT, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const numberOf = (path: string) => Number(MIGRATION.exec(path)?.[1] ?? 0)
const highest = (paths: readonly string[]) => Math.max(...paths.map(numberOf))

/** Why the history cannot be read; undefined: it can. */
function missingHistory(): string | undefined {
  try {
    git('merge-base', '--is-ancestor', FIRST, 'HEAD')
    return undefined
  } catch {
    return 'the history is not here: git clone brings it'
  }
}

type Edit = { commit: string; way: string; path: string }

/** What commits have done to migrations since, the oldest first. */
function editsSince(first: string): Edit[] {
  const format = '--format=%h'
  const log = git('log', '--reverse', format, '--name-status', `${first}..HEAD`, '--', FOLDER)
  let commit = ''
  return log.split('\n').flatMap((line) => {
    const [way, ...paths] = line.split('\t')
    if (paths.length === 0) commit = line === '' ? commit : line
    const path = paths.at(-1) ?? ''
    return MIGRATION.test(path) ? [{ commit, way: way!, path }] : []
  })
}

/** What is wrong about them, in the order of the commits. */
function wrongEdits(edits: readonly Edit[], before: readonly string[]): string[] {
  let last = highest(before)
  return edits.flatMap(({ commit, way, path }) => {
    if (way !== 'A') return [`${commit} changes ${path} (${way})`]
    const number = numberOf(path)
    const wrong = number <= last ? [`${commit} adds ${path}, and ${last} was there before`] : []
    last = Math.max(last, number)
    return wrong
  })
}

test('a migration is above all that main has had, and never changed', (t) => {
  const missing = missingHistory()
  if (missing !== undefined) return t.skip(missing)
  const before = git('ls-tree', '--name-only', FIRST, `${FOLDER}/`).split('\n')
  const edits = editsSince(FIRST)
  assert.deepEqual(wrongEdits(edits, before), [])
  const committed = git('ls-tree', '--name-only', 'HEAD', `${FOLDER}/`).split('\n')
  const fresh = readdirSync(join(ROOT, FOLDER)).filter(
    (file) => MIGRATION.test(file) && !committed.includes(`${FOLDER}/${file}`),
  )
  for (const file of fresh)
    assert.ok(numberOf(file) > highest(committed), `${file} is not above those that are committed`)
})

test('one below, one changed and one taken out are found', () => {
  const edit = (way: string, name: string) => ({ commit: 'c', way, path: `${FOLDER}/${name}.sql` })
  const edits = [
    edit('A', '0073_b'),
    edit('A', '0072_a'),
    edit('M', '0073_b'),
    edit('D', '0071_z'),
    edit('A', '0074_c'),
  ]
  assert.deepEqual(
    wrongEdits(edits, [`${FOLDER}/0071_z.sql`]).map((said) => said.replace(/^c (\w+) .*$/, '$1')),
    ['adds', 'changes', 'changes'],
  )
})

test('only the one that landed late may be applied late', () => {
  assert.deepEqual([...LATE], [69])
})
