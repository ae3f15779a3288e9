// What the pages are made of: every file of this package and of the SDK's that they use. Its sum
// names a build, so that a build of other sources is never served.

import { hash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const WEB = join(import.meta.dirname, '..')

const isSource = (path: string) => /\.(ts|tsx|css|json)$/.test(path) && !/\.test\.tsx?$/.test(path)

/** The SHA-256 of all sources, names included; the versions of packages are pinned in one of
 *  them. */
export async function sourcesHash(): Promise<string> {
  const paths: string[] = []
  const exclude = (name: string) => name === 'node_modules' || name === 'dist'
  for (const folder of ['.', '../sdk/src'])
    for await (const path of glob(`${folder}/**/*.*`, { cwd: WEB, exclude })) paths.push(path)
  const names = paths.filter(isSource).sort()
  const texts = await Promise.all(names.map((name) => readFile(join(WEB, name), 'utf8')))
  return hash('sha256', JSON.stringify(names.map((name, i) => [name, texts[i]])))
}
