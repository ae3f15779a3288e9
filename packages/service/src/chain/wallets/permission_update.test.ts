import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, addressFromHex } from 'penstock-tron/address.ts'
import { contract, encodeRawData } from 'penstock-tron/transaction.ts'
import { Refused } from '../../lib/fault.ts'
import type { Permission } from '../node/node.ts'
import {
  describeUpdate,
  forbid,
  type NewPermission,
  type Permissions,
  permit,
  updateBytes,
} from './permission_update.ts'
import { describeCarried, type StakeChange, stakeBytes } from './stake.ts'

const address = (n: number) => addressFromHex(`41${n.toString(16).padStart(40, '0')}`)
const [WALLET, OWN, HOT, SPARE, OTHER] = [1, 2, 3, 4, 5].map(address) as [
  Address,
  Address,
  Address,
  Address,
  Address,
]
const DELEGATES = '0000000000000006'.padEnd(64, '0')
const CREATES = '01'.padEnd(64, '0')

const permission = (
  id: number,
  name: string,
  keys: readonly (readonly [Address, bigint])[],
  threshold = 1n,
): Permission => ({
  id,
  name,
  threshold,
  operations: CREATES,
  keys: keys.map(([address, weight]) => ({ address, weight })),
})
const nowWith = (...permissions: Permission[]): Permissions => ({
  owner: permission(0, 'owner', [[OWN, 1n]]),
  witness: undefined,
  permissions,
})
const wanted = (more: Partial<NewPermission> = {}): NewPermission => ({
  kind: 'pool',
  hot_key: HOT,
  spare_keys: [],
  permission_id: undefined,
  ...more,
})
const refuses = (act: () => unknown, sentence: RegExp) =>
  assert.throws(act, (thrown) => thrown instanceof Refused && sentence.test(thrown.message))

test('a permission takes the place of the one of its kind, or of its number, or is last', () => {
  const before = [permission(2, 'active', [[OTHER, 1n]]), permission(3, 'penstock pool', [])]
  const given = (more: Partial<NewPermission>) => {
    const { next, permission_id } = permit(nowWith(...before), wanted(more))
    return { permission_id, all: next.permissions.map(({ id, name }) => [id, name]) }
  }
  assert.deepEqual(given({}), {
    permission_id: 3,
    all: [
      [2, 'active'],
      [3, 'penstock pool'],
    ],
  })
  assert.deepEqual(given({ kind: 'activation' }), {
    permission_id: 4,
    all: [
      [2, 'active'],
      [3, 'penstock pool'],
      [4, 'penstock activation'],
    ],
  })
  assert.deepEqual(given({ kind: 'activation', permission_id: 2 }), {
    permission_id: 2,
    all: [
      [2, 'penstock activation'],
      [3, 'penstock pool'],
    ],
  })
  refuses(() => given({ permission_id: 4 }), /^There is no permission 4 to replace\.$/)
  const { next } = permit(nowWith(...before), wanted({ spare_keys: [SPARE] }))
  assert.deepEqual(next.permissions[0], before[0])
  const replaced = permission(3, 'penstock pool', [
    [HOT, 1n],
    [SPARE, 1n],
  ])
  assert.deepEqual(next.permissions[1], { ...replaced, operations: DELEGATES })
})

test('an account has eight active permissions at most, and one more replaces one', () => {
  const many = (count: number) =>
    nowWith(...Array.from({ length: count }, (_, i) => permission(i + 2, `p${i}`, [[OTHER, 1n]])))
  assert.equal(permit(many(7), wanted()).permission_id, 9)
  refuses(() => permit(many(8), wanted()), /8 active permissions at most/)
  assert.equal(permit(many(8), wanted({ permission_id: 9 })).permission_id, 9)
})

test('a hot key is in no other permission, nor one of the owner or of the witness', () => {
  const here = permission(2, 'penstock pool', [[HOT, 1n]])
  const there = permission(3, 'other', [
    [OTHER, 1n],
    [HOT, 1n],
  ])
  assert.equal(permit(nowWith(here), wanted()).permission_id, 2)
  refuses(() => permit(nowWith(here, there), wanted()), /is in permission 3 too: forbid it first/)
  const own = { ...nowWith(here), owner: permission(0, 'owner', [[HOT, 1n]]) }
  const witness = { ...nowWith(here), witness: permission(1, 'witness', [[HOT, 1n]]) }
  for (const act of [
    (now: Permissions) => permit(now, wanted()),
    (now: Permissions) => forbid(now, HOT),
  ]) {
    refuses(() => act(own), /is in the owner permission/)
    refuses(() => act(witness), /is in the witness permission/)
  }
})

test('without a key a permission stays that others can use, and one of the owner at least', () => {
  const before = nowWith(
    permission(2, 'alone', [[HOT, 1n]]),
    permission(
      3,
      'enough',
      [
        [HOT, 1n],
        [OTHER, 2n],
      ],
      2n,
    ),
    permission(
      4,
      'too weak',
      [
        [HOT, 1n],
        [OTHER, 1n],
      ],
      2n,
    ),
    permission(5, 'without it', [[OTHER, 1n]]),
  )
  assert.deepEqual(forbid(before, HOT).permissions, [
    permission(2, 'enough', [[OTHER, 2n]], 2n),
    permission(3, 'without it', [[OTHER, 1n]]),
  ])
  refuses(() => forbid(before, SPARE), /is in no active permission/)
  const last = { ...nowWith(permission(2, 'alone', [[HOT, 1n]])) }
  const own = permission(2, 'owner only', [[OWN, 1n]])
  assert.deepEqual(forbid(last, HOT).permissions, [{ ...own, operations: DELEGATES }])
})

const TIME = new Date(1_780_000_000_000)
const HEAD = { number: 5, id: `${'0'.repeat(15)}5${'a'.repeat(48)}`, parent_id: '', time: TIME }
const VALID = { head: HEAD, hours: 2 }
const EXPIRES_AT = new Date(TIME.getTime() + 2 * 3_600_000)

test('an update says whose it is, ours first, and with which weights', () => {
  const born = permission(2, 'active', [[OTHER, 1n]])
  const now = {
    owner: permission(
      0,
      'owner',
      [
        [OWN, 1n],
        [SPARE, 2n],
      ],
      2n,
    ),
    witness: permission(1, 'witness', [[OTHER, 1n]]),
    permissions: [{ ...born, operations: '7fff1fc0033efb0f'.padEnd(64, '0') }],
  }
  const { next } = permit(now, wanted())
  const { says, ...rest } = describeUpdate(updateBytes(WALLET, next, VALID))
  assert.deepEqual(rest, { address: WALLET, expires_at: EXPIRES_AT })
  assert.deepEqual(says.slice(0, 3), [
    `Permission 3 (penstock pool): ${HOT} may use DelegateResourceContract, ` +
      'UnDelegateResourceContract.',
    `${WALLET} belongs to ${OWN} or ${SPARE} (weight 2), with a weight of 2 together, ` +
      'who may do everything.',
    `Blocks are signed by ${OTHER}.`,
  ])
  assert.match(says[3]!, /^Permission 2 \(active\): T\w+ may use all that an account's own/)
  assert.equal(says.length, 5)
  const plain = describeUpdate(updateBytes(WALLET, { ...now, witness: undefined }, VALID))
  assert.ok(!plain.says.some((one) => one.startsWith('Blocks')))
})

const RAW = {
  ref_block_bytes: '0000',
  ref_block_hash: '00'.repeat(8),
  expiration: 1,
  timestamp: 1,
}
const owner_address = `41${'1'.repeat(40)}`

test('what is more or other than one update of permissions or stakes is not signed', () => {
  const update = contract('AccountPermissionUpdateContract', { owner_address })
  const stake = contract('FreezeBalanceV2Contract', { owner_address, frozen_balance: 1n })
  const other = contract('WithdrawBalanceContract', { owner_address })
  for (const [contracts, more] of [
    [[other], {}],
    [[], {}],
    [[update, update], {}],
    [[stake, stake], {}],
    [[update], { data: 'ab' }],
    [[update], { fee_limit: 1n }],
  ] as const) {
    const raw = encodeRawData({ ...RAW, ...more, contract: [...contracts] })
    for (const read of [describeUpdate, describeCarried])
      refuses(() => read(raw), /^This is not an update of permissions\.$/)
  }
  const by_permission = contract('FreezeBalanceV2Contract', { owner_address }, 2)
  for (const [contract, more] of [
    [stake, { data: 'ab' }],
    [stake, { fee_limit: 1n }],
    [by_permission, {}],
  ] as const) {
    const raw = encodeRawData({ ...RAW, ...more, contract: [contract] })
    refuses(() => describeCarried(raw), /^This is not a plain change of a stake\.$/)
  }
})

test('a change of a stake says of what it is, how much, and until when', () => {
  const of = { address: WALLET, amount_sun: 7_000_000n }
  const changes: [StakeChange, RegExp][] = [
    [{ ...of, change: 'stake', resource: 'energy' }, /^T\w+ stakes 7 TRX for energy\.$/],
    [{ ...of, change: 'stake', resource: 'bandwidth' }, /^T\w+ stakes 7 TRX for bandwidth\.$/],
    [{ ...of, change: 'unstake', resource: 'energy' }, /to take 7 TRX back .* for energy\.$/],
    [{ ...of, change: 'unstake', resource: 'bandwidth' }, /to take 7 TRX back .* for bandwidth\.$/],
    [{ address: WALLET, change: 'withdraw' }, /^T\w+ moves to its balance/],
    [{ address: WALLET, change: 'cancel-unstake' }, /^T\w+ stakes again/],
  ]
  for (const [change, sentence] of changes) {
    const { address, expires_at, says } = describeCarried(stakeBytes(change, VALID))
    assert.deepEqual([address, expires_at], [WALLET, EXPIRES_AT])
    assert.match(says[0]!, sentence)
  }
  const update = updateBytes(WALLET, nowWith(permission(2, 'active', [[HOT, 1n]])), VALID)
  assert.deepEqual(describeCarried(update), describeUpdate(update))
})
