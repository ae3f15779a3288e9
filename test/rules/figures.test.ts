// What the documentation says of speed was measured, lately, by a command that it names. The rules
// are about docs/guarantees/figures.json, which `npm run figures` writes: see
// bench/figures/table.ts.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  blockOf,
  COMMITS_MAX,
  DAYS_MAX,
  type Head,
  type Measurement,
  PAGE_FILE,
  printBlock,
  readMeasurements,
  staleMeasurements,
  wrongMeasurements,
} from '../../bench/figures/page.ts'
import { commandOf, FIGURES, type Figure, valueAt } from '../../bench/figures/table.ts'
import { runJson } from '../../tools/json_run.ts'
import { ROOT } from '../../tools/source.ts'

const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
const measurements = readMeasurements()

/** Ages count back from the newest commit: a checkout is as fresh after a year as on its day. */
const head: Head = {
  at: new Date(git('log', '-1', '--format=%cI')),
  commitsSince(commit) {
    const known = spawnSync('git', ['merge-base', '--is-ancestor', commit, 'HEAD'], { cwd: ROOT })
    return known.status === 0 ? Number(git('rev-list', '--count', `${commit}..HEAD`)) : undefined
  },
}

test('no figure was measured more than 14 days or 200 commits ago', (t) => {
  if (git('rev-parse', '--is-shallow-repository') === 'true')
    return t.skip('not tested in a clone without its history: how old the figures are')
  assert.deepEqual(staleMeasurements(measurements, head), [])
})

test('every figure of the page is one that its command prints, and the page is as printed', () => {
  assert.deepEqual(wrongMeasurements(FIGURES, measurements), [])
  const page = readFileSync(PAGE_FILE, 'utf8')
  assert.equal(blockOf(page), printBlock(FIGURES, measurements), 'npm run figures -- --print')
})

/** A latency or a rate that was measured: `18 ms (p50)`, `p99 of 31 ms`. */
const FIGURE = /\d\S* ?(?:ms|µs|us|s) \(p\d\d\)|\bp(?:50|9\d) (?:of )?\d/

test('no other page tells a figure, and every benchmark that a page names is in the table', () => {
  const pages = git('ls-files', '*.md').split('\n')
  const told = pages.filter(
    (path) => !/^(docs\/decisions\/|docs\/guarantees\/figures\.md)/.test(path),
  )
  const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
  const figures = told.flatMap((path) =>
    textOf(path)
      .split('\n')
      .flatMap((line, i) => (FIGURE.test(line) ? [`${path}:${i + 1}`] : [])),
  )
  assert.deepEqual(figures, [])
  assert.match('here: 18 ms (p50)', FIGURE)
  const named = told.flatMap((path) =>
    [...textOf(path).matchAll(/npm run (?:-s )?bench -- ([a-z_-]+)/g)].map(([, name]) => name!),
  )
  const names = FIGURES.map(({ name }) => name)
  assert.deepEqual(
    named.filter((name) => !names.includes(name)),
    [],
  )
  assert.equal(new Set(names).size, names.length)
  const files = names.map((name) => `bench/${name}.ts`)
  assert.deepEqual(
    files.filter((file) => !existsSync(join(ROOT, file))),
    [],
  )
})

const figure = (name: string): Figure => ({
  name,
  about: 'a loop',
  lines: [{ says: 'p99', at: ['rows', { what: 'b' }, 'p99_ms'], unit: 'ms' }],
  minutes_max: 0.05,
})

const measurement = (more: Partial<Measurement> = {}): Measurement => ({
  name: 'loop',
  command: commandOf(figure('loop')),
  commit: 'abc',
  measured_at: '2026-01-15T00:00:00.000Z',
  seconds: 1,
  machine: { cpu: '2 × C', memory: 'M', disk: 'D', system: 'S', node: '24', postgres: '18' },
  values: {
    rows: [
      { what: 'a', p99_ms: 1 },
      { what: 'b', p99_ms: 12.345 },
    ],
  },
  ...more,
})

test('a figure that is too old, or of another history, is refused by its name', () => {
  const at = (days: number, commits?: number): Head => ({
    at: new Date(Date.parse('2026-01-15') + days * 86_400_000),
    commitsSince: () => commits,
  })
  const all = [measurement()]
  assert.deepEqual(staleMeasurements(all, at(DAYS_MAX, COMMITS_MAX)), [])
  assert.match(staleMeasurements(all, at(DAYS_MAX + 1, 0))[0]!, /^loop was measured 15 days ago/)
  assert.match(staleMeasurements(all, at(0, COMMITS_MAX + 1))[0]!, /^loop was measured 201 commits/)
  assert.match(staleMeasurements(all, at(0))[0]!, /^loop: abc is no commit before this one/)
})

test('a value is printed as the benchmark gave it, and a missing one is refused', () => {
  const table = [figure('loop')]
  assert.equal(valueAt(measurement().values, ['rows', { what: 'b' }, 'p99_ms']), 12.345)
  const block = printBlock(table, [measurement()])
  assert.match(block, /^ {2}- p99: 12\.3 ms$/m)
  assert.match(block, /2026-01-15, commit abc, machine 1$/m)
  assert.match(printBlock(table, []), /not measured yet/)
  assert.deepEqual(wrongMeasurements(table, [measurement()]), [])
  assert.deepEqual(wrongMeasurements(table, [measurement({ values: { rows: [] } })]), [
    'loop prints nothing for "p99"',
  ])
  assert.deepEqual(wrongMeasurements(table, [measurement({ name: 'other' })]), [
    'other is in no line of the table',
  ])
  assert.equal(wrongMeasurements(table, [measurement({ command: 'by hand' })]).length, 1)
})

test('a benchmark that ends with 1, prints no JSON or does not end has failed', async () => {
  const program = (code: string) => [process.execPath, '-e', code]
  const run = (code: string) => runJson(program(code), 0.05)
  assert.deepEqual(await run('console.log("first"); console.log("{\\"a\\":1}")'), {
    values: { a: 1 },
  })
  const failed = await run('console.log("{}"); console.error("too slow"); process.exitCode = 1')
  assert.match((failed as { failure: string }).failure, /^it ended with 1\ntoo slow/)
  assert.match(JSON.stringify(await run('console.log("none")')), /printed no JSON/)
  const endless = await run('setInterval(() => {}, 1000)')
  assert.match(JSON.stringify(endless), /took more than 0\.05 minutes/)
})
