// `npm run torture`: the long tests.
//
//   sim        runs of the simulator, so many seeds (lanes) at a time on each thread
//              [--runs N] [--seed N] [--threads N] [--lanes N] [--trace LINES]
//              [--emphasis rivals|forked_uses|webhooks|poor|promoted|collecting|voting|
//               screened_deposits]
//   mutants    every known mistake must be found within N seeds
//              [--runs N] [--seed N] [--only TEXT]
//   kill       SIGKILL of every role under load; then each worker is paused
//              [--cycles N] [--pause-seconds N] [--seed TEXT]
//   collecting SIGKILL of the operator's program while it collects, at every point
//              [--addresses N] [--with-token N] [--kills N]
//   failover   the machine of the database is lost under load, and a standby is promoted
//              [--cycles N] [--servers N] [--manner kill|hang|cut|switchover|crash|returns]
//              [--manager own|patroni] [--seed TEXT]
//   restore    the whole database is lost, and restored to a moment
//              [--orders N] [--manner stopped|beside]
//   upgrade    the release before and this one together, rolled forward and back under load
//              [--minutes N] [--from COMMIT]
//   migrate    the schema changes under load, a migration waits for a table, and is killed
//              [--seconds N] [--kills N]
//   twins      one external_id, many calls at once, two processes   [--twins N] [--rounds N]
//   idle       what two workers and four ask of their node while nothing is sold   [--minutes N]
//   image      the image is built twice, equal, and sells on a chain beside it without a right
//   alerts     real causes, and how long until each is told and until it is over
//   faults     real faults: crash points, a full disk, lying nodes, ...   [NAME ...]
//   strangers  all that somebody without a key can do
//              [--seconds N] [--rate N] [--connections N]
//   liars      a node that lies, beside honest ones
//   thieves    whatever the roles of the database may write; forged rows, wide keys, limits and the
//              switch of the signer   [--only grants|rig] [--table TEXT]
//   fuzz       signed requests, to nonsense
//              [--requests-per-endpoint N] [--seed TEXT] [--only PATH]
//   sdk        purchases with the SDK over a bad network   [--purchases N] [--seed N]
//   webhooks   SIGKILL of workers while twenty webhooks are told, and a receiver that goes away
//              [--kills N] [--away-seconds N] [--seed TEXT]
//   names      webhooks at names that are never answered: what others notice   [--seconds N]
//   streams    a thousand streams while the API is stopped, killed and started again
//              [--streams N] [--seconds N] [--restarts N] [--events-per-second N]
//
// All take --json and --help. Exit code 0: nothing was found; 1: something was; 2: usage error;
// 130: interrupted.

import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { readArguments } from '../../tools/arguments.ts'
import { atEnd, endWhenInterrupted, isInterrupted, leaveWith } from '../../tools/ending.ts'
import { asksForHelp, leadingComment } from '../../tools/help.ts'
import type { SeedResult } from '../simulator/lanes.ts'
import { infect, MUTANTS, type Mutant, staleEdits } from '../simulator/mutants.ts'
import { EMPHASES } from '../simulator/plan.ts'

type Command = (args: string[]) => Promise<boolean>

const COMMANDS: Readonly<Record<string, Command>> = {
  sim,
  mutants,
  kill: async (args) => (await import('./kill.ts')).run(args),
  collecting: async (args) => (await import('./collecting.ts')).run(args),
  failover: async (args) => (await import('./failover.ts')).run(args),
  restore: async (args) => (await import('./restore.ts')).run(args),
  upgrade: async (args) => (await import('./upgrade.ts')).run(args),
  migrate: async (args) => (await import('./migrate.ts')).run(args),
  twins: async (args) => (await import('./twins.ts')).run(args),
  idle: async (args) => (await import('./idle.ts')).run(args),
  image: async (args) => (await import('./image.ts')).run(args),
  alerts: async (args) => (await import('./alerts.ts')).run(args),
  faults: async (args) => (await import('./faults.ts')).run(args),
  strangers: async (args) => (await import('./strangers.ts')).run(args),
  liars: async (args) => (await import('./liars.ts')).run(args),
  thieves: async (args) => (await import('./thieves.ts')).run(args),
  fuzz: async (args) => (await import('./fuzz.ts')).run(args),
  sdk: async (args) => (await import('./sdk.ts')).run(args),
  names: async (args) => (await import('./slow_names.ts')).run(args),
  streams: async (args) => (await import('./streams.ts')).run(args),
  webhooks: async (args) => (await import('./webhooks.ts')).run(args),
}

/** Each thread, and what the server does for it, keep two cores busy. */
const THREADS = Math.max(1, Math.floor(availableParallelism() / 2))
const LANES = 3
/** Runs, where no terminal shows how far it is. */
const TOLD_EVERY = 1_000

const say = (line: string) => process.stdout.write(`${line}\n`)

/** Runs seeds until `runs` are done; with --mutant, which puts that mistake into the service, until
 *  one fails. */
async function sim(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { runs: 100, seed: 1, threads: THREADS, lanes: LANES, trace: 40 },
    texts: ['mutant', 'emphasis'],
  })
  const emphasis = EMPHASES.find((one) => one === texts.emphasis)
  if (texts.emphasis !== undefined && emphasis === undefined)
    throw new Misuse(`--emphasis is one of ${EMPHASES.join(', ')}.`)
  const mutant =
    texts.mutant === undefined ? undefined : MUTANTS.find(({ name }) => name === texts.mutant)
  if (mutant) infect(mutant)
  else if (texts.mutant !== undefined)
    throw new Misuse(`There is no mutant ${JSON.stringify(texts.mutant)}.`)
  const { runSeeds, runSeedsOnThreads } = await import('../simulator/lanes.ts')
  const seeds = Array.from({ length: numbers.runs }, (_, i) => String(numbers.seed + i))
  const tally = new Tally(numbers.runs, json)
  const wanted = { seeds, lanes: numbers.lanes, lines: numbers.trace, emphasis }
  if (!mutant) await runSeedsOnThreads(wanted, numbers.threads, (told) => tally.add(told))
  else {
    const { sql, emphasis: of_mutant } = mutant
    await runSeeds({ ...wanted, lanes: 1, sql, emphasis: of_mutant }, (told) => {
      tally.add(told)
      return tally.failed > 0 ? 'stop' : 'go on'
    })
  }
  tally.tell()
  return tally.failed === 0
}

/** Why the seed may go another way the next time. */
const racesOf = ({ races }: SeedResult['counts']) =>
  races ? ` (the server chose among waiting statements ${races} times)` : ''

/** What many runs came to: says at once what one has found, and in between how far it is. */
class Tally {
  failed = 0
  private done = 0
  private readonly counts: Record<string, number> = {}
  private readonly began_ms = performance.now()
  private readonly runs: number
  private readonly json: boolean

  constructor(runs: number, json: boolean) {
    this.runs = runs
    this.json = json
  }

  add({ seed, findings, digest, counts, story }: SeedResult): void {
    this.done += 1
    for (const [what, count] of Object.entries(counts))
      this.counts[what] = (this.counts[what] ?? 0) + count
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.done} of ${this.runs} runs `)
    else if (this.done % TOLD_EVERY === 0)
      process.stderr.write(`${this.done} of ${this.runs} runs\n`)
    if (findings.length === 0) return
    this.failed += 1
    if (this.json) say(JSON.stringify({ seed, findings, digest }))
    else
      say(
        `seed ${seed} ${digest}${racesOf(counts)}\n${story}\n${findings.slice(0, 8).join('\n')}\n`,
      )
  }

  tell(): void {
    const { done: runs, failed, counts } = this
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
    const ms = performance.now() - this.began_ms
    const summary = {
      runs,
      failed,
      ms_per_run: Math.round(ms / runs),
      runs_per_minute: Math.round((runs / ms) * 60_000),
    }
    say(
      this.json
        ? JSON.stringify({ ...summary, counts })
        : `${JSON.stringify(summary)}\n${JSON.stringify(counts)}`,
    )
  }
}

/** Runs each mutant in a process of its own. */
async function mutants(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { runs: 200, seed: 1 },
    texts: ['only'],
  })
  const chosen = MUTANTS.filter(({ name }) => name.includes(texts.only ?? ''))
  if (chosen.length === 0)
    throw new Misuse(`There is no mutant with ${JSON.stringify(texts.only)} in its name.`)
  const alive: string[] = []
  for (const mutant of chosen) {
    const { killed_by, said } = await hunt(mutant, numbers)
    if (killed_by === undefined) alive.push(mutant.name)
    if (json) continue
    say(
      `${killed_by === undefined ? 'ALIVE' : `killed by seed ${killed_by}`}: ` +
        `${mutant.name}\n    ${said}`,
    )
  }
  if (json)
    say(JSON.stringify({ mutants: chosen.length, killed: chosen.length - alive.length, alive }))
  return alive.length === 0
}

/** Seeds until one finds the mutant; `said` is what it found, or why there is no such seed. */
async function hunt(mutant: Mutant, { runs, seed }: { runs: number; seed: number }) {
  const stale = await staleEdits(mutant)
  if (stale.length > 0) return { killed_by: undefined, said: stale.join('; ') }
  const range = ['--runs', String(runs), '--seed', String(seed)]
  const output = await outputOf([
    import.meta.filename,
    'sim',
    '--mutant',
    mutant.name,
    '--json',
    ...range,
  ])
  const [first = ''] = output.split('\n')
  if (!first.startsWith('{"seed"')) return { killed_by: undefined, said: first.slice(0, 300) }
  const { seed: killed_by, findings } = JSON.parse(first) as { seed: string; findings: string[] }
  return { killed_by, said: findings[0]?.split('\n')[0] ?? '' }
}

async function outputOf(args: string[]): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const end = atEnd(() => child.kill())
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  await new Promise((resolve) => child.once('close', resolve))
  await end()
  return output
}

function refuse(complaint: string): void {
  process.stderr.write(
    `${complaint}\nnpm run torture -- ${Object.keys(COMMANDS).join('|')} [options], ` +
      `see test/torture/torture.ts\n`,
  )
  leaveWith(2)
}

const [name = '', ...args] = process.argv.slice(2)
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
endWhenInterrupted()
if (asksForHelp(name) || asksForHelp(args[0]))
  process.stdout.write(leadingComment(import.meta.filename))
else if (!command) refuse(name === '' ? 'Which test?' : `There is no test ${JSON.stringify(name)}.`)
else {
  await command(args).then(
    (passed) => leaveWith(passed ? 0 : 1),
    (thrown: unknown) => {
      if (thrown instanceof Misuse) refuse(thrown.message)
      else if (!isInterrupted()) throw thrown
    },
  )
}
