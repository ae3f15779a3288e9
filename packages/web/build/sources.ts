// What the pages are made of: every file of this package and of the SDK's that they use. Its sum
// names a build, so that a build of other sources is never served.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export const WEB = join(import.meta.dirname, '..')

/** Whether the pages can be put together here: a package has none of their sources. */
export const hasSources = () => existsSync(join(WEB, 'portal'))

const isSource = (path: string) =>
  /\.(ts|tsx|css|json|svg)$/.test(path) && !/\.test\.tsx?$/.test(path)

const LEFT_OUT = new Set(['node_modules', 'dist'])

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sourcesIn(path)
    return isSource(entry.name) ? [path] : []
  })
}

/** The SHA-256 of all sources, names included; the versions of packages are pinned in one of
 *  them. Read at once: hundreds of small files take twice as long one promise each, and a start
 *  waits for it. */
export async function sourcesHash(): Promise<string> {
  const sum = createHash('sha256')
  for (const path of [WEB, join(WEB, '../sdk/src')].flatMap(sourcesIn).sort()) {
    const text = readFileSync(path)
    sum.update(`${relative(WEB, path)} ${text.length}\n`).update(text)
  }
  return sum.digest('hex')
}
