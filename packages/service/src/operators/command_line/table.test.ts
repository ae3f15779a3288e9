// The table of the operators' operations: what each entry has, that its words are those that
// operators know, and that what it prints is what it documents. The operators of test/harness
// compare whatever a test has printed with --json; here every operation that needs nothing special
// is run.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { runMostOperations } from 'penstock-test/harness/operations.ts'
import { worldOperator } from 'penstock-test/harness/operator.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { systemRandom } from '../../lib/ids.ts'
import { buildServer } from '../../platform/http/server.ts'
import { bodyReader } from '../../platform/wire/body.ts'
import type { Endpoint } from '../../platform/wire/endpoint.ts'
import { OPERATIONS } from '../operations.ts'
import { findOperation, readArguments } from './arguments.ts'

/** What operators type, and scripts of theirs: these words stay. */
const WORDS: Record<string, string> = {
  status: '',
  config: 'check',
  risk: '',
  find: '',
  processes: 'list',
  nodes: 'list requests',
  retention: 'list',
  steps: 'list',
  actions: 'prove list',
  figures: 'show history',
  alerts: 'list seen',
  customers:
    'create list activity show suspend resume close statement credit debit corrections limits ' +
    'note notes export erase',
  'sign-ups': 'list',
  keys: 'issue list change rotate revoke reseal',
  approvals: 'show set list give operations allow',
  invoices: 'list show reissue',
  earnings: 'list',
  receipts: 'verify rotate',
  prices: 'list burning set preview remove history',
  fees: 'list set history',
  plans: 'list set remove history',
  'price-rules': 'show preview set',
  services: 'list on off history',
  offers: 'show set',
  orders: 'list show prove verify',
  delegations: 'list',
  deposits: 'list show resolve recount',
  treasury: 'show collect list file adopt energy',
  votes: 'show set',
  accounts: 'show export',
  subscriptions: 'list show stop',
  attempts: 'list show',
  pool: 'show forecast stakes costs capital',
  chain: 'show',
  archive: 'show check mend begin end',
  signer: 'stop go status',
  wallets:
    'show check permit forbid stake unstake withdraw cancel-unstake sign address broadcast ' +
    'generate',
  lists: 'list show update preview import revert make diff schedule',
  aml:
    'status show replay report state days changes allow deny withdraw entries ' +
    'counterparties keep-counterparties forget-counterparties ' +
    'deposits revoke-deposit ' +
    'reviews/list reviews/show reviews/decide ' +
    'cases/list cases/show cases/open cases/assign cases/wait cases/escalate cases/set ' +
    'cases/add cases/note cases/attach cases/file cases/close cases/reopen ' +
    'reports/check reports/case reports/bundle reports/verify ' +
    'watch unwatch ' +
    'import-watches watches ' +
    'policy policies try publish providers index backfill import-log rebuild',
  books: 'check findings roots compare',
  database: 'losses accept',
  migrate: '',
  backup: ' list check',
  restore: ' begin reconcile',
  roles: 'apply',
  webhooks: 'list show enable disable remove add rotate allow deny networks',
  notices: 'list',
  events: 'show set list',
  incidents: 'list post update close',
  'status-page': 'show set',
  brand: 'show set',
  users: 'list invite change recover remove export erase',
  operators: 'list invite change recover remove',
  sessions: 'list end',
}

const words = ({ cli }: { cli: { words: string } }) => cli.words

test('the words of the operations are those that operators know', () => {
  const known = Object.entries(WORDS).flatMap(([noun, verbs]) =>
    verbs.split(' ').map((verb) => `${noun} ${verb.replace('/', ' ')}`.trim()),
  )
  assert.deepEqual(OPERATIONS.map(words), known)
})

test('each operation has a path, a role, a body that is enforced, and a reply', () => {
  for (const operation of OPERATIONS) {
    const { path, auth, role, changes, body, reply, cli, read } = operation
    assert.equal(path, `/operator/${cli.words.replaceAll(' ', '/')}`)
    assert.equal(auth, 'operator')
    assert.equal(role === 'auditor', !changes && !operation.local, path)
    assert.doesNotThrow(() => bodyReader(body), path)
    assert.equal(typeof read, 'function')
    assert.ok(Object.keys(reply).length > 0, path)
    const fields = Object.keys({ ...body.properties, ...cli.extras.properties })
    for (const field of [...cli.operands, ...cli.filled, ...Object.keys(cli.read)])
      assert.ok(fields.includes(field), `${path} ${field}`)
    for (const field of Object.keys(cli.extras.properties))
      assert.ok(!(field in body.properties), `${path} has ${field} twice`)
  }
  assert.equal(new Set(OPERATIONS.map(({ path }) => path)).size, OPERATIONS.length)
})

test('what is typed becomes a body of JSON that the schema of the body takes as it is', () => {
  const { address } = person('bob')
  const typed: [string[], object][] = [
    [
      ['prices', 'set', 'energy', '32000-130999=0.05', '--yes'],
      {
        resource: 'energy',
        tiers: [{ min_amount: 32_000, max_amount: 130_999, price_sun: 50_000 }],
        yes: true,
      },
    ],
    [['fees', 'set', 'aml_hash', '1.6'], { name: 'aml_hash', price_sun: 1_600_000 }],
    [
      ['plans', 'set', 'small', '--initial-price', '5', '--price', '0', '--duration-days', '7'],
      { plan: 'small', initial_price_sun: 5_000_000, price_sun: 0, duration_days: 7 },
    ],
    [
      ['orders', 'list', '--address', address, '--since', '2026-11-01', '--open', '--limit', '7'],
      { address, since: '2026-11-01', open: true, limit: 7 },
    ],
    [
      ['customers', 'limits', '01x', '--open-orders', 'default'],
      { customer: '01x', open_orders: 'default' },
    ],
    [
      ['keys', 'issue', '01x', '--scope', 'read', '--scope', 'buy', '--daily-cap', '12.5'],
      { customer: '01x', scope: ['read', 'buy'], daily_cap: '12.5' },
    ],
  ]
  for (const [args, body] of typed) {
    const { operation, rest } = findOperation(OPERATIONS, args)
    const given = readArguments(operation, rest)
    assert.deepEqual(given.body, body)
    assert.deepEqual(operation.read!(JSON.parse(JSON.stringify(given.body))), body)
  }
})

test("no server of customers' calls serves an operation", async () => {
  const [operation] = OPERATIONS
  const needs = {
    sql: (() => {}) as never,
    clock: { now: () => new Date(0) },
    random: systemRandom,
    log: () => {},
    authenticate: () => Promise.reject(new Error('nobody asks')),
  }
  await assert.rejects(
    buildServer(needs, { endpoints: [operation as unknown as Endpoint] }),
    /^Error: \/operator\/status is not for customers: it is not served$/,
  )
})

test('what each operation prints as JSON is what it documents', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const run = async (words: readonly string[]) => {
    const said = await type(...words, '--json')
    assert.notEqual(said.out, '', `${words.join(' ')}: ${said.err}`)
  }
  const words = await runMostOperations(world, { run, ask: json })
  const done = new Set(words.map((args) => findOperation(OPERATIONS, args).operation.path))
  const left = OPERATIONS.filter(({ path }) => !done.has(path)).map(({ cli }) => cli.words)
  assert.deepEqual(left, RUN_ELSEWHERE)
})

/** Those that the tests before have run, and those that need files, an index or a node of their
 *  own: each is printed with --json by a story of its own. */
const RUN_ELSEWHERE = [
  'config check',
  'risk',
  'nodes list',
  'customers create',
  'customers erase',
  'keys issue',
  'approvals allow',
  'invoices show',
  'receipts verify',
  'prices burning',
  'orders prove',
  'orders verify',
  'deposits list',
  'deposits resolve',
  'treasury collect',
  'treasury file',
  'treasury adopt',
  'treasury energy',
  'votes set',
  'attempts list',
  'pool stakes',
  'archive check',
  'archive mend',
  'archive begin',
  'wallets check',
  'wallets permit',
  'wallets forbid',
  'wallets stake',
  'wallets unstake',
  'wallets withdraw',
  'wallets cancel-unstake',
  'wallets sign',
  'wallets address',
  'wallets broadcast',
  'wallets generate',
  'lists update',
  'lists preview',
  'lists import',
  'lists revert',
  'aml show',
  'aml replay',
  'aml report',
  'aml state',
  'aml deny',
  'aml reviews show',
  'aml reviews decide',
  'aml cases open',
  'aml cases attach',
  'aml cases file',
  'aml reports check',
  'aml reports case',
  'aml reports bundle',
  'aml reports verify',
  'aml import-watches',
  'aml try',
  'aml publish',
  'aml backfill',
  'aml import-log',
  'aml rebuild',
  'books compare',
  'migrate',
  'backup',
  'backup list',
  'backup check',
  'restore',
  'restore begin',
  'restore reconcile',
  'roles apply',
  'webhooks add',
  'webhooks allow',
  'incidents post',
  'users invite',
  'users recover',
  'users export',
  'users erase',
  'operators invite',
  'operators recover',
  'sessions end',
]
