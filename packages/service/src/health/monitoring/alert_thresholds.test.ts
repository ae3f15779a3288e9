// From where on each alert is raised: by rows that are just beyond, and not by those at the limit
// nor by any that lack one of what it asks for. What really brings them about is in alerts.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { withoutTriggers } from 'penstock-test/harness/without_triggers.ts'
import { firstIdAt } from '../../lib/ids.ts'
import { joinFragments, writeFragment } from '../../platform/database/fragments.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { SHIPPED_POLICY } from '../../screening/engine/policy.ts'
import { PROVIDERS } from '../../screening/providers/configured.ts'
import { DUST_SUN } from '../../treasury/deposits/deposit_step.ts'
import { ALERTS } from './alerts.ts'

type Values = Record<string, unknown>
type Row = [table: string, values: Values]

const now = new Date('2030-01-10T12:00:00Z')
const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** So many seconds before now. */
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000)
const beyond = (seconds: number) => ago(seconds + 0.001)
/** Processes are there by the clock of the database: for an hour, however long the cases take. */
const seen = new Date(Date.now() + HOUR * 1_000)
const gone = new Date(Date.now() - 60 * MINUTE * 1_000)
/** The id of a check that was made then. */
const idAt = (at: Date) => `${firstIdAt(at).slice(0, 10)}${'z'.repeat(16)}`

const chain = (values: Values = {}): Row => [
  'chain',
  {
    head_number: 1_000,
    solid_number: 990,
    confirmed_number: 990,
    head_time: now,
    seen_at: now,
    ...values,
  },
]
/** Of the same table, rows that are each raised by themselves, and rows that are not. */
const each = (table: string, base: Values, changes: readonly Values[], beside: Row[] = []) =>
  changes.map((change): Row[] => [...beside, [table, { ...base, ...change }]])

type Case = { raises: readonly Row[][]; silent: readonly Row[][] }

const simple = (
  table: string,
  base: Values,
  silent: readonly Values[],
  beside: Row[] = [],
): Case => ({
  raises: each(table, base, [{}], beside),
  silent: [beside, ...each(table, base, silent, beside)],
})

const report = (blocks: number | undefined, in_use = true) => ({
  nodes: [],
  ...(blocks !== undefined && { indexes: [{ block_number: blocks, in_use }] }),
})
const process = (values: Values): Row => [
  'process',
  { id: 'p', role: 'worker', host: 'one', started_at: beyond(MINUTE), seen_at: seen, ...values },
]
const block = (number: number, time: Date): Row => ['block', { number, time }]
const logBlock = (number: number): Row => ['flow_block', { number, id: `${number}`, freezes: [] }]
const policyOf = (rules: number): Row => [
  'policy',
  { version: 99, body: { ...SHIPPED_POLICY, index_rules: rules } },
]
const check = (values: Values): Row => [
  'aml_check',
  { id: idAt(ago(MINUTE)), state: 'completed', ended_at: ago(MINUTE), ...values },
]
const checkId = (i: number) => `${idAt(ago(MINUTE)).slice(0, -2)}${i + 10}`
const completed = (count: number) =>
  Array.from({ length: count }, (_, i) => check({ id: checkId(i) }))
const failed = (i: number, values: Values = {}): Row =>
  check({
    id: checkId(i),
    state: 'failed',
    error: 'x',
    ...values,
  })
const answer = (i: number, values: Values = {}): Row => [
  'aml_answer',
  {
    sha256: `${i}`,
    provider: PROVIDERS[0],
    outcome: 'transient',
    received_at: ago(MINUTE),
    ...values,
  },
]
const price = (values: Values = {}): Row => [
  'price',
  { resource: 'energy', min_amount: 100, max_amount: 200, price_sun: 1, ...values },
]
const waiting: readonly Row[] = [100, 5_000].map(logBlock)

const CASES: Record<string, Case> = {
  chain_unknown: { raises: [[]], silent: [[chain()]] },
  chain_silent: {
    raises: [[chain({ seen_at: beyond(30) })]],
    silent: [[chain({ seen_at: ago(30) })]],
  },
  chain_behind: {
    raises: [[chain({ head_time: beyond(2 * MINUTE) })]],
    silent: [[chain({ head_time: ago(2 * MINUTE) })]],
  },
  solid_behind: {
    raises: [[chain({ solid_number: 939, confirmed_number: 900 })]],
    silent: [[chain({ solid_number: 940, confirmed_number: 900 })]],
  },
  nodes_disagree: simple('node_dispute', { dissenting: ['a'], last_at: ago(DAY - 1) }, [
    { last_at: ago(DAY) },
  ]),
  second_node_silent: {
    raises: [[chain({ unconfirmed_since: beyond(3 * MINUTE) })]],
    silent: [
      [chain({ unconfirmed_since: ago(3 * MINUTE) })],
      [chain({ unconfirmed_since: beyond(3 * MINUTE), disputed_number: 991 })],
    ],
  },
  internal_transfers_hidden: {
    raises: [
      [['node_hiding', { seen_at: ago(HOUR - 1) }]],
      [['holding', { surplus_sun: DUST_SUN }]],
    ],
    silent: [
      [['node_hiding', { seen_at: ago(HOUR) }]],
      [['holding', { surplus_sun: DUST_SUN - 1n }]],
    ],
  },
  reader_behind: simple('cursor', { name: 'x', number: 789 }, [{ number: 790 }], [chain()]),
  order_waits: {
    raises: each('orders', { created_at: beyond(5 * MINUTE) }, [
      { state: 'new' },
      { state: 'pending' },
    ]),
    silent: each('orders', { created_at: beyond(5 * MINUTE) }, [
      { state: 'success' },
      { state: 'failed' },
      { state: 'new', created_at: ago(5 * MINUTE) },
    ]),
  },
  order_owed: simple(
    'orders',
    { to_delegate: true, state: 'success', created_at: beyond(5 * MINUTE) },
    [{ to_delegate: false }, { state: 'failed' }, { created_at: ago(5 * MINUTE) }],
  ),
  attempt_unsigned: simple('attempt', { state: 'new', made_at: beyond(MINUTE) }, [
    { state: 'signed' },
    { made_at: ago(MINUTE) },
  ]),
  signing_refused: simple('attempt', { refused_at: ago(DAY - 1) }, [
    { refused_at: ago(DAY) },
    { refused_at: null },
  ]),
  wallet_key_wide: {
    raises: each('wallet_check', { checked_at: ago(4 * HOUR), complaints: ['x'] }, [{}]),
    silent: [
      ...each('wallet_check', { checked_at: now }, [{ complaints: [] }]),
      [
        ['wallet_check', { address: 'a', checked_at: ago(3 * HOUR), complaints: ['x'] }],
        ['wallet_check', { address: 'b', checked_at: now, complaints: [] }],
      ],
    ],
  },
  wallet_key_unchecked: {
    raises: each('wallet_check', { checked_at: beyond(3 * HOUR) }, [{}]),
    silent: [
      [],
      ...each('wallet_check', { checked_at: ago(3 * HOUR) }, [{}]),
      [
        ['wallet_check', { address: 'a', checked_at: ago(9 * HOUR) }],
        ['wallet_check', { address: 'b', checked_at: now }],
      ],
    ],
  },
  price_floor_refused: simple('price_rule', { resource: 'energy', refused_sun: 1 }, [
    { refused_sun: null },
  ]),
  letters_late: simple(
    'sign_up',
    { state: 'asked', sealed_token: 'x', made_at: beyond(10 * MINUTE) },
    [{ state: 'sent' }, { sealed_token: null }, { made_at: ago(10 * MINUTE) }],
  ),
  attempt_unknown: {
    raises: each(
      'attempt',
      { expires_at: beyond(5 * MINUTE) },
      [{ state: 'signed' }, { state: 'sent' }],
      [chain(), block(990, now)],
    ),
    silent: each(
      'attempt',
      { expires_at: beyond(5 * MINUTE) },
      [{ state: 'dead' }, { state: 'sent', expires_at: ago(5 * MINUTE) }],
      [chain(), block(990, now), block(989, ago(-DAY))],
    ),
  },
  delegation_overdue: {
    raises: each(
      'delegation',
      { expires_at: beyond(10 * MINUTE) },
      [{ state: 'active' }, { state: 'reclaiming' }],
      [chain(), block(970, now)],
    ),
    silent: each(
      'delegation',
      { expires_at: beyond(10 * MINUTE) },
      [{ state: 'ended' }, { state: 'active', expires_at: ago(10 * MINUTE) }],
      [chain(), block(970, now), block(971, ago(-DAY))],
    ),
  },
  books_broken: {
    raises: each('books_finding', { found_at: ago(60) }, [
      {},
      { accepted_at: now },
      { gone_at: now },
      { gone_at: now, accepted_at: ago(61) },
    ]),
    silent: [
      [],
      ...each('books_finding', { found_at: ago(60), gone_at: now }, [{ accepted_at: ago(60) }]),
    ],
  },
  books_unchecked: simple('books_check', { due_at: beyond(30 * MINUTE) }, [
    { due_at: ago(30 * MINUTE) },
  ]),
  journal_behind: {
    raises: each(
      'transfer',
      { number: 11, made_at: beyond(HOUR) },
      [{}],
      [['journal', { number: 1, last_entry: 10 }]],
    ),
    silent: each(
      'transfer',
      { number: 11, made_at: beyond(HOUR) },
      [{ number: 10 }, { made_at: ago(HOUR) }],
      [['journal', { number: 1, last_entry: 10 }]],
    ),
  },
  deposit_held: simple('deposit', { state: 'held' }, [{ state: 'ignored' }, { state: 'seen' }]),
  deposit_waits: {
    raises: [
      ...each(
        'deposit',
        { seen_at: beyond(10 * MINUTE) },
        ['received', 'delivering', 'returning', 'refunding'].map((state) => ({ state })),
      ),
      ...each(
        'deposit_screening',
        { tx_id: 'x', position: 0, queued_at: beyond(10 * MINUTE) },
        [{}],
        [['deposit', { tx_id: 'x', position: 0, state: 'seen' }]],
      ),
    ],
    silent: [
      ...each('deposit', { seen_at: beyond(10 * MINUTE) }, [
        { state: 'credited' },
        { state: 'received', seen_at: ago(10 * MINUTE) },
      ]),
      ...each(
        'deposit_screening',
        { tx_id: 'x', position: 0, queued_at: beyond(10 * MINUTE) },
        [{ queued_at: ago(10 * MINUTE) }, { ways: [] }, { screened_at: now }, { position: 1 }],
        [['deposit', { tx_id: 'x', position: 0, state: 'seen' }]],
      ),
      [
        ['deposit', { tx_id: 'x', position: 0, state: 'credited', solid_at: now }],
        ['deposit_screening', { tx_id: 'x', position: 0, queued_at: beyond(10 * MINUTE) }],
      ],
    ],
  },
  freezes_not_asked: {
    raises: [
      [['issuer_word', { token: 'T', said: 'not_asked', asked_at: ago(10 * MINUTE - 1) }]],
      [
        ['issuer_word', { address: 'a', token: 'T', said: 'not_asked', asked_at: ago(60) }],
        ['issuer_word', { address: 'b', token: 'T', said: 'frozen', asked_at: ago(60) }],
        ['issuer_word', { address: 'c', token: 'U', said: 'frozen', asked_at: ago(1) }],
        ['issuer_word', { address: 'd', token: 'T', said: 'not_asked', asked_at: ago(1) }],
      ],
    ],
    silent: [
      [['issuer_word', { token: 'T', said: 'not_asked', asked_at: ago(10 * MINUTE) }]],
      [['issuer_word', { token: 'T', said: 'no_list', asked_at: ago(60) }]],
      [
        ['issuer_word', { address: 'a', token: 'T', said: 'not_asked', asked_at: ago(60) }],
        ['issuer_word', { address: 'b', token: 'T', said: 'frozen', asked_at: ago(59) }],
      ],
    ],
  },
  lists_none: {
    raises: [[check({})]],
    silent: [
      [check({ state: 'failed' })],
      [check({ id: idAt(ago(DAY + 1)) })],
      [check({}), ['label_set', { number: 99 }], ['label_set_version', { label_set: 99 }]],
    ],
  },
  list_old: {
    raises: each('list', { read_at: beyond(7 * DAY), kind: 'authority' }, [
      {},
      { refresh_hours: 84 },
      { kind: 'curated', refresh_hours: 84 },
    ]),
    silent: each('list', { read_at: beyond(7 * DAY), kind: 'authority' }, [
      { kind: 'curated' },
      { read_at: ago(7 * DAY) },
      { refresh_hours: 85 },
      { read_at: null },
    ]),
  },
  list_failing: simple('list', { failing_since: now, error: 'x' }, [{ failing_since: null }]),
  index_behind: {
    raises: [
      [...waiting, process({ report: report(4_979) })],
      [...waiting, process({ role: 'index', report: report(4_999, false) })],
      [...waiting, process({ role: 'all', report: report(4_979) })],
    ],
    silent: [
      [...waiting, process({ report: report(4_980) })],
      [...waiting, process({ report: report(undefined) })],
      [...waiting, process({ role: 'api', report: report(4_979) })],
      [...waiting, process({ report: report(4_979), seen_at: gone })],
      [...waiting, process({ report: report(4_979), started_at: ago(MINUTE) })],
    ],
  },
  index_missing: {
    raises: [
      [process({ report: report(undefined) })],
      [
        process({ report: report(undefined) }),
        process({ id: 'q', report: report(1), seen_at: gone }),
      ],
      [
        process({ report: report(undefined) }),
        process({ id: 'q', role: 'api', report: report(1) }),
      ],
    ],
    silent: [
      [],
      [process({ report: report(1) })],
      [process({ report: {} })],
      [process({ report: report(undefined), seen_at: gone })],
      [process({ report: report(undefined), started_at: ago(MINUTE) })],
      [
        process({ report: report(undefined) }),
        process({ id: 'q', role: 'index', report: report(1) }),
      ],
    ],
  },
  sent_old: {
    raises: each(
      'flow_sent',
      { begun_at: beyond(2 * DAY) },
      [{}, { read_at: beyond(2 * DAY) }],
      [policyOf(2)],
    ),
    silent: [
      [policyOf(1), ['flow_sent', { begun_at: beyond(2 * DAY) }]],
      ...each(
        'flow_sent',
        { begun_at: beyond(2 * DAY) },
        [{ begun_at: ago(2 * DAY) }, { read_at: ago(2 * DAY) }],
        [policyOf(2)],
      ),
    ],
  },
  checks_failing: {
    raises: [[failed(1)], [...completed(18), failed(50)]],
    silent: [
      [check({})],
      ...['tx_not_found', 'no_transfer', 'not_in_transaction', 'not_covered'].map((error) => [
        failed(1, { error }),
      ]),
      [failed(1, { state: 'pending' })],
      [failed(1, { ended_at: ago(10 * MINUTE) })],
      [...completed(19), failed(50)],
    ],
  },
  review_waits: simple('aml_review', { state: 'open', opened_at: beyond(DAY) }, [
    { state: 'decided' },
    { opened_at: ago(DAY) },
  ]),
  cases_late: simple('aml_case', { state: 'open', due_at: beyond(HOUR) }, [
    { state: 'closed' },
    { due_at: ago(HOUR) },
  ]),
  provider_down: {
    raises: [
      [1, 2, 3].map((i) => answer(i)),
      [
        answer(1, { outcome: 'permanent' }),
        answer(2, { outcome: 'auth' }),
        answer(3, { outcome: 'quota' }),
        answer(4, { outcome: 'answered', received_at: ago(10 * MINUTE) }),
        answer(5, { outcome: 'answered', provider: PROVIDERS[1] }),
      ],
    ],
    silent: [
      [1, 2].map((i) => answer(i)),
      [answer(1), answer(2), answer(3, { received_at: ago(10 * MINUTE) })],
      [answer(1), answer(2), answer(3, { outcome: 'answered' })],
      [answer(1), answer(2), answer(3), answer(4, { outcome: 'answered' })],
      [answer(1), answer(2), answer(3, { provider: PROVIDERS[1] })],
    ],
  },
  webhooks_failing: {
    raises: [
      [['webhook', { state: 'disabled', called_at: ago(DAY - 1) }]],
      [['webhook', { state: 'on', failing_since: beyond(HOUR) }]],
    ],
    silent: [
      [['webhook', { state: 'disabled', called_at: ago(DAY) }]],
      [['webhook', { state: 'on', failing_since: ago(HOUR) }]],
      [['webhook', { state: 'off', called_at: ago(1), failing_since: beyond(HOUR) }]],
    ],
  },
  database_went_back: simple('database_loss', { missing: [] }, [{ accepted_at: now }]),
  backup_old: {
    raises: each('backup', { id: 'b' }, [
      { made_at: beyond(25 * HOUR), found: [] },
      { made_at: now, found: ['x'] },
    ]),
    silent: [
      ...each('backup', { id: 'b' }, [{ made_at: ago(25 * HOUR), found: [] }]),
      [
        ['backup', { id: 'a', made_at: ago(HOUR), found: ['x'] }],
        ['backup', { id: 'b', made_at: ago(MINUTE), found: [] }],
      ],
    ],
  },
  standby_missing: {
    raises: [[process({ standbys: 1 })]],
    silent: [[process({ standbys: 0 })], [process({ standbys: 1, seen_at: gone })]],
  },
  commit_unreplicated: {
    raises: [[process({ unreplicated_commits: 1 })]],
    silent: [[process({ unreplicated_commits: 0 })]],
  },
  clock_off: {
    raises: [[process({ clock_offset_ms: 1_001 })], [process({ clock_offset_ms: -1_001 })]],
    silent: [
      [process({ clock_offset_ms: 1_000 })],
      [process({ clock_offset_ms: 9_999, seen_at: gone })],
    ],
  },
  data_folder_unwritten: {
    raises: [[process({ unwritten_since: now })]],
    silent: [[process({})], [process({ unwritten_since: now, seen_at: gone })]],
  },
  safety_loosened: simple('loosened_setting', { name: 'x', seen_at: ago(5 * MINUTE - 1) }, [
    { seen_at: ago(5 * MINUTE) },
  ]),
  wallet_cannot_pay: {
    raises: [
      [
        ['pool_wallet', { address: 'a', resource: 'energy', carries: 900 }],
        ['pool_wallet', { address: 'a', resource: 'bandwidth', carries: 199 }],
      ],
    ],
    silent: [[], [['pool_wallet', { address: 'a', resource: 'energy', carries: 200 }]]],
  },
  pool_low: {
    raises: [
      [
        price(),
        price({ min_amount: 300, max_amount: 400 }),
        ['pool', { resource: 'energy', room: 150, reserved: 51 }],
        ['pool_wallet', { address: 'a', resource: 'energy' }],
      ],
    ],
    silent: [
      [price(), ['pool', { resource: 'energy', room: 1, reserved: 1 }]],
      [
        price(),
        ['pool', { resource: 'energy', room: 150, reserved: 50 }],
        ['pool_wallet', { address: 'a', resource: 'energy' }],
      ],
      [
        price({ until: now }),
        price({ min_amount: 90, max_amount: 99 }),
        ['pool', { resource: 'energy', room: 150, reserved: 55 }],
        ['pool_wallet', { address: 'a', resource: 'energy' }],
      ],
    ],
  },
}
/** Those whose limits stories of their own walk. */
const ELSEWHERE = ['signing_stopped', 'archive_behind']

/** The values of columns of which nothing is said. */
const PLAIN: Record<string, unknown> = {
  boolean: false,
  bytea: Buffer.alloc(0),
  json: '{}',
  jsonb: '{}',
  'timestamp with time zone': ago(0),
  ARRAY: [],
}
const NUMBERS = ['bigint', 'integer', 'smallint', 'numeric']
type Column = { table_name: string; column_name: string; data_type: string; is_needed: boolean }

async function columnsOf(sql: Sql): Promise<Map<string, Column[]>> {
  const columns = await sql<Column>`
    select table_name, column_name, data_type, is_nullable = 'NO' and column_default is null
      and is_identity = 'NO' as is_needed
    from information_schema.columns where table_schema = 'public' order by ordinal_position`
  return Map.groupBy(columns, ({ table_name }) => table_name)
}

/** A row with what is said of it, and something plain elsewhere. */
async function insert(tx: Tx, columns: Map<string, Column[]>, [table, values]: Row): Promise<void> {
  const whole: Values = {}
  for (const { column_name, data_type, is_needed } of columns.get(table)!) {
    const plain = PLAIN[data_type] ?? (NUMBERS.includes(data_type) ? 0 : '')
    if (column_name in values) {
      const value = values[column_name]
      whole[column_name] = /json/.test(data_type) ? JSON.stringify(value) : value
    } else if (is_needed) whole[column_name] = plain
  }
  const unknown = Object.keys(values).filter((name) => !(name in whole))
  assert.deepEqual(unknown, [], `${table} has no such column`)
  const names = Object.keys(whole)
  const fragments = names.flatMap((name, i) => [i === 0 ? '' : ', ', writeFragment`${whole[name]}`])
  const quoted = names.map((name) => `"${name}"`).join()
  const into = `insert into "${table}" (${quoted}) overriding system value values (`
  await tx(...joinFragments([into, ...fragments, ')']))
}

test('each alert is raised from its limit on, and by nothing less', async (t) => {
  const { sql } = await freshDatabase(t)
  const columns = await columnsOf(sql)
  const checks = await sql<{ name: string; table: string }>`
    select conname as name, conrelid::regclass::text as table from pg_constraint
    where contype = 'c' and conrelid <> 0 and connamespace = 'public'::regnamespace`
  const raised = (name: string, rows: readonly Row[]) =>
    withoutTriggers(sql, async (tx) => {
      // Rows have what is asked for, and need not make sense otherwise.
      const tables = new Set(rows.map(([table]) => table))
      for (const one of checks)
        if (tables.has(one.table))
          await tx(...joinFragments([`alter table ${one.table} drop constraint ${one.name}`]))
      for (const table of tables) await tx(...joinFragments([`delete from "${table}"`]))
      for (const row of rows) await insert(tx, columns, row)
      const found = await tx(...joinFragments([ALERTS[name]!({ sql: writeFragment, now })]))
      throw new Found(found.length > 0)
    }).catch((thrown: unknown) => {
      if (thrown instanceof Found) return thrown.is_raised
      throw thrown
    })
  assert.deepEqual([...Object.keys(CASES), ...ELSEWHERE].sort(), Object.keys(ALERTS).sort())
  for (const [name, { raises, silent }] of Object.entries(CASES)) {
    for (const rows of raises) assert.equal(await raised(name, rows), true, say(name, rows))
    for (const rows of silent) assert.equal(await raised(name, rows), false, say(name, rows))
  }
})

/** Thrown, so that the rows are taken back. */
class Found extends Error {
  readonly is_raised: boolean
  constructor(is_raised: boolean) {
    super()
    this.is_raised = is_raised
  }
}

const say = (name: string, rows: readonly Row[]) =>
  `${name}: ${JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`
