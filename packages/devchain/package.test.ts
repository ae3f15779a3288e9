import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'devchain-package-'))

after(() => rmSync(folder, { recursive: true }))

/** The package packed as the documentation says, and installed into an empty folder, without a
 *  registry. */
async function installed(): Promise<string> {
  const { stdout } = await run('npm', ['run', '--silent', 'pack:devchain', '--', '--to', folder], {
    cwd: root,
  })
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  writeFileSync(join(empty, 'package.json'), '{"type":"module"}')
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...quiet, stdout.trim().split('\n').at(-1)!], { cwd: empty })
  return empty
}

/** The first lines that the packed command prints, up to the first block. */
function firstLines(command: string): Promise<string> {
  const options = ['--port', '0', '--block-time', '0.1', '--accounts', '1']
  const child = spawn(process.execPath, [command, ...options])
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    if (/^block \d+ /m.test(out)) child.kill('SIGTERM')
  })
  return new Promise((resolve) => child.once('close', () => resolve(out)))
}

test('the package works in an empty folder: commands, programmatic interface, types', async () => {
  const empty = await installed()
  const out = await firstLines(join(empty, 'node_modules/.bin/penstock-devchain'))
  assert.match(out, /^listening on http:\/\/127\.0\.0\.1:\d+$/m)
  assert.match(out, /^block 47 /m)
  const help = await run(process.execPath, [
    join(empty, 'node_modules/.bin/penstock-conformance'),
    '--help',
  ])
  assert.match(help.stdout, /^conformance: /)
  const script = `
    import { Devchain, startDevchain, USDT } from 'penstock-devchain'
    const chain = new Devchain({ genesis_time_ms: 0, genesis_balances: [{ address: USDT, sun: 5n }] })
    const served = await startDevchain({ block_time_seconds: 0 })
    console.log(JSON.stringify({ head: chain.mine().header.number, ok: (await fetch(served.url + '/healthcheck')).ok }))
    await served.close()
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: empty,
  })
  assert.deepEqual(JSON.parse(stdout), { head: 47, ok: true })
  const made = join(empty, 'node_modules/penstock-devchain')
  const textOf = (name: string) => readFileSync(join(made, name), 'utf8')
  assert.ok(existsSync(join(made, 'types/packages/devchain/api.d.ts')))
  assert.match(textOf('LICENSE'), /Apache License/)
  assert.match(textOf('THIRD_PARTY_LICENSES.txt'), /noble\/curves[\s\S]*Permission is hereby/)
  assert.ok(!existsSync(join(made, 'cli.ts')))
  const said = JSON.parse(textOf('package.json')) as Record<string, unknown>
  assert.deepEqual([said.version, said.private, said.scripts], ['0.1.0', undefined, undefined])
  assert.match(JSON.stringify(said.repository), /"type":"git"/)
  // What it says of itself is there: no source, no script, no folder of the repository.
  assert.doesNotMatch(textOf('README.md'), /npm (run|start|pack)|[a-z_]+\.ts\b|\]\(/)
})

test('packing the workspace itself is refused: it has no code that would run', async () => {
  const packed = run('npm', ['pack', '-w', 'penstock-devchain', '--pack-destination', folder], {
    cwd: root,
  })
  await assert.rejects(packed, /must have name and version/)
})
