import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type Build, bundle } from './bundle.ts'
import { LANGUAGES } from './languages.ts'
import { sourcesHash } from './sources.ts'
import { buildAhead, openBuild } from './store.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-web-'))
})
after(async () => {
  await chmod(folder, 0o700)
  await rm(folder, { recursive: true })
})

const plain = (build: Build) => build.assets.map(({ name, bytes }) => [name, bytes.toString()])

test('the same sources give the same bytes, also compressed', async () => {
  const sources = await sourcesHash()
  assert.equal(await sourcesHash(), sources)
  const [one, two] = [await bundle(sources, 5), await bundle(sources, 5)]
  assert.deepEqual(one, two)
  for (const { name, bytes, gzip, brotli } of one.assets) {
    assert.ok(gunzipSync(gzip).equals(bytes), name)
    assert.ok(brotliDecompressSync(brotli).equals(bytes), name)
    assert.match(name, /^[\w-]+\.[\w]{8,10}\.(js|css|json|svg|woff2)$/)
  }
})

test('each face has its program, its words in each language and its pages', async () => {
  const { faces, style, assets } = await bundle('', 1)
  const names = assets.map(({ name }) => name)
  assert.ok(names.includes(style))
  for (const { script, preloads, words, pages } of Object.values(faces)) {
    for (const name of [script, ...preloads]) assert.ok(names.includes(name), name)
    assert.deepEqual(Object.keys(words), [...LANGUAGES])
    for (const name of Object.values(words)) assert.ok(names.includes(name), name)
    assert.ok(pages.length > 0 && pages.every(({ title }) => title.length > 0))
  }
})

test('typeface and icons come with the pages, in the parts that a language needs', async () => {
  const { style, fonts, icons, assets } = await bundle('', 1)
  const names = assets.map(({ name }) => name)
  const sheet = assets.find(({ name }) => name === style)!.bytes.toString()
  for (const name of Object.values(fonts).flat()) {
    assert.ok(names.includes(name), name)
    assert.ok(sheet.includes(name), `${name} is in the style sheet`)
  }
  assert.deepEqual([fonts.en.length, fonts.zh.length, fonts.ru.length], [1, 1, 2])
  assert.ok(names.includes(icons))
})

test('a build is kept in the data folder, and read from there when it is whole', async () => {
  const cache = join(folder, 'cache')
  const first = await openBuild(cache)
  assert.equal(first.origin, 'built')
  const second = await openBuild(cache)
  assert.equal(second.origin, 'cache')
  assert.deepEqual(plain(second.build), plain(first.build))
  const [kept, ...others] = await readdir(cache)
  assert.deepEqual([kept, others], [first.build.sources_sha256, []])
  await rm(join(cache, kept!, `${first.build.style}.br`))
  assert.notEqual((await openBuild(cache)).origin, 'cache')
})

test('where nothing can be written the build is in memory', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  const { origin, build } = await openBuild(join(file, 'web'))
  assert.equal(origin, 'in_memory')
  assert.ok(build.assets.length > 0)
})

test('a build ahead of time has the same files', async () => {
  const ahead = await buildAhead(join(folder, 'dist'))
  assert.deepEqual(plain(ahead), plain(await bundle(ahead.sources_sha256, 1)))
})
