// `npm run torture -- faults`: real faults, one scenario after another, each on a rig of its own.
// What this machine cannot do (no strace, no right to mount) is said to be not run. After each,
// when all is well again, everything must come to rest, nothing that was accepted may be missing,
// and the auditor must find nothing.

import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { readArguments } from '../../tools/arguments.ts'
import { atEnd } from '../../tools/ending.ts'
import { Buyers } from './buyers.ts'
import { crashPoints, serverCrashPoints } from './crash_points.ts'
import { type Manner, NodeFront, Relay } from './relays.ts'
import { Rig, type RigOptions } from './rig.ts'
import { wrongClocks } from './wrong_clock.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

export type Outcome = {
  scenario: string
  state: 'passed' | 'failed' | 'not run'
  note: string
  findings: string[]
}

type Findings = { note: string; findings: string[] }

/** What a scenario does to the rig while customers buy. Returns a note on what happened. */
type Deed = (rig: Rig, buyers: Buyers) => Promise<string>

type Scenario = {
  /** Why it cannot be run here. */
  unable?: () => Promise<string | undefined>
  run(): Promise<Findings>
}

const BLOCK_MS = 200
/** How long the database's disk stays full: what seals the journal comes every 30 s. */
const FULL_MS = 35_000

/** Customers buy, the deed is done, all is well again; and then nothing may be missing or wrong. */
async function underLoad(options: RigOptions, deed: Deed, people = 4): Promise<Findings> {
  const rig = await Rig.open(options)
  try {
    await Promise.all((['api', 'api', 'worker', 'worker'] as const).map((role) => rig.start(role)))
    await rig.fund()
    const buyers = new Buyers(rig)
    buyers.begin(people, 100)
    rig.keepMining(BLOCK_MS)
    const note = await deed(rig, buyers)
    const findings = await buyers.findingsAtRest()
    return {
      note: `${note}; ${buyers.accepted.size} orders, ${buyers.unanswered} asked again`,
      findings,
    }
  } finally {
    await rig.close()
  }
}

/** The server is reset as after a crash: one of its processes is killed, it ends all others and
 *  recovers. */
const resetServer: Deed = async (rig) => {
  const resets = 10
  for (let i = 0; i < resets; i++) {
    await delay(700)
    const [backend] = await rig.sql<{ pid: number }>`
      select pid from pg_stat_activity where application_name = 'penstock'
        and pid <> pg_backend_pid() limit 1`.catch(() => [])
    if (backend) process.kill(backend.pid, 'SIGKILL')
  }
  await delay(1_500)
  return `${resets} crashes of the server`
}

/** A proxy between service and database. */
async function withDatabaseProxy(
  deed: (proxy: Relay, ...rest: Parameters<Deed>) => Promise<string>,
  options: RigOptions = {},
) {
  const proxy = new Relay({ host: '127.0.0.1', port: 0 })
  const port = await proxy.listen()
  const through = (url: string) => {
    const address = new URL(url)
    proxy.target = { host: address.hostname, port: Number(address.port) }
    address.port = String(port)
    return address.toString()
  }
  try {
    return await underLoad({ ...options, through }, (...rest) => deed(proxy, ...rest))
  } finally {
    await proxy.close()
  }
}

/** The whole server ends at once, as `pg_ctl stop -m immediate` does it, and is started again: it
 *  recovers from its log. */
async function restartedServer() {
  const restarts = 4
  const folder = await mkdtemp(join(tmpdir(), 'penstock-torture-pg-'))
  const end = atEnd(() => rm(folder, { recursive: true, force: true }))
  try {
    return await withDatabaseProxy(
      async (_, rig) => {
        for (let i = 0; i < restarts; i++) {
          await delay(1_500)
          const [pid] = (await readFile(join(folder, 'data/postmaster.pid'), 'utf8')).split('\n')
          process.kill(Number(pid), 'SIGQUIT')
          if (!(await rig.reviveServer())) throw new Error('the server did not end')
        }
        await delay(1_500)
        return `${restarts} immediate restarts`
      },
      { postgres_folder: folder },
    )
  } finally {
    await end()
  }
}

/** Two nodes of the same chain, each with a manner for a while. */
function nodes(manners: readonly [Manner, Manner], ms: number): Scenario {
  return {
    async run() {
      const fronts: NodeFront[] = []
      const node_urls: RigOptions['node_urls'] = async (chain) => {
        fronts.push(new NodeFront(chain), new NodeFront(chain))
        return Promise.all(fronts.map((front) => front.listen()))
      }
      try {
        return await underLoad({ node_urls }, async () => {
          await delay(500)
          for (const [i, front] of fronts.entries()) front.manner = manners[i]!
          await delay(ms)
          for (const front of fronts) front.manner = 'well'
          return `${manners.join(' and ')} for ${ms / 1_000} s`
        })
      } finally {
        for (const front of fronts) await front.close()
      }
    },
  }
}

/** One process after another is replaced; a balancer takes it out before it is told to stop. No
 *  request may fail. */
const roll: Deed = async (rig, buyers) => {
  const before = buyers.unanswered
  for (const old of [...rig.members]) {
    await rig.start(old.role)
    rig.takeOut(old)
    const code = await old.kill('SIGTERM')
    if (code !== 0)
      buyers.contradictions.push(`a process that was told to stop left with ${code}: ${old.said}`)
  }
  const failed = buyers.unanswered - before
  if (failed > 0)
    buyers.contradictions.push(`${failed} requests failed while processes were replaced`)
  return `4 processes replaced, ${failed} failed requests`
}

/** How far apart the clocks of the two workers are. */
const APART_S = 40
const APART_MS = 15_000

/** One of the two workers runs on a machine whose clock is ahead, then on one whose clock is
 *  behind. `status` has to say so; what is sent twice the auditor finds. */
const clocksApart: Deed = async (rig, buyers) => {
  const before = buyers.accepted.size
  for (const seconds of [APART_S, -APART_S]) {
    const old = rig.members.find(({ role }) => role === 'worker')!
    await rig.start('worker', [], { env: wrongClocks(seconds)['a module']! })
    await old.kill('SIGTERM')
    await delay(APART_MS)
    const said = await rig
      .operate('status', '--json')
      .catch((ended: { stdout: string }) => ended.stdout)
    const { alerts } = JSON.parse(said) as { alerts: { alert: string; what: string }[] }
    const off = alerts.filter(({ alert }) => alert === 'clock_off')
    if (!off.some(({ what }) => what.includes('(worker)')))
      buyers.contradictions.push(`nothing is said of a clock that is ${seconds} s off: ${said}`)
    // The next one is beside a worker whose clock is right.
    await rig.start('worker')
    const wrong = rig.members.filter(({ role }) => role === 'worker').at(-2)!
    await wrong.kill('SIGTERM')
  }
  const sold = buyers.accepted.size - before
  return `${APART_S} s ahead and behind for ${APART_MS / 1_000} s each, ${sold} sold meanwhile`
}

/** Works on a disk of so many megabytes, which is gone afterwards. */
async function onSmallDisk(
  megabytes: number,
  work: (folder: string) => Promise<Findings>,
): Promise<Findings> {
  const folder = `/tmp/penstock-full-${process.pid}`
  await mkdir(folder)
  const options = `size=${megabytes}m,mode=0777`
  if (!(await done('mount', '-t', 'tmpfs', '-o', options, 'tmpfs', folder))) {
    throw new Error('the small disk could not be mounted')
  }
  const end = atEnd(async () => {
    await done('umount', '-l', folder)
    await rm(folder, { recursive: true, force: true })
  })
  try {
    return await work(folder)
  } finally {
    await end()
  }
}

/** Fills a folder's disk to the last byte. Returns what makes room again. */
async function fill(folder: string): Promise<() => Promise<void>> {
  const files: string[] = []
  // Large pieces first, then what still fits.
  for (const bytes of [1 << 20, 1 << 12]) {
    const filler = Buffer.alloc(bytes)
    for (let has_room = true; has_room; ) {
      const file = `${folder}/fill-${files.length}`
      files.push(file)
      has_room = await writeFile(file, filler).then(
        () => true,
        () => false,
      )
    }
  }
  return async () => {
    for (const file of files) await rm(file, { force: true })
  }
}

/** What two workers keep in a data folder, and some of what they began to write. */
const FILES_MAX = 20

/** The disk of the only worker's data folder is full for a while. */
const fullDataFolder = () =>
  onSmallDisk(8, (folder) =>
    underLoad({}, async (rig, buyers) => {
      const workers = rig.members.filter(({ role }) => role === 'worker')
      const worker = await rig.start('worker', [], { data_dir: `${folder}/data` })
      for (const other of workers) await other.kill('SIGTERM')
      await delay(2_000)
      const makeRoom = await fill(folder)
      const before = buyers.accepted.size
      await delay(FULL_MS)
      const sold = buyers.accepted.size - before
      const isSaid = async () =>
        (await rig.report('status', '--json')).includes('data_folder_unwritten')
      if (!(await isSaid())) buyers.contradictions.push('status says nothing of a full disk')
      if (!rig.members.includes(worker))
        buyers.contradictions.push(`the worker has ended on a full disk: ${worker.said}`)
      const started = await rig.start('worker', [], { data_dir: `${folder}/data` }).then(
        () => 'another starts',
        (thrown: Error) => thrown.message,
      )
      const written = await readdir(`${folder}/data`, { recursive: true })
      if (written.length > FILES_MAX)
        buyers.contradictions.push(`a full disk has ${written.length} files: ${written}`)
      await makeRoom()
      await rig.until('status says that the disk is full', async () => !(await isSaid()))
      await rig.start('worker')
      return `full for ${FULL_MS / 1_000} s, ${sold} sold meanwhile; on it ${started}`
    }),
  )

/** The database's disk is filled to the last byte, and has room again later. */
const fullDisk = () =>
  onSmallDisk(400, (folder) =>
    underLoad({ postgres_folder: `${folder}/pg` }, (rig, buyers) => fillDisk(folder, rig, buyers)),
  )

/** Nothing is written for a while, by customers' calls, by steps, and by the one that seals. With
 *  room again, what was entered by then is sealed. */
async function fillDisk(folder: string, rig: Rig, buyers: Buyers): Promise<string> {
  await delay(1_000)
  const makeRoom = await fill(folder)
  const before = { sold: buyers.accepted.size, unanswered: buyers.unanswered }
  await delay(FULL_MS)
  const sold = buyers.accepted.size - before.sold
  const unanswered = buyers.unanswered - before.unanswered
  const reads = await rig.sql`select 1`.then(
    () => 'go on',
    () => 'fail',
  )
  await makeRoom()
  await delay(500)
  const restarted = await rig.reviveServer()
  const [newest] = await rig.sql<{ number: bigint }>`select max(number) as number from transfer`
  await rig.until('what was entered by then is not sealed', async () => {
    const sealed = await rig.sql`
      select 1 from journal where last_entry >= ${newest!.number} limit 1`
    return sealed.length > 0
  })
  return (
    `full for ${FULL_MS / 1_000} s, ${sold} sold and ${unanswered} asked again meanwhile, reads ` +
    `${reads}${restarted ? ', the server had ended and was started again' : ''}, sealed since`
  )
}

function done(program: string, ...args: string[]): Promise<boolean> {
  const child = spawn(program, args, { stdio: 'ignore' })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}

const noStrace = async () => ((await done('strace', '-V')) ? undefined : 'there is no strace here')

async function noMount(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root may mount a small disk'
  const folder = `/tmp/penstock-try-${process.pid}`
  await mkdir(folder)
  const mounted = await done('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder)
  if (mounted) await done('umount', folder)
  await rm(folder, { recursive: true, force: true })
  return mounted ? undefined : 'mounting is not allowed here'
}

export const SCENARIOS: Record<string, Scenario> = {
  'server reset': { run: () => underLoad({}, resetServer) },
  'server restarted': { run: restartedServer },
  'database cut off': {
    run: () =>
      withDatabaseProxy(async (proxy) => {
        for (const link of ['cut', 'half open', 'slow'] as const) {
          await delay(1_000)
          proxy.link = link
          if (link === 'cut') proxy.cut()
          await delay(3_000)
          proxy.link = 'well'
          if (link === 'half open') proxy.cut()
        }
        return 'cut, half open and slow for 3 s each'
      }),
  },
  'rolling restart': { run: () => underLoad({}, roll) },
  'nodes away': nodes(['away', 'away'], 5_000),
  'nodes silent': nodes(['silent', 'well'], 8_000),
  'nodes slow': nodes(['slow', 'slow'], 8_000),
  'a node behind': nodes(['behind', 'well'], 8_000),
  'nodes busy': nodes(['busy', 'duplicate'], 8_000),
  'nodes that lie': nodes(['swallows', 'forgets'], 15_000),
  'clocks apart': { run: () => underLoad({}, clocksApart) },
  'disk full': { unable: noMount, run: fullDisk },
  'data folder full': { unable: noMount, run: fullDataFolder },
  'crash points': { unable: noStrace, run: crashPoints },
  'crash points of the server': { unable: noStrace, run: serverCrashPoints },
}

export async function run(args: string[]): Promise<boolean> {
  const { words, json } = readArguments(args, { words: true })
  const names = Object.keys(SCENARIOS)
  const unknown = words.find((part) => !names.some((name) => name.includes(part)))
  if (unknown !== undefined)
    throw new Misuse(`There is no ${JSON.stringify(unknown)} among ${names.join(', ')}.`)
  const wanted = Object.entries(SCENARIOS).filter(
    ([name]) => words.length === 0 || words.some((part) => name.includes(part)),
  )
  const outcomes: Outcome[] = []
  for (const [scenario, { unable, run }] of wanted) {
    const outcome = await outcomeOf(scenario, await unable?.(), run)
    outcomes.push(outcome)
    if (json) continue
    say(`${outcome.state.padEnd(7)} ${scenario}: ${outcome.note}`)
    for (const finding of outcome.findings.slice(0, 8)) say(`        ${finding}`)
  }
  if (json) say(JSON.stringify({ scenarios: outcomes }))
  return outcomes.every(({ state }) => state !== 'failed')
}

async function outcomeOf(
  scenario: string,
  unable: string | undefined,
  run: Scenario['run'],
): Promise<Outcome> {
  if (unable !== undefined) return { scenario, state: 'not run', note: unable, findings: [] }
  try {
    const { note, findings } = await run()
    return { scenario, state: findings.length === 0 ? 'passed' : 'failed', note, findings }
  } catch (thrown) {
    const said = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
    return { scenario, state: 'failed', note: 'it could not be carried through', findings: [said] }
  }
}
