import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { isAhead, lagText, spanText } from './span.ts'
import { speak } from './words.ts'

const frame = new URL('../languages/en/frame.json', import.meta.url)

test('how old a block is is never cut off at 0: a chain that is ahead is said to be', async () => {
  speak('en', JSON.parse(await readFile(frame, 'utf8')))
  assert.deepEqual([0, 3, -3, -59, -7_200].map(lagText), [
    '0 ms',
    '3.0 s',
    'chain +3.0 s',
    'chain +59 s',
    'chain +2 h',
  ])
  assert.deepEqual([0, 3, -1].map(isAhead), [false, false, true])
  assert.deepEqual([14, 2_940, 57_000, 240_000].map(spanText), ['14 ms', '2.9 s', '57 s', '4 min'])
})
