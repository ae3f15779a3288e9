// What CHANGELOG.md promises of each release is what its migrations allow.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readMigrations } from 'penstock-service/platform/database/migrations.ts'
import {
  changelogFaults,
  migrationsLine,
  readChangelog,
  released,
} from '../../tools/ship/changelog.ts'
import { isPrefix, ownSpecifier, publishedText } from '../../tools/ship/names.ts'
import { ROOT } from '../../tools/source.ts'

const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')

test('each release says how to upgrade and which way leads back', async () => {
  assert.ok(readChangelog(changelog).length > 0)
  assert.deepEqual(changelogFaults(changelog, await readMigrations()), [])
})

const KINDS = [1, 2, 3, 4].map((number) => ({
  number,
  kind: number === 4 ? ('contract' as const) : ('expand' as const),
}))
const release = (heading: string, upgrade: string, back: string) =>
  `## ${heading}\n\n- something\n\n### Upgrade\n\n${upgrade}\n\n### Way back\n\n${back}\n\n`
const BOTH = 'Migrations 3 to 4.'
const FIRST = release('1.0.0, 2030-01-01', 'Migrations 1 to 2.', 'None.')

test('a contract that the way back does not name, and wrong migrations, are faults', () => {
  const good = release('1.1.0, 2030-02-01', 'Migrations 3 to 4.\nTwice.', 'Until migration 4.')
  assert.deepEqual(changelogFaults(good + FIRST, KINDS), [])
  const quiet = release('1.1.0, 2030-02-01', 'Migrations 3 to 4.', 'At any time.')
  assert.deepEqual(changelogFaults(quiet + FIRST, KINDS), [
    '1.1.0 does not say that migration 4 ends the way back',
  ])
  const wrong = release('1.1.0, 2030-02-01', 'Migrations 2 to 4.', 'Until migration 4.')
  assert.deepEqual(changelogFaults(wrong + FIRST, KINDS), [
    '1.1.0 says "Migrations 2 to 4.", and it is "Migrations 3 to 4."',
  ])
  assert.deepEqual(changelogFaults(`## Unreleased\n\n- one\n\n${FIRST}`, KINDS), [
    'Unreleased does not say how to upgrade',
    'Unreleased does not say which way leads back',
    'Unreleased does not say that migration 4 ends the way back',
  ])
  assert.equal(migrationsLine(4, 4), 'No migrations.')
})

test('a release says its migrations by itself, and nothing is released twice', () => {
  const next = { version: '1.1.0', day: '2030-02-01', migrations: KINDS }
  const text = released(release('Unreleased', 'Twice.', 'Until migration 4.') + FIRST, next)
  assert.deepEqual(readChangelog(text)[0], {
    version: '1.1.0',
    upgrade: `${BOTH}\n\nTwice.`,
    way_back: 'Until migration 4.',
  })
  assert.deepEqual(changelogFaults(text, KINDS), [])
  assert.throws(() => released(text, next), /nothing to release/)
})

test('what a package is called is said in one place', () => {
  assert.deepEqual(ownSpecifier('penstock-tron/keys.ts'), { name: 'tron', path: '/keys.ts' })
  assert.equal(ownSpecifier('penstock-test/harness/run.ts'), undefined)
  const readme =
    '# penstock-sdk\nnpm install ./penstock-sdk-0.1.0.tgz\n' +
    "import { a } from 'penstock-sdk/webhooks'\n" +
    'npx penstock-devchain --port 1\n'
  assert.equal(publishedText(readme, 'penstock-'), readme)
  assert.equal(
    publishedText(readme, '@example/'),
    '# @example/sdk\nnpm install ./example-sdk-0.1.0.tgz\n' +
      "import { a } from '@example/sdk/webhooks'\n" +
      'npx penstock-devchain --port 1\n',
  )
  assert.deepEqual(['penstock-', '@example/', 'penstock', '@x', '../'].map(isPrefix), [
    true,
    true,
    false,
    false,
    false,
  ])
})
