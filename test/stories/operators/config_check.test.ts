// `penstock-admin config check`, where all is well and where nothing is; and `serve`, which refuses
// a misspelt name, too.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../../../tools/source.ts'
import { SEALING_KEY, worldOperator } from '../../harness/operator.ts'
import { makeWorld, type World } from '../../harness/world.ts'

type Finding = { check: string; ok: boolean; what: string }

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'penstock-config-'))
  t.after(() => rm(made, { recursive: true }))
  return made
}

/** An operator on a machine where a worker will be started. */
async function atMachine(t: TestContext, world: World) {
  const at = await worldOperator(world)
  const data_dir = await folder(t)
  const wallets_file = join(data_dir, 'wallets.json')
  await writeFile(wallets_file, JSON.stringify(world.wallets), { mode: 0o600 })
  const database_url = at.io.env.DATABASE_URL!.replace('penstock_admin', 'penstock_worker')
  at.io.env = {
    DATABASE_URL: database_url,
    PENSTOCK_SECRET_KEY: SEALING_KEY,
    PENSTOCK_WALLETS: wallets_file,
  }
  const check = async (...words: string[]) => {
    const line = ['config', 'check', '--json', '--data-dir', data_dir, ...words]
    const { code, out, err } = await at.type(...line)
    assert.equal(err, '')
    return { code, found: JSON.parse(out) as Finding[] }
  }
  return { at, check, data_dir }
}

const NODE = ['--node-url', 'http://127.0.0.1:1', '--role', 'worker']
const wrong = (found: readonly Finding[]) =>
  found.filter(({ ok }) => !ok).map(({ check, what }) => `${check}: ${what}`)

test('where a worker would do well nothing is wrong, but for what is', async (t) => {
  const world = await makeWorld(t)
  await world.settle()
  const { at, check } = await atMachine(t, world)
  assert.match(wrong((await check(...NODE)).found).join('\n'), /^wallets: /m, 'keys of owners')
  at.io.env.PENSTOCK_ALLOW_WIDE_KEYS = 'yes'
  const { found } = await check(...NODE)
  const names = ['configuration', 'database', 'schema', 'clock', 'rights', 'sealing key', 'node']
  assert.deepEqual(
    found.map(({ check }) => check),
    [...names, 'wallets', 'data folder'],
  )
  // The world's clock is one of its own, and the database has the machine's.
  assert.deepEqual(
    wrong(found).filter((line) => !line.startsWith('clock: ')),
    [],
  )
  at.io.clock = { now: () => new Date(Date.now() + 40_000) }
  const ahead = await check(...NODE)
  assert.equal(ahead.code, 1)
  assert.match(wrong(ahead.found).join('\n'), /^clock: The clock .* is (39|40)\.\d s behind\.$/m)
  assert.match(wrong(ahead.found).join('\n'), /^node: .* is \d+ s old\.$/m)
})

test('every mistake is there at once', async (t) => {
  const world = await makeWorld(t)
  await world.settle()
  const { at, check, data_dir } = await atMachine(t, world)
  const { transport } = at.io
  at.io.transport = (request) =>
    request.url.includes('away') ? Promise.reject(new Error('away')) : transport(request)
  await writeFile(join(data_dir, 'wallets.json'), '{}')
  at.io.env = {
    ...at.io.env,
    DATABASE_URL: at.io.env.DATABASE_URL!.replace('penstock_worker', 'penstock_api'),
    PENSTOCK_STANDBY: '1',
    PENSTOCK_EVENT_DAYS: 'many',
    PENSTOCK_SECRET_KEY: '09'.repeat(32),
  }
  await world.customer({ trx: 1 })
  const { code, found } = await check(...NODE, '--node-url', 'https://away.example')
  assert.equal(code, 1)
  const lines = wrong(found).join('\n')
  for (const pattern of [
    /^configuration: PENSTOCK_EVENT_DAYS is not a whole number/m,
    /^configuration: There is no PENSTOCK_STANDBY \(do you mean PENSTOCK_STANDBYS\?\)\.$/m,
    /^rights: The role penstock_api .* sign in as penstock_worker there/m,
    /^node: away\.example does not answer/m,
    /^wallets: /m,
  ])
    assert.match(lines, pattern)
  at.io.env = {}
  const bare = await check()
  for (const name of ['DATABASE_URL', 'No node', 'PENSTOCK_WALLETS'])
    assert.ok(
      wrong(bare.found).some((line) => line.startsWith(`configuration: ${name}`)),
      name,
    )
  at.io.env = { DATABASE_URL: 'postgres://penstock@127.0.0.1:1/penstock' }
  const silent = await check()
  assert.match(wrong(silent.found).join('\n'), /^database: The database does not answer/m)
})

test('nodes that say different things are named', async (t) => {
  const world = await makeWorld(t)
  await world.settle()
  const { at, check } = await atMachine(t, world)
  const { transport } = at.io
  at.io.transport = async (request) => {
    const answer = await transport(request)
    if (!request.url.includes('liar')) return answer
    const text = Buffer.from(answer.body).toString()
    // The blocks of another branch.
    const body = text.replace(/("blockID":"\w{60})\w{4}/g, '$1ffff')
    return { ...answer, body: Buffer.from(body) as never }
  }
  const both = await check(...NODE, '--node-url', 'https://liar.example')
  assert.match(
    wrong(both.found).join('\n'),
    /^nodes: The nodes disagree about the solid block \d+/m,
  )
})

test('serve refuses a name that nothing reads, together with what else is wrong', () => {
  const wrong = { PENSTOCK_WALETS: '/w.json', PENSTOCK_STANDBYS: 'two' }
  const env = { PATH: process.env.PATH, ...wrong }
  const main = `${ROOT}packages/service/src/main.ts`
  const { status, stderr } = spawnSync(process.execPath, [main, 'serve'], { env, encoding: 'utf8' })
  const sentences = [
    'PENSTOCK_STANDBYS is not a whole number from 0 to 9.\n',
    'There is no PENSTOCK_WALETS (do you mean PENSTOCK_WALLETS?).\n',
  ]
  assert.deepEqual([status, stderr], [2, sentences.join('')])
})
