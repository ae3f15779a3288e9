// The package as its users get it: it installs without a registry, its commands run, a program can
// use it, its types need only those of Node.js.

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { type InstalledPackage, installPackage, ROOT } from 'penstock-test/harness/packages.ts'

const run = promisify(execFile)

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

test('the package works in an empty folder: commands, programmatic interface, types', async (t) => {
  const installed = await installPackage(t, 'devchain')
  const commands = join(installed.folder, 'node_modules/.bin')
  const out = await firstLines(join(commands, 'penstock-devchain'))
  assert.match(out, /^listening on http:\/\/127\.0\.0\.1:\d+$/m)
  assert.match(out, /^block 47 /m)
  const conformance = [join(commands, 'penstock-conformance'), '--help']
  const help = await run(process.execPath, conformance)
  assert.match(help.stdout, /^conformance: /)
  const program = `
    import { Devchain, startDevchain, USDT } from 'penstock-devchain'
    const balances = [{ address: USDT, sun: 5n }]
    const chain = new Devchain({ genesis_time_ms: 0, genesis_balances: balances })
    const served = await startDevchain({ block_time_seconds: 0 })
    const answer = await fetch(served.url + '/healthcheck')
    console.log(JSON.stringify({ head: chain.mine().header.number, ok: answer.ok }))
    await served.close()
  `
  assert.deepEqual(JSON.parse(await installed.run(program)), { head: 47, ok: true })
  await installed.compile(program, ['node'])
  const wrong = program.replace('sun: 5n', 'sun: 5')
  await assert.rejects(installed.compile(wrong, ['node']), /'number' is not assignable.*'bigint'/)
  requireDescription(installed)
})

/** The manifest, the licences and the README are about what is there. */
function requireDescription({ folder, textOf }: InstalledPackage): void {
  assert.match(textOf('LICENSE'), /Apache License/)
  assert.match(textOf('THIRD_PARTY_LICENSES.txt'), /noble\/curves[\s\S]*Permission is hereby/)
  assert.ok(!existsSync(join(folder, 'node_modules/penstock-devchain/cli.ts')))
  const said = JSON.parse(textOf('package.json')) as Record<string, unknown>
  assert.deepEqual([said.version, said.private, said.scripts], ['0.1.0', undefined, undefined])
  assert.match(JSON.stringify(said.repository), /"type":"git"/)
  // What it says of itself is there: no source, no script, no folder of the repository.
  assert.doesNotMatch(textOf('README.md'), /npm (run|start|pack)|[a-z_]+\.ts\b|\]\(/)
}

test('packing the workspace itself is refused: its sources would not run', async () => {
  const packed = run('npm', ['pack', '-w', 'penstock-devchain', '--dry-run'], { cwd: ROOT })
  await assert.rejects(packed, /must have name and version/)
})
