// The first minute of somebody who has a checkout and npm: `npm start` in one terminal, and in
// another the command line, packed and installed as it is published, called by `npx`.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildPackage } from '../../../packages/cli/build.ts'
import { packPackage } from '../../../tools/pack.ts'
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
  stdio: ['ignore', 'pipe', 'ignore'],
})
let announced = ''
started.stdout.on('data', (chunk: Buffer) => (announced += chunk.toString()))
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

/** What `npm start` has printed, in the variables that programs read. */
async function announcedVariables(): Promise<Record<string, string>> {
  while (!announced.includes('Ctrl-C stops it')) {
    assert.equal(started.exitCode, null, 'npm start has ended')
    await delay(50)
  }
  const printed = (pattern: RegExp) => pattern.exec(announced)![1]!
  return {
    PENSTOCK_URL: printed(/^ {2}API +(\S+)$/m),
    PENSTOCK_TOKEN: printed(/^ {2}Token +(\S+)/m),
    PENSTOCK_SECRET: printed(/^ {2}Secret +(\S+)/m),
    ADDRESS: printed(/"address":"(T\w+)"/),
  }
}

test('the program of the README runs as printed, in the checkout and packed', async () => {
  const readme = await readFile(`${ROOT}README.md`, 'utf8')
  const [, program] = /```js\n(import .*?)```/s.exec(readme)!
  const env = { PATH: process.env.PATH, ...(await announcedVariables()) }
  const checkout = await mkdtemp(join(ROOT, 'test/.first-'))
  const project = join(folder, 'project')
  await mkdir(project)
  try {
    await writeFile(join(project, 'package.json'), '{"private":true}')
    const packed = await packPackage('sdk', folder)
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', packed], { cwd: project })
    // The Node that a project has may be an older one than that of the checkout.
    const nodes = (env.PATH ?? '').split(delimiter).map((place) => join(place, 'node'))
    const others = [...new Set(nodes.filter(existsSync))].map((node) => [node, project] as const)
    for (const [node, place] of [[process.execPath, checkout] as const, ...others]) {
      await writeFile(join(place, 'buy.mjs'), program!)
      const { stdout } = await run(node, ['buy.mjs'], { cwd: place, env })
      assert.match(stdout, /status: 'success'/, `${node} in ${place}`)
    }
  } finally {
    await rm(checkout, { recursive: true })
  }
})
