// `npm test` itself, on machines that have less than this one: what is skipped is counted and said,
// and is no failure unless one is asked for; a run leaves nothing behind, even one that is killed.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../tools/source.ts'
import { eventually } from './eventually.ts'

const run = promisify(execFile)
const RUN = join(ROOT, 'tools/test/run.ts')

/** The programs that an image of Node has, and no others. */
const PROGRAMS = ['sh', 'bash', 'git', 'ps', 'id', 'rm', 'tar', 'sync', 'chown', 'mount', 'umount']

/** A machine with Node and little else: no browser, no PostgreSQL, nothing in the environment. */
async function bareMachine(t: TestContext): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bare-'))
  t.after(() => rm(folder, { recursive: true }))
  // As root, the databases are another user's.
  await chmod(folder, 0o755)
  const bin = join(folder, 'bin')
  const runs = join(folder, 'runs')
  for (const path of [bin, runs]) await mkdir(path)
  for (const name of PROGRAMS) {
    const { stdout } = await run('sh', ['-c', `command -v ${name} || true`])
    if (stdout !== '') await symlink(stdout.trim(), join(bin, name))
  }
  await symlink(process.execPath, join(bin, 'node'))
  return { PATH: bin, HOME: folder, TMPDIR: runs, CHROMIUM: 'none' }
}

type RunResult = { code: number; out: string; closing: string }

const FILES = ['test/faces/console.test.ts', 'test/rules/names.test.ts']
const ARGS = [RUN, ...FILES.flatMap((file) => ['--only', file])]

async function runTests(env: Record<string, string>): Promise<RunResult> {
  const { code, out } = await run(process.execPath, ARGS, { env, cwd: ROOT }).then(
    ({ stdout }) => ({ code: 0, out: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, out: stdout }),
  )
  return { code, out, closing: out.trim().split('\n').at(-1)! }
}

test('without a browser its tests are skipped and counted, and one line says how', async (t) => {
  const env = await bareMachine(t)
  const { code, out, closing } = await runTests(env)
  assert.equal(closing, '2 passed, 0 failed, 2 skipped')
  assert.equal(code, 0)
  const said = out.split('\n').filter((line) => line.startsWith('Skipped, '))
  assert.equal(said.length, 1, out)
  assert.match(said[0]!, /^Skipped, 2: the pages are not tested in a browser, .*CHROMIUM/)
  assert.deepEqual(await readdir(env.TMPDIR!), [], 'nothing is left')
})

test('what is skipped is a failure where a browser, or everything, is required', async (t) => {
  const env = await bareMachine(t)
  // Without a browser the file does not load; else each test of it that is skipped has failed.
  for (const [name, failed] of Object.entries({ REQUIRE_BROWSER: 1, REQUIRE_ALL: 2 })) {
    const { code, out, closing } = await runTests({ ...env, [name]: '1' })
    assert.equal(closing, `2 passed, ${failed} failed, 0 skipped`)
    assert.equal(code, 1)
    assert.match(out, new RegExp(`✖ .*\\(test/faces/console\\.test\\.ts:[^]*${name}=1`))
  }
})

/** A run whose database runs, and the folder that it has. */
async function begin(
  env: Record<string, string>,
): Promise<{ child: ChildProcess; folder: string }> {
  const child = spawn(process.execPath, ARGS, { env, cwd: ROOT, stdio: 'ignore' })
  const folder = await eventually('the run has a database', async () => {
    assert.equal(child.exitCode, null, 'it has ended')
    // Folders come and go while it is read.
    const inside = await readdir(env.TMPDIR!, { recursive: true }).catch(() => [])
    const server = inside.find((path) => basename(path) === 'postmaster.pid')
    return server === undefined ? undefined : join(env.TMPDIR!, server.split('/')[0]!)
  })
  return { child, folder }
}

const ended = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => child.once('exit', resolve))

/** How many processes have to do with a folder. */
async function processesOf(folder: string): Promise<number> {
  const { stdout } = await run('ps', ['-A', '-o', 'args='])
  return stdout.split('\n').filter((line) => line.includes(folder)).length
}

test('an interrupted run leaves nothing, and a killed one nothing to the next', async (t) => {
  const env = await bareMachine(t)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, folder } = await begin(env)
    child.kill(signal)
    assert.equal(await ended(child), 130)
    assert.deepEqual(await readdir(env.TMPDIR!), [], signal)
    assert.equal(await processesOf(folder), 0, signal)
  }
  const { child, folder } = await begin(env)
  child.kill('SIGKILL')
  await ended(child)
  assert.equal(existsSync(folder), true)
  await runTests(env)
  assert.deepEqual(await readdir(env.TMPDIR!), [])
  assert.equal(await processesOf(folder), 0)
})
