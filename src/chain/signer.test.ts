import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from '../../devchain/scene.ts'
import { recoverAddress } from '../tron/keys.ts'
import { encode, type Message, message } from '../tron/protobuf.ts'
import { contract, encodeRawData, type RawData, transactionId } from '../tron/transaction.ts'
import { localSigner, SigningRefused, type Wallet } from './signer.ts'

const MAX_SUN = 1_000_000_000n
const wallet = (name: string, permission_id: number): Wallet => ({
  ...{ address: person(name).address, permission_id, private_key: person(`${name} hot`).key },
})
const pool = wallet('pool', 2)
const other = wallet('other', 3)
const activation = wallet('activation', 2)
const refund = wallet('refund', 2)
const sign = localSigner({ pool: [pool, other], activation, refund, delegation_max_sun: MAX_SUN, refund_max_sun: 500n })

const NOW = 1_780_000_000_000
const bob = person('bob').hex

function raw(
  type: string,
  value: Message,
  { permission_id = 2, ...more }: Partial<RawData> & { permission_id?: number } = {},
) {
  return encodeRawData({
    ref_block_bytes: '0001',
    ref_block_hash: '0102030405060708',
    timestamp: NOW,
    expiration: NOW + 60_000,
    contract: [contract(type, value, permission_id)],
    ...more,
  })
}

const delegation = { owner_address: person('pool').hex, receiver_address: bob, balance: 5_000_000n, resource: 'ENERGY' }
const creation = { owner_address: person('activation').hex, account_address: bob }
const payment = { owner_address: person('refund').hex, to_address: bob, amount: 500n }

test('each wallet signs what it is for, with its own key', async () => {
  const allowed: [string, Message, Wallet][] = [
    ['DelegateResourceContract', delegation, pool],
    ['UnDelegateResourceContract', delegation, pool],
    ['DelegateResourceContract', { ...delegation, balance: MAX_SUN }, pool],
    ['AccountCreateContract', creation, activation],
    ['TransferContract', payment, refund],
  ]
  for (const [type, value, by] of allowed) {
    const raw_data = raw(type, value)
    const { tx_id, signature } = await sign(raw_data)
    assert.equal(tx_id, transactionId(raw_data))
    assert.equal(
      recoverAddress(tx_id, signature),
      person(`${by === pool ? 'pool' : by === activation ? 'activation' : 'refund'} hot`).address,
    )
  }
  const third = raw(
    'DelegateResourceContract',
    { ...delegation, owner_address: person('other').hex },
    { permission_id: 3 },
  )
  const { tx_id, signature } = await sign(third)
  assert.equal(recoverAddress(tx_id, signature), person('other hot').address)
})

const RAW_WITH_MORE = message({ more: [900, 'int64'] })

test('nothing else is signed, whatever asks', async () => {
  const more = encode(RAW_WITH_MORE, { more: 1n })
  const refused: Record<string, Uint8Array> = {
    'a payment of a pool wallet': raw('TransferContract', { ...payment, owner_address: person('pool').hex }),
    'a payment of the activation wallet': raw('TransferContract', {
      ...payment,
      owner_address: person('activation').hex,
    }),
    'a payment of more than a refund may be': raw('TransferContract', { ...payment, amount: 501n }),
    'a payment of nothing': raw('TransferContract', { ...payment, amount: 0n }),
    'a delegation of the refund wallet': raw('DelegateResourceContract', {
      ...delegation,
      owner_address: person('refund').hex,
    }),
    'a delegation of the activation wallet': raw('DelegateResourceContract', {
      ...delegation,
      owner_address: person('activation').hex,
    }),
    'a delegation of a stranger': raw('DelegateResourceContract', { ...delegation, owner_address: bob }),
    'a delegation by another permission': raw('DelegateResourceContract', delegation, { permission_id: 3 }),
    "a delegation by the owner's permission": raw('DelegateResourceContract', delegation, { permission_id: 0 }),
    'a delegation of more than may be': raw('DelegateResourceContract', { ...delegation, balance: MAX_SUN + 1n }),
    'a delegation of nothing': raw('DelegateResourceContract', { ...delegation, balance: 0n }),
    'a delegation of less than nothing': raw('DelegateResourceContract', { ...delegation, balance: -5n }),
    'a locked delegation': raw('DelegateResourceContract', { ...delegation, lock: true }),
    'a locked delegation with a period': raw('DelegateResourceContract', {
      ...delegation,
      lock: true,
      lock_period: 1n,
    }),
    'an activation by a pool wallet': raw('AccountCreateContract', { ...creation, owner_address: person('pool').hex }),
    'an unstaking': raw('UnfreezeBalanceV2Contract', {
      owner_address: person('pool').hex,
      unfreeze_balance: 1n,
      resource: 'ENERGY',
    }),
    'a stake': raw('FreezeBalanceV2Contract', {
      owner_address: person('pool').hex,
      frozen_balance: 1n,
      resource: 'ENERGY',
    }),
    'a change of permissions': raw('AccountPermissionUpdateContract', { owner_address: person('pool').hex }),
    'a call of a contract': raw('TriggerSmartContract', { owner_address: person('pool').hex, contract_address: bob }),
    'a vote': raw('VoteWitnessContract', { owner_address: person('pool').hex }),
    'a memo': raw('DelegateResourceContract', delegation, { data: 'ab' }),
    'a fee limit': raw('DelegateResourceContract', delegation, { fee_limit: 1n }),
    'more than a day': raw('DelegateResourceContract', delegation, { expiration: NOW + 86_400_001 }),
    'no time': raw('DelegateResourceContract', delegation, { timestamp: 0 }),
    'no contract': raw('DelegateResourceContract', delegation, { contract: [] }),
    'two contracts': raw('DelegateResourceContract', delegation, {
      contract: [
        contract('DelegateResourceContract', delegation, 2),
        contract('DelegateResourceContract', delegation, 2),
      ],
    }),
    'an unknown field': Buffer.concat([raw('DelegateResourceContract', delegation), more]),
    'two messages in one': Buffer.concat([
      raw('DelegateResourceContract', delegation),
      raw('AccountCreateContract', creation),
    ]),
    'cut-off bytes': raw('DelegateResourceContract', delegation).slice(0, -3),
    'no bytes': new Uint8Array(),
    'a nonsense byte': Uint8Array.of(0xff),
  }
  for (const [what, bytes] of Object.entries(refused)) await assert.rejects(sign(bytes), what)
})

test('a refusal of the policy is told apart from bytes that cannot be read', async () => {
  await assert.rejects(sign(raw('TransferContract', { ...payment, amount: 501n })), SigningRefused)
  await assert.rejects(sign(raw('DelegateResourceContract', delegation, { data: 'ab' })), SigningRefused)
})

test('without a wallet for refunds no payment is signed', async () => {
  const without = localSigner({ pool: [pool], activation })
  await assert.rejects(without(raw('TransferContract', payment)), SigningRefused)
})

test('a wallet with a bad key or address stops the process at start, not at the first order', () => {
  const make = (bad: Partial<Wallet>) => () => localSigner({ pool: [{ ...pool, ...bad }], activation })
  assert.throws(make({ private_key: 'abc' }))
  assert.throws(make({ private_key: '0'.repeat(64) }))
  assert.throws(make({ address: 'T123' }))
})
