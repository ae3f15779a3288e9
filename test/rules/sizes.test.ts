// What keeps the source readable, in numbers: how long a function is, and how often a failure is
// caught. `try` belongs to the edges: the server, the runner of steps, the database, one for each
// remote API; elsewhere a failure rises to them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource, readSources, type Source, walk, where } from '../../tools/source.ts'

const FUNCTION_LINES_MAX = 70
/** In the service, of a thousand lines. */
const TRIES_MAX = 2

const linesOf = (text: string) => text.split('\n').length

/** `packages/tron/keys.ts:12 has 80 lines`, for each function that is too long. */
function longFunctions(source: Source): string[] {
  return [...walk(source.tree)].flatMap(({ type, start, end }) => {
    if (!/^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(type)) return []
    const lines = linesOf(source.code.slice(start, end))
    return lines > FUNCTION_LINES_MAX ? [`${where(source, start)} has ${lines} lines`] : []
  })
}

const triesOf = (source: Source): string[] =>
  [...walk(source.tree)]
    .filter(({ type }) => type === 'TryStatement')
    .map(({ start }) => where(source, start))

const sources = (await readSources('packages')).filter(({ path }) => !path.endsWith('.test.ts'))

test('no function is longer than 70 lines', () => {
  assert.deepEqual(sources.flatMap(longFunctions), [])
})

test('the service has fewer than two try in a thousand lines', () => {
  const service = sources.filter(({ path }) => path.startsWith('packages/service/src/'))
  const tries = service.flatMap(triesOf)
  const lines = service.reduce((sum, { code }) => sum + linesOf(code), 0)
  const here = `${tries.length} in ${lines} lines:\n${tries.join('\n')}`
  assert.ok(tries.length > 0 && tries.length < (TRIES_MAX * lines) / 1_000, here)
})

test('a long function and a try are named by file and line', () => {
  const body = 'wait()\n'.repeat(FUNCTION_LINES_MAX - 1)
  const long = parseSource('a.ts', `// long\nconst a = () => {\n${body}}\nfunction b() {}`)
  assert.deepEqual(longFunctions(long), ['a.ts:2 has 71 lines'])
  const caught = parseSource('b.ts', 'function c() {\n  try { d() } catch {}\n}')
  assert.deepEqual(triesOf(caught), ['b.ts:2'])
  assert.deepEqual(longFunctions(caught), [])
})
