// Puts the pages together: for each face a program that loads its pages one by one, its words in
// each language, the list of its pages; for all one style sheet with its typeface, and one sheet of
// icons. Names of files carry the hash of what is in them, so that they can be kept for ever. The
// same sources give the same bytes.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'esbuild'
import { LANGUAGES, type Language } from './languages.ts'
import { WEB } from './sources.ts'

/** What is served to different people, by the folder in which its pages are, and which other
 *  folders of words they use. */
const FACES = {
  portal: ['frame', 'codes', 'portal'],
  console: ['frame', 'codes', 'console'],
} as const
export type Face = keyof typeof FACES
const FACE_NAMES = Object.keys(FACES) as Face[]

/** The page with which each begins, and which has most of what the others use. */
const FIRST_PAGES: Record<Face, string> = { portal: 'home/home.tsx', console: 'now/now.tsx' }

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
  /** Drawings of the icons: `ICONS#NAME`. */
  icons: string
  /** The typeface, in the parts that a page in this language needs. */
  fonts: Record<Language, string[]>
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
  const style = await built({ in: 'shared/style/style.css', out: 'style' })
  const icons = await iconsFile()
  const files = [...style.files, icons]
  const faces = {} as Record<Face, FaceAssets>
  for (const face of FACE_NAMES) {
    const {
      files: scripts,
      name: script,
      outputs,
    } = await built({ in: `${face}/main.tsx`, out: face }, [
      sharedFrom(join(WEB, face, FIRST_PAGES[face])),
    ])
    const words = await wordsOf(face)
    files.push(...scripts, ...Object.values(words))
    faces[face] = {
      script,
      preloads: importsOf(`dist/${script}`, outputs),
      words: mapValues(words, ({ name }) => name),
      pages: await pagesOf(face, words.en.bytes),
    }
  }
  // Two faces can have a file in common: its name is made of what is in it.
  const different = [...new Map(files.map((file) => [file.name, file])).values()]
  const assets = await Promise.all(different.map((file) => compressed(file, quality)))
  const fonts = fontsOf(style.files.map(({ name }) => name))
  return { sources_sha256, style: style.name, icons: icons.name, fonts, faces, assets }
}

type NamedBytes = { name: string; bytes: Buffer }

async function iconsFile(): Promise<NamedBytes> {
  const bytes = await readFile(join(WEB, 'shared/icons/icons.svg'))
  return { name: hashedName('icons', 'svg', bytes), bytes }
}

/** Chinese is written in the typeface of the reader's system, and has Latin words in it. */
function fontsOf(names: readonly string[]): Record<Language, string[]> {
  const [latin, cyrillic] = ['latin', 'cyrillic'].map((script) =>
    names.filter((name) => name.endsWith('.woff2') && name.includes(`-${script}-`)),
  )
  return { en: latin!, zh: latin!, ru: [...latin!, ...cyrillic!] }
}

type BuiltFiles = { files: NamedBytes[]; name: string; outputs: Outputs }

/** One entry with all that it imports, now or later. `name`: of its own file. */
async function built(
  entry: { in: string; out: string },
  plugins: Plugin[] = [],
): Promise<BuiltFiles> {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: WEB,
    entryPoints: [entry],
    outdir: 'dist',
    entryNames: '[name].[hash]',
    chunkNames: '[name].[hash]',
    assetNames: '[name].[hash]',
    loader: { '.woff2': 'file' },
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
    plugins,
  })
  const files = outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    bytes: Buffer.from(contents),
  }))
  const { outputs } = metafile
  const [path] = Object.entries(outputs).find(([, one]) => one.entryPoint === entry.in)!
  return { files, name: basename(path), outputs }
}

/** Lets every page import the first one. esbuild makes a file for each set of pages that use the
 *  same sources, dozens of some hundred bytes each: so all that a face begins with is one. */
const sharedFrom = (first_page: string): Plugin => ({
  name: 'shared-from-the-first-page',
  setup({ onResolve, onLoad }) {
    const pages = new Set<string>()
    onResolve({ filter: /\.tsx?$/ }, ({ kind, path, resolveDir }) => {
      if (kind !== 'import-statement') pages.add(join(resolveDir, path))
      return undefined
    })
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      if (path === first_page || !pages.has(path)) return undefined
      const text = await readFile(path, 'utf8')
      const loader = path.endsWith('x') ? 'tsx' : 'ts'
      return { contents: `${text}\nimport ${JSON.stringify(first_page)}\n`, loader }
    })
  },
})

type Outputs = Record<
  string,
  { imports: { path: string; kind: string }[]; entryPoint?: string | undefined }
>

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
async function wordsOf(face: Face): Promise<Record<Language, NamedBytes>> {
  const found = {} as Record<Language, NamedBytes>
  for (const language of LANGUAGES) {
    const words: Record<string, string> = {}
    for (const part of FACES[face]) {
      const text = await readFile(join(WEB, `shared/languages/${language}/${part}.json`), 'utf8')
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

async function compressed({ name, bytes }: NamedBytes, quality: number): Promise<Asset> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality }
  const [gzip, brotli] = await Promise.all([
    gzipped(bytes, { level: 9 }),
    brotlied(bytes, { params }),
  ])
  return { name, bytes, gzip, brotli }
}
