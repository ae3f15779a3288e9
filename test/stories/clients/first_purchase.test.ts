// The first minute of somebody who has a checkout and npm: `npm start` in one terminal, and in
// another the command line, packed and installed as it is published, called by `npx`.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildPackage } from '../../../packages/cli/build.ts'
import { ROOT } from '../../../tools/source.ts'
import { createDatabase, dropDatabase } from '../../harness/database.ts'
import { installBuilt } from '../../harness/packages.ts'

const run = promisify(execFile)
const FILES = ['LICENSE', 'README.md', 'package.json', 'penstock.js']

const folder = await mkdtemp(join(tmpdir(), 'penstock-first-'))
const data_dir = join(folder, 'data')
const { url: DATABASE_URL, name } = await createDatabase()
const args = ['start', '--port', '0', '--chain-port', '0', '--data-dir', data_dir]
const started = spawn(process.execPath, [`${ROOT}packages/playground/main.ts`, ...args], {
  env: { ...process.env, DATABASE_URL },
  stdio: 'ignore',
})
const ended = new Promise((resolve) => started.once('exit', resolve))
after(async () => {
  started.kill('SIGINT')
  await ended
  await dropDatabase(name)
  await rm(folder, { recursive: true, maxRetries: 5 })
})

test('it is packed with nothing but what it needs, and buys from a sandbox at once', async (t) => {
  const built = join(folder, 'built')
  await buildPackage(built)
  assert.deepEqual(await installBuilt(built, folder), FILES)
  const text = await readFile(join(folder, 'node_modules/penstock-cli/package.json'), 'utf8')
  const said = JSON.parse(text) as Record<string, unknown>
  const unwanted = Object.keys(said).filter((name) => /dependencies|scripts|private/i.test(name))
  assert.deepEqual([unwanted, said.bin], [[], { penstock: 'penstock.js' }])

  while (!existsSync(join(data_dir, 'ready.json'))) {
    assert.equal(started.exitCode, null, 'npm start has ended')
    await delay(50)
  }
  const ready = JSON.parse(await readFile(join(data_dir, 'ready.json'), 'utf8'))
  const [{ address }] = ready.funded_accounts as [{ address: string }]
  const env = { ...process.env, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder }
  const penstock = async (...words: string[]) =>
    (await run('npx', ['--no', 'penstock-cli', ...words], { cwd: folder, env })).stdout
  const began_ms = performance.now()
  assert.match(await penstock('login', '--sandbox', 'data'), /profile +sandbox/)
  const signed_in_ms = performance.now()
  const order = ['buy', 'energy', address, '65000', '--yes', '--wait', '--json']
  const { status, hash } = JSON.parse(await penstock(...order)) as Record<string, string>
  const delivered_ms = performance.now()
  assert.equal(status, 'success')
  assert.match(hash!, /^[0-9a-f]{64}$/)
  const seconds = (from: number, to: number) => ((to - from) / 1_000).toFixed(1)
  const login = `signed in after ${seconds(began_ms, signed_in_ms)} s`
  t.diagnostic(`${login}, delivered after ${seconds(began_ms, delivered_ms)} s`)
})
