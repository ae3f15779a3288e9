// `npm run torture -- upgrade`: a release before and this one together on one database, under load,
// as docs/operators/upgrade.md says. The one before makes the database and sells; this one migrates
// beside it; then one process after another is exchanged, forward and back, until the time is over.
// No request may fail, and rows, chain and what customers were told must agree. It goes from the
// last tag and from the one before, each for half of the time; where no tag has other migrations,
// from the last commit that has; or from the one that --from names. A release behind a contract is
// left out. Each is checked out and installed once, into a temporary folder.

import { execFile } from 'node:child_process'
import { mkdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { readMigrations } from 'penstock-service/platform/database/migrations.ts'
import { readArguments } from '../../tools/arguments.ts'
import { ROOT } from '../../tools/source.ts'
import { Buyers } from './buyers.ts'
import { type Member, Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker', 'worker']
/** Those that work first, those that customers meet last. */
const ORDER: readonly Role[] = ['worker', 'api']
const PEOPLE = 4
const PAUSE_MS = 100
const BLOCK_MS = 200
/** A balancer sends nobody any more before the process is told to stop. */
const DRAIN_MS = 500
/** Ten seconds, on a machine three times slower than it should be. */
const STOP_MS_MAX = 30_000
/** Between two directions everything runs on one release. */
const HOLD_MS = 3_000

const say = (line: string) => process.stdout.write(`${line}\n`)
const run_program = promisify(execFile)

export async function run(args: string[]): Promise<boolean> {
  const { numbers, texts, json } = readArguments(args, {
    numbers: { minutes: 10 },
    texts: ['from'],
  })
  if ((await git('rev-parse', '--is-shallow-repository')) === 'true') {
    const why = 'the history is not here: git fetch --unshallow brings it'
    say(json ? JSON.stringify({ not_run: why }) : `not run: ${why}`)
    return true
  }
  const commits = await commitsOf(texts.from)
  const minutes = numbers.minutes / commits.length
  const results: Result[] = []
  for (const from of commits) results.push(await upgradeFrom(from, minutes, json))
  const [only, ...others] = results
  say(JSON.stringify(others.length === 0 ? only : { runs: results }, null, json ? 0 : 2))
  return results.every(({ lost, failed_requests, findings }) => {
    return lost + failed_requests + findings.length === 0
  })
}

type Result = {
  from: string
  migrations: number[]
  rolls: { forward: number; back: number }
  orders: number
  lost: number
  failed_requests: number
  refused: Record<string, number>
  slowest_stop_ms: number
  findings: string[]
}

/** Goes from one release to this one, and back and forth. */
async function upgradeFrom(from: string, minutes: number, json: boolean): Promise<Result> {
  const before = await release(from)
  const rig = await Rig.open({ release: before })
  const buyers = new Buyers(rig)
  const rolls = { forward: 0, back: 0 }
  const findings = new Set<string>()
  let slowest_ms = 0
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    buyers.begin(PEOPLE, PAUSE_MS)
    await delay(HOLD_MS)
    rig.release = ROOT
    const migrated = await rig.operate('migrate', '--json')
    const { migrations } = JSON.parse(migrated) as { migrations: { number: number }[] }
    const end_ms = performance.now() + minutes * 60_000
    do {
      for (const [way, folder] of [
        ['forward', ROOT],
        ['back', before],
      ] as const) {
        rig.release = folder
        slowest_ms = Math.max(slowest_ms, await roll(rig, findings))
        rolls[way] += 1
        await delay(HOLD_MS)
        if (!json) say(`${way}: ${buyers.accepted.size} orders, ${buyers.unanswered} failed`)
      }
    } while (performance.now() < end_ms && findings.size === 0)
    rig.release = ROOT
    slowest_ms = Math.max(slowest_ms, await roll(rig, findings))
    rolls.forward += 1
    await buyers.endWhenSoldTo()
    for (const finding of [...(await rig.lookAtRest()), ...buyers.contradictions])
      findings.add(finding)
    const lost = await buyers.lostAtRest()
    return {
      from: from.slice(0, 12),
      migrations: migrations.map(({ number }) => number),
      rolls,
      orders: buyers.accepted.size,
      lost,
      failed_requests: buyers.unanswered,
      refused: buyers.refused,
      slowest_stop_ms: slowest_ms,
      findings: [...findings].slice(0, 20),
    }
  } finally {
    await rig.close()
  }
}

const MIGRATIONS = 'packages/service/db/[0-9]*.sql'

const RELEASES = 2

/** The commits that are releases before. Throws Misuse when there is none that can go on. */
async function commitsOf(named: string | undefined): Promise<string[]> {
  const tagged = await lastTags()
  const wanted =
    named !== undefined
      ? [await git('rev-parse', '--verify', `${named}^{commit}`)]
      : tagged.length > 0
        ? tagged
        : [await lastWithOtherMigrations()]
  const contracts = await Promise.all(wanted.map(contractAfter))
  const able = wanted.filter((_, i) => contracts[i] === undefined)
  if (able.length === 0)
    throw new Misuse(
      `Migration ${contracts[0]} is a contract: ${wanted[0]!.slice(0, 12)} cannot go on behind it.`,
    )
  return able
}

/** The number of the first migration that the release cannot go on behind. */
async function contractAfter(commit: string): Promise<number | undefined> {
  const before = (await migrationsOf(commit)).map((path) => path.slice(path.lastIndexOf('/') + 1))
  const contract = (await readMigrations()).find(
    ({ kind, number }) =>
      kind === 'contract' && !before.some((file) => Number(file.slice(0, 4)) === number),
  )
  return contract?.number
}

const migrationsOf = async (commit: string) =>
  (await git('ls-tree', '--name-only', commit, 'packages/service/db/'))
    .split('\n')
    .filter((path) => /\/\d{4}_\w+\.sql$/.test(path))

/** The newest tags whose migrations are others than today's, the newest first. */
async function lastTags(): Promise<string[]> {
  const tags = (await git('tag', '--merged', 'HEAD', '--sort=-creatordate')).split('\n')
  const now = (await migrationsOf('HEAD')).length
  const found: string[] = []
  for (const tag of tags.filter((one) => one !== '').slice(0, RELEASES))
    if ((await migrationsOf(tag)).length !== now)
      found.push(await git('rev-parse', '--verify', `${tag}^{commit}`))
  return found
}

/** The commit before the one that has added the last migration, whatever its number is. */
async function lastWithOtherMigrations(): Promise<string> {
  const added = await git('log', '-1', '--format=%H', '--diff-filter=A', '--', MIGRATIONS)
  return git('rev-parse', '--verify', `${added}^`)
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await run_program('git', ['-C', ROOT, ...args]).catch((thrown) => {
    throw new Misuse(`git ${args.join(' ')}: ${String(thrown.stderr).trim()}`)
  })
  return stdout.trim()
}

/** The folder of a release, checked out and installed; what was made once is used again. */
async function release(commit: string): Promise<string> {
  const folder = join(tmpdir(), `penstock-release-${commit.slice(0, 12)}`)
  const ready = join(folder, 'node_modules', '.package-lock.json')
  if (await stat(ready).catch(() => undefined)) return `${folder}/`
  await mkdir(folder, { recursive: true })
  const archive = `${folder}.tar`
  await git('archive', '--output', archive, commit)
  await run_program('tar', ['-xf', archive, '-C', folder])
  await run_program('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder })
  return `${folder}/`
}

/** Exchanges every process for one of the rig's release, one after another. Returns how long the
 *  slowest took to end, in milliseconds. */
async function roll(rig: Rig, findings: Set<string>): Promise<number> {
  let slowest_ms = 0
  for (const role of ORDER) {
    for (const old of rig.members.filter((one) => one.role === role)) {
      await rig.start(role)
      slowest_ms = Math.max(slowest_ms, await stopGently(rig, old, findings))
    }
  }
  return slowest_ms
}

/** Returns after how long it has ended. */
async function stopGently(rig: Rig, old: Member, findings: Set<string>): Promise<number> {
  rig.takeOut(old)
  await delay(DRAIN_MS)
  const began_ms = performance.now()
  const ended = await Promise.race([old.kill('SIGTERM'), delay(STOP_MS_MAX, 'late' as const)])
  if (ended !== 0) findings.add(`a process ended with ${ended}: ${old.said.slice(-300)}`)
  return Math.round(performance.now() - began_ms)
}
