import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnknown } from './outcome.ts'

test('what was lost stays unknown until an answer tells', () => {
  const after = (...codes: number[]) => codes.reduce(isUnknown, false)
  for (const lost of [-1, 500]) {
    assert.ok(after(lost))
    for (const said of [1, 35, 73, 429, 500, -1]) assert.ok(after(lost, said), `${said}`)
    // Done; the quote has expired; it was looked at, and is not paid for.
    for (const said of [0, 71, 6]) assert.ok(!after(lost, said), `${said}`)
    assert.ok(!after(lost, 429, 0, 429))
  }
  for (const refused of [0, 1, 6, 35, 71, 73, 429]) assert.ok(!after(refused), `${refused}`)
})
