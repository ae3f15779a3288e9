// Each table is written by one room of the service: anyone else who wants a row changed calls that
// room's function, in a transaction of his own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNode, parseSource, readSources, type Source, walk, where } from '../../tools/source.ts'
import { floorOf } from './floors.ts'

/** The tables of each room. */
const TABLES: Record<string, string> = {
  'ledger/accounts':
    'account customer_action transfer journal journal_mark operator_action sealed_sum sums_seal',
  'platform/steps': 'duty',
  'chain/follow': 'attempt block chain cursor node_dispute node_hiding',
  'chain/wallets': 'wallet_check',
  'chain/signing': 'signing signing_amount',
  'chain/transfers': 'flow_archive flow_archive_portion flow_block',
  'screening/labels':
    'aml_entry label_set label_set_version list list_entry list_removal list_version',
  'events/log': 'event event_counter event_note event_publisher',
  'events/webhooks': 'notice webhook webhook_call webhook_network webhook_secret',
  'people/settings': 'customer_setting',
  'people/refusals': 'refusal refusal_day',
  'treasury/invoices': 'invoice invoice_progress',
  'ledger/statements': 'summary summary_progress',
  'people/customers': 'customer customer_note api_key_cap api_key_spending',
  'people/keys': 'api_key api_key_nonce',
  'screening/kept': 'flow_checkpoint flow_checkpoint_part flow_sent_part',
  'screening/tracing':
    'flow_asset flow_carried flow_carried_from flow_deposit flow_deposit_found ' +
    'flow_deposit_revoked flow_freeze flow_generation flow_hub flow_import flow_reach flow_sent',
  'market/pool': 'pool pool_wallet delegation activation activation_float capital',
  'market/prices': 'price price_rule fee service aml_price aml_service',
  'market/orders': 'orders',
  'market/quotes': 'offer quote',
  'people/pairing': 'pairing',
  'people/sign_up': 'sign_up',
  'market/receipts': 'signing_key',
  'screening/engine': 'issuer_word policy',
  'treasury/deposits': 'deposit deposit_outflow deposit_resolution deposit_screening holding',
  'treasury/collecting': 'collection collection_transfer',
  'treasury/votes': 'reward_claim vote vote_plan',
  'treasury/corrections': 'approval_rule correction correction_proposal operation_proposal',
  'people/users': 'service_user user_link user_session',
  'people/sign_in': 'answered_challenge passkey recovery_code sign_in user_password',
  'market/subscriptions': 'plan subscription subscription_supply subscription_use',
  'screening/checks':
    'aml_answer aml_check aml_count aml_count_delta aml_evidence aml_review ' + 'aml_watch',
  'screening/cases':
    'aml_case aml_case_alert aml_case_entry aml_case_subject flow_pair flow_pair_progress',
  'health/books': 'books_check books_finding',
  'run/backups': 'backup',
  'health/monitoring': 'alert database_loss loosened_setting process',
  'health/uptime': 'metric metric_progress',
  'health/status': 'incident status_page',
  web: 'brand',
}

const ROOM_OF = new Map(
  Object.entries(TABLES).flatMap(([room, tables]) =>
    tables.split(' ').map((table) => [table, room] as const),
  ),
)

type Write = { table: string; room: string; where: string }

/** The words that begin a write, and the table after them. A lock and a conflict also say
 *  `update`. */
const WRITES = new RegExp(
  '(?<!\\bfor |\\bfor no key |\\bdo )\\b' +
    '(?:insert\\s+into|update(?:\\s+only)?|delete\\s+from(?:\\s+only)?|truncate(?:\\s+table)?)' +
    '\\s+([a-z_]+)',
  'gi',
)

/** Every insert, update and delete in the statements of a file. */
function writes(source: Source): Write[] {
  const found: Write[] = []
  for (const node of walk(source.tree)) {
    if (node.type !== 'TaggedTemplateExpression' || !isNode(node.quasi)) continue
    const parts = node.quasi.quasis as { value: { cooked: string } }[]
    const text = parts.map(({ value }) => value.cooked).join('$')
    const { room } = floorOf(source.path)
    for (const [, table] of text.matchAll(WRITES))
      found.push({ table: table!, room, where: where(source, node.start) })
  }
  return found
}

/** Lines that say which statement writes a table that is not its room's. */
const wrong = (found: readonly Write[]) =>
  found
    .filter(({ table, room }) => ROOM_OF.get(table) !== room)
    .map(
      ({ table, where }) =>
        `${where} writes ${table}, which belongs to ${ROOM_OF.get(table) ?? 'nobody'}`,
    )

const all = (await readSources('packages/service/src'))
  .filter(({ path }) => !path.endsWith('.test.ts'))
  .flatMap(writes)

test('each table is written by the room that owns it', () => {
  const lines = wrong(all)
  assert.equal(lines.length, 0, `\n${lines.join('\n')}`)
})

test('the log of transfers is named in the statements of its home alone', async () => {
  const naming = (await readSources('packages/service/src'))
    .filter(({ path, code }) => !path.endsWith('.test.ts') && /\bflow_block\b/.test(code))
    .map(({ path }) => path)
  assert.deepEqual(naming, ['packages/service/src/chain/transfers/postgres_log.ts'])
})

test('no table is listed that nobody writes', () => {
  const written = new Set(all.map(({ table }) => table))
  assert.deepEqual(
    [...ROOM_OF.keys()].filter((table) => !written.has(table)),
    [],
  )
})

test('a write of another room is named by file and line; a lock is none', () => {
  const bad = `const a = (tx: Tx) => tx\`
      insert into price (id) values (1) on conflict (id) do update set id = 2\`
    const b = (tx: Tx) => tx\`select 1 from orders for update\`
    const c = (tx: Tx) => tx\`select 1 from orders for no key update skip locked\`
    const d = (tx: Tx) => tx\`with one as (delete from plan returning 1) update nothing set a = 1\`
    const e = (tx: Tx) => tx\`INSERT  INTO price (id) values (1)\``
  const path = 'packages/service/src/operators/market/a.ts'
  const source = parseSource(path, bad)
  assert.deepEqual(wrong(writes(source)), [
    `${path}:1 writes price, which belongs to market/prices`,
    `${path}:5 writes plan, which belongs to market/subscriptions`,
    `${path}:5 writes nothing, which belongs to nobody`,
    `${path}:6 writes price, which belongs to market/prices`,
  ])
})
