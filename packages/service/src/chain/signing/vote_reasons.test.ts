// Which votes, and withdrawals of what votes have earned, are signed, by rows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData } from 'penstock-tron/transaction.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { memoryLog } from './signature_log.ts'
import { localSigner } from './signer.ts'
import { objectionToVote, type VoteReason, voteReasonsOf } from './vote_reasons.ts'

const NOW = new Date(1_780_000_000_000)
const HOUR_MS = 3_600_000
const [pool, other, witness, stranger] = ['pool', 'other', 'witness', 'stranger'].map(person)
const VOTE = 'VoteWitnessContract'
const CLAIM = 'WithdrawBalanceContract'

async function attempt(sql: Sql, subject: string): Promise<string> {
  await sql`
    insert into attempt (id, subject, contract, send_at, made_at)
    values (${subject}, ${subject}, '{}', ${NOW}, ${NOW})`
  return subject
}

type VoteFields = { wallet?: string; state?: string; votes?: object; period_ms?: number }

/** A vote of the wallet, 10 for the witness before the next maintenance. */
async function vote(sql: Sql, id: string, given: VoteFields = {}): Promise<string> {
  const { wallet = pool!.address, state = 'casting', period_ms = 0 } = given
  const votes = given.votes ?? [{ witness: witness!.address, count: '10' }]
  const subject = await attempt(sql, `vote:${id}`)
  await sql`
    insert into vote (id, wallet, votes, power, period_ends_at, state, attempt_id, made_at,
      ended_at)
    values (${id}, ${wallet}, ${JSON.stringify(votes)}::jsonb, 10,
      ${new Date(NOW.getTime() + period_ms)}, ${state}, ${subject}, ${NOW},
      ${state === 'casting' ? null : NOW})`
  return subject
}

type ClaimFields = { wallet?: string; state?: string; age_ms?: number }

async function claim(sql: Sql, id: string, given: ClaimFields = {}): Promise<string> {
  const { wallet = pool!.address, state = 'claiming', age_ms = 0 } = given
  const subject = await attempt(sql, `claim:${id}`)
  const is_open = state === 'claiming'
  await sql`
    insert into reward_claim (id, wallet, expected_sun, state, attempt_id, reward_sun, made_at,
      ended_at)
    values (${id}, ${wallet}, 5, ${state}, ${subject}, ${state === 'claimed' ? 5 : null},
      ${new Date(NOW.getTime() - age_ms)}, ${is_open ? null : NOW})`
  return subject
}

const plan = (sql: Sql) => sql`
  insert into vote_plan (witness, weight, set_at, set_by)
  values (${witness!.address}, 1, ${NOW}, 'anna')`

test('a vote is known with its plan, and another of the wallet for its maintenance', async (t) => {
  const { sql } = await freshDatabase(t)
  const reasonOf = async () => (await voteReasonsOf(sql, ['vote:one']))[0]!
  await vote(sql, 'one')
  assert.equal((await reasonOf()).planned, false)
  await plan(sql)
  const { planned, voted, purpose, of, of_state, wallet } = await reasonOf()
  assert.deepEqual([purpose, of, of_state], ['vote', 'one', 'casting'])
  assert.deepEqual([wallet, planned, voted], [pool!.address, true, false])
  await vote(sql, 'of another', { wallet: other!.address })
  await vote(sql, 'of another time', { state: 'cast', period_ms: 1 })
  await vote(sql, 'failed', { state: 'failed' })
  assert.equal((await reasonOf()).voted, false)
  await sql`update vote set found = true where id = 'one'`
  await vote(sql, 'two', { state: 'cast' })
  assert.equal((await reasonOf()).voted, true)
  const both = [witness!, stranger!].map(({ address }) => ({ witness: address, count: '5' }))
  await sql`update vote set votes = ${JSON.stringify(both)}::jsonb where id = 'one'`
  assert.equal((await reasonOf()).planned, false, 'one of them is in no plan')
  assert.deepEqual(await voteReasonsOf(sql, ['vote:none']), [])
})

test('a claim rests 23 hours after another of its wallet that has not failed', async (t) => {
  const { sql } = await freshDatabase(t)
  const rested = async () => (await voteReasonsOf(sql, ['claim:one']))[0]!.rested
  await claim(sql, 'one')
  assert.equal(await rested(), true)
  await claim(sql, 'of another', { wallet: other!.address })
  await claim(sql, 'failed', { state: 'failed', age_ms: HOUR_MS })
  await claim(sql, 'old', { state: 'claimed', age_ms: 23 * HOUR_MS })
  assert.equal(await rested(), true)
  await claim(sql, 'young', { state: 'claimed', age_ms: 23 * HOUR_MS - 1 })
  assert.equal(await rested(), false)
  const found = await voteReasonsOf(sql, ['claim:one', 'claim:young'])
  assert.deepEqual(found.map(({ of, of_state, purpose }) => [of, of_state, purpose]).sort(), [
    ['one', 'claiming', 'claim'],
    ['young', 'claimed', 'claim'],
  ])
})

test('a vote is objected to when it is not the row, not planned, made, or too much', () => {
  const reason: VoteReason = {
    attempt: 'a',
    purpose: 'vote',
    of: 'one',
    of_state: 'casting',
    wallet: pool!.address,
    votes: [{ witness: witness!.address, count: '10' }],
    planned: true,
    voted: false,
    rested: null,
  }
  const wanted = [{ witness: witness!.address, count: 10n }]
  const said = (more: Partial<VoteReason>, votes = wanted, power = 10n) =>
    objectionToVote({ ...reason, ...more }, votes, power)
  assert.equal(said({}), undefined)
  const another = 'its votes are not those of the row'
  assert.equal(said({}, []), another)
  assert.equal(said({ votes: null }), another)
  assert.equal(said({}, [{ witness: witness!.address, count: 9n }]), another)
  assert.equal(said({}, [{ witness: stranger!.address, count: 10n }]), another)
  assert.match(said({ planned: false })!, /not in the plan/)
  assert.match(said({ planned: null })!, /not in the plan/)
  assert.match(said({ voted: true })!, /has voted before this maintenance/)
  assert.equal(said({}, wanted, 9n), '10 votes are more than the 9 that its stake gives')
  assert.equal(said({ purpose: 'claim', rested: true }, [], 0n), undefined)
  assert.match(said({ purpose: 'claim', rested: false }, [], 0n)!, /less than a day ago/)
})

test('votes and claims are signed for the wallets that may, when the stake is known', async (t) => {
  const { sql } = await freshDatabase(t)
  await plan(sql)
  const wallets = [pool!, other!].map(({ address }, i) => ({
    address,
    permission_id: 2 + i,
    private_key: person(`hot ${i}`).key,
  }))
  const [votes, activation] = wallets as [(typeof wallets)[0], (typeof wallets)[0]]
  const outcomeOf = async (
    id: string,
    type: string,
    value: Message,
    { stake_sun = 10_999_999n, may = [votes] }: { stake_sun?: bigint; may?: typeof wallets } = {},
  ) => {
    const raw_data = encodeRawData({
      ref_block_bytes: '0001',
      ref_block_hash: '0102030405060708',
      timestamp: NOW.getTime(),
      expiration: NOW.getTime() + 60_000,
      contract: [contract(type, value, 2)],
    })
    const stakes = stake_sun > 0n ? new Map([[pool!.address, stake_sun]]) : undefined
    const sign = localSigner(
      { pool: [], activation, votes: may, recharge_address: other!.address },
      {
        sql,
        clock: { now: () => NOW },
        log: memoryLog(),
        isStopped: () => false,
        stakes: () => stakes,
        stopped_here: () => false,
      },
    )
    const [outcome] = await sign([{ attempt: id, raw_data }])
    return 'why' in outcome! ? outcome.why : outcome!.state
  }
  const ballot = (count: bigint) => ({
    owner_address: pool!.hex,
    votes: [{ vote_address: witness!.hex, vote_count: count }],
  })
  const one = await vote(sql, 'one')
  assert.match(await outcomeOf(one, VOTE, ballot(10n), { may: [] }), /no key here is for/)
  assert.match(await outcomeOf(one, VOTE, ballot(9n)), /not those of the row/)
  assert.match(await outcomeOf(one, VOTE, ballot(10n), { stake_sun: 0n }), /is not known/)
  assert.match(
    await outcomeOf(one, VOTE, ballot(10n), { stake_sun: 9_999_999n }),
    /more than the 9 that/,
  )
  assert.equal(await outcomeOf(one, VOTE, ballot(10n)), 'signed')
  const withdrawal = { owner_address: pool!.hex }
  const two = await claim(sql, 'two')
  assert.match(await outcomeOf(two, VOTE, ballot(10n)), /is not what a claim needs/)
  assert.match(await outcomeOf(two, CLAIM, withdrawal, { may: [] }), /no key here is for/)
  assert.equal(await outcomeOf(two, CLAIM, withdrawal, { stake_sun: 0n }), 'signed')
  const stake = { owner_address: pool!.hex, frozen_balance: 1n, resource: 'ENERGY' }
  const staking = await outcomeOf(two, 'FreezeBalanceV2Contract', stake)
  assert.equal(staking, 'nothing here signs a FreezeBalanceV2Contract')
})
