// The drawings are those that the pages name.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ICONS } from './names.ts'

test('the file of icons has a drawing for each name, and no other', async () => {
  const file = await readFile(join(import.meta.dirname, 'icons.svg'), 'utf8')
  const drawn = [...file.matchAll(/<symbol id="([\w-]+)"/g)].map(([, id]) => id)
  assert.deepEqual(drawn, [...ICONS])
})
