// The house stands: packages and the wings of the service import downwards only, in no circle of
// files or of folders; time, chance and the environment come in at the edges; a wing holds nine
// rooms at most, a room fourteen files and 3,000 lines, and files are named after what they hold.
// Drawn in ARCHITECTURE.md.

import assert from 'node:assert/strict'
import { dirname } from 'node:path/posix'
import { test } from 'node:test'
import {
  importedFile,
  isNode,
  parseSource,
  readSources,
  type Source,
  walk,
  where,
} from '../../tools/source.ts'
import { floorOf, WINGS } from './floors.ts'

/** What each package may import besides itself. Tests may also import test/, the development chain
 *  and the playground. */
const PACKAGES: Record<string, readonly string[]> = {
  tron: [],
  sdk: [],
  'command-line': [],
  cli: ['sdk', 'command-line'],
  devchain: ['tron'],
  web: ['sdk'],
  service: ['tron', 'web', 'command-line'],
  playground: ['tron', 'devchain', 'service'],
}
const FOR_TESTS = ['tron', 'devchain', 'service', 'playground', 'web']

/** A folder of more files or lines than these is two, and so is a wing of more rooms. */
const FILES_MAX = 14
const LINES_MAX = 3_000
const ROOMS_MAX = 9
/** Rooms of the operators' wing that are not named after the wing whose nouns they show. */
const OWN_ROOMS_OF_OPERATORS = ['table', 'database', 'command_line', 'console']
/** Who may read the time, wait, or draw at random, and why. */
const EDGES: Record<string, string> = {
  'packages/service/src/lib/clock.ts': 'is the clock',
  'packages/service/src/platform/http/server.ts': 'looks after its connections once a second',
  'packages/service/src/lib/ids.ts': 'is the source of randomness',
  'packages/service/src/platform/steps/step.ts': 'waits between the runs of a step',
  'packages/service/src/lib/files.ts': 'names a file that nobody else writes',
  'packages/service/src/platform/steps/wake.ts': 'waits before it connects again',
  'packages/service/src/platform/database/sql.ts': 'measures how long the database takes',
  'packages/service/src/platform/postgres/server.ts': 'makes a password, and waits for a server',
  'packages/service/src/run/backups/restoring.ts': 'waits for a server that plays its log',
  'packages/service/src/run/program/instruments.ts': 'measures how long steps and nodes take',
  'packages/service/src/platform/limits/close_app.ts': 'waits for connections when it stops',
  'packages/service/src/run/program/api.ts': 'hears those out who have connected when it stops',
  'packages/service/src/serve.ts': 'spreads and delays the calls to screening services',
  'packages/service/src/run/program/sealing_keys.ts': 'makes the sealing key on the first start',
  'packages/service/src/people/sign_in/passwords.ts':
    'measures how long a hash takes, and waits as long',
  'packages/service/src/chain/node/transport.ts': 'gives up a node that does not answer',
  'packages/service/src/events/log/streams.ts': 'keeps answers open, and looks once a second',
  'packages/service/src/operators/console/live.ts':
    'keeps answers open, and ticks every five seconds',
  'packages/service/src/operators/console/progress.ts':
    'keeps an answer open, and says how far it is',
  'packages/service/src/events/webhooks/caller.ts': 'measures how long a call takes',
  'packages/service/src/platform/names/names.ts': 'gives up a name that is not answered',
  'packages/service/src/platform/names/customers_names.ts':
    'counts how long a name counts as missing',
  'packages/service/src/main.ts': 'waits between two looks at the books',
}

/** Who may read the environment, and why. */
const ENVIRONMENT_READERS: Record<string, string> = {
  'packages/service/src/run/program/program.ts': 'hands it to the configuration',
  'packages/service/src/main.ts': 'hands it to the commands',
  'packages/service/src/platform/postgres/programs.ts':
    'gives PostgreSQL as little of it as it needs',
}

const NAMES_THAT_SAY_NOTHING = new RegExp(
  '^(utils?|helpers?|types?|services?|index|managers?|models?|controllers?|repositor(y|ies)' +
    '|common|misc|shared|data|info|process)$',
)

type Import = { from: string; to: string; where: string }

const isTest = (path: string) => /\.test\.tsx?$/.test(path)

/** The imports between files of the repository. */
function imports(source: Source): Import[] {
  const found: Import[] = []
  for (const node of walk(source.tree)) {
    if (!/^(Import|ExportNamed|ExportAll)(Declaration|Expression)$/.test(node.type)) continue
    const specifier = isNode(node.source) ? node.source.value : undefined
    const to = typeof specifier === 'string' ? importedFile(source.path, specifier) : undefined
    if (to !== undefined) found.push({ from: source.path, to, where: where(source, node.start) })
  }
  return found
}

const packageOf = (path: string) => /^packages\/([^/]+)\//.exec(path)?.[1]

/** Why an import is not allowed; undefined when it is. */
function objection({ from, to }: Import): string | undefined {
  const mine = packageOf(from)
  if (mine === undefined) return undefined
  const other = packageOf(to)
  if (isTest(from) && (other === undefined ? to.startsWith('test/') : FOR_TESTS.includes(other)))
    return undefined
  if (other === undefined) return 'leaves the packages'
  if (mine !== other)
    return PACKAGES[mine]?.includes(other) ? undefined : `${mine} may not import ${other}`
  return mine === 'service' ? withinService(from, to) : undefined
}

function withinService(from: string, to: string): string | undefined {
  if (!to.startsWith('packages/service/src/'))
    return to === 'packages/service/package.json' ? undefined : 'leaves src'
  const [mine, other] = [floorOf(from), floorOf(to)]
  if (mine.wing === other.wing) return undefined
  if (other.floor < 0) return `${other.wing} is on no floor`
  if (other.floor > mine.floor) return 'goes up'
  return other.floor === mine.floor ? 'goes sideways' : undefined
}

/** The circles of a graph, each once, from the point where it was met back to there. */
function circles(edges: readonly { from: string; to: string }[]): string[][] {
  const next = Map.groupBy(edges, ({ from }) => from)
  const found = new Map<string, string[]>()
  const done = new Set<string>()
  function visit(at: string, trail: string[]) {
    const before = trail.indexOf(at)
    if (before >= 0) found.set(trail.slice(before).sort().join(), [...trail.slice(before), at])
    if (before >= 0 || done.has(at)) return
    for (const { to } of next.get(at) ?? []) visit(to, [...trail, at])
    done.add(at)
  }
  for (const from of next.keys()) visit(from, [])
  return [...found.values()]
}

/** The imports between folders of packages, without tests. */
const folderEdges = (all: readonly Import[]) =>
  all
    .filter(
      ({ from, to }) =>
        packageOf(from) !== undefined && packageOf(to) !== undefined && !isTest(from),
    )
    .map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
    .filter(({ from, to }) => from !== to)

/** Lines that say which import goes where it must not. */
function wrongImports(sources: readonly Source[]): string[] {
  const all = sources.flatMap(imports)
  const lines = all.flatMap((one) => {
    const why = objection(one)
    return why === undefined ? [] : [`${one.where} imports ${one.to}: ${why}`]
  })
  const around = [...circles(all), ...circles(folderEdges(all))]
  return [...lines, ...around.map((files) => `a circle: ${files.join(' -> ')}`)]
}

/** Every file that is loaded with the one that is given. */
function closure(sources: readonly Source[], start: string): Set<string> {
  const next = Map.groupBy(sources.flatMap(imports), ({ from }) => from)
  const loaded = new Set<string>()
  const left = [start]
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (loaded.has(path)) continue
    loaded.add(path)
    left.push(...(next.get(path) ?? []).map(({ to }) => to))
  }
  return loaded
}

const OUTSIDE = /^(setTimeout|setInterval|randomUUID|randomBytes|randomInt|getRandomValues)$/

/** The uses of time, chance and the environment. */
function outsideUses(source: Source): { what: 'edge' | 'environment'; line: string }[] {
  const found: { what: 'edge' | 'environment'; line: string }[] = []
  for (const node of walk(source.tree)) {
    const text = source.code.slice(node.start, node.end)
    const timeless = node.type === 'NewExpression' && /^new Date(\(\))?$/.test(text)
    const member =
      node.type === 'MemberExpression' && /^(Date\.now|Math\.random|performance\.now)$/.test(text)
    const named = node.type === 'Identifier' && OUTSIDE.test(text)
    const line = `${where(source, node.start)} uses ${text}`
    if (timeless || member || named) found.push({ what: 'edge', line })
    if (node.type === 'MemberExpression' && text === 'process.env')
      found.push({ what: 'environment', line })
  }
  return found
}

/** How deep the folders of a package lie: the service and the pages have wings of rooms. */
const depthOf = (path: string) => (/^packages\/(service\/src|web)\//.test(path) ? 2 : 1)

/** Names of files and folders that are against the rules. */
function wrongNames(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    const inside = path.replace(/^packages\/[^/]+\/(src\/)?/, '')
    const names = inside.replace(/(\.test)?\.tsx?$/, '').split('/')
    const is_deep = inside !== path && names.length > depthOf(path) + 1 && names[0] !== 'fixtures'
    const is_shared = path.startsWith('packages/web/shared/')
    const checked = is_shared ? names.slice(1) : names
    if (path === 'bench/index.ts') return false // the flow index: a bench is called by its file
    return is_deep || checked.some((name) => NAMES_THAT_SAY_NOTHING.test(name))
  })
}

/** Folders whose name begins with another's, as an overflow of it does. */
function overflowFolders(paths: readonly string[]): string[] {
  const folders = [...new Set(paths.map((path) => dirname(path)))]
  return folders.filter((folder) =>
    folders.some((other) => dirname(other) === dirname(folder) && folder.startsWith(`${other}_`)),
  )
}

/** Folders of packages with too many files or lines, tests left out. */
function fullFolders(sources: readonly Pick<Source, 'path' | 'code'>[]): string[] {
  const counted = sources.filter(({ path }) => packageOf(path) !== undefined && !isTest(path))
  const folders = Map.groupBy(counted, ({ path }) => dirname(path))
  return [...folders]
    .filter(([, files]) => files.length > FILES_MAX || linesOfService(files) > LINES_MAX)
    .map(([folder]) => folder)
}

/** Other packages have files that are printed, as the SDK's types. */
const linesOfService = (files: readonly Pick<Source, 'path' | 'code'>[]) =>
  files
    .filter(({ path }) => packageOf(path) === 'service')
    .reduce((sum, { code }) => sum + code.split('\n').length - 1, 0)

/** Wings of the service with too many rooms; the operators' has a room for each wing. */
function fullWings(paths: readonly string[]): string[] {
  const inside = paths.filter((path) => path.startsWith('packages/service/src/') && !isTest(path))
  const rooms = Map.groupBy(inside.map(floorOf), ({ wing }) => wing)
  return [...rooms].flatMap(([wing, files]) => {
    const inner = files.flatMap(({ room }) => room.split('/').slice(1))
    const names = [...new Set(inner)]
    if (wing !== 'operators') return names.length > ROOMS_MAX ? [wing] : []
    const known = [...WINGS, ...OWN_ROOMS_OF_OPERATORS]
    return names.filter((name) => !known.includes(name)).map((name) => `${wing}/${name}`)
  })
}

/** Folders of test/, each with a purpose that test/README.md tells. */
const PURPOSES = new RegExp(
  '^test/(stories/[a-z]+|wire|rules|auditor|simulator|torture|runtimes|harness|faces|' +
    'mutation(/small_room)?)/' +
    '[a-z_]+(\\.test)?\\.ts$',
)

/** Files of test/ that are nowhere in particular. */
const withoutPurpose = (paths: readonly string[]): string[] =>
  paths.filter((path) => path.startsWith('test/') && !PURPOSES.test(path))

const sources = await readSources('packages', 'test', 'bench', 'tools')
const service = sources.filter(({ path }) => path.startsWith('packages/service/') && !isTest(path))

test('imports go down, never up, never sideways, never in a circle', () => {
  const lines = wrongImports(sources)
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
})

test('the service loads no file of the development chain or of the playground', () => {
  const loaded = [...closure(sources, 'packages/service/src/main.ts')]
  assert.ok(loaded.length > 100, `${loaded.length} files are loaded`)
  assert.deepEqual(
    loaded.filter((path) => !/^packages\/(command-line|service|tron|web)\//.test(path)),
    [],
  )
})

test('a folder holds fourteen files and 3,000 lines at most', () => {
  assert.deepEqual(fullFolders(sources), [])
})

test('a wing holds nine rooms at most, and the operators have a room for each wing', () => {
  assert.deepEqual(fullWings(sources.map(({ path }) => path)), [])
})

test('no folder is named as the overflow of another', () => {
  assert.deepEqual(overflowFolders(sources.map(({ path }) => path)), [])
})

test('each file of test/ is in the folder of its purpose', () => {
  assert.deepEqual(withoutPurpose(sources.map(({ path }) => path)), [])
  assert.deepEqual(withoutPurpose(['test/a.test.ts', 'test/other/b.ts', 'test/wire/c.test.ts']), [
    'test/a.test.ts',
    'test/other/b.ts',
  ])
})

test('time, chance and the environment come in at the edges only', () => {
  const allowed = { edge: EDGES, environment: ENVIRONMENT_READERS }
  const uses = service.flatMap((source) =>
    outsideUses(source).map((use) => ({ ...use, path: source.path })),
  )
  const lines = uses.filter(({ what, path }) => !(path in allowed[what])).map(({ line }) => line)
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
  for (const what of ['edge', 'environment'] as const)
    for (const path of Object.keys(allowed[what]))
      assert.ok(
        uses.some((use) => use.what === what && use.path === path),
        `${path} needs no exception`,
      )
})

test('files are named after what they hold, in a wing and a room', () => {
  assert.deepEqual(wrongNames(sources.map(({ path }) => path)), [])
})

test('an import that goes up, sideways, outside or in a circle is named by file and line', () => {
  const src = 'packages/service/src'
  const bad = [
    parseSource(
      `${src}/lib/a.ts`,
      `// up\nimport type { Order } from '../market/orders/orders.ts'`,
    ),
    parseSource(
      `${src}/market/orders/orders.ts`,
      `import { a } from '../../lib/a.ts'\nexport { b } from '../prices/b.ts'`,
    ),
    parseSource(`${src}/market/pool/a.ts`, `const a = () => import('../../screening/checks/a.ts')`),
    parseSource(
      `${src}/screening/labels/a.ts`,
      `import { start } from 'penstock-devchain/start.ts'`,
    ),
    parseSource(
      'packages/devchain/start.ts',
      `import { connect } from 'penstock-service/platform/database/sql.ts'`,
    ),
    parseSource(
      `${src}/app.ts`,
      `import { a } from './market/orders/orders.ts'\nimport { config } from './config.ts'`,
    ),
    parseSource(
      `${src}/market/orders/orders.test.ts`,
      `import { freshDatabase } from 'penstock-test/harness/database.ts'`,
    ),
    parseSource('packages/devchain/chain/a.ts', `import { b } from '../http/b.ts'`),
    parseSource('packages/devchain/http/c.ts', `import { a } from '../chain/d.ts'`),
  ]
  assert.deepEqual(wrongImports(bad), [
    `${src}/lib/a.ts:2 imports ${src}/market/orders/orders.ts: goes up`,
    `${src}/market/pool/a.ts:1 imports ${src}/screening/checks/a.ts: goes sideways`,
    `${src}/screening/labels/a.ts:1 imports packages/devchain/start.ts: ` +
      'service may not import devchain',
    `packages/devchain/start.ts:1 imports ${src}/platform/database/sql.ts: ` +
      'devchain may not import service',
    `a circle: ${src}/lib/a.ts -> ${src}/market/orders/orders.ts -> ${src}/lib/a.ts`,
    `a circle: ${src}/lib -> ${src}/market/orders -> ${src}/lib`,
    'a circle: packages/devchain/chain -> packages/devchain/http -> packages/devchain/chain',
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

test('a name that says nothing, and a folder too deep, are found', () => {
  const src = 'packages/service/src'
  const bad = [
    `${src}/market/orders/utils.ts`,
    `${src}/market/orders/rules/energy.ts`,
    `${src}/services/a.ts`,
    'packages/devchain/chain/rules/energy.ts',
    'packages/devchain/index.ts',
  ]
  const good = [
    'packages/tron/fixtures/vectors/a.ts',
    'packages/web/shared/parts/list.tsx',
    `${src}/market/orders/orders.ts`,
    'test/data_types.ts',
  ]
  assert.deepEqual(wrongNames([...bad, ...good]), bad)
})

test('a full folder, a full wing and an overflow are found', () => {
  const src = 'packages/service/src'
  const many = Array.from({ length: FILES_MAX + 1 }, (_, i) => `packages/cli/room/${i}.ts`)
  const files = (paths: readonly string[], lines = 1) =>
    paths.map((path) => ({ path, code: '\n'.repeat(lines) }))
  assert.deepEqual(fullFolders(files([...many, 'packages/cli/room/a.test.ts'])), [
    'packages/cli/room',
  ])
  assert.deepEqual(fullFolders(files(many.slice(1))), [])
  assert.deepEqual(fullFolders(files([`${src}/market/orders/a.ts`], LINES_MAX + 1)), [
    `${src}/market/orders`,
  ])
  const rooms = Array.from({ length: ROOMS_MAX + 1 }, (_, i) => `${src}/market/room${i}/a.ts`)
  assert.deepEqual(fullWings([...rooms, `${src}/operators/rest/a.ts`]), [
    'market',
    'operators/rest',
  ])
  const overflow = [`${src}/market/orders/a.ts`, `${src}/market/orders_more/a.ts`]
  assert.deepEqual(overflowFolders(overflow), [`${src}/market/orders_more`])
})
