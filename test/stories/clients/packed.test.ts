// What somebody gets who has the packages and no checkout: all of them packed under a scope of
// their own, installed in an empty folder, and a whole Penstock started by `npx`. What they import
// of others comes through npm, from its cache where it has it.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { packPackage } from '../../../tools/pack.ts'
import { PACKAGES } from '../../../tools/ship/names.ts'
import { ROOT } from '../../../tools/source.ts'

const run = promisify(execFile)
const PREFIX = '@example/'
const START_MS_MAX = 300_000

const folder = await mkdtemp(join(tmpdir(), 'penstock-packed-'))
// PostgreSQL runs as another user when this one is root.
await chmod(folder, 0o755)
const project = join(folder, 'project')
const own = { home: join(folder, 'home'), temporary: join(folder, 'tmp') }
for (const place of [project, own.home, own.temporary]) await mkdir(place)
await chmod(own.temporary, 0o1777)
after(() => rm(folder, { recursive: true, maxRetries: 5 }))

/** The files of a folder but for the data, and when each was changed. */
const filesIn = (place: string) =>
  globSync('**/*', { cwd: place, exclude: (name) => name === 'data' }).flatMap((path) => {
    const found = statSync(join(place, path), { throwIfNoEntry: false })
    return found?.isFile() ? [`${path} ${found.mtimeMs}`] : []
  })

test('the packages run where there is no checkout', { timeout: 600_000 }, async (t) => {
  const files: string[] = []
  for (const name of PACKAGES) files.push(await packPackage(name, folder, PREFIX))
  await writeFile(join(project, 'package.json'), '{"private":true,"type":"module"}')
  const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts=false']
  await run('npm', ['install', ...quiet, ...files], { cwd: project })

  await t.test('each has its licence, its history, and nothing of the repository', async () => {
    for (const name of PACKAGES) {
      const place = join(project, 'node_modules/@example', name)
      for (const file of ['LICENSE', 'CHANGELOG.md', 'package.json'])
        assert.ok(existsSync(join(place, file)), `${name}: ${file}`)
      const sources = globSync('**/*.{ts,tsx}', { cwd: place }).filter(
        (path) => !path.endsWith('.d.ts'),
      )
      assert.deepEqual([sources, globSync('**/*.test.*', { cwd: place })], [[], []], name)
      const said = JSON.parse(await readFile(join(place, 'package.json'), 'utf8'))
      assert.deepEqual(
        [said.name, said.private, said.scripts, said.version],
        [`${PREFIX}${name}`, undefined, undefined, '0.1.0'],
      )
      const needed = Object.keys(said.dependencies ?? {})
      for (const path of globSync('**/*.js', { cwd: place, exclude: (one) => one === 'dist' })) {
        const code = await readFile(join(place, path), 'utf8')
        assert.doesNotMatch(code, /(from|import\() ?["']penstock-/, path)
        for (const [, other] of code.matchAll(/(?:from|import\() ?"(@example\/[\w-]+)/g))
          assert.ok(needed.includes(other!), `${name} does not say that it needs ${other}`)
      }
    }
  })

  await t.test('npx starts all of it, and what customers use buys from it', async (t) => {
    const before = filesIn(project)
    const cache = (await run('npm', ['config', 'get', 'cache'])).stdout.trim()
    const env = {
      PATH: process.env.PATH,
      HOME: own.home,
      TMPDIR: own.temporary,
      npm_config_cache: cache,
      // npm keeps its own code compiled there.
      NODE_DISABLE_COMPILE_CACHE: '1',
    }
    const began_ms = performance.now()
    const started = spawn(
      'npx',
      ['--no', `${PREFIX}playground`, '--', '--port', '0', '--chain-port', '0', '--json'],
      // A group of its own, which is what a terminal interrupts.
      { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    )
    let said = ''
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const ended = new Promise<number | null>((resolve) => started.once('exit', resolve))
    const ready_file = join(project, 'data/ready.json')
    try {
      while (!existsSync(ready_file)) {
        assert.equal(started.exitCode, null, said)
        assert.ok(performance.now() - began_ms < START_MS_MAX, `not ready after 60 s: ${said}`)
        await delay(50)
      }
      t.diagnostic(`ready after ${Math.round(performance.now() - began_ms)} ms`)
      const ready = JSON.parse(await readFile(ready_file, 'utf8'))
      await buyWithTheSdk(ready)
      await buyWithTheCommandLine(ready)
      for (const path of ['/docs', '/openapi.json', '/portal/', '/status'])
        assert.equal((await fetch(ready.api_url + path)).status, 200, path)
    } finally {
      if (started.exitCode === null) process.kill(-started.pid!, 'SIGINT')
      await ended
    }
    assert.deepEqual(filesIn(own.home), [])
    assert.deepEqual(filesIn(own.temporary), [])
    const changed = filesIn(project).filter((file) => !before.includes(file))
    // What these tests have written themselves.
    assert.deepEqual(
      changed.filter((file) => !/^(buy\.mjs|profiles\/)/.test(file)),
      [],
    )
  })
})

type Ready = {
  api_url: string
  customer: { token: string; secret: string }
  funded_accounts: { address: string }[]
}

/** The program of the README, under the name of the package. */
async function buyWithTheSdk({ api_url, customer, funded_accounts }: Ready): Promise<void> {
  const readme = await readFile(`${ROOT}README.md`, 'utf8')
  const [, program] = /```js\n(import .*?)```/s.exec(readme)!
  await writeFile(join(project, 'buy.mjs'), program!.replace('penstock-sdk', '@example/sdk'))
  const env = {
    PENSTOCK_URL: api_url,
    PENSTOCK_TOKEN: customer.token,
    PENSTOCK_SECRET: customer.secret,
    ADDRESS: funded_accounts[0]!.address,
  }
  const { stdout } = await run(process.execPath, ['buy.mjs'], { cwd: project, env })
  assert.match(stdout, /status: 'success'/)
}

async function buyWithTheCommandLine({ funded_accounts }: Ready): Promise<void> {
  const profiles = join(project, 'profiles')
  const env = { ...process.env, XDG_CONFIG_HOME: profiles, XDG_CACHE_HOME: profiles }
  const penstock = async (...words: string[]) =>
    (await run('npx', ['--no', '@example/cli', ...words], { cwd: project, env })).stdout
  assert.match(await penstock('login', '--sandbox', 'data'), /profile +sandbox/)
  const order = ['buy', 'energy', funded_accounts[0]!.address, '65000', '--yes', '--wait', '--json']
  assert.equal((JSON.parse(await penstock(...order)) as { status: string }).status, 'success')
}
