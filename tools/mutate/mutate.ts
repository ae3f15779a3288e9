// The tests tested: makes small changes of a room's source, one at a time, and tells which of them
// no test notices: `npm run mutate -- --room market/orders --count 30`. Exits with 1 when a room
// has fewer killed, of all but the listed equivalents, than are wanted of it. What no test has
// noticed in the time that --seconds gives, while others execute the line, too, is not decided.
//   --room <name>     a folder with source files, or several with commas; --list names them
//   --seed <n>        which mutants are tried, and in which order (1)
//   --count <n>       so many of a room (30)
//   --only <id>       this mutant alone, of whatever room
//   --file <path>     all mutants of this source file
//   --tests <path>    with these test files alone, with commas; what they do not notice is not
//                     decided while there are others
//   --seconds <n>     tests that took so long together, when they were recorded, are shown a mutant
//                     at most; the nearest and fastest first (60)
//   --jobs <n>        so many mutants at once (one for each processor)
//   --recorded        with those tests alone that are recorded already; what they do not notice is
//                     not decided while there are others
//   --list            the rooms, and how many mutants each has; with --room: its mutants
//   --json            the result as JSON, and nothing else, on standard output
// What lines each test executes is recorded first, and kept in data/mutate; a changed test file is
// recorded again. Nothing in the working tree is changed. What means the same is listed in
// tools/mutate/equivalents.txt, with the reason, and left out.

import { existsSync } from 'node:fs'
import { availableParallelism, setPriority } from 'node:os'
import { join } from 'node:path'
import { Misuse } from 'penstock-service/lib/fault.ts'
import { makeTemplate, startCluster } from 'penstock-test/harness/database.ts'
import { readArguments } from '../arguments.ts'
import { asksForHelp, leadingComment } from '../help.ts'
import { ROOT } from '../source.ts'
import { useRunFolder } from '../test/run_folder.ts'
import { readEquivalents, wrongEntries } from './equivalents.ts'
import { type Mutant, mutantsOf, type Room, readRooms } from './mutants.ts'
import { isDecided, type Score, scoreOf, tableOf } from './scores.ts'
import { type Session, tryRoom } from './session.ts'

const FOLDERS = ['packages']
/** Ignored by git. */
const FOLDER = join(ROOT, 'data/mutate/recordings')
/** Others may use the machine. */
const NICE = 10

if (process.argv.slice(2).some(asksForHelp)) {
  process.stdout.write(leadingComment(import.meta.filename))
  process.exit()
}

// A reader that has seen enough, like `head`, is no failure.
process.stdout.on('error', () => process.exit())

try {
  process.exitCode = (await main()) ? 0 : 1
} catch (thrown) {
  if (!(thrown instanceof Misuse)) throw thrown
  process.stderr.write(`${thrown.message}\n`)
  process.exitCode = 2
}

async function main(): Promise<boolean> {
  const list = process.argv.includes('--list')
  const recorded = process.argv.includes('--recorded')
  const args = readArguments(
    process.argv.slice(2).filter((one) => !['--list', '--recorded'].includes(one)),
    {
      numbers: { seed: 1, count: 30, seconds: 60, jobs: availableParallelism() },
      texts: ['room', 'only', 'file', 'tests'],
    },
  )
  const rooms = await readRooms(...FOLDERS)
  const wrong = wrongEntries(await readEquivalents(), rooms.flatMap(mutantsOf))
  if (wrong.length > 0) throw new Misuse(`tools/mutate/equivalents.txt: ${wrong.join('; ')}`)
  const { room: names, only, file, tests } = args.texts
  const chosen = chooseRooms(rooms, { names, only, file })
  if (list) {
    process.stdout.write(`${listing(names === undefined ? rooms : chosen, names !== undefined)}\n`)
    return true
  }
  if (chosen.length === 0) throw new Misuse('--room names a room; --list says which there are.')
  const { json, numbers } = args
  const say = (line: string) => void (json ? process.stderr : process.stdout).write(`${line}\n`)
  const session = {
    ...numbers,
    only,
    file,
    tests: tests?.split(',').map(knownTest),
    folder: FOLDER,
    recorded,
    say,
  }
  return withServer(() => tryAll(chosen, session, json))
}

type Choice = Record<'names' | 'only' | 'file', string | undefined>

function chooseRooms(rooms: Room[], { names, only, file }: Choice): Room[] {
  if (only !== undefined || file !== undefined) {
    const room = rooms.find((one) =>
      mutantsOf(one).some(({ id, path }) => (only === undefined ? path === file : id === only)),
    )
    if (room) return [room]
    if (only !== undefined) throw new Misuse(`No mutant is called ${JSON.stringify(only)}.`)
    throw new Misuse(`There is no mutant of ${JSON.stringify(file)}: --list says where they are.`)
  }
  return (names?.split(',') ?? []).map((name) => {
    const room = rooms.find((one) => one.name === name || one.folder === name)
    if (room) return room
    const like = rooms.filter((one) => one.name.endsWith(`/${name}`)).map((one) => one.name)
    const which = like.length > 0 ? `it is ${like.join(' or ')}` : '--list names them'
    throw new Misuse(`There is no room ${JSON.stringify(name)}; ${which}.`)
  })
}

function knownTest(path: string): string {
  if (path.endsWith('.test.ts') && existsSync(join(ROOT, path))) return path
  throw new Misuse(`There is no test file ${JSON.stringify(path)}.`)
}

function listing(rooms: readonly Room[], in_full: boolean): string {
  if (!in_full)
    return rooms
      .map((room) => ({ name: room.name, mutants: mutantsOf(room).length }))
      .filter(({ mutants }) => mutants > 0)
      .map(({ name, mutants }) => `${String(mutants).padStart(5)}  ${name}`)
      .join('\n')
  return rooms.flatMap(mutantsOf).map(described).join('\n')
}

function described({ id, path, line, kind, before, after }: Mutant): string {
  return `${id}  ${path}:${line}  ${kind}\n${marked('-', before)}\n${marked('+', after)}`
}

function marked(mark: string, lines: string): string {
  return lines
    .split('\n')
    .map((line) => `    ${mark} ${line}`)
    .join('\n')
}

/** One PostgreSQL for all mutants. */
async function withServer(work: () => Promise<boolean>): Promise<boolean> {
  setPriority(NICE)
  const removeRunFolder = await useRunFolder()
  process.env.NODE_COMPILE_CACHE = join(process.env.TMPDIR!, 'compiled')
  const server = await startCluster({ max_connections: '300' })
  await makeTemplate()
  try {
    return await work()
  } finally {
    await server.stop()
    await removeRunFolder()
  }
}

async function tryAll(rooms: readonly Room[], session: Session, json: boolean): Promise<boolean> {
  const { say, seed } = session
  const scores: Score[] = []
  const survivors: Mutant[] = []
  const not_decided: Mutant[] = []
  for (const room of rooms) {
    const results = await tryRoom(room, session)
    scores.push(scoreOf(room.name, seed, results))
    say(`${tableOf(scores.slice(-1))}\n`)
    for (const result of results) {
      if (result.killer || result.equivalent !== undefined) continue
      if (isDecided(result)) survivors.push(result.mutant)
      else not_decided.push(result.mutant)
    }
  }
  if (survivors.length > 0) say(`\nSurvivors:\n${survivors.map(described).join('\n')}`)
  if (not_decided.length > 0) say(`\nNot decided:\n${not_decided.map(described).join('\n')}`)
  say(`\n${tableOf(scores)}`)
  if (json) process.stdout.write(`${JSON.stringify({ scores, survivors, not_decided }, null, 2)}\n`)
  return scores.every(({ at_least, wanted }) => at_least >= wanted)
}
