// The operator's commands as they are typed: what is asked wrongly, what is looked up, and the
// program itself.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase, testCluster } from 'penstock-test/harness/database.ts'
import {
  type CommandOutput,
  quietOperator,
  SEALING_KEY,
  walletsFile,
  worldOperator,
} from 'penstock-test/harness/operator.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { NODE_RULES } from '../../health/books/books.ts'
import { ROW_RULES } from '../../health/books/rules.ts'
import { ALERTS } from '../../health/monitoring/alerts.ts'
import { OPERATIONS } from '../operations.ts'
import { findOperation, readArguments } from './arguments.ts'

const CLI = `${import.meta.dirname}/../../main.ts`

test('the command line says which version it is', async (t) => {
  const { type } = await quietOperator(t)
  const { code, out } = await type('--version')
  assert.equal(code, 0)
  assert.match(out, /^\d+\.\d+\.\d+\n$/)
})

test('every command explains itself, and the overview names them all', async (t) => {
  const { type } = await quietOperator(t)
  const { code, out } = await type()
  assert.equal(code, 0)
  const unbroken = out.replaceAll(/\n {4,}/g, ' ')
  for (const { cli, summary } of OPERATIONS) {
    const { words } = cli
    assert.ok(out.includes(`  ${words} `) && unbroken.includes(summary), words)
    const help = await type(...words.split(' '), '--help')
    assert.equal(help.code, 0)
    assert.ok(help.out.startsWith(`penstock-admin ${words}`) && help.out.includes('--json'), words)
    const [noun, verb] = words.split(' ')
    const of_noun = await type(noun!, '--help')
    assert.equal(of_noun.code, 0)
    // The commands of one noun, and no others; a noun that is a command too explains that first.
    const alone = OPERATIONS.some(({ cli }) => cli.words === noun)
    if (verb !== undefined && alone) assert.ok(of_noun.out.includes(`\n  ${words} `), words)
    if (verb !== undefined && !alone)
      assert.deepEqual(
        [...of_noun.out.matchAll(/^ {2}([\w-]+) (\S+) /gm)].map(([, first]) => first),
        OPERATIONS.filter(({ cli }) => cli.words.startsWith(`${noun} `)).map(() => noun),
      )
  }
})

const MISUSES: [typed: string, sentence: string][] = [
  ['order list', 'There is no command order (do you mean orders?). --help lists them all.'],
  ['frobnicate', 'There is no command frobnicate. --help lists them all.'],
  ['--json status', 'There is no command --json. --help lists them all.'],
  ['keys', 'keys what: issue, list, change, rotate, revoke or reseal?'],
  ['aml reviews', 'aml reviews what: list, show or decide?'],
  [
    'aml reviews lst',
    'There is no aml reviews lst (do you mean list?): it is list, show or decide.',
  ],
  ['orders lst', 'There is no orders lst (do you mean list?): it is list, show, prove or verify.'],
  ['orders list --stat new', 'orders list has no option --stat (do you mean --state?).'],
  ['orders list --state', '--state has no value: --state new|pending|success|failed.'],
  ['orders list --state --json', '--state has no value: --state new|pending|success|failed.'],
  ['orders list --state old', '--state old: it is new, pending, success or failed.'],
  ['orders list --open=yes', '--open takes no value.'],
  ['orders list --limit 0', '--limit 0: it is a whole number from 1 to 10000.'],
  ['orders list --limit 1 --limit 2', '--limit is given more than once.'],
  ['orders list --address Tx', '--address Tx is not an address of the TRON network.'],
  ['orders list all', 'orders list does not take "all".'],
  [
    'orders list --since tomorrow',
    '--since tomorrow: it is a day or a time in UTC, like 2026-11-01 or 2026-11-01T12:00:00Z.',
  ],
  [
    'orders list --since 2026-13-01',
    '--since 2026-13-01: it is a day or a time in UTC, like 2026-11-01 or 2026-11-01T12:00:00Z.',
  ],
  [
    'orders list --since 2026-02-29',
    '--since 2026-02-29: it is a day or a time in UTC, like 2026-11-01 or 2026-11-01T12:00:00Z.',
  ],
  ['orders show', "orders show: ORDER is missing: its id, or the customer's own id for it."],
  [
    'fees set activate_address 1.23456789',
    'fees set: TRX 1.23456789: it is an amount of TRX with at most 6 decimals, like 12.5.',
  ],
  ['fees set activate_address 0', 'A price is more than 0.'],
  ['prices set energy', 'prices set: no tier was given, such as 32000-130999=0.045.'],
  [
    'prices set energy 32000=1',
    '32000=1 is not a tier: it has the form FROM-TO=PRICE, like 32000-130999=0.045.',
  ],
  ['prices set energy 9-5=1', 'A tier begins at 1 or above and ends where it begins or above.'],
  ['prices set gas 1-2=1', 'prices set: energy|bandwidth gas: it is energy or bandwidth.'],
  ['services off', 'services off: give the services, or --all.'],
  ['customers statement X --since 2026-11-02 --until 2026-11-01', '--since is not before --until.'],
  ['status --by anna', 'status has no option --by.'],
  ['books check --node-url ftp://x', 'ftp://x is not the http:// or https:// address of a node.'],
]

test('what was asked wrongly gets one sentence and the code 2', async (t) => {
  const { type } = await quietOperator(t)
  for (const [typed, sentence] of MISUSES) {
    assert.deepEqual(
      await type(...typed.split(' ')),
      { code: 2, out: '', err: `${sentence}\n` },
      typed,
    )
  }
})

const ABSENT: [typed: string, sentence: string][] = [
  ['customers show 01x', 'There is no customer 01x.'],
  ['customers statement 01x', 'There is no customer 01x.'],
  ['keys list 01x', 'There is no customer 01x.'],
  ['keys issue 01x', 'There is no customer 01x.'],
  ['keys revoke 01x', 'There is no key 01x.'],
  ['keys change 01x --name x', 'There is no key 01x.'],
  ['customers suspend 01x', 'There is no customer 01x.'],
  ['customers resume 01x', 'There is no customer 01x.'],
  ['customers close 01x', 'There is no customer 01x.'],
  ['orders show 01x', 'There is no order 01x.'],
  ['deposits show 01x', 'No deposit came with the transaction 01x.'],
  ['attempts show 01x', 'There is no attempt 01x.'],
  [
    'prices remove energy 1-2',
    'No tier of energy goes from 1 to 2; in force: 32000-130999, 131000-3000000.',
  ],
  [
    'fees set lunch 2',
    'There is no flat price lunch; there are: activate_address, aml_address, aml_hash.',
  ],
  ['chain show', 'No block has been followed yet: is a worker running?'],
]

test('what is not there gets one sentence and the code 1', async (t) => {
  const { type } = await quietOperator(t)
  for (const [typed, sentence] of ABSENT) {
    assert.deepEqual(
      await type(...typed.split(' ')),
      { code: 1, out: '', err: `${sentence}\n` },
      typed,
    )
  }
})

test('every list of an empty service is empty, as text and as JSON', async (t) => {
  const { type, json } = await quietOperator(t)
  for (const noun of ['customers', 'orders', 'deposits', 'delegations', 'attempts', 'actions']) {
    assert.deepEqual(await json(noun, 'list'), [])
    assert.deepEqual(await type(noun, 'list'), { code: 0, out: 'none\n', err: '' })
  }
})

/** The commands that a page shows, each in the words of a shell. */
function commandsOf(page: string): string[][] {
  const text = page.replace(/ \\\n +/g, ' ')
  const typed = text.matchAll(/^ {4,}penstock-admin (.+)$|`penstock-admin ([a-z]+ [a-z/][^`]*)`/gm)
  const examples: Record<string, string> = { ADDRESS: person('bob').address, TX_ID: '0'.repeat(64) }
  return [...typed].map(([, line, inline]) => {
    // What the shell hands over by standard input is no word of the command.
    const command = (line ?? inline!.replace(/\s+/g, ' ')).replace(/ < \S+$/, '')
    return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? examples[word!] ?? word!,
    )
  })
}

/** Throws when there is no such command, or it has no such options. */
function parseCommand(words: string[]): void {
  const { operation, rest } = findOperation(OPERATIONS, words)
  readArguments(operation, rest)
}

const GUIDES = new URL('../../../../../docs/operators/', import.meta.url)

/** All but the one that is for customers' users, too, and has their command line. */
async function guides(): Promise<{ name: string; text: string }[]> {
  const names = (await readdir(GUIDES)).filter((name) => name !== 'signing_in.md')
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(new URL(name, GUIDES), 'utf8') })),
  )
}

test("the operators' guides have commands that exist, every alert and every rule", async () => {
  const pages = await guides()
  const commands = pages.flatMap(({ text }) => commandsOf(text))
  assert.ok(commands.length > 50, `${commands.length}`)
  for (const words of commands) parseCommand(words)
  const textOf = (page: string) => pages.find(({ name }) => name === page)!.text
  const alerts = textOf('alerts.md')
  for (const alert of Object.keys(ALERTS)) assert.ok(alerts.includes(`\n- \`${alert}\`\n`), alert)
  const books = textOf('books.md')
  const rules = new Set([...ROW_RULES, ...NODE_RULES].map(({ rule }) => rule))
  for (const rule of rules) assert.ok(books.includes(`\n- ${rule}: `), rule)
  assert.equal(books.match(/^- C\d+: /gm)?.length, rules.size)
})

test('what was two answers of one command is two, and the old words go on', async (t) => {
  const world = await makeWorld(t)
  const { json } = await worldOperator(world)
  assert.deepEqual(await json('lists', 'show'), await json('lists', 'list'))
  assert.deepEqual(await json('aml', 'show'), await json('aml', 'status'))
  assert.deepEqual(await json('lists', 'show', 'operator'), [])
})

type Statement = {
  opening: Sums
  lines: ({ kind: string; amount_sun: number; service: string } & Sums)[]
  closing: Sums
}
type Sums = { balance_sun: number; spendable_sun: number }

test('nodes list asks the nodes that are named, and ends with 1 when one is away', async (t) => {
  const world = await makeWorld(t)
  const at = await worldOperator(world)
  const { transport } = at.io
  at.io.transport = (request) =>
    request.url.startsWith('https://away') ? Promise.reject(new Error('away')) : transport(request)
  const here = ['nodes', 'list', '--node-url', 'https://here']
  const [one] = await at.json<{ name: string; behind_blocks: number; error: null }[]>(...here)
  assert.deepEqual([one!.name, one!.behind_blocks, one!.error], ['here', 0, null])
  const { code, out } = await at.type(...here, '--node-url', 'https://away/key')
  assert.equal(code, 1)
  assert.match(out, /node away does not answer/)
  assert.doesNotMatch(out, /key/)
  const unnamed = await at.type('nodes', 'list')
  assert.match(unnamed.err, /No node is named: --node-url URL/)
})

test('a purchase is found by every command about it, and the books hold', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  const order = await anna.buy({
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
    external_id: '=1+1',
  })
  await world.settle()
  await world.solidify()
  const { json, type } = await worldOperator(world)

  type OrderAnswer = {
    id: string
    state: string
    delegations: { attempt_id: string; tx_id: string }[]
    entries: { kind: string }[]
  }
  const shown = await json<OrderAnswer>('orders', 'show', '=1+1')
  assert.equal(shown.id, order.id)
  assert.equal(shown.state, 'success')
  assert.deepEqual(
    shown.entries.map(({ kind }) => kind),
    ['hold', 'capture'],
  )
  const ids = async (...words: string[]) =>
    (await json<{ id: string }[]>(...words)).map(({ id }) => id)
  const { attempt_id, tx_id } = shown.delegations[0]!
  assert.deepEqual(
    await ids(
      'orders',
      'list',
      '--customer',
      anna.id,
      '--state',
      'success',
      '--address',
      bob.address,
    ),
    [order.id],
  )
  assert.deepEqual(await ids('orders', 'list', '--open'), [])
  assert.deepEqual(await ids('orders', 'list', '--before', order.id), [])
  assert.equal(
    (await ids('delegations', 'list', '--order', order.id, '--receiver', bob.address)).length,
    1,
  )
  assert.deepEqual(await ids('delegations', 'list', '--overdue'), [])
  assert.deepEqual(await ids('attempts', 'list', '--state', 'solid', '--subject', 'delegate'), [
    attempt_id,
  ])
  const attempt = await json<{ id: string; contract: Record<string, unknown> }>(
    'attempts',
    'show',
    tx_id,
  )
  assert.equal(attempt.id, attempt_id)
  assert.equal(attempt.contract.receiver_address, bob.address)
  const [deposit] = await json<{ tx_id: string; amount_sun: number }[]>(
    'deposits',
    'list',
    '--customer',
    anna.id,
  )
  assert.equal(deposit?.amount_sun, 100_000_000)
  assert.equal(
    (await json<{ entries: unknown[] }>('deposits', 'show', deposit!.tx_id)).entries.length,
    1,
  )
  const pool = await json<{ resources: { resource: string; out: number }[]; wallets: unknown[] }>(
    'pool',
    'show',
  )
  assert.deepEqual(
    pool.resources.map(({ resource, out }) => [resource, out]),
    [
      ['energy', 65_000],
      ['bandwidth', 0],
    ],
  )
  assert.equal(pool.wallets.length, 4)
  const chain = await json<{ blocks_to_solid: number; silent_seconds: number }>('chain', 'show')
  assert.deepEqual([chain.blocks_to_solid, chain.silent_seconds < 30], [18, true])
  const checked = await json<{ books_balanced: boolean; rules: { state: string }[] }>(
    'check-books',
    '--node-url',
    'http://localhost',
  )
  assert.equal(checked.books_balanced, true)
  assert.deepEqual(new Set(checked.rules.map(({ state }) => state)), new Set(['holds']))
  const status = await type('status')
  assert.deepEqual([status.code, status.out.trim().split('\n').at(-1)], [0, 'No alerts.'])
})

test('a statement has every entry and balance, and begins where the last one ended', async (t) => {
  const world = await makeWorld(t)
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 100 })
  await anna.buy({
    service: 'energy',
    params: { address: bob.address, amount: 65_000, duration: 1 },
    external_id: '=cmd|"x"',
  })
  await world.settle()
  world.mine()
  const second = world.now.toISOString().replace(/\.\d+/, '')
  await anna.buyEnergy(bob.address, 65_000)
  const { json, type } = await worldOperator(world)

  const { opening, lines, closing } = await json<Statement>('customers', 'statement', anna.id)
  assert.deepEqual(opening, { balance_sun: 0, spendable_sun: 0 })
  assert.deepEqual(
    lines.map(({ kind, service, amount_sun, balance_sun, spendable_sun }) => [
      kind,
      service,
      amount_sun,
      balance_sun,
      spendable_sun,
    ]),
    [
      ['move', 'deposit', 100_000_000, 100_000_000, 100_000_000],
      ['hold', 'energy', 0, 100_000_000, 97_070_000],
      ['capture', 'energy', -2_930_000, 97_070_000, 97_070_000],
      ['hold', 'energy', 0, 97_070_000, 94_140_000],
    ],
  )
  assert.deepEqual(closing, { balance_sun: 97_070_000, spendable_sun: 94_140_000 })
  assert.equal(await anna.balance(), 94.14)

  const before = await json<Statement>('customers', 'statement', anna.id, '--until', second)
  const after = await json<Statement>('customers', 'statement', anna.id, '--since', second)
  assert.deepEqual([before.lines.length, after.lines.length], [3, 1])
  assert.deepEqual(before.closing, after.opening)
  assert.deepEqual(after.closing, closing)
  const later = await json<Statement>('customers', 'statement', anna.id, '--since', '2100-01-01')
  assert.deepEqual([later.lines, later.opening, later.closing], [[], closing, closing])

  const { out: csv } = await type('customers', 'statement', anna.id, '--csv')
  const rows = csv.trimEnd().split('\r\n')
  assert.equal(rows.length, 7)
  assert.equal(
    rows[0],
    'made_at,id,kind,service,external_id,amount_trx,held_trx,balance_trx,spendable_trx',
  )
  assert.match(rows[3]!, /,hold,energy,"'=cmd\|""x""",0,2\.93,100,97\.07$/)
  assert.match(rows[6]!, /,closing,,,,,97\.07,94\.14$/)
})

test('roots are exported and compared, and a journal without them is convicted', async (t) => {
  const world = await makeWorld(t)
  const { type } = await worldOperator(world)
  await world.customer({ trx: 10 })
  // The next look seals what came in this one.
  await world.solidify()
  const folder = await mkdtemp(join(tmpdir(), 'penstock-roots-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'roots.log')
  // No day is over yet, so there is nothing to write; that nothing could be is said all the same.
  const nowhere = await type('books', 'roots', '--export', join(folder, 'absent', 'roots.log'))
  assert.deepEqual([nowhere.code, nowhere.out], [1, ''])
  assert.match(nowhere.err, /^\S+absent\/roots\.log cannot be written: ENOENT[^\n]+\n$/)
  world.wait(2 * 86_400)
  const exported = await type('books', 'roots', '--export', file, '--json')
  assert.deepEqual([exported.code, JSON.parse(exported.out).written], [0, 1], exported.err)
  assert.equal(
    JSON.parse((await type('books', 'roots', '--export', file, '--json')).out).written,
    0,
  )
  const check = await type('books', 'check', '--roots', file, '--json')
  assert.deepEqual([check.code, JSON.parse(check.out).roots_compared], [0, 1], check.out)
  const [line = ''] = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, `${line.replace(/"sha256":"(\w{60})\w{4}/, '"sha256":"$10000')}\n`)
  const other = await type('books', 'check', '--roots', file)
  assert.equal(other.code, 1)
  assert.match(other.out, /C10 +broken[\s\S]+root of \d{4}-\d\d-\d\d: seal 1 was noted as/)
  assert.match(
    (await type('books', 'roots', '--export', file)).err,
    /has other roots than this journal/,
  )
  assert.deepEqual(await type('books', 'check', '--roots', `${file}x`), {
    code: 1,
    out: '',
    err: `There is no file ${file}x.\n`,
  })
})

test('an alert makes the status fail and says what is wrong', async (t) => {
  const world = await makeWorld(t)
  const { type, json, io } = await worldOperator(world)
  const soon = world.now.getTime() + 60_000
  io.clock = { now: () => new Date(soon) }
  const { code, out } = await type('status', '--json')
  assert.equal(code, 1)
  const { alerts } = JSON.parse(out) as { alerts: { alert: string; what: string }[] }
  assert.deepEqual(
    alerts.map(({ alert }) => alert),
    ['chain_silent'],
  )
  await json('services', 'list')
})

const run = promisify(execFile)

/** The program itself. */
const spawned = (env: NodeJS.ProcessEnv, ...words: string[]): Promise<CommandOutput> =>
  run(process.execPath, [CLI, ...words], { env: { PATH: process.env.PATH, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (failed: { code: number; stdout: string; stderr: string }) => ({
      code: failed.code,
      out: failed.stdout,
      err: failed.stderr,
    }),
  )

test('the program prints, records who runs it, and ends with the right exit code', async (t) => {
  const { url } = await freshDatabase(t)
  const env = {
    DATABASE_URL: url,
    PENSTOCK_SECRET_KEY: SEALING_KEY,
    PENSTOCK_WALLETS: await walletsFile(t),
  }
  const created = await spawned(env, 'customers', 'create', 'Anna', '--json')
  assert.deepEqual([created.code, created.err], [0, ''])
  assert.equal(JSON.parse(created.out).name, 'Anna')
  const actions = await spawned(env, 'actions', 'list', '--json')
  assert.match(JSON.parse(actions.out)[0].made_by, /./)
  const counted = async (...options: string[]) =>
    JSON.parse((await spawned(env, 'actions', 'list', '--json', ...options)).out).length
  assert.equal(await counted('--action', 'customers', '--since', '2020-01-01'), 1)
  assert.equal(await counted('--action', 'customers create'), 1)
  assert.equal(await counted('--action', 'customer'), 0)
  assert.equal(await counted('--until', '2020-01-01'), 0)
  assert.equal((await spawned(env, 'customers', 'show', 'x')).code, 1)
  assert.equal((await spawned(env, 'customers', 'shwo')).code, 2)
})

test('without a server, a Penstock or a permission, one sentence says so', async (t) => {
  const empty = await mkdtemp(join(tmpdir(), 'penstock-cli-'))
  t.after(() => rm(empty, { recursive: true }))
  const nothing = await spawned({}, 'status', '--data-dir', empty)
  assert.deepEqual([nothing.code, nothing.out], [1, ''])
  assert.equal(
    nothing.err,
    `Nothing runs on ${empty}: start it (npm start), name its folder (--data-dir), ` +
      `or set DATABASE_URL.\n`,
  )
  const bare = await spawned({ DATABASE_URL: await testCluster() }, 'status')
  assert.deepEqual(
    [bare.code, bare.err],
    [1, 'This database has no Penstock yet: penstock-admin migrate makes it.\n'],
  )
  const closed = await spawned(
    { DATABASE_URL: 'postgres://penstock:hush@127.0.0.1:1/penstock' },
    'status',
  )
  assert.equal(closed.code, 1)
  assert.match(closed.err, /^It does not answer: the database \(.*ECONNREFUSED.*\)\.\n$/)
  assert.ok(!closed.err.includes('hush'))
  const nowhere = new URL(await testCluster())
  nowhere.pathname = '/nosuch'
  const missing = await spawned({ DATABASE_URL: nowhere.href }, 'status')
  assert.deepEqual(
    [missing.code, missing.err],
    [1, 'DATABASE_URL: database "nosuch" does not exist.\n'],
  )
})
