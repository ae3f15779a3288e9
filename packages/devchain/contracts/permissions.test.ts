import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Extras, type Person, person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')
const [first, second, third] = [person('first'), person('second'), person('third')]

const DELEGATE_ONLY = `${'00'.repeat(7)}06${'00'.repeat(24)}`
const TRANSFER_ONLY = `02${'00'.repeat(31)}`

const scene = () => new Scene({ alice: 10_000n * TRX, bob: 100n * TRX })

const keys = (...people: Person[]) => people.map(({ hex }) => ({ address: hex, weight: 1n }))
const owner = (...people: Person[]) => ({
  permission_name: 'owner',
  threshold: 1n,
  keys: keys(...people),
})
const active = (operations: string, people: Person[], threshold = 1n) => ({
  type: 'Active',
  permission_name: 'active',
  threshold,
  operations,
  keys: keys(...people),
})

function refusal(on: Scene, message: Record<string, unknown>, extras: Extras = {}): string {
  const answer = on.send(alice, 'AccountPermissionUpdateContract', message, extras)
  return answer.result === true
    ? 'taken'
    : String(answer.message).replace('Contract validate error : ', '')
}

const send = (on: Scene, extras: Extras) =>
  on.send(alice, 'TransferContract', { to_address: bob.hex, amount: 1n }, extras)

test('an account begins with an owner permission and an active one for nearly everything', () => {
  const on = scene()
  const account = on.account(alice)
  const own = [{ address: alice.hex, weight: 1 }]
  assert.deepEqual(account.owner_permission, { permission_name: 'owner', threshold: 1, keys: own })
  assert.deepEqual(account.active_permission, [
    {
      type: 'Active',
      id: 2,
      permission_name: 'active',
      threshold: 1,
      operations: '7fff1fc0033efb0f000000000000000000000000000000000000000000000000',
      keys: own,
    },
  ])
  const answer = on.send(
    alice,
    'AccountPermissionUpdateContract',
    { owner: owner(bob), actives: [active(TRANSFER_ONLY, [bob])] },
    { permission_id: 2 },
  )
  assert.equal(answer.message, 'Validate signature error: Permission denied')
})

test('changing permissions costs 100 TRX and takes effect with the next block', () => {
  const on = scene()
  const before = on.balance(alice)
  const receipt = on.do(alice, 'AccountPermissionUpdateContract', {
    owner: owner(first),
    actives: [active(DELEGATE_ONLY, [second])],
  })
  assert.equal(receipt.fee, Number(before - on.balance(alice)))
  assert.equal(receipt.fee, 100_000_000)
  const [printed] = on.account(alice).active_permission as { id: number; operations: string }[]
  assert.deepEqual([printed!.id, printed!.operations], [2, DELEGATE_ONLY])
  assert.equal(send(on, { keys: [first.key] }).result, true)
  const stolen = send(on, {})
  assert.match(
    String(stolen.message),
    new RegExp(
      `^Validate signature error: [0-9a-f]{130} is signed by ${alice.address} but it is ` +
        'not contained of permission.$',
    ),
  )
})

test('signatures are refused with the words of the node', () => {
  const on = scene()
  on.do(alice, 'AccountPermissionUpdateContract', {
    owner: { permission_name: 'owner', threshold: 2n, keys: keys(first, second, third) },
    actives: [active(TRANSFER_ONLY, [first, second], 2n), active(DELEGATE_ONLY, [third])],
  })
  const said = (extras: Extras) =>
    String(send(on, extras).message).replace('Validate signature error: ', '')
  assert.equal(said({ keys: [] }), 'miss sig or contract')
  assert.equal(said({ keys: Array.from({ length: 6 }, () => first.key) }), 'too many signatures')
  assert.equal(
    said({ keys: [first.key, second.key, third.key, first.key] }),
    'Signature count is 4 more than key counts of permission : 3',
  )
  assert.equal(said({ keys: [first.key] }), 'sig error')
  assert.equal(said({ keys: [first.key, first.key] }), `${first.address} has signed twice!`)
  assert.equal(said({ keys: [first.key, second.key], permission_id: 7 }), "permission isn't exit")
  assert.equal(said({ keys: [third.key], permission_id: 3 }), 'Permission denied')
  assert.match(
    said({ keys: [first.key, third.key], permission_id: 2 }),
    /is not contained of permission\.$/,
  )
})

test('a second signature costs 1 TRX', () => {
  const on = scene()
  on.do(alice, 'AccountPermissionUpdateContract', {
    owner: { permission_name: 'owner', threshold: 2n, keys: keys(first, second) },
    actives: [active(TRANSFER_ONLY, [first])],
  })
  on.wait(86_400)
  const receipt = on.do(
    alice,
    'TransferContract',
    { to_address: bob.hex, amount: 1n },
    { keys: [first.key, second.key] },
  )
  assert.equal(receipt.fee, 1_000_000)
})

test('permissions that would lock the account are refused in the words of the node', () => {
  const on = scene()
  const good = active(TRANSFER_ONLY, [bob])
  const change = (part: Record<string, unknown>, from: object = owner(alice)) => ({
    ...from,
    ...part,
  })
  const cases: [Record<string, unknown>, string][] = [
    [{ actives: [good] }, 'owner permission is missed'],
    [{ owner: owner(alice) }, 'active permission is missed'],
    [
      { owner: owner(alice), actives: Array.from({ length: 9 }, () => good) },
      'active permission is too many',
    ],
    [
      { owner: owner(alice), witness: { ...owner(alice), type: 'Witness' }, actives: [good] },
      "account isn't witness can't set witness permission",
    ],
    [{ owner: owner(), actives: [good] }, "key's count should be greater than 0"],
    [
      { owner: owner(alice, bob, first, second, third, person('sixth')), actives: [good] },
      'number of keys in permission should not be greater than 5',
    ],
    [
      { owner: change({ threshold: 0n }), actives: [good] },
      "permission's threshold should be greater than 0",
    ],
    [
      { owner: owner(alice, alice), actives: [good] },
      'address should be distinct in permission Owner',
    ],
    [
      { owner: owner(alice), actives: [active(TRANSFER_ONLY, [bob], 2n)] },
      "sum of all key's weight should not be less than threshold in permission Active",
    ],
    [
      { owner: owner(alice), actives: [change({ operations: 'ff' }, good)] },
      'operations size must 32',
    ],
    [
      { owner: owner(alice), actives: [change({ operations: 'ff'.repeat(32) }, good)] },
      "7 isn't a validate ContractType",
    ],
    [
      { owner: change({ operations: TRANSFER_ONLY }), actives: [good] },
      "Owner permission needn't operations",
    ],
    [{ owner: change({ type: 'Active' }), actives: [good] }, 'owner permission type is error'],
    [
      { owner: owner(alice), actives: [change({ type: 'Owner' }, good)] },
      'active permission type is error',
    ],
    [
      { owner: change({ permission_name: 'x'.repeat(33) }), actives: [good] },
      "permission's name is too long",
    ],
  ]
  for (const [message, expected] of cases) assert.equal(refusal(on, message), expected)
})

test('without 100 TRX there is no change', () => {
  const on = scene()
  const answer = on.send(bob, 'AccountPermissionUpdateContract', {
    owner: owner(bob),
    actives: [active(TRANSFER_ONLY, [bob])],
  })
  assert.equal(answer.result, true)
  const poor = new Scene({ bob: 99n * TRX })
  assert.equal(
    poor.send(bob, 'AccountPermissionUpdateContract', {
      owner: owner(bob),
      actives: [active(TRANSFER_ONLY, [bob])],
    }).code,
    'CONTRACT_EXE_ERROR',
  )
})

test('getsignweight and getapprovedlist say who has signed and whether it suffices', () => {
  const on = scene()
  on.do(alice, 'AccountPermissionUpdateContract', {
    owner: { permission_name: 'owner', threshold: 2n, keys: keys(first, second) },
    actives: [active(DELEGATE_ONLY, [third])],
  })
  const built = on.post('/wallet/createtransaction', {
    owner_address: alice.hex,
    to_address: bob.hex,
    amount: 1,
  })
  const unsigned = on.post('/wallet/getsignweight', built)
  assert.deepEqual(unsigned.result, { code: 'NOT_ENOUGH_PERMISSION' })
  const halfSigned = on.signed(
    alice,
    'TransferContract',
    { to_address: bob.hex, amount: 1n },
    { keys: [first.key] },
  )
  on.post('/wallet/broadcasthex', { transaction: halfSigned.hex })
  const posted = { ...built, signature: ['00'.repeat(10)] }
  assert.deepEqual(on.post('/wallet/getsignweight', posted).result, {
    code: 'SIGNATURE_FORMAT_ERROR',
    message: 'Signature size is 10',
  })
  const foreign = on.post('/wallet/getsignweight', {
    ...built,
    raw_data: {
      ...(built.raw_data as object),
      contract: (built.raw_data as { contract: object[] }).contract.map((one) => ({
        ...one,
        Permission_id: 2,
      })),
    },
  })
  assert.deepEqual(foreign.result, { code: 'PERMISSION_ERROR', message: 'Permission denied!' })
  assert.deepEqual(on.post('/wallet/getsignweight', {}).result, {
    code: 'OTHER_ERROR',
    message: 'Invalid transaction: no valid contract',
  })
  assert.deepEqual(on.post('/wallet/getapprovedlist', built).result, {})
})
