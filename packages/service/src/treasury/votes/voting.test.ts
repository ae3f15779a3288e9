// When the steps of voting look, and what they then find worth a transaction: at the exact limits,
// by what a node is made to say.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { isDue } from 'penstock-test/harness/is_due.ts'
import type { AccountState } from '../../chain/node/account_answers.ts'
import type { Node } from '../../chain/node/node.ts'
import { Outage } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { setPlan } from './plan.ts'
import { claimedStep, claimStep, votedStep, voteStep } from './voting.ts'

const began = new Date('2026-10-08T15:26:32Z')
const DAY_MS = 86_400_000
const [one, two] = [person('one').address, person('two').address]
const voter = { address: person('wallet').address, permission_id: 2 }

type Answers = {
  staked_trx: bigint
  votes: AccountState['votes']
  withdrew_at: Date | undefined
  reward: bigint
  receipt: bigint | undefined
}

class Setting {
  readonly sql: Sql
  now = began
  looks = 0
  ids = 0
  said: Answers = {
    staked_trx: 10_000n,
    votes: [],
    withdrew_at: undefined,
    reward: 100n,
    receipt: 100n,
  }

  constructor(sql: Sql) {
    this.sql = sql
  }

  static async of(t: TestContext): Promise<Setting> {
    return new Setting((await freshDatabase(t)).sql)
  }

  needs(voters = [voter]) {
    const account = async () => {
      const { staked_trx, votes, withdrew_at } = this.said
      const half = (staked_trx * 1_000_000n) / 2n
      this.looks++
      return { staked_sun: { energy: half, bandwidth: half }, votes, withdrew_at }
    }
    const node = {
      account,
      nextMaintenance: async () => new Date(this.now.getTime() + 3_600_000),
      head: async () => ({ time: this.now }),
      reward: async () => this.said.reward,
      rewardOf: async () => this.said.receipt,
    } as unknown as Node
    const clock = { now: () => this.now }
    const new_id = () => `made ${++this.ids}`
    return { sql: this.sql, clock, node, new_id, voters, claim_min_sun: 100n }
  }

  wait(ms: number): void {
    this.now = new Date(this.now.getTime() + ms)
  }

  async plan(...witnesses: (typeof one)[]): Promise<void> {
    const lines = witnesses.map((witness) => ({ witness, weight: 1 }))
    await this.sql.begin((tx) => setPlan(tx, lines, { at: this.now, by: 'olga' }))
  }

  /** A vote or a claim, whose attempt is at that. */
  async row(table: 'vote' | 'claim', id: string, state: string, attempt: string): Promise<void> {
    const in_block = attempt === 'solid' ? this.now : null
    await this.sql`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_time)
      values (${id}, ${id}, '{}', ${attempt}, ${id}, '', ${this.now}, ${this.now}, ${this.now},
        ${in_block && 90}, ${in_block})`
    const ended_at = state === 'casting' || state === 'claiming' ? null : this.now
    if (table === 'vote')
      await this.sql`
        insert into vote (id, wallet, votes, power, period_ends_at, state, attempt_id, made_at,
          ended_at)
        values (${id}, ${voter.address}, '[]', 1, ${this.now}, ${state}, ${id}, ${this.now},
          ${ended_at})`
    else
      await this.sql`
        insert into reward_claim (id, wallet, expected_sun, state, attempt_id, reward_sun, made_at,
          ended_at)
        values (${id}, ${id}, 1, ${state}, ${id}, ${state === 'claimed' ? 1 : null}, ${this.now},
          ${ended_at})`
  }

  async isDue(step: Step): Promise<boolean> {
    return await isDue(this.sql, step)
  }
}

test('nothing is voted without a voter or a plan, and looked at every ten minutes', async (t) => {
  const setting = await Setting.of(t)
  const step = voteStep(setting.needs())
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 0])
  await setting.plan(one)
  const without = voteStep(setting.needs([]))
  assert.deepEqual([await setting.isDue(without), await without.run()], [false, false])
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [true, true, 1])
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 1])
  setting.wait(600_000 - 1)
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 1])
  setting.wait(1)
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [true, false, 2])
})

test('a new step looks in the second in which it is made, at the latest', async (t) => {
  const setting = await Setting.of(t)
  setting.now = new Date(0)
  await setting.plan(one)
  const step = voteStep(setting.needs())
  assert.deepEqual([await setting.isDue(step), await step.run()], [true, true])
  const claims = claimStep(setting.needs())
  setting.said.withdrew_at = new Date(-DAY_MS)
  assert.deepEqual([await setting.isDue(claims), await claims.run()], [true, true])
})

test('votes follow when the plan is new, or more than a hundredth is apart', async (t) => {
  const setting = await Setting.of(t)
  const apartBy = (count: bigint) => [{ witness: one, count: 10_000n - count }]
  const casts = () => voteStep(setting.needs()).run()
  const voted = async (ms: number) => {
    await setting.sql`delete from vote`
    const at = setting.now
    setting.wait(ms)
    await setting.row('vote', `vote ${++setting.ids}`, 'cast', 'dead')
    setting.now = at
  }
  await setting.plan(one)
  setting.said.votes = apartBy(0n)
  assert.equal(await casts(), false, 'never voted, and all is as it should be')
  const rows: [voted_ms: number, apart: bigint, casts: boolean][] = [
    [-1, 0n, false],
    [-1, 1n, true],
    [0, 1n, false],
    [0, 100n, false],
    [0, 101n, true],
    [1, 100n, false],
    [1, 101n, true],
  ]
  for (const [ms, apart, wanted] of rows) {
    await voted(ms)
    setting.said.votes = apartBy(apart)
    assert.equal(await casts(), wanted, `${ms} ${apart}`)
  }
  await setting.sql`delete from vote`
  setting.said.votes = apartBy(1n)
  assert.equal(await casts(), true, 'never voted')
})

test('the newest line of a plan says when it was set', async (t) => {
  const setting = await Setting.of(t)
  await setting.plan(one, two)
  await setting.sql`
    update vote_plan set set_at = set_at + interval '2 seconds' where witness = ${two}`
  setting.said.votes = [
    { witness: one, count: 5_001n },
    { witness: two, count: 4_999n },
  ]
  setting.wait(1_000)
  await setting.row('vote', 'vote', 'cast', 'dead')
  assert.equal(await voteStep(setting.needs()).run(), true)
})

test('a reward is claimed a day after the last, if it is worth it', async (t) => {
  const setting = await Setting.of(t)
  await setting.row('vote', 'vote', 'cast', 'dead')
  const ago = (ms: number) => new Date(setting.now.getTime() - ms)
  const rows: [withdrew_at: Date | undefined, reward: bigint, min: bigint, claims: boolean][] = [
    [undefined, 100n, 100n, true],
    [ago(DAY_MS), 100n, 100n, true],
    [ago(DAY_MS - 1), 100n, 100n, false],
    [undefined, 99n, 100n, false],
    [undefined, 0n, 0n, false],
    [undefined, 1n, 0n, true],
  ]
  for (const [withdrew_at, reward, claim_min_sun, claims] of rows) {
    await setting.sql`delete from reward_claim`
    Object.assign(setting.said, { withdrew_at, reward })
    const step = claimStep({ ...setting.needs(), claim_min_sun })
    assert.equal(await step.run(), claims, `${withdrew_at} ${reward} ${claim_min_sun}`)
    const made = await setting.sql`select 1 from reward_claim`
    assert.equal(made.length, claims ? 1 : 0)
  }
})

test('nothing is claimed without a vote or a voter, and looked at by the half hour', async (t) => {
  const setting = await Setting.of(t)
  const step = claimStep(setting.needs())
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 0])
  await setting.row('vote', 'vote', 'casting', 'sent')
  const without = claimStep(setting.needs([]))
  assert.deepEqual([await setting.isDue(without), await without.run()], [false, false])
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [true, true, 1])
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 1])
  setting.wait(1_800_000 - 1)
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [false, false, 1])
  setting.wait(1)
  assert.deepEqual([await setting.isDue(step), await step.run(), setting.looks], [true, false, 2])
})

test('the end of votes and claims is due when an attempt of one under way has ended', async (t) => {
  const setting = await Setting.of(t)
  const voted = votedStep(setting.needs())
  const claimed = claimedStep(setting.needs())
  const rows: [table: 'vote' | 'claim', state: string, attempt: string, due: boolean][] = [
    ['vote', 'casting', 'sent', false],
    ['vote', 'cast', 'solid', false],
    ['vote', 'failed', 'dead', false],
    ['vote', 'casting', 'solid', true],
    ['vote', 'casting', 'dead', true],
    ['claim', 'claiming', 'sent', false],
    ['claim', 'claimed', 'solid', false],
    ['claim', 'failed', 'dead', false],
    ['claim', 'claiming', 'solid', true],
    ['claim', 'claiming', 'dead', true],
  ]
  for (const [table, state, attempt, due] of rows) {
    await setting.sql`delete from vote`
    await setting.sql`delete from reward_claim`
    await setting.sql`delete from attempt`
    await setting.row(table, 'one', state, attempt)
    const ended = [await setting.isDue(voted), await setting.isDue(claimed)]
    assert.deepEqual(ended, [due && table === 'vote', due && table === 'claim'], `${state}`)
    const moved = [await voted.run(), await claimed.run()]
    assert.deepEqual(moved, [due && table === 'vote', due && table === 'claim'], `${attempt}`)
  }
})

test('a claim waits for the receipt that says what it brought', async (t) => {
  const setting = await Setting.of(t)
  await setting.row('claim', 'one', 'claiming', 'solid')
  const step = claimedStep(setting.needs())
  for (const receipt of [undefined, 0n]) {
    setting.said.receipt = receipt
    await assert.rejects(step.run(), Outage)
  }
  setting.said.receipt = 1n
  assert.equal(await step.run(), true)
  assert.deepEqual(await setting.sql`select reward_sun from reward_claim`, [{ reward_sun: 1n }])
})
