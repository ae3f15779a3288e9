import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, audit, person, Scene, TRX } from '../scene.ts'
import { SLOT_MS } from '../state/parameters.ts'

const alice = person('alice')
const bob = person('bob')
const SIX_HOURS_S = 21_600

const scene = () => new Scene({ alice: 100_000n * TRX, bob: 1_000n * TRX })
const hexOf = (text: string) => Buffer.from(text).toString('hex')

type WitnessItem = {
  address: string
  voteCount?: number
  url: string
  isJobs?: boolean
  totalProduced?: number
}
const page = (on: Scene, body: object, root = 'wallet') =>
  (on.post(`/${root}/getpaginatednowwitnesslist`, { ...body }).witnesses ?? []) as WitnessItem[]
const listed = (on: Scene) => on.get('/wallet/listwitnesses').witnesses as WitnessItem[]
const standing = (on: Scene, address: string) => listed(on).find((one) => one.address === address)

/** The node's refusal. */
function refused(on: Scene, type: string, message: object, who = alice): unknown {
  const answer = on.send(who, type, { ...message })
  assert.equal(answer.result, false, JSON.stringify(answer))
  return String(answer.message).replace('Contract validate error : ', '')
}

test('27 witnesses stand from the start, on both sides, with votes, blocks and slots', () => {
  const on = scene()
  on.mine(40)
  for (const root of ['wallet', 'walletsolidity']) {
    const first = page(on, { offset: 0, limit: 2 }, root)
    assert.equal(first.length, 2)
    assert.ok(first[0]!.voteCount! > first[1]!.voteCount!)
    for (const one of page(on, { offset: 0, limit: 100 }, root)) {
      const { totalProduced, latestBlockNum, latestSlotNum, isJobs } = one as WitnessItem & {
        [name: string]: number
      }
      assert.equal(isJobs, true)
      assert.ok(totalProduced! > 0 && latestBlockNum! > 0 && latestSlotNum! > 0)
    }
  }
  assert.equal(listed(on).length, 27)
  assert.equal(
    listed(on).reduce((sum, { totalProduced = 0 }) => sum + totalProduced, 0),
    on.devchain.head.header.number,
  )
  assert.equal(page(on, { offset: 25, limit: 10 }).length, 2)
  for (const wrong of [
    { offset: 27, limit: 1 },
    { offset: -1, limit: 1 },
    { offset: 0, limit: 0 },
  ]) {
    assert.deepEqual(on.post('/wallet/getpaginatednowwitnesslist', wrong), {})
  }
})

test('becoming a witness costs 9,999 TRX, gives a witness permission and a listing', () => {
  const on = scene()
  const before = on.balance(alice)
  const receipt = on.do(alice, 'WitnessCreateContract', { url: hexOf('https://alice.example') })
  assert.equal(receipt.fee, 9_999_000_000)
  assert.equal(before - on.balance(alice), 9_999n * TRX)
  const { is_witness, witness_permission } = on.account(alice)
  assert.equal(is_witness, true)
  assert.deepEqual(witness_permission, {
    type: 'Witness',
    id: 1,
    permission_name: 'witness',
    threshold: 1,
    keys: [{ address: alice.hex, weight: 1 }],
  })
  assert.deepEqual(standing(on, alice.hex), { address: alice.hex, url: 'https://alice.example' })
  assert.match(
    String(refused(on, 'WitnessCreateContract', { url: hexOf('x') })),
    /^Witness\[41\w+\] has existed$/,
  )
  on.do(alice, 'WitnessUpdateContract', { update_url: hexOf('https://other.example') })
  assert.equal(standing(on, alice.hex)!.url, 'https://other.example')
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('witnesses and votes that make no sense are refused in the words of the node', () => {
  const on = scene()
  const ours = listed(on)[0]!.address
  const vote = (vote_address: string, vote_count: bigint) => ({
    votes: [{ vote_address, vote_count }],
  })
  assert.equal(refused(on, 'WitnessCreateContract', { url: '' }), 'Invalid url')
  assert.equal(
    refused(on, 'WitnessCreateContract', { url: hexOf('x') }, bob),
    'balance < AccountUpgradeCost',
  )
  assert.equal(
    refused(on, 'WitnessUpdateContract', { update_url: hexOf('x') }),
    'Witness does not exist',
  )
  assert.equal(refused(on, 'VoteWitnessContract', {}), 'VoteNumber must more than 0')
  assert.equal(
    refused(on, 'VoteWitnessContract', { votes: Array(31).fill(vote(ours, 1n).votes[0]) }),
    'VoteNumber more than maxVoteNumber 30',
  )
  assert.equal(refused(on, 'VoteWitnessContract', vote('41', 1n)), 'Invalid vote address!')
  assert.equal(
    refused(on, 'VoteWitnessContract', vote(ours, 0n)),
    'vote count must be greater than 0',
  )
  assert.equal(
    refused(on, 'VoteWitnessContract', vote(person('nobody').hex, 1n)),
    `Account[${person('nobody').hex}] not exists`,
  )
  assert.equal(
    refused(on, 'VoteWitnessContract', vote(bob.hex, 1n)),
    `Witness[${bob.hex}] not exists`,
  )
  assert.equal(
    refused(on, 'VoteWitnessContract', vote(ours, 3n)),
    'The total number of votes[3000000] is greater than the tronPower[0]',
  )
  assert.equal(
    refused(on, 'WithdrawBalanceContract', {}),
    'witnessAccount does not have any reward',
  )
  assert.equal(refused(on, 'UpdateBrokerageContract', { brokerage: 101 }), 'Invalid brokerage')
  assert.equal(
    refused(on, 'UpdateBrokerageContract', { brokerage: 1 }),
    `Not existed witness:${alice.hex}`,
  )
})

test('votes show at once in the ranked list and at the next maintenance in the other', () => {
  const on = scene()
  const last = listed(on).at(-1)!
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 50n * TRX, resource: 'ENERGY' })
  on.do(alice, 'VoteWitnessContract', { votes: [{ vote_address: last.address, vote_count: 50n }] })
  assert.deepEqual(on.account(alice).votes, [{ vote_address: last.address, vote_count: 50 }])
  assert.equal(on.resources(alice).tronPowerUsed, 50)
  assert.equal(on.resources(alice).tronPowerLimit, 50)
  assert.equal(page(on, { offset: 0, limit: 1 })[0]!.address, last.address)
  assert.equal(standing(on, last.address)!.voteCount, last.voteCount)
  const due = Number(on.get('/wallet/getnextmaintenancetime').num)
  on.devchain.mine(due)
  assert.equal(standing(on, last.address)!.voteCount, last.voteCount! + 50)
  assert.equal(Number(on.get('/wallet/getnextmaintenancetime').num), due + SIX_HOURS_S * 1000)
})

test('new votes replace old ones, delegating keeps them, unfreezing takes its share', () => {
  const on = scene()
  const [one, two] = listed(on) as [WitnessItem, WitnessItem]
  const votes = (first: bigint, second: bigint) => ({
    votes: [
      { vote_address: one.address, vote_count: first },
      { vote_address: two.address, vote_count: second },
    ],
  })
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX, resource: 'ENERGY' })
  on.do(alice, 'VoteWitnessContract', votes(90n, 10n))
  on.do(alice, 'VoteWitnessContract', votes(75n, 25n))
  on.do(alice, 'DelegateResourceContract', {
    balance: 40n * TRX,
    resource: 'ENERGY',
    receiver_address: bob.hex,
  })
  assert.equal(on.resources(alice).tronPowerUsed, 100)
  on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 50n * TRX, resource: 'ENERGY' })
  assert.deepEqual(
    (on.account(alice).votes as Answer[]).map(({ vote_count }) => vote_count),
    [37, 12],
  )
  const counted = page(on, { offset: 0, limit: 2 }).map(({ voteCount }) => voteCount)
  assert.deepEqual(counted, [one.voteCount! + 37, two.voteCount! + 12])
})

test('a witness sets its brokerage; everybody else has the usual one, and no reward', () => {
  const on = scene()
  on.do(alice, 'WitnessCreateContract', { url: hexOf('https://alice.example') })
  on.do(alice, 'UpdateBrokerageContract', { brokerage: 7 })
  assert.deepEqual(on.post('/wallet/getBrokerage', { address: alice.address }), { brokerage: 7 })
  for (const root of ['wallet', 'walletsolidity']) {
    assert.deepEqual(on.post(`/${root}/getBrokerage`, { address: bob.hex }), { brokerage: 20 })
    assert.deepEqual(on.get(`/${root}/getReward?address=${bob.address}`), { reward: 0 })
  }
})

test('after a maintenance block two slots stay empty, and a transaction must outlive them', () => {
  const on = scene()
  const due = Number(on.get('/wallet/getnextmaintenancetime').num)
  const maintaining = on.devchain.mine(due).header.timestamp
  const extras = { expiration: maintaining + SLOT_MS }
  assert.equal(
    on.send(alice, 'TransferContract', { to_address: bob.hex, amount: 1n }, extras).code,
    'TRANSACTION_EXPIRATION_ERROR',
  )
  assert.equal(on.mine().header.timestamp, maintaining + 3 * SLOT_MS)
  assert.equal(on.mine().header.timestamp, maintaining + 4 * SLOT_MS)
})

test('a vote that a reorganisation takes back is no longer counted', () => {
  const on = scene()
  const one = listed(on)[0]!
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 50n * TRX, resource: 'ENERGY' })
  on.do(alice, 'VoteWitnessContract', { votes: [{ vote_address: one.address, vote_count: 50n }] })
  on.devchain.reorganize(1, true)
  assert.equal(page(on, { offset: 0, limit: 1 })[0]!.voteCount, one.voteCount)
  assert.equal(on.account(alice).votes, undefined)
})

test('an account takes a name once, and an id once, by which both sides find it', () => {
  const on = scene()
  on.do(alice, 'AccountUpdateContract', { account_name: hexOf('Alice') })
  assert.equal(on.account(alice).account_name, hexOf('Alice'))
  assert.equal(
    on.post('/wallet/getaccount', { address: alice.address, visible: true }).account_name,
    'Alice',
  )
  assert.equal(
    refused(on, 'AccountUpdateContract', { account_name: hexOf('Other') }),
    'This account name is already existed',
  )
  assert.equal(
    refused(on, 'AccountUpdateContract', { account_name: hexOf('Alice') }, bob),
    'This name is existed',
  )
  for (const id of ['short', 'with a space', 'x'.repeat(33)]) {
    assert.equal(
      refused(on, 'SetAccountIdContract', { account_id: hexOf(id) }),
      'Invalid accountId',
    )
  }
  on.do(alice, 'SetAccountIdContract', { account_id: hexOf('Alice-0001') })
  assert.equal(
    refused(on, 'SetAccountIdContract', { account_id: hexOf('Alice-0002') }),
    'This account id already set',
  )
  assert.equal(
    refused(on, 'SetAccountIdContract', { account_id: hexOf('ALICE-0001') }, bob),
    'This id has existed',
  )
  const found = (root: string) =>
    on.post(`/${root}/getaccountbyid`, { account_id: hexOf('alice-0001') }).address
  assert.equal(found('wallet'), alice.hex)
  assert.equal(found('walletsolidity'), undefined)
  on.mine(18)
  assert.equal(found('walletsolidity'), alice.hex)
  assert.equal(
    on.get('/wallet/getaccountbyid?account_id=Alice-0001&visible=true').account_id,
    'Alice-0001',
  )
  assert.deepEqual(on.post('/wallet/getaccountbyid', { account_id: hexOf('nobody-000') }), {})
})
