// What runs each night is there to be run, and a wrong word is refused in one sentence.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandOf, jobsOf, shortJobsOf } from '../../tools/nightly.ts'
import { ROOT } from '../../tools/source.ts'
import { LONG } from '../../tools/test/long.ts'

const nightly = (...args: string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'tools/nightly.ts'), ...args], { encoding: 'utf8' })

test('every job of the night names tests, a benchmark or a torture that there are', () => {
  for (const path of LONG) assert.ok(existsSync(join(ROOT, path)), path)
  const torture = readFileSync(join(ROOT, 'test/torture/torture.ts'), 'utf8')
  const bench = readFileSync(join(ROOT, 'bench/figures/table.ts'), 'utf8')
  for (const job of [...jobsOf(1), ...shortJobsOf(1)]) {
    const [program, , name] = job.args
    if (program === 'test') continue
    if (program === 'torture') assert.match(torture, new RegExp(`^//   ${name} `, 'm'))
    else assert.match(bench, new RegExp(`name: '${name}'`))
  }
})

test('the short ones are of the same kinds, and an hour is enough', () => {
  const names = jobsOf(1).map(({ name }) => name)
  const short = shortJobsOf(1)
  assert.ok(short.every(({ name }) => names.includes(name)))
  assert.ok(short.reduce((sum, { minutes_max }) => sum + minutes_max, 0) <= 60)
  const listed = nightly('--short', '--list').stdout.trim().split('\n')
  assert.equal(listed.length, short.length)
  const ci = readFileSync(join(ROOT, '.ci/run'), 'utf8')
  assert.match(
    ci,
    /^npm ci\n.*BROWSER=1 npm test\nREQUIRE_BROWSER=1 npm run nightly -- --short\n$/ms,
  )
})

test('the jobs are listed, and one that there is not is refused with those that there are', () => {
  const all = jobsOf(7).map(({ name }) => name)
  const listed = JSON.parse(nightly('--list', '--json').stdout) as { name: string }[]
  assert.deepEqual(
    listed.map(({ name }) => name),
    all,
  )
  const seeds = jobsOf(7).map(commandOf)
  assert.ok(seeds.some((command) => command.endsWith('sim --runs 200 --seed 7')))
  const refused = nightly('--only', 'nothing')
  assert.equal(refused.status, 2)
  assert.equal(refused.stderr, `There is no job nothing: ${all.join(', ')}.\n`)
  assert.equal(nightly('--wrong').status, 2)
})
