// Where a build is kept: in a folder, whole or not at all. It is looked for in `dist`, where
// `npm run build` has put it, then in a folder of the data folder, under the hash of the sources;
// else it is made, and kept there if that can be written. A package has no sources, and its `dist`
// is all there is.

import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Asset, Build } from './bundle.ts'
import { hasSources, sourcesHash, WEB } from './sources.ts'

/** Where `npm run build` puts it. */
export const DIST = join(WEB, 'dist')

/** Quick, at a start; small, ahead of time. */
const QUICK = 5
const SMALL = 11

/** How a build was come by, for the log. */
export type Origin = 'dist' | 'cache' | 'built' | 'in_memory'

type Manifest = Omit<Build, 'assets'> & { files: string[] }

/** The build of these sources, made if it is not there. Throws what esbuild says of sources that
 *  are wrong. */
export async function openBuild(cache_folder: string): Promise<{ build: Build; origin: Origin }> {
  const sources_sha256 = hasSources() ? await sourcesHash() : undefined
  const ahead = await readBuild(DIST, sources_sha256)
  if (ahead) return { build: ahead, origin: 'dist' }
  if (sources_sha256 === undefined) throw new Error(`${DIST} is not whole: install it again`)
  const folder = join(cache_folder, sources_sha256)
  const cached = await readBuild(folder, sources_sha256)
  if (cached) return { build: cached, origin: 'cache' }
  const build = await bundleBeside(sources_sha256)
  // What was there is not whole.
  await rm(folder, { recursive: true, force: true }).catch(() => {})
  const kept = await writeBuild(folder, build).then(
    () => true,
    () => false,
  )
  return { build, origin: kept ? 'built' : 'in_memory' }
}

/** The answer of bundle_process.ts. */
export type BundleMessage = { build: Build } | { thrown: string }

/** In a process of its own, so that the service is not slower meanwhile, and whatever esbuild says
 *  when it is cut off is not said by the service. Throws what it says of sources. */
async function bundleBeside(sources_sha256: string): Promise<Build> {
  const child = fork(join(WEB, 'build/bundle_process.ts'), [sources_sha256, String(QUICK)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const message = await new Promise<BundleMessage>((resolve, reject) => {
    child.once('message', (said) => resolve(said as BundleMessage))
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`the pages were not put together: ${signal ?? `exit code ${code}`}`)),
    )
  })
  if ('thrown' in message) throw new Error(message.thrown)
  return message.build
}

/** Builds ahead of time, into `dist` unless another folder is named. */
export async function buildAhead(folder = DIST): Promise<Build> {
  const { bundle } = await import('./bundle.ts')
  const build = await bundle(await sourcesHash(), SMALL)
  await rm(folder, { recursive: true, force: true })
  await writeBuild(folder, build)
  return build
}

/** The build in a folder; undefined when there is none, it is of other sources than those given,
 *  or not whole. */
async function readBuild(
  folder: string,
  sources_sha256: string | undefined,
): Promise<Build | undefined> {
  const text = await readFile(join(folder, 'manifest.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { files, ...build } = JSON.parse(text) as Manifest
  if (sources_sha256 !== undefined && build.sources_sha256 !== sources_sha256) return undefined
  const assets = await Promise.all(files.map((name) => readAsset(folder, name))).catch(
    () => undefined,
  )
  return assets && { ...build, assets }
}

/** At once, as the sources are read. */
async function readAsset(folder: string, name: string): Promise<Asset> {
  const read = (end: string) => readFileSync(join(folder, `${name}${end}`))
  return { name, bytes: read(''), gzip: read('.gz'), brotli: read('.br') }
}

/** Of several who write at once, one wins, and all have written the same. */
async function writeBuild(folder: string, { assets, ...build }: Build): Promise<void> {
  const beside = `${folder}.${randomBytes(6).toString('hex')}`
  await mkdir(beside, { recursive: true })
  for (const { name, bytes, gzip, brotli } of assets) {
    await writeFile(join(beside, name), bytes)
    await writeFile(join(beside, `${name}.gz`), gzip)
    await writeFile(join(beside, `${name}.br`), brotli)
  }
  const manifest: Manifest = { ...build, files: assets.map(({ name }) => name) }
  await writeFile(join(beside, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  await rename(beside, folder).catch(() => rm(beside, { recursive: true, force: true }))
}
