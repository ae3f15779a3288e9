// `npm run torture`: the long tests.
//
//   sim      [--runs N] [--seed S] [--json] [--trace LINES] [--lanes N]    runs of the simulator, N seeds at a time
//   mutants  [--runs N] [--only TEXT]                          every known mistake must be found within N seeds
//   kill     [--cycles N] [--seed S] [--json]                  SIGKILL of every role under load
//   twins    [--twins N] [--rounds N] [--json]                 one external_id, many calls at once, two processes
//   faults   [NAME ...] [--json]                               real faults: crash points, a full disk, lying nodes, ...
//   fuzz     [--requests-per-endpoint N] [--seed S] [--json]   signed requests, from nearly right to nonsense

import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import { infect, MUTANTS, type Mutant, staleEdits } from './simulator/mutants.ts'

/** Commands that are files of their own. */
const OTHERS: Record<string, () => Promise<{ run(args: string[]): Promise<boolean> }>> = {
  fuzz: () => import('./fuzz.ts'),
  kill: () => import('./torture/kill.ts'),
  twins: () => import('./torture/twins.ts'),
  faults: () => import('./torture/faults.ts'),
}

const other = OTHERS[process.argv[2] ?? '']
if (other) process.exit((await (await other()).run(process.argv.slice(3))) ? 0 : 1)

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'string' },
    only: { type: 'string' },
    mutant: { type: 'string' },
    lanes: { type: 'string' },
    json: { type: 'boolean' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

/** Runs seeds until `runs` are done; a mutant's until one fails. */
async function simulate(mutant: Mutant | undefined): Promise<boolean> {
  const { runSeeds } = await import('./simulator/lanes.ts')
  const runs = Number(values.runs ?? 100)
  const seeds = Array.from({ length: runs }, (_, i) => String(Number(values.seed ?? 1) + i))
  const counts: Record<string, number> = {}
  const started_at = performance.now()
  let done = 0
  let failed = 0
  await runSeeds({ seeds, lanes: mutant ? 1 : Number(values.lanes ?? 2), sql: mutant?.sql }, (verdict) => {
    const { seed, findings, trace } = verdict
    done += 1
    for (const [what, count] of Object.entries(trace.counts)) counts[what] = (counts[what] ?? 0) + count
    if (findings.length === 0) return 'go on'
    failed += 1
    if (values.json) say(JSON.stringify({ seed, findings, digest: trace.digest }))
    else
      say(
        `seed ${seed} ${trace.digest}\n${trace.last(Number(values.trace ?? 40))}\n${findings.slice(0, 8).join('\n')}\n`,
      )
    return mutant ? 'stop' : 'go on'
  })
  const ms = performance.now() - started_at
  const per_run = { ms_per_run: Math.round(ms / done), runs_per_minute: Math.round((done / ms) * 60_000) }
  const summary = { runs: done, failed, ...per_run }
  say(values.json ? JSON.stringify({ ...summary, counts }) : `${JSON.stringify(summary)}\n${JSON.stringify(counts)}`)
  return failed === 0
}

/** Runs each mutant in a process of its own. */
async function hunt(): Promise<boolean> {
  let survivors = 0
  for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.only ?? ''))) {
    const stale = await staleEdits(mutant)
    const args = [import.meta.filename, 'sim', '--mutant', mutant.name, '--json', '--runs', values.runs ?? '200']
    const output = stale.length > 0 ? stale.join('; ') : await run([...args, '--seed', values.seed ?? '1'])
    const [first = ''] = output.split('\n')
    const killed = first.startsWith('{"seed"')
    if (!killed) survivors += 1
    const { seed, findings } = killed ? (JSON.parse(first) as { seed: string; findings: string[] }) : {}
    say(
      killed
        ? `killed by seed ${seed}: ${mutant.name}\n    ${findings?.[0]?.split('\n')[0]}`
        : `ALIVE: ${mutant.name}\n    ${first.slice(0, 300)}`,
    )
  }
  return survivors === 0
}

function run(args: string[]): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  return new Promise((resolve) => child.once('close', () => resolve(output)))
}

const [command = 'sim'] = positionals
const infected = MUTANTS.find(({ name }) => name === values.mutant)
if (infected) infect(infected)
const passed = command === 'mutants' ? await hunt() : await simulate(infected)
process.exit(passed ? 0 : 1)
