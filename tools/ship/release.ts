// `npm run release -- [VERSION] [--dry-run] [--to FOLDER] [--prefix PREFIX]`: makes a release. The
// changelog must say what it brings and which way leads back; versions are set, everything is
// packed, and beside the files stand their bill of materials (CycloneDX), where they come from, and
// their sums; then it is committed and tagged. `--dry-run` changes nothing here: it
// does the same but for versions, commit and tag, which it prints. Pushing and publishing is left
// to a person.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Misuse } from '../../packages/service/src/lib/fault.ts'
import { readMigrations } from '../../packages/service/src/platform/database/migrations.ts'
import { leadingComment } from '../help.ts'
import { packPackage } from '../pack.ts'
import { changelogFaults, readChangelog, released } from './changelog.ts'
import { isPrefix, PACKAGES, PREFIX, ROOT } from './names.ts'

const CHANGELOG = join(ROOT, 'CHANGELOG.md')

type Manifest = { version?: string }
type Lock = { packages: Record<string, Manifest> }

const say = (line: string) => process.stdout.write(`${line}\n`)
const readJson = <T>(path: string) => JSON.parse(readFileSync(path, 'utf8')) as T
const writeJson = (path: string, value: unknown) =>
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 }).trim()
const git = (...args: string[]) => run('git', ...args)

/** The manifests that have a version, and the lock file that repeats it. */
function setVersion(version: string): string[] {
  const paths = ['package.json', ...globSync('packages/*/package.json', { cwd: ROOT })]
  const changed = paths.filter((path) => readJson<Manifest>(join(ROOT, path)).version)
  for (const path of changed) {
    const manifest = readJson<Manifest>(join(ROOT, path))
    writeJson(join(ROOT, path), { ...manifest, version })
  }
  const lock = readJson<Lock & Manifest>(join(ROOT, 'package-lock.json'))
  lock.version = version
  for (const path of changed) {
    const entry = lock.packages[path.replace(/\/?package\.json$/, '')]
    if (entry) entry.version = version
  }
  writeJson(join(ROOT, 'package-lock.json'), lock)
  return [...changed, 'package-lock.json']
}

/** The bill of materials of these files, by npm itself. */
function bill(files: readonly string[], version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-bill-'))
  const npm = (...args: string[]) =>
    execFileSync('npm', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 })
  try {
    writeJson(join(folder, 'package.json'), { name: 'penstock', version, private: true })
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund']
    npm('install', '--package-lock-only', ...quiet, ...files)
    return npm('sbom', '--package-lock-only', '--sbom-format', 'cyclonedx')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Packs everything into a folder, and writes beside it what it is and where it comes from. */
async function packAll(folder: string, version: string, prefix: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  for (const name of PACKAGES) {
    files.push(await packPackage(name, folder, prefix))
    say(`  ${basename(files.at(-1)!)}`)
  }
  const materials = join(folder, `penstock-${version}.cdx.json`)
  writeFileSync(materials, bill(files, version))
  const provenance = join(folder, 'provenance.json')
  writeJson(provenance, {
    version,
    commit: git('rev-parse', 'HEAD'),
    changed: git('status', '--porcelain') !== '',
    node: process.version,
    npm: run('npm', '--version'),
    package_lock_sha256: sha256(join(ROOT, 'package-lock.json')),
  })
  const sums = [...files, materials, provenance].map(
    (path) => `${sha256(path)}  ${basename(path)}\n`,
  )
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
}

const isNewer = (a: string, b: string) => {
  const [one, two] = [a, b].map((version) => version.split('.').map(Number))
  const i = one!.findIndex((number, place) => number !== two![place])
  return i >= 0 && one![i]! > two![i]!
}

/** The changelog of the release. Throws Misuse when it may not be made. */
async function releasedChangelog(version: string): Promise<string> {
  const text = readFileSync(CHANGELOG, 'utf8')
  const before = readChangelog(text).find((release) => release.version !== undefined)
  if (before?.version && !isNewer(version, before.version))
    throw new Misuse(`${version} is not newer than ${before.version}.`)
  const migrations = await readMigrations()
  const day = new Date().toISOString().slice(0, 10)
  const next = released(text, { version, day, migrations })
  const faults = changelogFaults(next, migrations)
  if (faults.length > 0) throw new Misuse(`CHANGELOG.md: ${faults.join('; ')}.`)
  return next
}

async function release(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    options: {
      'dry-run': { type: 'boolean', default: false },
      to: { type: 'string', default: 'dist' },
      prefix: { type: 'string', default: PREFIX },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  })
  if (values.help) return void process.stdout.write(leadingComment(import.meta.filename))
  const [version = readJson<Manifest>(join(ROOT, 'package.json')).version!] = positionals
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Misuse(`${version} is not like 1.2.3.`)
  if (!isPrefix(values.prefix)) throw new Misuse('--prefix is like penstock- or @scope/.')
  const tag = `v${version}`
  if (git('tag', '--list', tag) !== '') throw new Misuse(`There is a ${tag} already.`)
  const changelog = await releasedChangelog(version)
  const folder = resolve(process.env.INIT_CWD ?? '.', values.to)
  const dry = values['dry-run']
  if (!dry) {
    if (git('status', '--porcelain') !== '')
      throw new Misuse('There are changes here: commit them.')
    writeFileSync(CHANGELOG, changelog)
    git('add', 'CHANGELOG.md', ...setVersion(version))
    git('commit', '--quiet', '--message', `release: ${version}`)
  }
  say(`Packing ${version} into ${folder}:`)
  await packAll(folder, version, values.prefix)
  if (dry) say(`Not done: "## ${version}" in CHANGELOG.md, versions, a commit, the tag ${tag}.`)
  else {
    git('tag', '--annotate', tag, '--message', `Penstock ${version}`)
    say(`Committed and tagged ${tag}.`)
  }
}

if (import.meta.main)
  release(process.argv.slice(2)).catch((thrown: Error) => {
    process.stderr.write(`${thrown.message}\n`)
    process.exitCode = thrown instanceof Misuse ? 2 : 1
  })
