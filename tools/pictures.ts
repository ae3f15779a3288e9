// The pictures of the documentation, each with the sum of what its page is made of. A picture is as
// old as the sum that was noted when it was taken: `npm run screenshots` writes both, and
// test/rules/pictures.test.ts compares. docs/decisions/0019-pictures.md says what is summed.

import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path/posix'
import { ROOT } from './source.ts'

/** Of each picture the file whose page it shows. */
export const PICTURES = {
  home: 'packages/web/portal/home/home.tsx',
  order: 'packages/web/portal/orders/order.tsx',
  report: 'packages/web/portal/screening/check.tsx',
  now: 'packages/web/console/now/now.tsx',
  pool: 'packages/web/console/pages/pool.tsx',
  status: 'packages/service/src/health/status/document.ts',
} as const
export type PictureName = keyof typeof PICTURES

export const BYTES_MAX = 60_000
export const pathOfPicture = (name: PictureName) => `docs/pictures/${name}.webp`
/** Where the sums are noted. */
export const SUMS = 'docs/pictures/sums.json'

const PAGE_FOLDERS = [
  'packages/web/portal/',
  'packages/web/console/',
  'packages/web/shared/charts/',
  'packages/web/shared/reports/',
  'packages/service/src/health/status/',
]
const IMPORT = /^(?:import|export) (?!type\b)[^'"]*?from '(\.[^']+)'/gm

/** The files that draw a page and nothing else, by their paths: the page, and its imports from
 *  folders of pages and charts. */
export async function drawnBy(name: PictureName): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>()
  const read = async (path: string): Promise<void> => {
    if (texts.has(path) || !PAGE_FOLDERS.some((folder) => path.startsWith(folder))) return
    const text = await readFile(join(ROOT, path), 'utf8')
    texts.set(path, text)
    for (const [, relative] of text.matchAll(IMPORT)) await read(join(dirname(path), relative!))
  }
  await read(PICTURES[name])
  return texts
}

/** The SHA-256 of those files, names included. */
export const sumOf = async (name: PictureName): Promise<string> =>
  hash('sha256', JSON.stringify([...(await drawnBy(name))].sort()))
