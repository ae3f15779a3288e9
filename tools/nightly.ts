// npm run nightly [-- --short] [-- --only NAME ...] [--list] [--json]: what is too long for every
// commit, and must not be false for long: the longest tests, benchmarks that refuse what they
// should not see, the simulator with seeds that follow from the commit, so that every night tries
// others and every failure can be run again, and the shorter tortures. One after the other; all are
// run, those that fail are named at the end with what they said, and the exit code is 1. `not run`
// says what a job lacks here.
//   --short       the smallest settings, of an hour at most together:
//                 .ci/run does it after the tests
//   --only NAME   these alone; may be given more than once
//   --list        what would be run, and how long each may take at most

import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { endWhenInterrupted, isInterrupted } from './ending.ts'
import { asksForHelp, leadingComment } from './help.ts'
import { runJson } from './json_run.ts'
import { ROOT } from './source.ts'

export type Job = { name: string; args: readonly string[]; minutes_max: number }
type Outcome = {
  name: string
  minutes: number
  failure?: string
  not_run?: string
  /** Tests that were left out. */
  skipped?: number
}

/** The test files that `npm test` leaves out. */
const long_tests: Job = { name: 'long', args: ['test', '--', '--long'], minutes_max: 24 }

const job = (words: string, minutes_max: number): Job => {
  const [program = '', name = '', ...options] = words.split(' ')
  return { name, args: [program, '--', name, ...options], minutes_max }
}

/** `seed`: of the simulator. */
export const jobsOf = (seed: number): Job[] => [
  long_tests,
  job('bench mixed --seconds 10', 5),
  job(`torture sim --runs 200 --seed ${seed}`, 10),
  job('torture kill --cycles 3', 15),
  job('torture failover --cycles 1', 15),
  job('torture upgrade --minutes 1', 15),
  job('torture collecting --addresses 200 --with-token 40 --kills 12', 15),
  job('torture thieves', 15),
]

/** Of the same kinds, as short as they can be. */
export const shortJobsOf = (seed: number): Job[] => [
  long_tests,
  job('bench mixed --seconds 5', 3),
  job(`torture sim --runs 20 --seed ${seed}`, 3),
  job('torture kill --cycles 1 --pause-seconds 15', 6),
  job('torture failover --cycles 1', 6),
  job('torture upgrade --minutes 1', 9),
]

export const commandOf = ({ args }: Job) => ['npm', 'run', ...args].join(' ')

/** Another for each commit, from 1 to 268 million. */
const seedOf = (commit: string) => Number.parseInt(commit.slice(0, 7), 16) + 1

function wantedOf(only: readonly string[] | undefined, short: boolean): Job[] {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' })
  const jobs = (short ? shortJobsOf : jobsOf)(seedOf(commit))
  const unknown = only?.find((name) => !jobs.some((job) => job.name === name))
  if (unknown !== undefined)
    throw new Misuse(`There is no job ${unknown}: ${jobs.map(({ name }) => name).join(', ')}.`)
  return jobs.filter(({ name }) => only?.includes(name) ?? true)
}

async function runJob(job: Job): Promise<Outcome> {
  const began_ms = performance.now()
  const run = await runJson(['npm', 'run', '-s', ...job.args, '--json'], job.minutes_max)
  const minutes = Math.round((performance.now() - began_ms) / 6_000) / 10
  const outcome = { name: job.name, minutes }
  if ('failure' in run) return { ...outcome, failure: run.failure }
  const { not_run, skipped } = (run.values ?? {}) as Pick<Outcome, 'not_run' | 'skipped'>
  return {
    ...outcome,
    ...(not_run !== undefined && { not_run }),
    ...(skipped !== undefined && skipped > 0 && { skipped }),
  }
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      short: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const jobs = wantedOf(options.only, options.short)
  // Where a script reads the outcome, people read how far it is beside it.
  const progress = options.json ? process.stderr : process.stdout
  const say = (line: string) => void progress.write(`${line}\n`)
  if (options.list) {
    const line = (job: Job) => `${commandOf(job)}   ${job.minutes_max} min at most`
    process.stdout.write(`${options.json ? JSON.stringify(jobs) : jobs.map(line).join('\n')}\n`)
    return
  }
  endWhenInterrupted()
  const outcomes: Outcome[] = []
  for (const job of jobs) {
    const outcome = await runJob(job)
    if (isInterrupted()) return
    outcomes.push(outcome)
    const { failure, not_run, skipped, minutes } = outcome
    const mark = failure !== undefined ? '✖' : not_run !== undefined ? '-' : '✔'
    const short = not_run ? `: not run, ${not_run}` : skipped ? `: ${skipped} skipped` : ''
    say(`${mark} ${commandOf(job)}, ${minutes} min${short}`)
  }
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  for (const { name, failure } of failed) say(`\n${name}: ${failure}`)
  say(`${outcomes.length - failed.length} of ${outcomes.length} hold.`)
  if (options.json) process.stdout.write(`${JSON.stringify(outcomes)}\n`)
  if (failed.length > 0) process.exitCode = 1
}

/** Only when it is called, not when its table is read. */
if (process.argv[1] === import.meta.filename) {
  if (asksForHelp(process.argv[2])) process.stdout.write(leadingComment(import.meta.filename))
  else
    await main().catch((thrown: unknown) => {
      const is_usage =
        thrown instanceof Misuse ||
        String((thrown as { code?: string }).code).includes('PARSE_ARGS')
      if (!is_usage) throw thrown
      process.stderr.write(`${(thrown as Error).message}\n`)
      process.exitCode = 2
    })
}
