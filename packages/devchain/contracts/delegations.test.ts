import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person, Scene, TRX } from '../scene.ts'

const lender = person('lender')
const buyer = person('buyer')
const other = person('other')
const HOUR_LOCK = 1200n

/** A lender with 50,000 TRX staked for energy and 5,000 for bandwidth; a buyer that exists. */
function scene(): Scene {
  const on = new Scene({ lender: 100_000n * TRX, buyer: 100n * TRX, other: 100n * TRX })
  on.do(lender, 'FreezeBalanceV2Contract', { frozen_balance: 50_000n * TRX, resource: 'ENERGY' })
  on.do(lender, 'FreezeBalanceV2Contract', { frozen_balance: 5000n * TRX })
  return on
}

type Terms = { resource?: string; lock?: boolean; lock_period?: bigint; receiver_address?: string }

const delegate = (on: Scene, balance: bigint, terms: Terms = {}) =>
  on.do(lender, 'DelegateResourceContract', {
    receiver_address: buyer.hex,
    resource: 'ENERGY',
    balance,
    ...terms,
  })

const undelegate = (on: Scene, balance: bigint, terms: Terms = {}) =>
  on.do(lender, 'UnDelegateResourceContract', {
    receiver_address: buyer.hex,
    resource: 'ENERGY',
    balance,
    ...terms,
  })

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message.replace(
      'CONTRACT_VALIDATE_ERROR: Contract validate error : ',
      '',
    )
  }
  return 'taken'
}

type Row = {
  frozen_balance_for_energy?: number
  frozen_balance_for_bandwidth?: number
  expire_time_for_energy?: number
}

const rows = (on: Scene) =>
  (on.post('/wallet/getdelegatedresourcev2', { fromAddress: lender.hex, toAddress: buyer.hex })
    .delegatedResource ?? []) as Row[]

const resourceOf = (on: Scene, who: typeof lender) =>
  (on.account(who).account_resource ?? {}) as { [name: string]: number }

test("delegating moves stake from lender to receiver, and the network's weight stays", () => {
  const on = scene()
  const weight = on.resources(lender).TotalEnergyWeight
  const receipt = delegate(on, 6_772_958_011n)
  assert.deepEqual(receipt.receipt, { net_usage: 279 })
  assert.equal(on.resources(buyer).EnergyLimit, 64_999)
  assert.equal(on.resources(lender).TotalEnergyWeight, weight)
  assert.equal(resourceOf(on, lender).delegated_frozenV2_balance_for_energy, 6_772_958_011)
  assert.equal(resourceOf(on, buyer).acquired_delegated_frozenV2_balance_for_energy, 6_772_958_011)
  assert.deepEqual(rows(on), [
    { from: lender.hex, to: buyer.hex, frozen_balance_for_energy: 6_772_958_011 },
  ])
  assert.deepEqual(on.post('/wallet/getdelegatedresourceaccountindexv2', { value: lender.hex }), {
    account: lender.hex,
    toAccounts: [buyer.hex],
  })
  assert.deepEqual(on.post('/wallet/getdelegatedresourceaccountindexv2', { value: buyer.hex }), {
    account: buyer.hex,
    fromAccounts: [lender.hex],
  })
})

test('partners come in the order of the last delegation to each', () => {
  const on = scene()
  const partners = () =>
    on.post('/wallet/getdelegatedresourceaccountindexv2', { value: lender.hex }).toAccounts
  for (const { hex } of [buyer, other]) delegate(on, TRX, { receiver_address: hex })
  assert.deepEqual(partners(), [buyer.hex, other.hex])
  delegate(on, TRX)
  assert.deepEqual(partners(), [other.hex, buyer.hex])
})

test('taking everything back leaves no row, no partners and no energy', () => {
  const on = scene()
  delegate(on, 100n * TRX)
  delegate(on, 100n * TRX, { resource: 'BANDWIDTH' })
  undelegate(on, 100n * TRX)
  assert.equal(rows(on).length, 1)
  undelegate(on, 100n * TRX, { resource: 'BANDWIDTH' })
  assert.deepEqual(rows(on), [])
  assert.deepEqual(on.post('/wallet/getdelegatedresourceaccountindexv2', { value: lender.hex }), {
    account: lender.hex,
  })
  assert.equal(on.resources(buyer).EnergyLimit, undefined)
  assert.equal(
    (on.account(lender).frozenV2 as { amount: number }[])[1]!.amount,
    Number(50_000n * TRX),
  )
})

test('delegations that make no sense are refused in the words and the order of the node', () => {
  const on = scene()
  const tooMuch = 'delegateBalance must be less than or equal to available FreezeEnergyV2 balance'
  assert.equal(
    refusal(() => delegate(on, 999_999n)),
    'delegateBalance must be greater than or equal to 1 TRX',
  )
  assert.equal(
    refusal(() => delegate(on, 50_001n * TRX, { receiver_address: lender.hex })),
    tooMuch,
  )
  assert.equal(
    refusal(() => delegate(on, 5001n * TRX, { resource: 'BANDWIDTH' })),
    'delegateBalance must be less than or equal to available FreezeBandwidthV2 balance',
  )
  assert.equal(
    refusal(() => delegate(on, TRX, { receiver_address: '' })),
    'Invalid receiverAddress',
  )
  assert.equal(
    refusal(() => delegate(on, TRX, { receiver_address: lender.hex })),
    'receiverAddress must not be the same as ownerAddress',
  )
  const stranger = person('stranger')
  assert.equal(
    refusal(() => delegate(on, TRX, { receiver_address: stranger.hex })),
    `Account[${stranger.hex}] not exists`,
  )
  assert.equal(
    refusal(() => delegate(on, TRX, { resource: 'TRON_POWER' })),
    'ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]',
  )
  assert.equal(
    refusal(() => delegate(on, TRX, { lock: true, lock_period: 864_001n })),
    'The lock period of delegate resource cannot be less than 0 and cannot exceed 864000!',
  )
})

test('taking back is refused without a delegation, and for more than is unlocked', () => {
  const on = scene()
  assert.equal(
    refusal(() => undelegate(on, TRX)),
    'delegated Resource does not exist',
  )
  delegate(on, 10n * TRX)
  delegate(on, 5n * TRX, { lock: true, lock_period: HOUR_LOCK })
  assert.equal(
    refusal(() => undelegate(on, 0n)),
    'unDelegateBalance must be more than 0 TRX',
  )
  assert.equal(
    refusal(() => undelegate(on, 10n * TRX + 1n)),
    'insufficient delegateFrozenBalance(Energy), request=10000001, unlock_balance=10000000',
  )
  assert.equal(
    refusal(() => undelegate(on, TRX, { resource: 'BANDWIDTH' })),
    'insufficient delegatedFrozenBalance(BANDWIDTH), request=1000000, unlock_balance=0',
  )
})

test('a lock without a period lasts three days, from the time of the parent block', () => {
  const on = scene()
  const parent_ms = on.devchain.head.header.timestamp
  delegate(on, 10n * TRX, { lock: true })
  assert.equal(rows(on)[0]!.expire_time_for_energy, parent_ms + 86_400 * 3000)
})

test('a locked delegation comes back strictly after its expiry', () => {
  const on = scene()
  const parent_ms = on.devchain.head.header.timestamp
  delegate(on, 10n * TRX, { lock: true, lock_period: HOUR_LOCK })
  // The contract is executed at the head's time: equal to the expiry is still locked.
  on.devchain.mine(parent_ms + 3_600_000)
  assert.match(
    refusal(() => undelegate(on, 10n * TRX)),
    /unlock_balance=0$/,
  )
  on.mine()
  undelegate(on, 10n * TRX)
  assert.deepEqual(rows(on), [])
})

test('a new lock overwrites the expiry of the one before, and a shorter one is refused', () => {
  const on = scene()
  delegate(on, 10n * TRX, { lock: true, lock_period: HOUR_LOCK })
  const shorter = refusal(() => delegate(on, 10n * TRX, { lock: true, lock_period: 600n }))
  assert.match(shorter, /^The lock period for ENERGY this time cannot be less than the remaining /)
  assert.match(shorter, / remaining time\[35\d{5}ms\] of the last lock period for ENERGY!$/)
  on.wait(1800)
  delegate(on, 10n * TRX, { lock: true, lock_period: HOUR_LOCK })
  on.wait(1803)
  assert.match(
    refusal(() => undelegate(on, 10n * TRX)),
    /unlock_balance=0$/,
  )
  on.wait(1803)
  undelegate(on, 20n * TRX)
})

test('the next delegation to the pair moves what is locked no longer to the unlocked row', () => {
  const on = scene()
  delegate(on, 10n * TRX, { lock: true, lock_period: 1n })
  on.mine(3)
  delegate(on, 5n * TRX)
  assert.deepEqual(rows(on), [
    { from: lender.hex, to: buyer.hex, frozen_balance_for_energy: 15_000_000 },
  ])
})

test('used bandwidth comes back to the lender as usage, and reduces what can be delegated', () => {
  const on = scene()
  const room = () =>
    Number(
      on.post('/wallet/getcandelegatedmaxsize', { owner_address: lender.hex, type: 0 }).max_size,
    )
  delegate(on, 1000n * TRX, { resource: 'BANDWIDTH' })
  const free = room()
  on.do(buyer, 'TransferContract', { to_address: other.hex, amount: 1n })
  const used = Number(on.resources(buyer).NetUsed)
  assert.equal(used, 265)
  const usage = Number(on.resources(lender).NetUsed)
  const ended = undelegate(on, 1000n * TRX, { resource: 'BANDWIDTH' })
  assert.equal(on.resources(buyer).NetUsed, undefined)
  // The bytes of the transaction itself, and what the buyer used.
  const { net_usage } = ended.receipt as { net_usage: number }
  assert.equal(Number(on.resources(lender).NetUsed) - usage, net_usage + 265)
  assert.ok(room() < free + 1_000_000_000)
})

test('the bandwidth that a node reserves when it names the maximum grows with the stake', () => {
  for (const [sun, reserved] of [
    [1_000_000n, 281],
    [1_000_000_000n, 283],
    [1_000_000_000_000n, 284],
  ] as const) {
    const on = new Scene({ lender: 2_000_000n * TRX, buyer: TRX })
    on.do(lender, 'FreezeBalanceV2Contract', { frozen_balance: sun })
    on.wait(86_400)
    const asked = on.post('/wallet/getcandelegatedmaxsize', { owner_address: lender.hex, type: 0 })
    const { TotalNetWeight, TotalNetLimit } = on.resources(lender) as { [name: string]: number }
    const held = Math.trunc(reserved * 1e6 * (TotalNetWeight! / TotalNetLimit!))
    const expected = Number(sun) - held
    assert.deepEqual(asked, expected < 1e6 ? {} : { max_size: expected }, String(sun))
  }
})

test('a receiver that is a contract is refused', () => {
  const on = scene()
  const contract = {
    ...on.devchain.chain.headView().read('account', other.hex)!,
    type: 'Contract' as const,
  }
  const context = on.devchain.chain.context(on.devchain.chain.headView())
  context.state.write('account', other.hex, contract)
  on.devchain.chain.head_state.absorb(context.state)
  on.mine()
  assert.equal(
    refusal(() => delegate(on, TRX, { receiver_address: other.hex })),
    'Do not allow delegate resources to contract addresses',
  )
})
