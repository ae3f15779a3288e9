// Shares test files among processes that stay, a file at a time, and prints a line for each file
// and every failure in full.

import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cpuBetween, readCpu, type Spent, sumOf } from './cpu.ts'
import type { FileToRun, LaneMessage } from './reporter.ts'

/** Ends a file that hangs; a slow machine takes its time. Less than the nightly job gives all long
 *  files, so that the one that hangs is named. */
const FILE_MS_MAX = 1_200_000
/** Less garbage is collected while it is young: tests make much of it and keep little. */
export const NODE_OPTIONS = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=64',
  '--test-reporter',
  join(import.meta.dirname, 'reporter.ts'),
]
/** State that would outlive the file: a hook of all tests, something that is replaced for
 *  all of them. Such a file gets a process of its own. */
const CHANGES_ITS_PROCESS = /^(?:before|after|beforeEach|afterEach|mock\.\w+)\(/m

/** Files in such a folder share what they have started, for as long as their process lives: they
 *  get processes that run nothing else, and no more than these, because each starts all of it once
 *  more. */
const SHARING_FOLDERS = ['test/faces/']
const SHARING_LANES = 2
const sharedFolderOf = (file: string) => SHARING_FOLDERS.find((folder) => file.startsWith(folder))

/** `failures`: a text for each test that has failed. */
export type Count = { passed: number; failed: number; skipped: Skip[]; failures: string[] }
export type Skip = { file: string; name: string; reason: string }

export type Lanes = {
  root: string
  files: readonly string[]
  at_once: number
  say: (line: string) => void
  /** Whether failed tests' databases outlive the run, so that their names are worth a line. */
  keeps_databases: boolean
  /** Called with the CPU time of each file, which is its own while no other one runs. */
  spent?: ((spent: Spent) => void) | undefined
}

/** Runs the files, the first ones first, and counts the tests that were run and that failed. Those
 *  that get a process of their own come before all others: later, each would end one that has
 *  loaded the service and has its databases. */
export async function runFiles(lanes: Lanes): Promise<Count> {
  const alone = await filesAlone(lanes)
  const next = queueOf([...alone, ...lanes.files.filter((file) => !alone.has(file))])
  const counts: Count[] = []
  async function work(): Promise<void> {
    let lane: ChildProcess | undefined
    let folder: string | undefined
    for (let file = next(); file !== undefined; file = next(folder)) {
      if (alone.has(file) || folder !== sharedFolderOf(file)) await end(lane)
      if (lane?.connected !== true) lane = openLane()
      folder = sharedFolderOf(file)
      counts.push(await runFile(lanes, lane, file))
      if (alone.has(file)) await end(lane)
    }
    await end(lane)
  }
  await Promise.all(Array.from({ length: lanes.at_once }, work))
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
    skipped: counts.flatMap(({ skipped }) => skipped),
    failures: counts.flatMap(({ failures }) => failures),
  }
}

async function filesAlone({ root, files }: Lanes): Promise<Set<string>> {
  const alone = new Set<string>()
  for (const file of files)
    if (CHANGES_ITS_PROCESS.test(await readFile(join(root, file), 'utf8'))) alone.add(file)
  return alone
}

/** Hands out the files, the first ones first. It is told the shared folder of the caller's file
 *  before; other callers get files of that folder when few enough have some. */
function queueOf(files: readonly string[]): (before?: string) => string | undefined {
  const left = [...files]
  const sharing: string[] = []
  return (before) => {
    if (before !== undefined) sharing.splice(sharing.indexOf(before), 1)
    const may_have = (file: string) => {
      const folder = sharedFolderOf(file)
      return folder === undefined || sharing.filter((one) => one === folder).length < SHARING_LANES
    }
    const i = left.findIndex(may_have)
    const [file] = i < 0 ? [] : left.splice(i, 1)
    const folder = file && sharedFolderOf(file)
    if (folder !== undefined) sharing.push(folder)
    return file
  }
}

const openLane = (): ChildProcess =>
  fork(join(import.meta.dirname, 'lane.ts'), { execArgv: NODE_OPTIONS, silent: true })

/** Lets a lane end, and waits until it has: what it has started ends with it. */
async function end(lane: ChildProcess | undefined): Promise<void> {
  if (!lane || lane.exitCode !== null || lane.signalCode !== null) return
  const ended = new Promise((resolve) => lane.once('exit', resolve))
  if (lane.connected) lane.disconnect()
  await ended
}

async function runFile(lanes: Lanes, lane: ChildProcess, file: string): Promise<Count> {
  const started_at = performance.now()
  const spent_before = lanes.spent && (await readCpu(lane.pid!))
  const failures: string[] = []
  const count: Count = { passed: 0, failed: 0, skipped: [], failures }
  const output: string[] = []
  const hear = (message: LaneMessage) => {
    if (message.what === 'test') {
      if (message.became === 'skipped') count.skipped.push({ file, ...message })
      else count[message.became] += 1
    } else if (message.what === 'failure')
      failures.push(`✖ ${message.name} (${file}:${message.line ?? 0})\n${message.text}`)
    else if (message.what === 'diagnostic') {
      if (lanes.keeps_databases && message.text.startsWith('kept: ')) output.push(message.text)
    }
  }
  const broken = await untilEnd(lane, join(lanes.root, file), {
    hear,
    print: (text) => output.push(text),
  })
  if (broken !== undefined) {
    count.failed += 1
    failures.push(`✖ ${file}: ${broken}`)
  }
  if (count.passed + count.failed + count.skipped.length === 0) {
    count.failed += 1
    failures.push(`✖ ${file} has no test`)
  }
  const seconds = ((performance.now() - started_at) / 1000).toFixed(1)
  const cpu = spent_before && cpuBetween(spent_before, await readCpu(lane.pid!))
  if (cpu) lanes.spent?.({ file, ...cpu })
  const more = cpu ? `, ${sumOf(cpu).toFixed(1)} s of CPU time` : ''
  const mark = count.failed === 0 ? '✔' : '✖'
  const tests = count.passed + count.failed
  const skipped = count.skipped.length === 0 ? '' : `, ${count.skipped.length} skipped`
  lanes.say(`${mark} ${file}, ${tests} tests${skipped}, ${seconds} s${more}`)
  if (count.failed > 0) for (const line of [...output, ...failures]) lanes.say(line)
  return count
}

type Listeners = { hear: (message: LaneMessage) => void; print: (text: string) => void }

/** Hands the file to the lane and waits for its end. Returns what kept it from its end. */
async function untilEnd(
  lane: ChildProcess,
  path: string,
  { hear, print }: Listeners,
): Promise<string | undefined> {
  const onOutput = (chunk: Buffer) => print(chunk.toString('utf8').trimEnd())
  for (const stream of [lane.stdout, lane.stderr]) stream?.on('data', onOutput)
  let hung = false
  const timer = setTimeout(() => {
    hung = true
    lane.kill('SIGKILL')
  }, FILE_MS_MAX)
  const broken = await new Promise<string | undefined>((resolve) => {
    lane.on('message', (message: LaneMessage) => {
      if (message.what === 'end') resolve(undefined)
      else hear(message)
    })
    lane.once('exit', (code, signal) =>
      resolve(hung ? 'did not end' : `ended its process (${signal ?? code})`),
    )
    lane.send({ path } satisfies FileToRun)
  })
  clearTimeout(timer)
  for (const stream of [lane.stdout, lane.stderr]) stream?.off('data', onOutput)
  lane.removeAllListeners('message').removeAllListeners('exit')
  return broken
}
