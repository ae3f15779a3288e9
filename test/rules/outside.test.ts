// Who calls out, and whose names are looked up. A name that a stranger has chosen is looked up by
// name servers alone, with bounds; all others by `dns.lookup`, which `platform/names/names.ts`
// replaces. So nobody else asks for addresses, and each file that connects to somewhere says here
// that it is to where the operator has named.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSources } from '../../tools/source.ts'

const NAMES = 'packages/service/src/platform/names/names.ts'
const ASKS_FOR_ADDRESSES =
  /\b(?:dns|Resolver|lookup)\b[^\n]*from 'node:dns(\/promises)?'|require\('dns|\bsetServers\(/
const CALLS_OUT = new RegExp(
  [
    '(?<=await |return |=> |= )fetch\\(',
    '\\b(?:http|https)\\.(?:request|get|Agent)\\b',
    "\\bfrom 'node:https'",
    "\\bfrom 'undici'",
    "\\bfrom 'nodemailer'",
    '\\b(?:net|tls)\\.connect\\(',
    "\\bconnect\\b[^\\n]*from 'node:(?:net|tls)'",
    '\\bnew (?:Socket|WebSocket)\\(',
  ].join('|'),
)
const OURS: readonly string[] = [
  // Nodes, screening services and publishers of lists: settings and commands name them.
  'packages/service/src/chain/node/transport.ts',
  'packages/service/src/screening/providers/guard.ts',
  'packages/service/src/screening/labels/lists.ts',
  // The operator's ClickHouse.
  'packages/service/src/chain/transfers/clickhouse.ts',
  // The operator's mail server.
  'packages/service/src/people/sign_up/mailer.ts',
]
/** Strangers' names, by `platform/names/customers_names.ts`. */
const STRANGERS: readonly string[] = ['packages/service/src/events/webhooks/caller.ts']

const wrong = (files: readonly (readonly [path: string, code: string])[]): string[] =>
  files.flatMap(([path, code]) => [
    ...(path !== NAMES && ASKS_FOR_ADDRESSES.test(code) ? [`${path}: dns`] : []),
    ...(CALLS_OUT.test(code) && ![...OURS, ...STRANGERS].includes(path) ? [`${path}: out`] : []),
  ])

test('names are looked up in one file, and those who call out are known', async () => {
  const sources = await readSources('packages/service/src')
  const files = sources
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .map(({ path, code }) => [path, code] as const)
  assert.ok(files.length > 300)
  assert.deepEqual(wrong(files), [])
  const named = new Map(files)
  for (const path of [...OURS, ...STRANGERS]) assert.match(named.get(path)!, CALLS_OUT, path)
  assert.match(named.get('packages/service/src/events/webhooks/caller.ts')!, /lookup: way\.lookup/)
})

test('another look-up, or another who calls out, is found', () => {
  const files = [
    ["import { lookup } from 'node:dns'", 'dns'],
    ["import dns from 'node:dns/promises'", 'dns'],
    ["await fetch(url, { method: 'POST' })", 'out'],
    ["import https from 'node:https'", 'out'],
    ["import { Agent } from 'undici'", 'out'],
    ["import { connect } from 'node:tls'", 'out'],
  ] as const
  for (const [code, found] of files)
    assert.deepEqual(wrong([['x.ts', code]]), [`x.ts: ${found}`], code)
})
