// `npm test`: format and lint, types, and every test beside them, on one throw-away PostgreSQL that
// ends with this process. Prints a line for each file, every failure in full, and at the end how
// each failure begins, what was skipped and why, and how many tests have passed, failed and been
// skipped. It leaves nothing behind. What is skipped is no failure, unless REQUIRE_ALL=1 says so;
// REQUIRE_BROWSER=1 says it of tests that need a browser alone.
//   --only <part of a path>   only the test files whose path contains it, without the checks; more
//                             than once: those whose path contains any of them
//   --long                    only the files that take longest (long.ts), without the checks: they
//                             are left to the nightly job, which .ci/run starts after the tests
//   --json                    at the end the counts as JSON, in the last line
//   --keep                    when a test has failed, leaves the server (with the databases of the
//                             failed tests) until Ctrl-C
//   --cpu                     one file at a time, and tells what each has cost in CPU time

import { spawn } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { dropDatabase, makeTemplate, startCluster } from 'penstock-test/harness/database.ts'
import { atEnd, endWhenInterrupted, isInterrupted } from '../ending.ts'
import { leadingComment } from '../help.ts'
import { cpuReport, reapedCpu, type Spent } from './cpu.ts'
import { runFiles, type Skip } from './lanes.ts'
import { LONG } from './long.ts'
import { useRunFolder } from './run_folder.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Folders with a file that takes ten seconds or more, also one of `--long`, the longest first, so
 *  that none is left to run alone at the end; then those with one of some seconds. */
const LONGEST_FIRST = [
  'test/faces/',
  'test/simulator/',
  'test/stories/',
  'packages/service/src/operators/database/',
  'test/',
  'packages/service/src/operators/command_line/',
  'packages/service/src/platform/postgres/',
  'packages/service/src/platform/database/',
  'packages/sdk/',
  'packages/devchain/package',
  'packages/devchain/cli',
  'packages/tron/package',
  'packages/service/src/chain/signing/',
  'packages/web/build/',
]
const external = process.env.TEST_DATABASE_URL
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    long: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean' },
    cpu: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
})
/** Files at once: each waits for the server or a browser at times, and others go on. */
const FILES_AT_ONCE = options.cpu ? 1 : Math.min(availableParallelism() + 1, 8)
if (options.help) {
  process.stdout.write(leadingComment(import.meta.filename))
  process.exit()
}

const say = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Runs one of the tools that come through npm; its output is shown when it fails. */
async function check(title: string, script: string, ...args: string[]): Promise<boolean> {
  const started_at = performance.now()
  const child = spawn(process.execPath, [`${ROOT}/node_modules/${script}`, ...args], { cwd: ROOT })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => output.push(chunk))
  const code = await new Promise((resolve) => child.once('close', resolve))
  say(`${code === 0 ? '✔' : '✖'} ${title}, ${seconds(performance.now() - started_at)}`)
  if (code !== 0) say(Buffer.concat(output).toString('utf8'))
  return code === 0
}

/** Several threads check much of the same: together they take three times the CPU time of one. */
const SINGLE = '--singleThreaded'

async function checks(): Promise<boolean> {
  const passed = await Promise.all([
    check('format and lint', '@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'),
    check('types', 'typescript/bin/tsc', SINGLE),
    check('types of pages', 'typescript/bin/tsc', SINGLE, '-p', 'packages/web'),
  ])
  return passed.every(Boolean)
}

async function testFiles(): Promise<string[]> {
  const files: string[] = []
  for (const folder of ['packages', 'test'])
    for await (const path of glob(`${folder}/**/*.test.ts`, {
      cwd: ROOT,
      exclude: (path) => path.includes('node_modules'),
    }))
      if (options.only?.some((part) => path.includes(part)) ?? LONG.has(path) === options.long)
        files.push(path)
  return files.sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
}

function rankOf(path: string): number {
  const rank = LONGEST_FIRST.findIndex((beginning) => path.startsWith(beginning))
  return rank === -1 ? LONGEST_FIRST.length : rank
}

/** Skipped tests: a line for each reason, which says how the tests can be had. */
function skippedLines(skipped: readonly Skip[]): string[] {
  const reasons = new Map<string, number>()
  for (const { reason } of skipped) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  return [...reasons].map(([reason, times]) => `Skipped, ${times}: ${reason}.`)
}

/** A failure once more, at the end, where one looks first; all of it stands above. */
const FAILURE_LINES_MAX = 12
const beginningOf = (failure: string): string =>
  failure.split('\n').slice(0, FAILURE_LINES_MAX).join('\n')

const started_at = performance.now()
endWhenInterrupted()
const removeRunFolder = atEnd(await useRunFolder())
// Node's compilation is cached between files: two thirds of the time it takes to
// load the service.
process.env.NODE_COMPILE_CACHE = join(process.env.TMPDIR!, 'compiled')
// `npm run -s`, by which the nightly job runs this, would silence each npm that a test starts.
delete process.env.npm_config_loglevel
const whole = options.only === undefined && !options.long
const checking = whole ? checks() : true
const starting = external ? undefined : startCluster({ max_connections: '300' })
const stopServer = atEnd(async () => (await starting)?.stop())
const server = await starting
const template = await makeTemplate()
const dropTemplate = atEnd(async () => external && dropDatabase(template))
const files = await testFiles()
const spent: Spent[] = []
if (options.cpu && whole) {
  await checking
  say(`The checks above took ${(await reapedCpu()).toFixed(1)} s of CPU time.`)
}
const { passed, failed, skipped, failures } = await runFiles({
  root: ROOT,
  files,
  at_once: FILES_AT_ONCE,
  say,
  keeps_databases: options.keep === true || external !== undefined,
  spent: options.cpu ? (one) => spent.push(one) : undefined,
})
const checked = await checking
if (!isInterrupted()) {
  for (const line of options.cpu ? cpuReport(spent) : []) say(line)
  if (failed > 0 && options.keep) {
    say(`The databases of the failed tests are at ${external ?? server?.url}; Ctrl-C ends.`)
    await new Promise(() => setInterval(() => {}, 60_000))
  }
}
await dropTemplate()
await stopServer()
await removeRunFolder()
if (!isInterrupted()) {
  for (const failure of failures) say(beginningOf(failure))
  for (const line of skippedLines(skipped)) say(line)
  if (!checked) say('✖ The checks above have failed.')
  say(`${files.length} files, ${seconds(performance.now() - started_at)}`)
  if (whole) say(`${LONG.size} files are left to the nightly job: \`npm test -- --long\``)
  say(`${passed} passed, ${failed} failed, ${skipped.length} skipped`)
  if (options.json) {
    const failing = failures.map(beginningOf)
    say(JSON.stringify({ passed, failed, skipped: skipped.length, failing }))
  }
  const tests = passed + failed + skipped.length
  process.exitCode = checked && failed === 0 && tests > 0 ? 0 : 1
}
