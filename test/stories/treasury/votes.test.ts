// The stake of the pool votes by an operator's plan, and what it earns is withdrawn and booked.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type RewardOracle, watchRewards } from 'penstock-devchain/reward_oracle.ts'
import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { NODE } from '../../harness/collecting.ts'
import { booksFindings, type Operator, worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

const PERIOD_S = 21_600

type Setting = { world: World; at: Operator; oracle: RewardOracle; witnesses: Address[] }

async function voting(t: TestContext): Promise<Setting> {
  const world = await makeWorld(t, { votes: true, pool_trx: [30_000_000, 10_000_000] })
  const listed = world.scene.get('/wallet/listwitnesses').witnesses as { address: string }[]
  const witnesses = listed.map(({ address }) => addressFromHex(address))
  return {
    world,
    at: await worldOperator(world),
    oracle: watchRewards(world.scene),
    witnesses,
  }
}

const set = ({ at }: Setting, ...plan: string[]) =>
  at.json('votes', 'set', ...plan, ...NODE, '--reason', 'a test')

/** Until nobody has looked at votes for ten minutes, and what is asked for then is solid. */
async function settleVotes({ world }: Setting): Promise<void> {
  await world.advance(700)
  await world.settle()
  await world.solidify()
  await world.solidify()
}

const votesAt = async ({ world }: Setting, wallet = 0) =>
  (await world.node.account(world.wallets.pool[wallet]!.address)).votes.map(
    ({ witness, count }) => [witness, count] as const,
  )

test('wallets vote by the plan, once for a maintenance, and follow their stake', async (t) => {
  const setting = await voting(t)
  const { world, at, witnesses } = setting
  const [one, two, three] = witnesses as [Address, Address, Address]
  await settleVotes(setting)
  assert.deepEqual(await votesAt(setting), [], 'no plan, no vote')
  await set(setting, `${one}=3`, `${two}=1`)
  await settleVotes(setting)
  // 30,000,000 for energy and 1,000,000 for bandwidth.
  assert.deepEqual(await votesAt(setting), [
    [one, 23_250_000n],
    [two, 7_750_000n],
  ])
  assert.deepEqual(await votesAt(setting, 1), [
    [one, 8_250_000n],
    [two, 2_750_000n],
  ])
  type Votes = { plan: object[]; wallets: { votes: object[]; power: number }[] }
  const told = await at.json<Votes>('votes', 'show')
  assert.deepEqual([told.plan.length, told.wallets.length], [2, 2])
  const stakes = await at.json<{ wallets: { votes: number; power: number }[] }>(
    ...['pool', 'stakes', ...NODE],
  )
  assert.deepEqual(stakes.wallets.map(({ votes }) => votes).sort(), [11_000_000, 31_000_000])

  // Another plan in the same period waits for the next one.
  await set(setting, `${three}=1`)
  await settleVotes(setting)
  assert.equal((await votesAt(setting))[0]![0], one)
  await world.advance(PERIOD_S)
  await settleVotes(setting)
  assert.deepEqual(await votesAt(setting), [[three, 31_000_000n]])

  // Stake that changes by less than a hundredth changes no votes; more does.
  const owner = world.person('pool-0')
  const stake = (trx: bigint) =>
    world.scene.do(owner, 'FreezeBalanceV2Contract', {
      frozen_balance: trx * TRX,
      resource: 'ENERGY',
    })
  await world.advance(PERIOD_S)
  stake(200_000n)
  await settleVotes(setting)
  assert.deepEqual(await votesAt(setting), [[three, 31_000_000n]])
  stake(200_000n)
  await world.advance(PERIOD_S)
  await settleVotes(setting)
  assert.deepEqual(await booksFindings(at), [])
})

test('what votes earn is withdrawn once a day and booked, to the sun', async (t) => {
  const setting = await voting(t)
  const { world, at, oracle, witnesses } = setting
  await set(setting, `${witnesses[0]}=2`, `${witnesses[26]}=1`)
  await settleVotes(setting)
  const days = Number(process.env.REWARD_DAYS ?? 12)
  for (let period = 0; period < 4 * days; period++) {
    await world.advance(PERIOD_S)
    world.mine(10)
    await world.drain()
  }
  await world.settle()
  await world.solidify()
  await world.solidify()
  const claims = await world.sql<{ reward_sun: bigint; tx_id: string; wallet: string }>`
    select reward_sun, tx_id, wallet from reward_claim as c join attempt as a on a.id = attempt_id
    where c.state = 'claimed'`
  assert.ok(claims.length >= 2 * (days - 3), `${claims.length} claims in ${days} days`)
  for (const { tx_id, reward_sun } of claims)
    assert.equal(reward_sun, oracle.withdrawn.get(tx_id), tx_id)
  const sum = claims.reduce((total, { reward_sun }) => total + reward_sun, 0n)
  assert.equal(
    [...oracle.withdrawn.values()].reduce((total, sun) => total + sun, 0n),
    sum,
  )
  const [booked] = await world.sql<{ sun: bigint }>`
    select sum(amount_sun)::bigint as sun from transfer
    where debit = 'treasury:wallets' and credit = 'income:votes' and id like 'reward:%'`
  assert.equal(booked!.sun, sum)
  const { claimed_sun } = await at.json<{ claimed_sun: number }>('votes', 'show')
  assert.equal(BigInt(claimed_sun), sum)
  assert.deepEqual(await booksFindings(at), [])
})

test('a plan that no network would take is refused in one sentence', async (t) => {
  const setting = await voting(t)
  const { world, at, witnesses } = setting
  const [one] = witnesses as [Address]
  const nobody = world.person('somebody', 1).address
  const refused: [why: RegExp, ...plan: string[]][] = [
    [/takes witnesses with weights, or --none/],
    [/takes witnesses with weights, or --none/, `${one}=1`, '--none'],
    [/is no witness: nobody can vote for it/, `${one}=1`, `${nobody}=1`],
    [/is in the plan twice/, `${one}=1`, `${one}=2`],
    [/it is WITNESS=WEIGHT/, `${one}=0`],
    [/it is WITNESS=WEIGHT/, `${one}`],
    [/it is WITNESS=WEIGHT/, 'T123=1'],
    [/30 witnesses at most, and this plan 31/, ...Array<string>(31).fill(`${one}=1`)],
  ]
  for (const [why, ...plan] of refused) {
    const { code, err } = await at.type('votes', 'set', ...plan, ...NODE)
    assert.notEqual(code, 0)
    assert.match(err, why)
    assert.equal(err.trim().split('\n').length, 1)
  }
  assert.deepEqual((await at.json<{ plan: object[] }>('votes', 'show')).plan, [])
  await set(setting, `${one}=1`)
  await at.json('votes', 'set', '--none', '--reason', 'a test')
  await settleVotes(setting)
  assert.deepEqual(await votesAt(setting), [])
})

test('nobody who can write rows gets a vote signed that the plan does not want', async (t) => {
  const setting = await voting(t)
  const { world, witnesses } = setting
  const [one, two] = witnesses as [Address, Address]
  await set(setting, `${one}=1`)
  await settleVotes(setting)
  await world.advance(PERIOD_S)
  const { address: wallet } = world.wallets.pool[0]!
  const forge = async (id: string, votes: [Address, bigint][], in_row = votes) => {
    const contract = {
      type: 'VoteWitnessContract',
      parameter: {
        type_url: 'type.googleapis.com/protocol.VoteWitnessContract',
        value: {
          owner_address: addressToHex(wallet),
          votes: votes.map(([witness, count]) => ({
            vote_address: addressToHex(witness),
            vote_count: Number(count),
          })),
        },
      },
    }
    const row = in_row.map(([witness, count]) => ({ witness, count: `${count}` }))
    await world.sql`
      insert into attempt (id, subject, contract, send_at, made_at)
      values (${id}, ${`vote:${id}`}, ${JSON.stringify(contract)}::jsonb, ${world.now},
        ${world.now})`
    await world.sql`
      insert into vote (id, wallet, votes, power, period_ends_at, attempt_id, made_at)
      values (${id}, ${wallet}, ${JSON.stringify(row)}::jsonb, 1, ${world.now}, ${id},
        ${world.now})`
    await world.drain()
    const [attempt] = await world.sql<{ answer: string }>`
      select answer from attempt where id = ${id}`
    await world.sql`delete from vote where id = ${id}`
    await world.sql`delete from attempt where id = ${id}`
    return attempt!.answer
  }
  assert.match(await forge('f1', [[two, 5n]]), /for a witness that is not in the plan/)
  assert.match(await forge('f2', [[one, 5n]], [[one, 6n]]), /its votes are not those of the row/)
  assert.match(await forge('f3', [[one, 31_000_001n]]), /more than the 31000000 that its stake/)
  assert.equal((await votesAt(setting))[0]![0], one)
})
