// The pictures of the documentation show the pages as they are. What is compared is the files that
// draw a page, not what it looks like: no browser is needed.

import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  BYTES_MAX,
  drawnBy,
  PICTURES,
  type PictureName,
  pathOfPicture,
  SUMS,
  sumOf,
} from '../../tools/pictures.ts'
import { ROOT } from '../../tools/source.ts'

const names = Object.keys(PICTURES) as PictureName[]

test('no picture is older than its page', async () => {
  const noted = JSON.parse(await readFile(join(ROOT, SUMS), 'utf8')) as Record<string, string>
  const old: string[] = []
  for (const name of names) if (noted[name] !== (await sumOf(name))) old.push(pathOfPicture(name))
  assert.deepEqual(old, [], 'run npm run screenshots, and look at what it has made')
})

test('the sum of a picture has its page, and the charts on it', async () => {
  for (const name of names) {
    const paths = [...(await drawnBy(name)).keys()]
    assert.ok(paths.includes(PICTURES[name]), `${name}: ${paths.join(' ')}`)
  }
  const ofHome = [...(await drawnBy('home')).keys()]
  assert.ok(ofHome.includes('packages/web/shared/charts/chart.tsx'), ofHome.join(' '))
})

test('a picture is small', async () => {
  for (const name of names) {
    const { size } = await stat(join(ROOT, pathOfPicture(name)))
    assert.ok(size > 0 && size <= BYTES_MAX, `${name}: ${size} bytes`)
  }
})
