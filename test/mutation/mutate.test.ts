// `npm run mutate`: what is changed in a source, which tests are shown a change, and that one which
// no test notices is told.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: sources are texts here

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readEquivalents, wrongEntries } from '../../tools/mutate/equivalents.ts'
import { executedLines, hasLine, mergedLines, movedLines } from '../../tools/mutate/lines.ts'
import {
  applied,
  inOrderOf,
  mutantsOf,
  mutantsOfSource,
  readRooms,
} from '../../tools/mutate/mutants.ts'
import { type FileCoverage, selectTests } from '../../tools/mutate/recordings.ts'
import { isDecided, scoreOf, tableOf, wantedOf } from '../../tools/mutate/scores.ts'
import { tryRoom } from '../../tools/mutate/session.ts'
import { compiling } from '../../tools/mutate/type_check.ts'
import { parseSource, ROOT } from '../../tools/source.ts'
import { makeTemplate, testCluster } from '../harness/database.ts'

/** What a source can become, a line each. */
const changesOf = (text: string) =>
  mutantsOfSource(parseSource('room/file.ts', text), text).map(({ after }) => after)

test('conditions, comparisons, terms, numbers at edges and early returns are changed', () => {
  assert.deepEqual(changesOf('if (ready) go()'), ['if (!(ready)) go()'])
  assert.deepEqual(changesOf('const a = !b ? 1 : 2'), ['const a = b ? 1 : 2'])
  assert.deepEqual(changesOf('go(a < b)'), ['go(a <= b)'])
  assert.deepEqual(changesOf('go(a === 4n)'), ['go(a !== 4n)', 'go(a === 5n)'])
  assert.deepEqual(changesOf('go(a && b && c)'), ['go(a && c)', 'go(b && c)', 'go(a && b)'])
  assert.deepEqual(changesOf('for (;;) {\n  if (a()) {\n    b()\n    break\n  }\n}'), [
    '{}',
    'if (!(a())) {',
  ])
  assert.deepEqual(changesOf('a(b - 1, c + 86_400)'), ['a(b - 2, c + 86_400)'])
  assert.deepEqual(changesOf('const least = a < b ? a : b'), [], 'between equals')
})

test('terms and comparisons of a statement are changed, and what it sets is not', () => {
  const of = (statement: string) => changesOf(`sql\`${statement}\``).map((one) => one.slice(4, -1))
  assert.deepEqual(of('select a from b where c = ${d} and e is null'), [
    'select a from b where e is null',
    'select a from b where c <> ${d} and e is null',
    'select a from b where c = ${d}',
    'select a from b where c = ${d} and e is not null',
  ])
  assert.deepEqual(of('update a set b = ${c} where d < 2'), [
    'update a set b = ${c} where true',
    'update a set b = ${c} where d <= 2',
    'update a set b = ${c} where d < 3',
  ])
  assert.ok(
    of('insert into a select b from c join d on e = f and g = h where i = j on conflict do nothing')
      .filter((one) => !/\bg\b/.test(one))
      .every((one) => one.includes(' on e = f where i = j on conflict')),
    'a term ends where the next clause begins',
  )
  assert.deepEqual(of('delete from a where b between 1 and 2').slice(0, 1), [
    'delete from a where true',
  ])
  assert.deepEqual(of('select 1 from a where exists (select 1 from b where c or d) limit 1'), [
    'select 1 from a where not exists (select 1 from b where c or d) limit 1',
    'select 1 from a where true limit 1',
    'select 1 from a where exists (select 1 from b where d) limit 1',
    'select 1 from a where exists (select 1 from b where c) limit 1',
  ])
  assert.deepEqual(changesOf('say`where a = b`'), [], 'no statement')
})

test('a mutant keeps its id while other lines change, and a seed its order', () => {
  const text = 'go(a < b)\ngo(a < b)\nstop(c === d)\n'
  const ids = (one: string) =>
    mutantsOfSource(parseSource('room/file.ts', one), one).map(({ id }) => id)
  assert.equal(new Set(ids(text)).size, 3)
  assert.deepEqual(ids(`// More.\nif (x) y()\n${text}`).slice(1), ids(text))
  const mutants = mutantsOfSource(parseSource('room/file.ts', text), text)
  assert.deepEqual(inOrderOf(7, mutants), inOrderOf(7, mutants.toReversed()))
})

test('a mutant that the compiler refuses is none', async () => {
  const [room] = await readRooms('test/mutation/small_room')
  const [source] = room!.sources
  const text = await readFile(join(ROOT, source!.path), 'utf8')
  const [mutant] = mutantsOf(room!)
  const at = text.indexOf('return false')
  const wrong = { ...mutant!, id: '0badc0de', start: at, end: at + 12, text: "return 'no'" }
  assert.match(applied(text, wrong), /return 'no'/)
  assert.deepEqual(await compiling([mutant!, wrong]), [mutant])
})

const lines = (...numbers: number[]) => {
  const text = Array.from({ length: 12 }, (_, i) => (numbers.includes(i + 1) ? 'x' : ' ')).join(
    '\n',
  )
  const bits = new Uint8Array(2)
  for (const [i, line] of text.split('\n').entries())
    if (line === 'x') bits[i >> 3]! |= 1 << (i & 7)
  return Buffer.from(bits).toString('base64')
}

test('lines are kept as they were executed, block by block', () => {
  assert.equal(hasLine(lines(3, 12), 12), true)
  assert.equal(hasLine(lines(3, 12), 4), false)
  assert.equal(hasLine(mergedLines(lines(3), lines(4)), 4), true)
  const path = 'test/mutation/small_room/allowance.ts'
  const block = { startOffset: 0, endOffset: 60, count: 1 }
  const url = new URL(path, `file://${ROOT}`).href
  const found = executedLines([{ url, functions: [{ ranges: [block] }] }])
  assert.deepEqual([hasLine(found[path], 1), hasLine(found[path], 2)], [true, false])
})

test('what is known of a source stays with its lines when others change', () => {
  const before = 'a\nb\nc\nd'
  const set = lines(2, 4)
  const known = (after: string) => {
    const moved = movedLines(set, before, after)
    return after.split('\n').flatMap((text, i) => (hasLine(moved, i + 1) ? text : []))
  }
  assert.deepEqual(known('a\nb\nc\nd'), ['b', 'd'])
  assert.deepEqual(known('x\na\nb\nc\ny\nd'), ['b', 'd'])
  assert.deepEqual(known('b\nd'), ['b', 'd'])
  assert.deepEqual(known('a\nb\nnew\nc\nd'), ['b', 'new', 'd'], 'what is new goes with b')
  assert.deepEqual(known('a\nb2\nc\nd'), ['b2', 'd'], 'what has become of b')
})

test('a mutant is shown to its own room first, then to the fastest, as far as time goes', () => {
  const path = 'packages/service/src/market/orders/orders.ts'
  const file = (name: string, ...tests: [title: string, ms: number][]): FileCoverage => ({
    path: name,
    sha256: '',
    loads: {},
    lines: { [path]: lines(1, 2) },
    tests: tests.map(([title, ms]) => ({ title, ms, lines: { [path]: lines(2) } })),
  })
  const recordings = [
    file('test/stories/users/slow.test.ts', ['slow', 900], ['fast', 50]),
    file('test/stories/users/quick.test.ts', ['quick', 20]),
    file('packages/service/src/market/orders/orders.test.ts', ['own', 300]),
  ]
  const chosen = (line: number, ms_max: number, kills = new Map<string, number>()) =>
    selectTests(recordings, { path, line }, { ms_max, kills }).selections.flatMap(
      ({ titles }) => titles,
    )
  assert.deepEqual(chosen(2, 10_000), ['own', 'quick', 'fast', 'slow'])
  assert.deepEqual(chosen(2, 400), ['own', 'quick', 'fast'])
  const kills = new Map([['test/stories/users/slow.test.ts', 1]])
  assert.deepEqual(chosen(2, 10_000, kills), ['own', 'fast', 'slow', 'quick'])
  assert.deepEqual(chosen(1, 400), ['own', 'quick', 'fast'], 'when it is loaded')
  assert.deepEqual(chosen(3, 10_000), [])
  const left_out = (ms_max: number) =>
    selectTests(recordings, { path, line: 2 }, { ms_max, kills: new Map() }).left_out
  assert.deepEqual([left_out(10_000), left_out(400)], [0, 1], 'what there is no time for')
  const { selections } = selectTests(recordings, { path, line: 2 }, { ms_max: 10_000, kills })
  const longest = selections.map((one) => one.longest_ms)
  assert.deepEqual(longest, [300, 900, 20], 'by which it is judged whether one hangs')
})

test('the rule that a test forgets is the mutant that survives', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'recordings-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await testCluster()
  await makeTemplate()
  const [room] = await readRooms('test/mutation/small_room')
  const said: string[] = []
  const say = (line: string) => said.push(line)
  const session = {
    seed: 1,
    count: 100,
    only: undefined,
    seconds: 60,
    jobs: 1,
    folder,
    say,
    recorded: false,
  }
  const before = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' })
  const results = await tryRoom(room!, session)
  const survivors = results.filter(({ killer }) => !killer).map(({ mutant }) => mutant.after)
  assert.deepEqual(survivors.sort(), [
    'if (amount <= 1) return false',
    'where day = ${day} and amount > 1`',
    'where day = ${day} and amount >= 0`',
    'where day = ${day}`',
  ])
  assert.ok(
    results.some(({ killer }) => killer?.title === 'ten a day may be spent, and not one more'),
  )
  const now = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' })
  assert.equal(now, before, 'the working tree is as it was')
  // Where no test may be recorded, none is shown anything, and nothing is decided.
  const nothing_known = { ...session, count: 2, folder: join(folder, 'none'), recorded: true }
  const unseen = await tryRoom(room!, nothing_known)
  assert.deepEqual([unseen.length, unseen.some(isDecided)], [2, false])
  // One alone, and what is recorded is not recorded again.
  said.length = 0
  const { id } = results.find(({ killer }) => killer)!.mutant
  const [one, ...more] = await tryRoom(room!, { ...session, only: id })
  assert.deepEqual([one!.mutant.id, one!.killer !== undefined, more], [id, true, []])
  assert.ok(!said.some((line) => line.startsWith('recorded')))
  // Who has noticed it before is asked first, and alone.
  assert.equal(one!.tests, 1)
  // All of one file, before the tests that are named, and before none of the others.
  const named = (tests: string[]) =>
    tryRoom(room!, { ...session, count: 1, file: 'test/mutation/small_room/allowance.ts', tests })
  const near = await named(['test/mutation/small_room/allowance.test.ts'])
  assert.equal(near.filter(({ killer }) => !killer).length, survivors.length)
  assert.equal(near.length, results.length)
  const far = await named(['test/mutation/small_room/other.test.ts'])
  assert.ok(far.every((result) => !isDecided(result)))
})

test('what is named and is not there is a mistake, and nothing is tried', () => {
  for (const [wrong, says] of [
    [['--file', 'packages/none.ts'], /no mutant of "packages\/none.ts"/],
    [['--tests', 'packages/none.test.ts', '--room', 'lib'], /no test file "packages\/none/],
    [['--tests', 'package.json', '--room', 'lib'], /no test file "package.json"/],
    [['--only', '00000000'], /No mutant is called "00000000"/],
    [[], /--room names a room/],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, ['tools/mutate/mutate.ts', ...wrong], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    assert.equal(status, 2, wrong.join(' '))
    assert.match(stderr, says)
  }
})

test('each listed equivalent is a mutant that exists, with a reason', async () => {
  const mutants = (await readRooms('packages')).flatMap(mutantsOf)
  assert.deepEqual(wrongEntries(await readEquivalents(), mutants), [])
  const [mutant] = mutants
  const entry = { id: mutant!.id, file: mutant!.path.split('/').at(-1)!, reason: 'so' }
  assert.deepEqual(wrongEntries([entry], mutants), [])
  const wrong = [{ ...entry, id: '00000000' }, { ...entry, reason: '' }, entry, entry]
  assert.equal(wrongEntries(wrong, mutants).length, 4)
  assert.match(wrongEntries(wrong, mutants)[0]!, /no mutant/)
})

test('the score leaves out what means the same, and a room where money is wants more', () => {
  const mutant = mutantsOfSource(parseSource('room/file.ts', 'go(a < b)'), 'go(a < b)')[0]!
  const result = { mutant, tests: 1, left_out: 0, seconds: 1 }
  const killer = { path: 'a.test.ts', title: 'a' }
  const score = scoreOf('ledger/accounts', 3, [
    { ...result, killer },
    { ...result, killer },
    { ...result, killer },
    result,
    { ...result, equivalent: 'the same' },
  ])
  assert.deepEqual([score.killed, score.survived, score.equivalents, score.score], [3, 1, 1, 0.75])
  assert.equal(score.wanted, 0.85)
  assert.equal(wantedOf('lib'), 0.7)
  assert.deepEqual([wantedOf('chain/follow'), wantedOf('devchain/chain')], [0.85, 0.7])
  assert.match(tableOf([score]), /ledger\/accounts +3 +5 +3 +1 +0 +1 +0\.75 +0\.75 +0\.85$/)
})

test('what no test has noticed while others had no time is no survivor, and no kill', () => {
  const mutant = mutantsOfSource(parseSource('room/file.ts', 'go(a < b)'), 'go(a < b)')[0]!
  const result = { mutant, tests: 1, left_out: 0, seconds: 1 }
  const score = scoreOf('lib', 3, [
    { ...result, killer: { path: 'a.test.ts', title: 'a' }, left_out: 9 },
    { ...result, left_out: 9 },
  ])
  assert.deepEqual([score.killed, score.survived, score.not_decided], [1, 0, 1])
  assert.deepEqual([score.score, score.at_least], [1, 0.5])
})
