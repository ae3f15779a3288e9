import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Extras, person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const nobody = person('nobody')
const DAYS = 86_400

const scene = () => new Scene({ alice: 10_000n * TRX })

function refused(
  on: Scene,
  type: string,
  message: Record<string, unknown>,
  who = alice,
  extras: Extras = {},
): string {
  const answer = on.send(who, type, message, extras)
  assert.equal(answer.result, false, 'the transaction was taken')
  assert.equal(answer.code, 'CONTRACT_VALIDATE_ERROR')
  return String(answer.message).replace('Contract validate error : ', '')
}

test('a stake leaves the balance, is weighed in whole TRX and yields its resource at once', () => {
  const on = scene()
  const before = on.resources(alice)
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 2_500_000_000n, resource: 'ENERGY' })
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 1_500_000n })
  const account = on.account(alice)
  assert.deepEqual(account.frozenV2, [
    { amount: 1_500_000 },
    { type: 'ENERGY', amount: 2_500_000_000 },
    { type: 'TRON_POWER' },
  ])
  assert.equal(on.balance(alice), 10_000n * TRX - 2_501_500_000n)
  const after = on.resources(alice)
  assert.equal(Number(after.TotalEnergyWeight) - Number(before.TotalEnergyWeight), 2500)
  assert.equal(Number(after.TotalNetWeight) - Number(before.TotalNetWeight), 1)
  assert.equal(after.EnergyLimit, 23_992)
  assert.equal(after.NetLimit, 2)
  assert.equal(after.tronPowerLimit, 2501)
})

test('stakes that make no sense are refused in the words of the node', () => {
  const on = scene()
  const freeze = (frozen_balance: bigint, resource: string | number = 'ENERGY', who = alice) =>
    refused(on, 'FreezeBalanceV2Contract', { frozen_balance, resource }, who)
  assert.equal(freeze(0n), 'frozenBalance must be positive')
  assert.equal(freeze(-5n), 'frozenBalance must be positive')
  assert.equal(freeze(999_999n), 'frozenBalance must be greater than or equal to 1 TRX')
  assert.equal(freeze(10_001n * TRX), 'frozenBalance must be less than or equal to accountBalance')
  assert.equal(
    freeze(TRX, 'TRON_POWER'),
    'ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]',
  )
  assert.equal(freeze(TRX, 9), 'ResourceCode error, valid ResourceCode[BANDWIDTH、ENERGY]')
  assert.equal(freeze(TRX, 'ENERGY', nobody), `account [${nobody.address}] does not exist`)
})

test('unfreezing takes the weight away at once and the TRX come back after 14 days', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX, resource: 'ENERGY' })
  const weight = Number(on.resources(alice).TotalEnergyWeight)
  on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 40n * TRX, resource: 'ENERGY' })
  assert.equal(weight - Number(on.resources(alice).TotalEnergyWeight), 40)
  const [unfreezing] = on.account(alice).unfrozenV2 as { unfreeze_expire_time: number }[]
  const expiry = unfreezing!.unfreeze_expire_time
  // Executed at the time of the parent block.
  assert.equal(expiry, on.devchain.head.header.timestamp - 3000 + 14 * DAYS * 1000)

  assert.equal(
    refused(on, 'WithdrawExpireUnfreezeContract', {}),
    'no unFreeze balance to withdraw ',
  )
  assert.deepEqual(
    on.post('/wallet/getcanwithdrawunfreezeamount', { owner_address: alice.hex }),
    {},
  )
  const at_expiry = { owner_address: alice.hex, timestamp: expiry }
  assert.deepEqual(on.post('/wallet/getcanwithdrawunfreezeamount', at_expiry), {
    amount: 40_000_000,
  })
  on.wait(14 * DAYS)
  const before = on.balance(alice)
  const receipt = on.do(alice, 'WithdrawExpireUnfreezeContract', {})
  assert.equal(receipt.withdraw_expire_amount, 40_000_000)
  assert.equal(on.balance(alice), before + 40n * TRX)
  assert.equal(on.account(alice).unfrozenV2, undefined)
})

test('the next unfreezing pays out what has come out of its delay', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX })
  on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 10n * TRX })
  on.wait(14 * DAYS)
  const receipt = on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 5n * TRX })
  assert.equal(receipt.withdraw_expire_amount, 10_000_000)
})

test('32 unfreezings may be under way, the 33rd is refused', () => {
  const on = new Scene({ alice: 100_000n * TRX })
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 50_000n * TRX })
  for (let count = 0; count < 32; count++)
    on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 1n })
  assert.deepEqual(on.post('/wallet/getavailableunfreezecount', { owner_address: alice.hex }), {})
  assert.equal(
    refused(on, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 1n }),
    'Invalid unfreeze operation, unfreezing times is over limit',
  )
  on.wait(14 * DAYS)
  assert.deepEqual(on.post('/wallet/getavailableunfreezecount', { owner_address: alice.hex }), {
    count: 32,
  })
})

test('unfreezings that make no sense are refused in the words of the node', () => {
  const on = scene()
  const unfreeze = (unfreeze_balance: bigint, resource: string) =>
    refused(on, 'UnfreezeBalanceV2Contract', { unfreeze_balance, resource })
  assert.equal(unfreeze(1n, 'ENERGY'), 'no frozenBalance(Energy)')
  assert.equal(unfreeze(1n, 'BANDWIDTH'), 'no frozenBalance(BANDWIDTH)')
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 5n * TRX, resource: 'ENERGY' })
  assert.equal(unfreeze(0n, 'ENERGY'), 'Invalid unfreeze_balance, [0] is error')
  assert.equal(unfreeze(5_000_001n, 'ENERGY'), 'Invalid unfreeze_balance, [5000001] is error')
  assert.equal(
    unfreeze(1n, 'TRON_POWER'),
    'ResourceCode error.valid ResourceCode[BANDWIDTH、Energy]',
  )
})

test('cancelling puts back what is under way, pays out what is due, and says both', () => {
  const on = scene()
  assert.equal(refused(on, 'CancelAllUnfreezeV2Contract', {}), 'No unfreezeV2 list to cancel')
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX, resource: 'ENERGY' })
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 100n * TRX })
  on.do(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 7n * TRX })
  on.wait(14 * DAYS)
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 1n * TRX })
  const weight = Number(on.resources(alice).TotalEnergyWeight)
  on.send(alice, 'UnfreezeBalanceV2Contract', { unfreeze_balance: 30n * TRX, resource: 'ENERGY' })
  const receipt = on.do(alice, 'CancelAllUnfreezeV2Contract', {})
  // The unfreezing in between has already paid out the 7 TRX.
  assert.equal(receipt.withdraw_expire_amount, undefined)
  assert.deepEqual(receipt.cancel_unfreezeV2_amount, [
    { key: 'BANDWIDTH', value: 0 },
    { key: 'ENERGY', value: 30_000_000 },
    { key: 'TRON_POWER', value: 0 },
  ])
  assert.equal(Number(on.resources(alice).TotalEnergyWeight), weight)
})

test('the old staking is understood and refused', () => {
  const on = scene()
  assert.equal(
    refused(on, 'FreezeBalanceContract', { frozen_balance: TRX, frozen_duration: 3n }),
    'freeze v2 is open, old freeze is closed',
  )
  assert.equal(refused(on, 'UnfreezeBalanceContract', {}), 'no frozenBalance(BANDWIDTH)')
  assert.match(refused(on, 'ProposalCreateContract', {}), /not executed by this chain/)
})
