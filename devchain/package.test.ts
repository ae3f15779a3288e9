import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'devchain-package-'))

after(() => rmSync(folder, { recursive: true }))

/** The package packed as for publishing, and installed from that into an empty folder, without a registry. */
async function installed(): Promise<string> {
  const made = join(folder, 'package')
  mkdirSync(made)
  const { files } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as { files: string[] }
  for (const name of ['package.json', 'README.md', ...files.filter((one) => one.endsWith('.js'))]) {
    copyFileSync(join(here, name), join(made, name))
  }
  await run(process.execPath, [join(here, 'build.ts'), made])
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: made })
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  writeFileSync(join(empty, 'package.json'), '{"type":"module"}')
  const quiet = ['--offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...quiet, join(folder, stdout.trim().split('\n').at(-1)!)], { cwd: empty })
  return empty
}

/** The first lines that the packed command prints, up to the first block. */
function firstLines(command: string): Promise<string> {
  const child = spawn(process.execPath, [command, '--port', '0', '--block-time', '0.1', '--accounts', '1'])
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    if (/^block \d+ /m.test(out)) child.kill('SIGTERM')
  })
  return new Promise((resolve) => child.once('close', () => resolve(out)))
}

test('the packed package works in an empty folder: the command, and the programmatic interface with its types', async () => {
  const empty = await installed()
  const out = await firstLines(join(empty, 'node_modules/.bin/penstock-devchain'))
  assert.match(out, /^listening on http:\/\/127\.0\.0\.1:\d+$/m)
  assert.match(out, /^block 47 /m)
  const script = `
    import { Devchain, startDevchain, USDT } from 'penstock-devchain'
    const chain = new Devchain({ genesis_time_ms: 0, genesis_balances: [{ address: USDT, sun: 5n }] })
    const served = await startDevchain({ block_time_seconds: 0 })
    console.log(JSON.stringify({ head: chain.mine().header.number, ok: (await fetch(served.url + '/healthcheck')).ok }))
    await served.close()
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: empty })
  assert.deepEqual(JSON.parse(stdout), { head: 47, ok: true })
  const dist = join(empty, 'node_modules/penstock-devchain/dist')
  assert.ok(existsSync(join(dist, 'types/devchain/api.d.ts')))
  assert.match(readFileSync(join(dist, 'THIRD_PARTY_LICENSES.txt'), 'utf8'), /noble\/curves[\s\S]*Permission is hereby/)
  assert.ok(!existsSync(join(empty, 'node_modules/penstock-devchain/cli.ts')))
})
