// Types are nouns: a name says what a thing is, so that it can be guessed and searched for, not
// what has been done with it.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

/** What a name must not end in: `OrdersWanted`, `Signed`. `SignedOrder` is a noun. */
const PARTICIPLE =
  /(?<!De|Se|Fe|Ne|Spe)ed$|(Done|Found|Given|Heard|Held|Kept|Left|Made|Paid|Said|Sent|Shown|Told)$/
/** Those that are nouns. */
const NOUNS = new RegExp(
  '(String|Setting|Finding|Timing|Holding|Ending|Pairing|Numbering|Reading|Spending' +
    '|Staking|Unfreezing|Funding)$',
)
/** Nor in what somebody is doing: `Looking`, `Copying`. */
const PRESENT_PARTICIPLE = /[a-z]ing$/

/** The types that a file declares, with their lines. */
function typesOf(text: string): { line: number; name: string }[] {
  return text.split('\n').flatMap((code, i) => {
    const name = /^\s*(?:export )?(?:type|interface) (\w+)/.exec(code)?.[1]
    return name === undefined ? [] : [{ line: i + 1, name }]
  })
}

const isParticiple = (name: string) =>
  PARTICIPLE.test(name) || (PRESENT_PARTICIPLE.test(name) && !NOUNS.test(name))
const participles = (text: string) => typesOf(text).filter(({ name }) => isParticiple(name))

test('no type has the name of a participle', () => {
  const command = ['ls-files', '-z', '*.ts', '*.tsx']
  const files = execFileSync('git', command, { cwd: ROOT, encoding: 'utf8' })
  const found = files.split('\0').flatMap((path) => {
    const text = path === '' ? '' : readFileSync(join(ROOT, path), 'utf8')
    return participles(text).map(({ line, name }) => `${path}:${line} ${name}`)
  })
  assert.deepEqual(found, [])
})

test('a participle is found by its last word alone', () => {
  const text =
    'type Seed = 1\nexport type LimitsWanted = 2\n  type Signed = 3\ntype SignedOrder = 4\n' +
    'type Looking = 5\ntype CallTiming = 6'
  assert.deepEqual(participles(text), [
    { line: 2, name: 'LimitsWanted' },
    { line: 3, name: 'Signed' },
    { line: 5, name: 'Looking' },
  ])
})
