// Packs the development chain: `npm run pack:devchain [-- --to FOLDER]` leaves one file that npm
// installs and publishes.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildPackage } from './build.ts'

const { values } = parseArgs({ options: { to: { type: 'string', default: '.' } } })
const to = resolve(process.env.INIT_CWD ?? '.', values.to)
const folder = mkdtempSync(join(tmpdir(), 'penstock-devchain-'))
try {
  await buildPackage(folder)
  const packed = execFileSync('npm', ['pack', '--pack-destination', to], {
    cwd: folder,
    encoding: 'utf8',
  })
  process.stdout.write(`${join(to, packed.trim().split('\n').at(-1)!)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
