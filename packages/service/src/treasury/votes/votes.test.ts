// Votes and withdrawals, on rows written by hand: which of them each change touches, and which it
// leaves.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { votesApart, votesByPlan } from './plan.ts'
import {
  castVote,
  claimReward,
  completeClaim,
  endVotes,
  failClaims,
  lastVoteAt,
  solidClaims,
  voterFigures,
} from './votes.ts'

const now = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => now }
const period_ends_at = later(clock, 3_600_000)
const [wallet, other] = [person('wallet').address, person('other').address]
const [one, two, three] = ['one', 'two', 'three'].map((name) => person(name).address) as [
  typeof wallet,
  typeof wallet,
  typeof wallet,
]

type Row = { id: string; state: string; of?: string; attempt?: string; made_at?: Date }

class Rows {
  readonly sql: Sql
  ids = 0

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Rows> {
    return new Rows((await freshDatabase(t)).sql)
  }

  readonly needs = { clock, new_id: () => `made ${++this.ids}` }

  async attempt(id: string, state: string): Promise<void> {
    const in_block = state === 'included' || state === 'solid'
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${id}, '{}', ${state}, ${`tx of ${id}`}, '', ${now}, ${now}, ${now},
        ${in_block ? 90 : null}, ${in_block ? now : null})`
  }

  async vote(row: Row & { ends?: Date; power?: bigint }): Promise<void> {
    const { id, state, of = wallet, attempt = 'sent', made_at = now } = row
    const { ends = period_ends_at, power = 7n } = row
    await this.attempt(id, attempt)
    await this.sql`
      insert into vote (id, wallet, votes, power, period_ends_at, state, attempt_id, made_at,
        ended_at)
      values (${id}, ${of}, '[]', ${power}, ${ends}, ${state}, ${id}, ${made_at},
        ${state === 'casting' ? null : made_at})`
  }

  async claim(row: Row & { reward_sun?: bigint }): Promise<void> {
    const { id, state, of = wallet, attempt = 'sent', made_at = now, reward_sun = 5n } = row
    await this.attempt(id, attempt)
    await this.sql`
      insert into reward_claim (id, wallet, expected_sun, state, attempt_id, reward_sun, made_at,
        ended_at)
      values (${id}, ${of}, 5, ${state}, ${id}, ${state === 'claimed' ? reward_sun : null},
        ${made_at}, ${state === 'claiming' ? null : made_at})`
  }

  async states(table: 'vote' | 'reward_claim'): Promise<Record<string, string>> {
    const rows =
      table === 'vote'
        ? await this.sql<{ id: string; state: string }>`select id, state from vote order by id`
        : await this.sql<{ id: string; state: string }>`
            select id, state from reward_claim order by id`
    return Object.fromEntries(rows.map(({ id, state }) => [id, state]))
  }
}

test('a vote is cast unless one is under way, or was cast in this period', async (t) => {
  const rows = await Rows.of(t)
  const earlier = later(clock, -3_600_000)
  const cases: [row: Row & { ends?: Date }, casts: boolean][] = [
    [{ id: 'under way', state: 'casting' }, false],
    [{ id: 'under way since', state: 'casting', ends: earlier }, false],
    [{ id: 'cast', state: 'cast' }, false],
    [{ id: 'cast before', state: 'cast', ends: earlier }, true],
    [{ id: 'failed', state: 'failed' }, true],
    [{ id: 'of another', state: 'casting', of: other }, true],
    [{ id: 'cast by another', state: 'cast', of: other }, true],
  ]
  for (const [row, casts] of cases) {
    await rows.sql`delete from vote`
    await rows.sql`delete from attempt`
    await rows.vote(row)
    const votes = [{ witness: one, count: 7n }]
    const vote = { votes, power: 7n, period_ends_at }
    const voter = { address: wallet, permission_id: 2 }
    const cast = await rows.sql.begin((tx) => castVote(tx, rows.needs, voter, vote))
    const made = await rows.sql`select 1 from vote where id <> ${row.id} and wallet = ${wallet}`
    assert.deepEqual([cast, made.length], [casts, casts ? 1 : 0], row.id)
  }
})

test('a reward is claimed unless a claim of the wallet is under way', async (t) => {
  const rows = await Rows.of(t)
  const cases: [row: Row, claims: boolean][] = [
    [{ id: 'under way', state: 'claiming' }, false],
    [{ id: 'claimed', state: 'claimed' }, true],
    [{ id: 'failed', state: 'failed' }, true],
    [{ id: 'of another', state: 'claiming', of: other }, true],
  ]
  for (const [row, claims] of cases) {
    await rows.sql`delete from reward_claim`
    await rows.sql`delete from attempt`
    await rows.claim(row)
    const voter = { address: wallet, permission_id: 2 }
    const claimed = await rows.sql.begin((tx) => claimReward(tx, rows.needs, voter, 5n))
    const made = await rows.sql`
      select 1 from reward_claim where id <> ${row.id} and wallet = ${wallet}`
    assert.deepEqual([claimed, made.length], [claims, claims ? 1 : 0], row.id)
  }
})

test('a vote ends with its own attempt, solid or dead, and only while it is cast', async (t) => {
  const rows = await Rows.of(t)
  assert.equal(await endVotes(rows.sql, now), false)
  const under_way = ['new', 'signed', 'sent', 'included', 'solid', 'dead']
  for (const attempt of under_way.slice(1))
    await rows.vote({ id: attempt, of: attempt, state: 'casting', attempt })
  await rows.vote({ id: 'was cast', state: 'cast', attempt: 'dead' })
  await rows.vote({ id: 'was failed', state: 'failed', attempt: 'solid' })
  assert.equal(await endVotes(rows.sql, later(clock, 1)), true)
  assert.deepEqual(await rows.states('vote'), {
    signed: 'casting',
    sent: 'casting',
    included: 'casting',
    solid: 'cast',
    dead: 'failed',
    'was cast': 'cast',
    'was failed': 'failed',
  })
  assert.equal(await endVotes(rows.sql, now), false, 'nothing is left to be ended')
  await rows.sql`update attempt set state = 'dead' where id = 'sent'`
  assert.equal(await endVotes(rows.sql, now), true, 'one is enough')
})

/** Claims in every state of theirs and of their attempts. */
async function everyClaim(rows: Rows): Promise<void> {
  for (const attempt of ['signed', 'sent', 'included', 'solid', 'dead'])
    await rows.claim({ id: attempt, of: attempt, state: 'claiming', attempt })
  await rows.claim({ id: 'was claimed', state: 'claimed', attempt: 'dead' })
  await rows.claim({ id: 'was failed', state: 'failed', attempt: 'solid' })
}

test('a claim fails with its own attempt, and only while it is under way', async (t) => {
  const rows = await Rows.of(t)
  assert.equal(await failClaims(rows.sql, now), false)
  await everyClaim(rows)
  const before = await rows.states('reward_claim')
  assert.equal(await failClaims(rows.sql, now), true, 'one is enough')
  assert.deepEqual(await rows.states('reward_claim'), { ...before, dead: 'failed' })
  assert.equal(await failClaims(rows.sql, now), false, 'nothing is left that failed')
})

test('receipts are read of claims whose attempt is solid, the earliest first', async (t) => {
  const rows = await Rows.of(t)
  await everyClaim(rows)
  await rows.claim({ id: 'another', of: other, state: 'claiming', attempt: 'solid' })
  const solid = { id: 'solid', tx_id: 'tx of solid' }
  const another = { id: 'another', tx_id: 'tx of another' }
  assert.deepEqual(await solidClaims(rows.sql, 5), [another, solid])
  assert.deepEqual(await solidClaims(rows.sql, 1), [another])
})

test('a claim is booked once, by itself, and only while it is under way', async (t) => {
  const rows = await Rows.of(t)
  await everyClaim(rows)
  const complete = (id: string) =>
    rows.sql.begin((tx) => completeClaim(tx, id, 9n, later(clock, 1)))
  const booked = async () =>
    (await rows.sql<{ id: string }>`select id from transfer order by id`).map(({ id }) => id)
  const before = await rows.states('reward_claim')
  assert.deepEqual(
    [await complete('was claimed'), await complete('was failed'), await complete('absent')],
    [false, false, false],
  )
  assert.deepEqual([await rows.states('reward_claim'), await booked()], [before, []])
  assert.equal(await complete('solid'), true)
  assert.deepEqual(await rows.states('reward_claim'), { ...before, solid: 'claimed' })
  assert.deepEqual(await booked(), ['reward:solid'])
  assert.equal(await complete('solid'), false)
})

test('the last vote of a wallet is its newest that did not fail', async (t) => {
  const rows = await Rows.of(t)
  const at = (s: number) => later(clock, s * 1_000)
  assert.equal(await lastVoteAt(rows.sql, wallet), undefined)
  await rows.vote({ id: 'failed', state: 'failed', made_at: at(9) })
  await rows.vote({ id: 'of another', of: other, state: 'cast', made_at: at(8) })
  assert.equal(await lastVoteAt(rows.sql, wallet), undefined)
  await rows.vote({ id: 'cast', state: 'cast', made_at: at(1), ends: at(1) })
  assert.deepEqual(await lastVoteAt(rows.sql, wallet), at(1))
  await rows.vote({ id: 'cast after', state: 'cast', made_at: at(3), ends: at(3) })
  await rows.vote({ id: 'cast between', state: 'cast', made_at: at(2), ends: at(2) })
  assert.deepEqual(await lastVoteAt(rows.sql, wallet), at(3))
})

test("a wallet's figures are its newest vote that was cast, and what it has claimed", async (t) => {
  const rows = await Rows.of(t)
  const at = (s: number) => later(clock, s * 1_000)
  await rows.vote({ id: 'first', state: 'cast', power: 1n, made_at: at(1), ends: at(1) })
  await rows.vote({ id: 'last', state: 'cast', power: 2n, made_at: at(2), ends: at(2) })
  await rows.vote({ id: 'failed', state: 'failed', power: 3n, made_at: at(3), ends: at(3) })
  await rows.vote({ id: 'casting', state: 'casting', power: 4n, made_at: at(4), ends: at(4) })
  await rows.claim({ id: 'one', state: 'claimed', reward_sun: 5n, made_at: at(5), of: other })
  await rows.claim({ id: 'two', state: 'claimed', reward_sun: 6n, made_at: at(6), of: other })
  await rows.claim({ id: 'dead', state: 'failed', made_at: at(7), of: other })
  await rows.claim({ id: 'open', state: 'claiming', made_at: at(8), of: other })
  const figures = await voterFigures(rows.sql)
  const voted = { power: 2n, votes: [], voted_at: at(2) }
  const earned = { claims: 2n, claimed_sun: 11n, claimed_at: at(6) }
  const nothing = { power: null, votes: null, voted_at: null }
  assert.deepEqual(
    figures,
    [
      { wallet, ...voted, claims: 0n, claimed_sun: 0n, claimed_at: null },
      { wallet: other, ...nothing, ...earned },
    ].sort((a, b) => (a.wallet < b.wallet ? -1 : 1)),
  )
})

test('votes are whole, and what is left of the power is for the first', () => {
  const plan = [
    { witness: one, weight: 2 },
    { witness: two, weight: 1 },
  ]
  const rows: [power: bigint, ...counts: bigint[]][] = [
    [-1n],
    [0n],
    [1n, 1n],
    [2n, 2n],
    [3n, 2n, 1n],
    [5n, 4n, 1n],
    [6n, 4n, 2n],
  ]
  for (const [power, ...counts] of rows) {
    const votes = votesByPlan(plan, power)
    const expected = counts.map((count, i) => ({ witness: plan[i]!.witness, count }))
    assert.deepEqual(votes, expected, `${power}`)
  }
  assert.deepEqual(votesByPlan([], 5n), [], 'no plan')
  assert.deepEqual(votesByPlan([{ witness: one, weight: 1 }], 1n), [{ witness: one, count: 1n }])
})

test('votes lie apart by what is too much and by what is missing', () => {
  const now_are = [
    { witness: one, count: 5n },
    { witness: two, count: 3n },
  ]
  assert.equal(votesApart(now_are, now_are), 0n)
  assert.equal(votesApart(now_are, []), 8n)
  assert.equal(votesApart([], now_are), 8n)
  const wanted = [
    { witness: one, count: 4n },
    { witness: three, count: 1n },
  ]
  assert.equal(votesApart(now_are, wanted), 5n)
  assert.equal(votesApart([{ witness: one, count: 1n }], [{ witness: one, count: 2n }]), 1n)
})
