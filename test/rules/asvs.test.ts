// docs/operators/asvs.md has a row for each requirement of OWASP ASVS 5, level 2, about signing in
// and sessions, and each row names a test that there is, or a decision. And what no test of one
// thing could hold: that there are no other ways in, no first user, and nobody who listens.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { ROOT, readSources } from '../../tools/source.ts'
import { freshDatabase } from '../harness/database.ts'
import { makeWorld } from '../harness/world.ts'

const PAGE = 'docs/operators/asvs.md'

/** The requirements of levels 1 and 2 by section, with their number. */
const REQUIREMENTS =
  '3.3:4 3.4:6 3.5:5 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 ' +
  '7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 16.3:4'

const expected = REQUIREMENTS.split(' ').flatMap((entry) => {
  const [section, count] = entry.split(':')
  return Array.from({ length: Number(count) }, (_, i) => `${section}.${i + 1}`)
})

type Row = { ids: string[]; text: string }

function rowsOf(page: string): Row[] {
  const parts = page.split(/^(?=- \*\*\d|#)/m).filter((part) => part.startsWith('- '))
  return parts.map((text) => ({
    ids: [...text.matchAll(/\*\*([\d.]+)\*\*/g)].map(([, id]) => id!),
    text: text.replace(/\s+/g, ' '),
  }))
}

/** Where a test is that the page names. */
const fileOf = (name: string) =>
  join(ROOT, name.startsWith('test/') ? name : `packages/service/src/${name}`)

/** What is wrong with a row. */
function faultsOf({ ids, text }: Row): string[] {
  const named = [...text.matchAll(/`([\w./]+\.test\.ts)`: "([^"]+)"/g)]
  const missing = named.flatMap(([, file, title]) => {
    const found = existsSync(fileOf(file!)) ? readFileSync(fileOf(file!), 'utf8') : ''
    const is_there = new RegExp(`^(portal\\.)?test\\(\\s*['"]${title}`, 'm').test(found)
    return is_there ? [] : [`${file}: ${title}`]
  })
  const decisions = [...text.matchAll(/\]\((\.\.\/decisions\/[\w.-]+)\)/g)].map(([, path]) => path!)
  const undecided = decisions.filter(
    (path) => !existsSync(normalize(join(ROOT, dirname(PAGE), path))),
  )
  const nothing = named.length === 0 && decisions.length === 0 ? ['neither test nor decision'] : []
  return [...missing, ...undecided, ...nothing].map((fault) => `${ids.join(' ')}: ${fault}`)
}

test('each requirement has one row, and each row a test or a decision', () => {
  const rows = rowsOf(readFileSync(join(ROOT, PAGE), 'utf8'))
  assert.deepEqual(rows.flatMap(({ ids }) => ids).sort(), [...expected].sort())
  assert.deepEqual(rows.flatMap(faultsOf), [])
})

test('a row that is met by nothing is found', () => {
  const [bare, wrong] = rowsOf(
    '- **7.1.1** somehow\n- **7.1.2** by\n  - `test/rules/asvs.test.ts`: "no such\n    test"\n',
  )
  assert.deepEqual(faultsOf(bare!), ['7.1.1: neither test nor decision'])
  assert.deepEqual(faultsOf(wrong!), ['7.1.2: test/rules/asvs.test.ts: no such test'])
})

test('there are no other ways in than the page says', async (t) => {
  const { app } = await makeWorld(t)
  const open = app.mounts.flatMap(({ endpoints }) =>
    endpoints.filter(({ auth }) => auth === 'public').map(({ path }) => path),
  )
  assert.deepEqual(
    open.sort(),
    ['begin', 'join', 'link', 'passkey', 'password', 'recovery'].map((one) => `/session/${one}`),
  )
})

test('a new database has no user, and no key', async (t) => {
  const { sql } = await freshDatabase(t)
  const [found] = await sql`
    select (select count(*) from service_user) as users, (select count(*) from api_key) as keys`
  assert.deepEqual(found, { users: 0n, keys: 0n })
})

test('no page listens for messages of others', async () => {
  const pages = await readSources('packages/web')
  assert.ok(pages.length > 100)
  // A channel of one's own origin is heard by nobody else.
  const LISTENS = /(?<!\bchannel)\.onmessage\b|addEventListener\(\s*['"]message['"]/
  const listening = pages.filter(({ code }) => LISTENS.test(code))
  assert.deepEqual(
    listening.map(({ path }) => path),
    [],
  )
})
