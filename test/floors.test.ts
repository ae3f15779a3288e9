// The house stands: imports go down, never up, never sideways, never in a circle; time and chance come in from outside; a
// folder is one level deep and its files are named after what they hold. Drawn in ARCHITECTURE.md.

import assert from 'node:assert/strict'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { isNode, parseSource, readSources, type Source, walk, where } from './source.ts'

/** From the ground up; folders of one floor do not know each other. The files directly in src/ are the roof. */
const FLOORS = [
  ['lib', 'flow'],
  ['tron'],
  ['http', 'ledger', 'chain', 'lists', 'providers'],
  ['customers'],
  ['aml'],
  ['market'],
  ['subscriptions', 'treasury'],
  ['admin'],
]
const ROOF = FLOORS.length

/** What stands beside src/, and the folders that it may import from besides its own. */
const BESIDE: Record<string, readonly string[]> = {
  devchain: ['src/tron'],
}

/** Who may read the time, wait, or draw at random, and why. */
const EDGES: Record<string, string> = {
  'src/lib/clock.ts': 'is the clock',
  'src/http/server.ts': 'looks after its connections once a second',
  'src/lib/ids.ts': 'is the source of randomness',
  'src/lib/step.ts': 'waits between the runs of a step',
  'src/lib/files.ts': 'names a file that nobody else writes',
  'src/lib/wake.ts': 'waits before it connects again',
  'src/lib/sql.ts': 'measures how long the database takes',
  'src/measuring.ts': 'measures how long steps and nodes take',
  'src/lib/postgres.ts': 'starts a server: chooses its password, waits for it',
  'src/local.ts': 'waits for the parts it has started',
  'src/api.ts': 'hears those out who have connected when it stops',
  'src/serve.ts': 'spreads and delays the calls to screening services',
  'src/sealing.ts': 'makes the sealing key on the first start',
  'src/sandbox.ts': 'makes the wallets of a development chain',
  'src/demo.ts': 'is a script that waits and measures',
  'src/cli.ts': 'waits between two looks at the books',
}

/** Who may read the environment, and why. */
const ENVIRONMENT_READERS: Record<string, string> = {
  'src/main.ts': 'hands it to the configuration',
  'src/cli.ts': 'hands it to the configuration',
  'src/lib/postgres-programs.ts': 'hands PATH on to the programs it starts',
}

const NAMES_THAT_SAY_NOTHING =
  /^(utils?|helpers?|types?|services?|index|managers?|models?|controllers?|repositor(y|ies)|common|misc|shared|data|info|process)$/

type Import = { from: string; to: string; where: string }

const isTest = (path: string) => path.endsWith('.test.ts')

/** The imports between files of the repository. */
function imports(source: Source): Import[] {
  const found: Import[] = []
  for (const node of walk(source.tree)) {
    if (!/^(Import|ExportNamed|ExportAll)(Declaration|Expression)$/.test(node.type)) continue
    const to = isNode(node.source) ? node.source.value : undefined
    if (typeof to !== 'string' || !/^\.\.?\//.test(to)) continue
    found.push({ from: source.path, to: join(dirname(source.path), to), where: where(source, node.start) })
  }
  return found
}

/** The floor and the folder of a file in src/. */
function floorOf(path: string): { floor: number; folder: string } {
  const [, folder = '', file] = path.split('/')
  if (file === undefined) return { floor: ROOF, folder: '' }
  return { floor: FLOORS.findIndex((folders) => folders.includes(folder)), folder }
}

/** Why an import is not allowed; undefined when it is. */
function objection({ from, to }: Import): string | undefined {
  const [top = ''] = from.split('/')
  if (top === 'src') return fromSource(from, to)
  const allowed = BESIDE[top]
  if (!allowed || [top, ...allowed].some((folder) => to.startsWith(`${folder}/`))) return undefined
  if (isTest(from) && to.startsWith('test/')) return undefined
  return `${top} may import from ${[top, ...allowed].join(', ')} only`
}

function fromSource(from: string, to: string): string | undefined {
  const mine = floorOf(from)
  if (!to.startsWith('src/')) {
    const allowed = isTest(from)
      ? /^(test|devchain)\//
      : mine.floor === ROOF
        ? /^(devchain|sdk)\/|^package\.json$/
        : /^$/
    return allowed.test(to) ? undefined : 'leaves src'
  }
  const other = floorOf(to)
  if (mine.folder === other.folder) return undefined
  if (other.floor < 0) return `${other.folder} is on no floor`
  if (other.floor > mine.floor) return 'goes up'
  return other.floor === mine.floor ? 'goes sideways' : undefined
}

/** The files of each circle of imports. */
function circles(all: readonly Import[]): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  function visit(path: string, trail: string[]) {
    const at = trail.indexOf(path)
    if (at >= 0) found.push([...trail.slice(at), path])
    if (at >= 0 || done.has(path)) return
    for (const { from, to } of all) if (from === path) visit(to, [...trail, path])
    done.add(path)
  }
  for (const { from } of all) visit(from, [])
  return found
}

/** Lines that say which import goes where it must not. */
function wrongImports(sources: readonly Source[]): string[] {
  const all = sources.flatMap(imports)
  const lines = all.flatMap((one) => {
    const why = objection(one)
    return why === undefined ? [] : [`${one.where} imports ${one.to}: ${why}`]
  })
  return [...lines, ...circles(all).map((files) => `a circle: ${files.join(' -> ')}`)]
}

const OUTSIDE = /^(setTimeout|setInterval|randomUUID|randomBytes|randomInt|getRandomValues)$/

/** The uses of time, chance and the environment. */
function outsideUses(source: Source): { what: 'edge' | 'environment'; line: string }[] {
  const found: { what: 'edge' | 'environment'; line: string }[] = []
  for (const node of walk(source.tree)) {
    const text = source.code.slice(node.start, node.end)
    const timeless = node.type === 'NewExpression' && /^new Date(\(\))?$/.test(text)
    const member = node.type === 'MemberExpression' && /^(Date\.now|Math\.random|performance\.now)$/.test(text)
    const named = node.type === 'Identifier' && OUTSIDE.test(text)
    const line = `${where(source, node.start)} uses ${text}`
    if (timeless || member || named) found.push({ what: 'edge', line })
    if (node.type === 'MemberExpression' && text === 'process.env') found.push({ what: 'environment', line })
  }
  return found
}

/** Names of files and folders that are against the rules. */
function wrongNames(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    const names = path.replace(/(\.test)?\.ts$/, '').split('/')
    const deep = names[0] === 'src' && names.length > 3 && names[2] !== 'fixtures'
    return deep || names.some((name) => NAMES_THAT_SAY_NOTHING.test(name))
  })
}

const sources = await readSources('src', 'devchain', 'sdk', 'dashboard', 'test', 'bench')
const service = sources.filter(({ path }) => path.startsWith('src/') && !isTest(path))

test('imports go down, never up, never sideways, never in a circle', () => {
  const lines = wrongImports(sources)
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
})

test('time, chance and the environment come in at the edges only', () => {
  const allowed = { edge: EDGES, environment: ENVIRONMENT_READERS }
  const uses = service.flatMap((source) => outsideUses(source).map((use) => ({ ...use, path: source.path })))
  const lines = uses.filter(({ what, path }) => !(path in allowed[what])).map(({ line }) => line)
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
  for (const what of ['edge', 'environment'] as const)
    for (const path of Object.keys(allowed[what]))
      assert.ok(
        uses.some((use) => use.what === what && use.path === path),
        `${path} needs no exception`,
      )
})

test('files are named after what they hold, and folders are one level deep', () => {
  assert.deepEqual(wrongNames(sources.map(({ path }) => path)), [])
})

test('an import that goes up, sideways, outside or in a circle is named by file and line', () => {
  const bad = [
    parseSource('src/lib/a.ts', `// up\nimport type { Order } from '../market/orders.ts'`),
    parseSource('src/market/orders.ts', `import { a } from '../lib/a.ts'\nexport { b } from '../market/b.ts'`),
    parseSource('src/treasury/a.ts', `const late = () => import('../subscriptions/a.ts')`),
    parseSource('src/aml/a.ts', `import { start } from '../../devchain/start.ts'`),
    parseSource('devchain/start.ts', `import { connect } from '../src/lib/sql.ts'`),
    parseSource('src/app.ts', `import { a } from './market/orders.ts'\nimport { config } from './config.ts'`),
    parseSource('src/market/orders.test.ts', `import { freshDatabase } from '../../test/database.ts'`),
  ]
  assert.deepEqual(wrongImports(bad), [
    'src/lib/a.ts:2 imports src/market/orders.ts: goes up',
    'src/treasury/a.ts:1 imports src/subscriptions/a.ts: goes sideways',
    'src/aml/a.ts:1 imports devchain/start.ts: leaves src',
    'devchain/start.ts:1 imports src/lib/sql.ts: devchain may import from devchain, src/tron only',
    'a circle: src/lib/a.ts -> src/market/orders.ts -> src/lib/a.ts',
  ])
})

test('a use of time, chance or the environment is named by file and line', () => {
  const bad = `import { setTimeout as delay } from 'node:timers/promises'
    // Date.now() in a comment is nothing
    const fixed = new Date(0)
    const now: number = Date.now() + new Date().getTime()
    const key = process.env.KEY ?? crypto.randomUUID()
    const dice = Math.random()`
  assert.deepEqual(
    outsideUses(parseSource('src/a.ts', bad)).map(({ line }) => line),
    [
      'src/a.ts:1 uses setTimeout',
      'src/a.ts:4 uses Date.now',
      'src/a.ts:4 uses new Date()',
      'src/a.ts:5 uses process.env',
      'src/a.ts:5 uses randomUUID',
      'src/a.ts:6 uses Math.random',
    ],
  )
})

test('a name that says nothing and a folder in a folder are found', () => {
  const bad = ['src/market/utils.ts', 'src/market/rules/energy.ts', 'src/services/a.ts', 'devchain/index.ts']
  const good = ['src/tron/fixtures/vectors/a.ts', 'src/market/orders.ts', 'test/data_types.ts']
  assert.deepEqual(wrongNames([...bad, ...good]), bad)
})
