// What nodes say when they are asked whether an issuer has frozen an address, and what becomes of
// that.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Address, addressFromBytes } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { freshDatabase } from '../../../../../test/harness/database.ts'
import { tronNode } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { issuersOf } from './issuers.ts'

const SOMEBODY = 'TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY'
const YES = '1'.padStart(64, '0')
const NO = '0'.repeat(64)

const saying = (result: unknown, outcome: object = { result: true }) =>
  JSON.stringify({ result: outcome, constant_result: [result], energy_used: 935 })
const REVERTED = saying('', { result: true, message: 'REVERT opcode executed' })

async function follow(t: TestContext): Promise<Sql> {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into flow_asset (number, contract, symbol, decimals) values (1, ${USDT}, 'USDT', 6)`
  return sql
}

/** Asks nodes that answer so, a week after they were asked last. */
async function wordOf(sql: Sql, bodies: (string | undefined)[]) {
  const [{ now } = { now: new Date(0) }] = await sql<{ now: Date }>`
    select asked_at + interval '7 days' as now from issuer_word order by asked_at desc limit 1`
  const node = tronNode({
    nodes: bodies.map((_body, i) => ({ url: `http://node${i}` })),
    transport: async ({ url }) => {
      const body = bodies[Number(new URL(url).hostname.slice(4))]
      if (body === undefined) throw new Error('ECONNREFUSED')
      return { status: 200, body }
    },
  })
  const issuers = issuersOf({ sql, clock: { now: () => now }, node })
  assert.deepEqual(await issuers.unasked(sql, [SOMEBODY]), [SOMEBODY])
  await issuers.ask([SOMEBODY])
  const [row] = await sql<{ said: string }>`select said from issuer_word where asked_at = ${now}`
  const unasked = await issuers.unasked(sql, [SOMEBODY])
  assert.equal(unasked.length, row!.said === 'not_asked' ? 1 : 0)
  return row!.said
}

test('a plain word is one', async (t) => {
  const sql = await follow(t)
  assert.equal(await wordOf(sql, [saying(YES)]), 'frozen')
  assert.equal(await wordOf(sql, [saying(NO)]), 'not_frozen')
  assert.equal(await wordOf(sql, [REVERTED]), 'no_list', 'a token without a freeze list')
})

test('whatever is no plain word is none', async (t) => {
  const sql = await follow(t)
  const odd = [
    undefined,
    '',
    '<html>',
    '{}',
    '[]',
    'null',
    '{"Error":"class java.lang.NullPointerException"}',
    saying(''),
    saying('0'),
    saying(NO.slice(1)),
    saying(`${NO}00`),
    saying('2'.padStart(64, '0')),
    saying(`1${NO.slice(1)}`),
    saying('f'.repeat(64)),
    saying(null),
    saying(false),
    saying(0),
    saying(NO, {}),
    saying(NO, { result: false }),
    saying(NO, { result: true, message: 'something' }),
    saying(NO, { code: 'CONTRACT_VALIDATE_ERROR', message: 'No contract' }),
    JSON.stringify({ result: { result: true }, constant_result: [] }),
    JSON.stringify({ result: { result: true } }),
    JSON.stringify({ constant_result: [NO] }),
  ]
  for (const body of odd) assert.equal(await wordOf(sql, [body]), 'not_asked', String(body))
})

test('of two nodes one that says "frozen" is enough, and a no takes both', async (t) => {
  const sql = await follow(t)
  assert.equal(await wordOf(sql, [saying(NO), saying(YES)]), 'frozen')
  assert.equal(await wordOf(sql, [undefined, saying(YES)]), 'frozen')
  assert.equal(await wordOf(sql, [saying(NO), saying(NO)]), 'not_frozen')
  assert.equal(await wordOf(sql, [saying(NO), undefined]), 'not_asked')
  assert.equal(await wordOf(sql, [saying(NO), REVERTED]), 'not_asked', 'they contradict each other')
})

const [HELD, OTHER_TOKEN, OTHER_ONE] = [11, 12, 13].map((n) =>
  addressFromBytes(Uint8Array.of(0x41, n, ...new Uint8Array(19))),
) as [Address, Address, Address]
const AT = new Date(Date.UTC(2026, 9, 8))
const DAY_MS = 86_400_000

test('it is asked again after a day, of each token of which the log has no word', async (t) => {
  const sql = await follow(t)
  const { node } = nodeAnswering(saying(NO))
  let now_ms = AT.getTime()
  const issuers = issuersOf({ sql, clock: { now: () => new Date(now_ms) }, node })
  const unasked = (...addresses: Address[]) => issuers.unasked(sql, addresses)
  assert.deepEqual(await unasked(), [])
  await sql`
    insert into flow_asset (number, contract, symbol, decimals)
    values (2, ${OTHER_TOKEN}, 'OTHER', 6)`
  await sql`
    insert into flow_freeze (token, address, frozen, number) values
      (${USDT}, ${HELD}, true, 1), (${OTHER_TOKEN}, ${HELD}, false, 1),
      (${USDT}, ${OTHER_ONE}, false, 1)`
  const word = (address: Address, token: Address, ms: number, said = 'not_frozen') => sql`
    insert into issuer_word (address, token, asked_at, said, nodes, error)
    values (${address}, ${token}, ${new Date(now_ms + ms)}, ${said}, 1,
      ${said === 'not_asked' ? 'down' : null})`
  assert.deepEqual(await unasked(HELD, OTHER_ONE, SOMEBODY), [OTHER_ONE, SOMEBODY])
  await word(OTHER_ONE, OTHER_TOKEN, 1 - DAY_MS)
  assert.deepEqual(await unasked(HELD, OTHER_ONE, SOMEBODY), [SOMEBODY])
  await word(SOMEBODY, USDT, 0)
  await word(SOMEBODY, OTHER_TOKEN, 0, 'not_asked')
  assert.deepEqual(await unasked(SOMEBODY), [SOMEBODY], 'one of two tokens was asked in vain')
  await word(SOMEBODY, OTHER_TOKEN, 1)
  assert.deepEqual(await unasked(SOMEBODY), [])
  now_ms += 1
  assert.deepEqual(await unasked(OTHER_ONE), [OTHER_ONE], 'a day is over')
})

/** A node of one answer, and how often it was asked. */
function nodeAnswering(body: string | undefined) {
  const asked = { count: 0, body }
  const node = tronNode({
    nodes: [{ url: 'http://node' }],
    transport: async () => {
      asked.count += 1
      if (asked.body === undefined) throw new Error('ECONNREFUSED')
      return { status: 200, body: asked.body }
    },
  })
  return { node, asked }
}

test('an address is asked about once a day, and known meanwhile without a look', async (t) => {
  const sql = await follow(t)
  const { node, asked } = nodeAnswering(saying(NO))
  let now_ms = AT.getTime()
  const issuers = issuersOf({ sql, clock: { now: () => new Date(now_ms) }, node })
  await Promise.all([issuers.ask([SOMEBODY]), issuers.ask([SOMEBODY]), issuers.ask([])])
  assert.equal(asked.count, 1, 'once for all who ask at the same time')
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 1)
  await sql`
    insert into flow_asset (number, contract, symbol, decimals)
    values (2, ${OTHER_TOKEN}, 'OTHER', 6)`
  now_ms += DAY_MS - 1
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 1, 'it is known for a day')
  now_ms += 1
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 3, 'of both tokens')
  await issuers.ask([OTHER_ONE, HELD])
  assert.equal(asked.count, 7, 'each of some')
})

test('a question under way is not asked again by one who looks late', async (t) => {
  const sql = await follow(t)
  const { node, asked } = nodeAnswering(saying(NO))
  const first = Promise.withResolvers<void>()
  let looks = 0
  /** The second look sees no answer yet, and is told so when the first question is over. */
  const seenLate = async (texts: TemplateStringsArray, ...values: never[]) => {
    const is_look = texts.join('').includes('unnest')
    if (is_look) looks += 1
    const is_second = is_look && looks === 2
    const rows = await sql(texts, ...values)
    if (is_second) await first.promise
    return rows
  }
  const slow = Object.assign(seenLate, sql) as unknown as Sql
  const issuers = issuersOf({ sql: slow, clock: { now: () => AT }, node })
  const one = issuers.ask([SOMEBODY]).finally(first.resolve)
  await Promise.all([one, issuers.ask([SOMEBODY]), issuers.ask([SOMEBODY, OTHER_ONE])])
  assert.equal(asked.count, 2, 'one question about each')
})

test('after a question in vain none is asked for half a minute', async (t) => {
  const sql = await follow(t)
  const { node, asked } = nodeAnswering(undefined)
  let now_ms = AT.getTime()
  const issuers = issuersOf({ sql, clock: { now: () => new Date(now_ms) }, node })
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 1)
  asked.body = saying(YES)
  now_ms += 29_999
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 1)
  now_ms += 1
  await issuers.ask([SOMEBODY])
  assert.equal(asked.count, 2)
  const said = await sql<{ said: string; error: string | null }>`
    select said, error from issuer_word order by asked_at`
  assert.deepEqual(
    said.map((one) => [one.said, one.error === null]),
    [
      ['not_asked', false],
      ['frozen', true],
    ],
  )
})
