// What nodes say when they are asked whether an issuer has frozen an address, and what becomes of
// that.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
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
