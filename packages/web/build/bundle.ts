// Puts the pages together: for each face a program that loads its pages one by one, its words in
// each language, the list of its pages, and one style sheet for all. Names of files carry the hash
// of what is in them, so that they can be kept for ever. The same sources give the same bytes.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { WEB } from './sources.ts'

/** What is served to different people, by the folder in which its pages are, and which other
 *  folders of words they use. */
const FACES = {
  portal: ['frame', 'codes', 'portal'],
  console: ['frame', 'codes', 'console'],
} as const
export type Face = keyof typeof FACES
const FACE_NAMES = Object.keys(FACES) as Face[]

export const LANGUAGES = ['en', 'zh', 'ru'] as const
export type Language = (typeof LANGUAGES)[number]

/** A page, as others read of it. */
export type ListedPage = {
  path: string
  title: string
  scope: string | readonly string[] | null
}

/** One file for browsers, as it is and compressed. */
export type Asset = { name: string; bytes: Buffer; gzip: Buffer; brotli: Buffer }

export type FaceAssets = {
  script: string
  /** What the program imports at once. */
  preloads: string[]
  words: Record<Language, string>
  pages: ListedPage[]
}

export type Build = {
  sources_sha256: string
  style: string
  faces: Record<Face, FaceAssets>
  assets: Asset[]
}

const gzipped = promisify(gzip)
const brotlied = promisify(brotliCompress)

/** Names of files of the build are `name.HASH.ext`. */
const hashedName = (name: string, extension: string, bytes: string | Uint8Array) =>
  `${name}.${hash('sha256', bytes).slice(0, 10)}.${extension}`

/** Builds all faces. `quality` is that of brotli: 5 is quick, 11 is small. */
export async function bundle(sources_sha256: string, quality: number): Promise<Build> {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: WEB,
    entryPoints: [
      ...FACE_NAMES.map((face) => ({ in: `${face}/main.tsx`, out: face })),
      { in: 'style/style.css', out: 'style' },
    ],
    outdir: 'dist',
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    write: false,
  })
  const files: { name: string; bytes: Buffer }[] = outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    bytes: Buffer.from(contents),
  }))
  const outputOf = (source: string) => {
    const found = Object.entries(metafile.outputs).find(([, one]) => one.entryPoint === source)
    return found![0]
  }
  const faces = {} as Record<Face, FaceAssets>
  for (const face of FACE_NAMES) {
    const script = outputOf(`${face}/main.tsx`)
    const words = await wordsOf(face)
    files.push(...Object.values(words))
    faces[face] = {
      script: basename(script),
      preloads: importsOf(script, metafile.outputs),
      words: mapValues(words, ({ name }) => name),
      pages: await pagesOf(face, words.en.bytes),
    }
  }
  const style = basename(outputOf('style/style.css'))
  const assets = await Promise.all(files.map((file) => compressed(file, quality)))
  return { sources_sha256, style, faces, assets }
}

type Outputs = Record<string, { imports: { path: string; kind: string }[] }>

/** The files that are loaded with one, without those that are imported later. */
function importsOf(entry: string, outputs: Outputs): string[] {
  const found: string[] = []
  const left = [entry]
  for (let path = left.pop(); path !== undefined; path = left.pop())
    for (const { path: to, kind } of outputs[path]!.imports)
      if (kind === 'import-statement' && !found.includes(to)) {
        found.push(to)
        left.push(to)
      }
  return found.map((path) => basename(path)).sort()
}

/** The words of a face, one file for each language. */
async function wordsOf(face: Face): Promise<Record<Language, { name: string; bytes: Buffer }>> {
  const found = {} as Record<Language, { name: string; bytes: Buffer }>
  for (const language of LANGUAGES) {
    const words: Record<string, string> = {}
    for (const part of FACES[face]) {
      const text = await readFile(join(WEB, `languages/${language}/${part}.json`), 'utf8')
      Object.assign(words, JSON.parse(text))
    }
    const bytes = Buffer.from(JSON.stringify(words))
    found[language] = { name: hashedName(`${face}-${language}`, 'json', bytes), bytes }
  }
  return found
}

/** The table of pages is read as the program reads it; the pages themselves are not loaded. */
async function pagesOf(face: Face, english: Buffer): Promise<ListedPage[]> {
  const { pages } = (await import(`../${face}/pages.ts`)) as { pages: readonly ListedPage[] }
  const words = JSON.parse(english.toString()) as Record<string, string>
  return pages.map(({ path, title, scope }) => ({ path, title: words[title]!, scope }))
}

function mapValues<Key extends string, From, To>(
  record: Record<Key, From>,
  change: (value: From) => To,
): Record<Key, To> {
  const entries = Object.entries<From>(record).map(([key, value]) => [key, change(value)])
  return Object.fromEntries(entries) as Record<Key, To>
}

async function compressed(
  { name, bytes }: { name: string; bytes: Buffer },
  quality: number,
): Promise<Asset> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
  const [gzip, brotli] = await Promise.all([
    gzipped(bytes, { level: 9 }),
    brotlied(bytes, { params }),
  ])
  return { name, bytes, gzip, brotli }
}
