import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('./cli.ts', import.meta.url))

function run(...options: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [cli, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '', err: '' }
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk.toString()
  })
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString()
    // The first line of a block is all there is to see.
    if (!child.killed && /^block \d+ /m.test(said.out)) child.kill('SIGTERM')
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })))
}

test('the command prints where it listens, accounts with keys, and each block', async () => {
  const { code, out, err } = await run(
    '--port',
    '0',
    '--accounts',
    '2',
    '--block-time',
    '0.1',
    '--traffic',
    '3',
  )
  assert.equal(err, '')
  assert.equal(code, 0)
  assert.match(out, /^listening on http:\/\/127\.0\.0\.1:\d+$/m)
  assert.equal(out.match(/^T\w{33} [0-9a-f]{64}$/gm)?.length, 2)
  assert.match(out, /^TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6 /m)
  assert.match(out, /^block 47 \S+Z [0-9a-f]{24}… \d+$/m)
  assert.match(out, /^T\w{33} exchange: Harbour Exchange$/m)
})

test('on a chain that a folder has already, only keys of its accounts are told', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'devchain-cli-'))
  const kept = ['--port', '0', '--block-time', '0.1', '--data-dir', data_dir]
  await run(...kept, '--accounts', '2')
  const { out } = await run(...kept, '--accounts', '5')
  rmSync(data_dir, { recursive: true })
  assert.equal(out.match(/^T\w{33} [0-9a-f]{64}$/gm)?.length, 2)
  assert.match(out, /^3 accounts of these options are not on the chain in the data folder$/m)
})

test('an option that makes no sense ends it with one line', async () => {
  const wrong: [string[], string][] = [
    [['--accounts', 'many'], '--accounts must be a whole number of 0 or more and at most 100000'],
    [['--block-time=-1'], '--block-time must be a number of 0 or more and at most 86400'],
    [['--port', '65536'], '--port must be a whole number of 0 or more and at most 65535'],
    [['--genesis-time', 'noon'], '--genesis-time must be a date, or milliseconds since 1970'],
    [['--genesis-parent', 'ab'], '--genesis-parent must be 64 hexadecimal characters'],
    [['--mnemonic', 'one two'], '--mnemonic is not a BIP-39 phrase'],
    [['--instant', '--traffic', '1'], '--traffic does not go with --instant'],
  ]
  for (const [given, sentence] of wrong) {
    const { code, err } = await run(...given)
    assert.equal(code, 1)
    assert.equal(err, `${sentence}\n`)
  }
  assert.match((await run('--nonsense')).err, /^Unknown option '--nonsense'/)
})

/** The id of the head after a funding and two blocks, which only calls make. */
async function headOf(...options: string[]): Promise<unknown> {
  const child = spawn(process.execPath, [cli, '--port', '0', '--block-time', '0', ...options])
  const url = await new Promise<string>((resolve) => {
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const [found] = out.match(/http:\/\/\S+\n/) ?? []
      if (found !== undefined) resolve(found.trim())
    })
  })
  const post = async (path: string, body: object) =>
    (await (await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })).json()) as {
      blockID?: string
    }
  await post('/devchain/fund', { address: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', sun: 5 })
  await post('/devchain/mine', { blocks: 2 })
  const { blockID } = await post('/wallet/getnowblock', {})
  child.kill('SIGTERM')
  await new Promise((resolve) => child.once('close', resolve))
  return blockID
}

test('with blocks on demand only, the same seed, time and calls give the same blocks', async () => {
  const time = ['--genesis-time', '2026-01-02T03:04:05Z']
  const [one, again, otherwise] = [
    await headOf(...time),
    await headOf(...time),
    await headOf(...time, '--seed', 'other'),
  ]
  assert.equal(typeof one, 'string')
  assert.equal(again, one)
  assert.notEqual(otherwise, one)
})

test('help names every option', async () => {
  const { code, out } = await run('--help')
  assert.equal(code, 0)
  for (const option of [
    'port',
    'instant',
    'data-dir',
    'solid-lag',
    'unfreeze-delay',
    'genesis-time',
    'traffic',
  ]) {
    assert.ok(out.includes(`--${option}`), option)
  }
})
