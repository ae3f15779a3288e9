// `npm run build` builds the pages ahead of time, into packages/web/dist, for images that have no
// esbuild; `-- --to FOLDER` puts them elsewhere.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildAhead, DIST } from './store.ts'

const { values } = parseArgs({ options: { to: { type: 'string' } } })
const folder = values.to === undefined ? DIST : resolve(process.env.INIT_CWD ?? '.', values.to)
const { assets, faces } = await buildAhead(folder)
const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`
for (const [face, { script, preloads }] of Object.entries(faces)) {
  const first = assets.filter(({ name }) => name === script || preloads.includes(name))
  const size = first.reduce((sum, { gzip }) => sum + gzip.length, 0)
  process.stdout.write(`${face}: ${kilobytes(size)} of scripts at first, gzip\n`)
}
process.stdout.write(`${assets.length} files in ${folder}\n`)
