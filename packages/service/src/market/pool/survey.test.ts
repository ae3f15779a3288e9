// When the pool is looked at again, and what is noted of what the chain says of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { insertDelegation, wallet } from 'penstock-test/harness/delegation_rows.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import type { Node, Resource } from '../../chain/node/node.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { payableActivations } from './activations.ts'
import { CARRIES_MIN, reserveRoom, sellRoom, surveyStep, useRoom } from './pool.ts'

const head = { number: 10, id: 'b10', time: new Date('2026-10-08T12:00:00Z') }

/** As the chain says it of every wallet. */
type WalletState = { left: bigint; balance_sun: bigint; price_sun?: bigint; room_sun: bigint }

const RICH: WalletState = { left: 0n, balance_sun: 1_000_000_000n, room_sun: 100_000_000n }

/** A TRX of stake is 100 units and the margin. */
function chainThatSays(said: WalletState) {
  const of = { energy: 0n, bandwidth: 0n }
  const used = { units: 0n, seconds: 86_400n }
  const recovering = { energy: used, bandwidth: used }
  const asked: string[] = []
  const answer = <Answer>(name: string, value: Answer) => {
    asked.push(name)
    return Promise.resolve(value)
  }
  const prices =
    said.price_sun === undefined ? [] : [['getTransactionFee', said.price_sun] as const]
  const { left, balance_sun } = said
  const node = {
    head: () => answer('head', head),
    parameters: () => answer('parameters', new Map<string, bigint>(prices)),
    account: () => answer('account', { balance_sun, staked_sun: of, recovering, votes: [] }),
    resource: () => answer('resource', { left, total_limit: 1_010_000n, total_weight: 10_000n }),
    delegable: () => answer('delegable', said.room_sun),
  }
  return { node: node as unknown as Node, asked }
}

const surveyOf = (sql: Sql, node: Node) =>
  surveyStep({
    sql,
    node,
    pool: [wallet],
    activation_wallet: { address: wallet, permission_id: 2 },
  })

async function insertChain(sql: Sql): Promise<void> {
  await sql`
    insert into block (number, id, parent_id, time, contents)
    select number, 'b' || number, 'b' || number - 1, ${head.time}, '{}'
    from generate_series(8, 10) as number`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (10, 'b10', ${head.time}, 8, 8, ${head.time})`
}

const after = (ms: number) => new Date(head.time.getTime() + ms)

const attemptIn = (tx: Tx, state: string, block_number: number) => tx`
  insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
    block_number, block_time)
  values ('one', 'one', '{}', ${state}, 'one', '', now(), now(), now(), ${block_number}, now())`

const confirm = (tx: Tx, number: number) => tx`
  update chain set head_number = 12, solid_number = ${number}, confirmed_number = ${number}`

type Change = [what: string, change: (tx: Tx) => Promise<unknown>, is_due: boolean]

const CHANGES: Change[] = [
  ['nothing', async () => {}, false],
  ['no head is known', (tx) => tx`delete from chain`, true],
  ['almost 30 s', (tx) => tx`update chain set head_time = ${after(29_999)}`, false],
  ['30 seconds', (tx) => tx`update chain set head_time = ${after(30_000)}`, true],
  ['its block confirmed', (tx) => confirm(tx, 10), false],
  ['a later one confirmed', (tx) => confirm(tx, 11), true],
  ['another block there', (tx) => tx`update block set id = 'c10' where number = 10`, true],
  ['another block before', (tx) => tx`update block set id = 'c9' where number = 9`, false],
  ['ours in the same', (tx) => attemptIn(tx, 'included', 10), false],
  ['ours in a later one', (tx) => attemptIn(tx, 'included', 11), true],
  ['what is solid', (tx) => attemptIn(tx, 'solid', 11), false],
  ['one less to take back', (tx) => tx`delete from delegation where id = 'd1'`, true],
  [
    'one begun',
    (tx) => insertDelegation(tx as unknown as Sql, { id: 'd3', state: 'active' }),
    true,
  ],
  [
    'one asked for',
    (tx) => insertDelegation(tx as unknown as Sql, { id: 'd3', state: 'delegating' }),
    false,
  ],
]

const undone = new Error('undone')

test('the pool is looked at again when it may be another one, and not before', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChain(sql)
  for (const id of ['d1', 'd2']) await insertDelegation(sql, { id, state: 'active' })
  await insertDelegation(sql, { id: 'ended', state: 'ended' })
  await sql`update attempt set state = 'solid', block_number = 5 where state = 'included'`
  const { node, asked } = chainThatSays(RICH)
  const step = surveyOf(sql, node)
  assert.equal(await isDue(sql, step), true, 'it was not looked at yet')
  await step.run()
  asked.length = 0
  assert.equal(await step.run(), false)
  assert.deepEqual(asked, [], 'the chain is not asked in vain')
  for (const [what, change, is_due] of CHANGES) {
    const changed = sql.begin(async (tx) => {
      await change(tx)
      assert.equal(await isDue(tx, step), is_due, what)
      throw undone
    })
    await assert.rejects(changed, (thrown) => thrown === undone || assert.ifError(thrown))
  }
})

test('it is said when there is more room than before, of either resource', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChain(sql)
  const { node } = chainThatSays(RICH)
  const grew = () => surveyOf(sql, node).run()
  assert.equal(await grew(), true)
  assert.equal(await grew(), false, 'as much as before')
  for (const resource of ['energy', 'bandwidth']) {
    await sql`update pool set room = room - 1 where resource = ${resource}`
    assert.equal(await grew(), true, resource)
  }
  await sql`update pool set room = room + 1`
  assert.equal(await grew(), false, 'less than before')
  const rooms = await sql<{ room: bigint; total_limit: bigint }>`
    select room, total_limit from pool`
  assert.deepEqual(rooms, Array(2).fill({ room: 9_999n, total_limit: 1_010_000n }))
})

test('a wallet pays by bandwidth, one less than that gives, and by what it burns', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChain(sql)
  const poor = { left: 0n, balance_sun: 0n, room_sun: 1_000_000n }
  const cases: [said: Partial<WalletState>, carries: bigint][] = [
    [{}, 0n],
    [{ left: 349n }, 0n],
    [{ left: 350n }, 0n],
    [{ left: 699n }, 0n],
    [{ left: 700n }, 1n],
    [{ balance_sun: 349_999n }, 0n],
    [{ balance_sun: 350_000n }, 1n],
    [{ balance_sun: 700n, price_sun: 1n }, 2n],
    [{ balance_sun: 700n, price_sun: 0n }, 0n],
    [{ left: 1_400n, balance_sun: 350_000n }, 4n],
  ]
  const carries = async (said: Partial<WalletState>) => {
    await surveyOf(sql, chainThatSays({ ...poor, ...said }).node).run()
    const rows = await sql<{ carries: bigint }>`select distinct carries from pool_wallet`
    assert.equal(rows.length, 1)
    return rows[0]!.carries
  }
  for (const [said, expected] of cases)
    assert.equal(await carries(said), expected, Object.entries(said).join(' '))
  await insertDelegation(sql, { id: 'one', state: 'active', delegated_at: after(-1) })
  for (const state of ['delegating', 'ended']) await insertDelegation(sql, { id: state, state })
  assert.equal(await carries({ left: 1_400n }), 2n, 'one is to be taken back')
})

test('a wallet that can pay for twenty transactions sells, and for nineteen not', async (t) => {
  const { sql } = await freshDatabase(t)
  await insertChain(sql)
  for (const [count, room] of [
    [CARRIES_MIN, 99n],
    [CARRIES_MIN - 1n, 0n],
  ] as const) {
    const said = { left: 0n, balance_sun: 350_000n * count, room_sun: 1_000_000n }
    await surveyOf(sql, chainThatSays(said).node).run()
    const rows = await sql<{ room: bigint }>`select room from pool`
    assert.deepEqual(rows, [{ room }, { room }])
  }
})

test('room is sold, reserved and used of its own resource, to the unit', async (t) => {
  const { sql } = await freshDatabase(t)
  await sql`update pool set room = 100, reserved = 40`
  const poolAfter = async (move: (tx: Tx) => void) => {
    await sql.begin(async (tx) => move(tx))
    const rows = await sql<{ resource: Resource; room: bigint; reserved: bigint }>`
      select resource, room, reserved from pool order by resource`
    return rows.map(({ room, reserved }) => `${reserved} of ${room}`).join(', ')
  }
  const moves: [move: typeof useRoom, bandwidth: bigint, energy: bigint, to: string][] = [
    [sellRoom, 1n, 0n, '41 of 100, 40 of 100'],
    [sellRoom, 0n, 2n, '41 of 100, 42 of 100'],
    [reserveRoom, 0n, 1n, '41 of 100, 43 of 100'],
    [reserveRoom, -2n, 0n, '39 of 100, 43 of 100'],
    [reserveRoom, 0n, 70n, '39 of 100, 113 of 100'],
    [useRoom, 1n, 0n, '38 of 99, 113 of 100'],
    [useRoom, 0n, 11n, '38 of 99, 102 of 89'],
  ]
  for (const [move, bandwidth, energy, to] of moves)
    assert.equal(await poolAfter((tx) => move(tx, { bandwidth, energy })), to)
})

test('so many activations are payable as the balance holds their cost', () => {
  const NEW = 'getCreateNewAccountFeeInSystemContract'
  const OTHER = 'getCreateAccountFee'
  const cases: [parameters: Record<string, bigint>, balance_sun: bigint, payable: bigint][] = [
    [{}, 1_099_999n, 0n],
    [{}, 2_200_000n, 2n],
    [{ [NEW]: 5n }, 100_005n, 1n],
    [{ [OTHER]: 5n }, 1_000_004n, 0n],
    [{ [NEW]: 2n, [OTHER]: 3n }, 14n, 2n],
    [{ [NEW]: 1n, [OTHER]: 0n }, 14n, 14n],
    // Where they cost nothing, a sun is as good as any price.
    [{ [NEW]: 0n, [OTHER]: 0n }, 14n, 14n],
  ]
  for (const [parameters, balance_sun, payable] of cases)
    assert.equal(payableActivations(balance_sun, new Map(Object.entries(parameters))), payable)
})
