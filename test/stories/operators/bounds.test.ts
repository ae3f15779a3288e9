// What an operator may set of prices, costs and offers: each number up to its bounds, and nothing
// beyond them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Operator, quietOperator } from '../../harness/operator.ts'

/** Tries each, and says which were taken; the others were refused in this sentence. */
async function taken(
  at: Operator,
  command: readonly string[],
  given: readonly string[][],
  sentence: RegExp,
): Promise<string[]> {
  const found: string[] = []
  for (const words of given) {
    const { code, err } = await at.type(...command, ...words, '--reason', 'a test')
    if (code === 0) found.push(words.join(' '))
    else assert.match(err, sentence, words.join(' '))
  }
  return found
}

test('a step of a price rule is from 1 to 100 full, and from 1 to 1000 higher', async (t) => {
  const at = await quietOperator(t)
  const given = ['1=1', '100=1000', '0=1', '101=1', '1=0', '1=1001'].map((one) => [one])
  const sentence = /: FULL is from 1 to 100, and RAISE from 1 to 1000\./
  const command = ['price-rules', 'set', 'energy']
  assert.deepEqual(await taken(at, command, given, sentence), ['1=1', '100=1000'])
})

test('capital earns from 0 to 100 percent a year, and no fraction of that is lost', async (t) => {
  const at = await quietOperator(t)
  const given = ['0', '7.5', '100', '100.00', '100.01', '101', '1.234', '', 'x'].map((one) => [one])
  const sentence = /PERCENT is a number from 0 to 100 with two decimals at most/
  const found = await taken(at, ['pool', 'capital'], given, sentence)
  assert.deepEqual(found, ['0', '7.5', '100', '100.00'])
  const { percent } = await at.json<{ percent: string }>(
    ...['pool', 'capital', '7.05', '--reason', 'a test'],
  )
  assert.equal(percent, '7.05')
})

test('of what is offered one thing can be changed alone, but not nothing', async (t) => {
  const at = await quietOperator(t)
  const before = { quote_seconds_max: 300, forecast_shown: true }
  assert.deepEqual(await at.json('offers', 'show'), before)
  const hidden = await at.json('offers', 'set', '--forecast', 'hidden')
  assert.deepEqual(hidden, { ...before, forecast_shown: false })
  const short = await at.json('offers', 'set', '--quote-seconds', '5')
  assert.deepEqual(short, { quote_seconds_max: 5, forecast_shown: false })
  const refused: [string[], RegExp][] = [
    [[], /nothing to change is given/],
    [['--quote-seconds', '4'], /--quote-seconds is 0, or 5 to 300/],
    [['--quote-seconds', '301'], /300/],
  ]
  for (const [words, sentence] of refused) {
    const { code, err } = await at.type('offers', 'set', ...words)
    assert.equal(code, 2, words.join(' '))
    assert.match(err, sentence)
  }
  assert.deepEqual(await at.json('offers', 'show'), short)
})

test('a tier is removed by its range, and what is none is told in one sentence', async (t) => {
  const at = await quietOperator(t)
  const reason = ['--reason', 'a test']
  const tiers = ['500-999=0.5', '1000-2000=0.4']
  await at.json('prices', 'set', 'bandwidth', ...tiers, '--replace', ...reason)
  for (const range of ['500', '500-', '500-999=0.5', 'all']) {
    const { code, err } = await at.type('prices', 'remove', 'bandwidth', range, ...reason)
    assert.equal(code, 2, range)
    assert.ok(err.startsWith(`${range} is not a range: it has the form FROM-TO.`), err)
  }
  const left = await at.json<{ resource: string; min_amount: number }[]>(
    ...['prices', 'remove', 'bandwidth', '500-999', ...reason],
  )
  const amounts = left.filter((one) => one.resource === 'bandwidth')
  assert.deepEqual(
    amounts.map(({ min_amount }) => min_amount),
    [1000],
  )
})
