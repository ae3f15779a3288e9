// Comments say what a thing is by a noun. A clause in its place ("What was told") can be neither
// guessed nor searched for: those that are left are counted, and the counts only fall.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../tools/source.ts'

/** The most lines of comments that may have each. Lower a number when you have removed some. */
const MOST: Record<string, { pattern: RegExp; lines: number }> = {
  'a head that begins with What': { pattern: /^\s*(?:\/\/|\/\*\*) What /, lines: 949 },
  told: { pattern: /^\s*(?:\/\/|\/?\*).*\btold\b/, lines: 188 },
  'so many, so long': { pattern: /^\s*(?:\/\/|\/?\*).*\bso (?:many|long)\b/, lines: 91 },
  nobody: { pattern: /^\s*(?:\/\/|\/?\*).*\bnobody\b/i, lines: 224 },
}
const PRINTED = /^packages\/(sdk\/src\/wire|cli\/src\/line|web\/console\/calls)\/\w+\.ts$/

test('comments with a clause where a noun would do become fewer', () => {
  const command = ['ls-files', '-z', 'packages/*.ts', 'packages/*.tsx', 'tools/*.ts', 'bench/*.ts']
  const files = execFileSync('git', command, { cwd: ROOT, encoding: 'utf8' }).split('\0')
  const lines = files
    .filter((path) => path !== '' && !path.includes('.test.') && !PRINTED.test(path))
    .flatMap((path) => readFileSync(join(ROOT, path), 'utf8').split('\n'))
  for (const [name, { pattern, lines: most }] of Object.entries(MOST)) {
    const count = lines.filter((line) => pattern.test(line)).length
    assert.ok(count <= most, `${name}: ${count} lines, ${most} are the most`)
  }
  assert.match('  /** What was told. */', MOST['a head that begins with What']!.pattern)
})
