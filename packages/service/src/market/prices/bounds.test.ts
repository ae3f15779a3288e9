import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeText, requireWithin } from './bounds.ts'

test('a price is changed unconfirmed up to its bounds, and by less than ten times', () => {
  const bounds = { least: 10n, most: 1_000n }
  const rows: [before: bigint | undefined, after: bigint, is_within: boolean][] = [
    [undefined, 9n, false],
    [undefined, 10n, true],
    [undefined, 1_000n, true],
    [undefined, 1_001n, false],
    [0n, 9n, false],
    [0n, 10n, true],
    [0n, 1_000n, true],
    [0n, 1_001n, false],
    // The database itself refuses it.
    [undefined, 0n, true],
    [500n, 0n, true],
    [500n, 50n, false],
    [500n, 51n, true],
    [500n, 4_999n, true],
    [500n, 5_000n, false],
  ]
  for (const [before, after, is_within] of rows) {
    const changes = [{ what: 'energy', before, after }]
    const change = (confirmed: boolean) => requireWithin(changes, bounds, confirmed)
    change(true)
    const title = `${before} -> ${after}`
    if (is_within) assert.doesNotThrow(() => change(false), title)
    else assert.throws(() => change(false), /Nothing is changed; --yes does it all the same/, title)
  }
  const free = { what: 'energy', before: 5n, after: 0n }
  assert.throws(() => requireWithin([free], { least: 0n, most: 9n }, false), /above a tenth/)
  const fresh = { what: 'energy', before: undefined, after: 0n }
  requireWithin([fresh], { least: 0n, most: 9n }, false)
})

test('a refused price says which bound it leaves, whether or not there was one before', () => {
  const refusalOf = (before: bigint | undefined, after: bigint) => () =>
    requireWithin([{ what: 'it', before, after }], { least: 1n, most: 2_000_000n }, false)
  assert.throws(refusalOf(undefined, 3_000_000n), /a new price is from 0.000001 to 2 TRX/)
  assert.throws(refusalOf(0n, 3_000_000n), /a new price is from 0.000001 to 2 TRX/)
  assert.throws(refusalOf(1_000_000n, 10_000_000n), /above a tenth and below ten times/)
})

test('a change of a price is shown with its factor where there was a price to compare', () => {
  const textOf = (before: bigint | undefined, after: bigint) =>
    changeText({ what: 'it', before, after })
  assert.equal(textOf(undefined, 1_000_000n), 'it: none -> 1 TRX')
  assert.equal(textOf(0n, 1_000_000n), 'it: 0 -> 1 TRX')
  assert.equal(textOf(3_000_000n, 1_000_000n), 'it: 3 -> 1 TRX (x0.333)')
})
