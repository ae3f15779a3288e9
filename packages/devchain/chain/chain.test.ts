import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import { addressToHex } from 'penstock-tron/address.ts'
import { recoverAddress } from 'penstock-tron/keys.ts'
import { encode, message } from 'penstock-tron/protobuf.ts'
import { encodeTransaction } from 'penstock-tron/transaction.ts'
import { audit, GENESIS_MS, type Person, person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')

const scene = () => new Scene({ alice: 10_000n * TRX, bob: 100n * TRX })
const pay = (on: Scene, from: Person, to: Person, amount: bigint, extras = {}) =>
  on.send(from, 'TransferContract', { to_address: to.hex, amount }, extras)
const receipt = (on: Scene, id: unknown) => on.post('/wallet/gettransactioninfobyid', { value: id })

test('blocks form a hash chain: number and header hash make the id; each names its parent', () => {
  const on = scene()
  pay(on, alice, bob, 5n)
  on.mine(3)
  let parent: string | undefined
  for (let number = 0; number <= on.devchain.head.header.number; number++) {
    const { id, header } = on.devchain.chain.block(number)!
    const raw = encode(
      message({
        timestamp: [1, 'int64'],
        txTrieRoot: [2, 'bytes'],
        parentHash: [3, 'bytes'],
        number: [7, 'int64'],
        witness_address: [9, 'bytes'],
        version: [10, 'int32'],
      }),
      { ...header },
    )
    assert.equal(id, number.toString(16).padStart(16, '0') + bytesToHex(sha256(raw)).slice(16))
    if (parent) assert.equal(header.parentHash, parent)
    parent = id
    const printed = on.post('/wallet/getblockbynum', { num: number }) as {
      block_header: { witness_signature: string }
    }
    const signer = recoverAddress(bytesToHex(sha256(raw)), printed.block_header.witness_signature)
    assert.equal(addressToHex(signer), header.witness_address)
  }
})

test('the root of a block is the hash tree over its transactions with their outcome', () => {
  const on = scene()
  const sent = [1n, 2n, 3n].map((amount) =>
    on.signed(alice, 'TransferContract', { to_address: bob.hex, amount }),
  )
  for (const { hex } of sent) on.post('/wallet/broadcasthex', { transaction: hex })
  const block = on.mine()
  const leaves = block.transactions.map(({ transaction }) =>
    sha256(
      encodeTransaction(transaction.raw_bytes, transaction.signatures, [
        { contractRet: 'SUCCESS' },
      ]),
    ),
  )
  const pair = (left: Uint8Array, right: Uint8Array) => sha256(Uint8Array.from([...left, ...right]))
  assert.equal(block.header.txTrieRoot, bytesToHex(pair(pair(leaves[0]!, leaves[1]!), leaves[2]!)))
  assert.equal(on.mine().header.txTrieRoot, '00'.repeat(32))
})

test('27 witnesses take turns by slot', () => {
  const on = scene()
  const makers = Array.from({ length: 27 }, () => on.mine().header.witness_address)
  assert.equal(new Set(makers).size, 27)
  assert.deepEqual(
    Array.from({ length: 27 }, () => on.mine().header.witness_address),
    makers,
  )
})

test('the chain starts at the given time, past its first block, with blocks 3 s apart', () => {
  const on = scene()
  assert.equal(on.devchain.head.header.timestamp, GENESIS_MS)
  assert.ok(on.devchain.solid.header.number > 0)
  assert.equal(on.devchain.head.header.number - on.devchain.solid.header.number, 18)
  assert.equal(on.mine().header.timestamp, GENESIS_MS + 3000)
  assert.equal(on.devchain.mine(GENESIS_MS + 10_000).header.timestamp, GENESIS_MS + 9000)
  assert.equal(on.devchain.mine(GENESIS_MS).header.timestamp, GENESIS_MS + 12_000)
})

test('a broadcast is executed on what is pending: a second that does not fit is refused', () => {
  const on = scene()
  assert.equal(pay(on, bob, alice, 60n * TRX).result, true)
  assert.equal(on.balance(bob), 40n * TRX)
  const second = pay(on, bob, alice, 60n * TRX)
  assert.equal(second.code, 'CONTRACT_VALIDATE_ERROR')
  assert.equal(on.devchain.chain.pendingSize(), 1)
})

test('a pending transaction is in the pool and readable, without outcome and receipt', () => {
  const on = scene()
  const { txid } = pay(on, alice, bob, 5n)
  assert.deepEqual(on.post('/wallet/gettransactionlistfrompending'), { txId: [txid] })
  assert.deepEqual(on.get('/wallet/getpendingsize'), { pendingSize: 1 })
  const pending = on.post('/wallet/gettransactionbyid', { value: txid })
  assert.equal(pending.txID, txid)
  assert.equal(pending.ret, undefined)
  assert.equal(on.post('/wallet/gettransactionfrompending', { value: txid }).txID, txid)
  assert.deepEqual(receipt(on, txid), {})
  on.mine()
  assert.deepEqual(on.post('/wallet/gettransactionbyid', { value: txid }).ret, [
    { contractRet: 'SUCCESS' },
  ])
  assert.deepEqual(on.post('/wallet/gettransactionfrompending', { value: txid }), {})
  assert.deepEqual(on.post('/wallet/gettransactionlistfrompending'), {})
})

test('a transaction is taken once: while it is pending or included, another is a duplicate', () => {
  const on = scene()
  const { hex, id } = on.signed(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
  const broadcast = () => on.post('/wallet/broadcasthex', { transaction: hex })
  assert.equal(broadcast().result, true)
  assert.deepEqual(
    [broadcast().code, broadcast().message],
    ['DUP_TRANSACTION_ERROR', 'Dup transaction.'],
  )
  on.mine()
  assert.equal(broadcast().code, 'DUP_TRANSACTION_ERROR')
  assert.equal(broadcast().txid, id)
  assert.equal(on.balance(bob), 100n * TRX + 1n)
})

test('a transaction that refers to no block of this branch is refused', () => {
  const on = scene()
  const refused = (extras: object) => pay(on, alice, bob, 1n, extras).code
  assert.equal(refused({ ref_block_hash: '0123456789abcdef' }), 'TAPOS_ERROR')
  assert.equal(refused({ ref_block_bytes: 'ffff' }), 'TAPOS_ERROR')
  assert.equal(refused({ ref_block_bytes: '', ref_block_hash: '' }), 'TAPOS_ERROR')
  const old = on.devchain.chain.block(0)!.id
  assert.equal(
    refused({ ref_block_bytes: old.slice(12, 16), ref_block_hash: old.slice(16, 32) }),
    'SUCCESS',
  )
})

test('a transaction expires: from the next slot on, and at most a day ahead', () => {
  const on = scene()
  const head_ms = on.devchain.head.header.timestamp
  const refused = (expiration: number) => pay(on, alice, bob, 1n, { expiration }).code
  assert.equal(refused(head_ms), 'TRANSACTION_EXPIRATION_ERROR')
  assert.equal(refused(head_ms + 2999), 'TRANSACTION_EXPIRATION_ERROR')
  assert.equal(refused(head_ms + 3000), 'SUCCESS')
  assert.equal(refused(head_ms + 86_400_000), 'SUCCESS')
  assert.equal(refused(head_ms + 86_400_001), 'TRANSACTION_EXPIRATION_ERROR')
})

test('signature is checked before reference, size before expiry, duplicate before money', () => {
  const on = scene()
  const wrong_reference = { ref_block_hash: '0123456789abcdef' }
  assert.equal(pay(on, alice, bob, 1n, { ...wrong_reference, keys: [bob.key] }).code, 'SIGERROR')
  const head_ms = on.devchain.head.header.timestamp
  assert.equal(
    pay(on, alice, bob, 1n, { expiration: head_ms, keys: [bob.key] }).code,
    'TRANSACTION_EXPIRATION_ERROR',
  )
  const huge = { data: '00'.repeat(512_000), expiration: head_ms + 90_000_000 }
  assert.equal(pay(on, alice, bob, 1n, huge).code, 'TOO_BIG_TRANSACTION_ERROR')
  assert.equal(
    pay(on, carol, bob, 1n).message,
    `Contract validate error : account [${carol.address}] does not exist`,
  )
})

test('a pending transaction that has become invalid is dropped without a word', () => {
  const on = scene()
  on.do(alice, 'TransferContract', { to_address: carol.hex, amount: 50n * TRX })
  const spent = pay(on, carol, bob, 40n * TRX)
  assert.equal(spent.result, true)
  // The payment that carol lives on is lost in a reorganisation.
  on.devchain.chain.reorganize(1, true)
  on.mine()
  assert.deepEqual(receipt(on, spent.txid), {})
  assert.equal(on.devchain.chain.pendingSize(), 0)
})

test('after a change of permissions, the account does nothing else in the same block', () => {
  const on = scene()
  const keys = [{ address: alice.hex, weight: 1n }]
  const actives = [{ type: 'Active', threshold: 1n, operations: `02${'00'.repeat(31)}`, keys }]
  on.send(alice, 'AccountPermissionUpdateContract', { owner: { threshold: 1n, keys }, actives })
  const { txid } = pay(on, alice, bob, 1n)
  on.mine()
  assert.deepEqual(receipt(on, txid), {})
  on.mine()
  assert.equal(receipt(on, txid).id, txid)
})

test('a memo costs 1 TRX; bytes are paid by stake, else free, else burned, never mixed', () => {
  const on = scene()
  on.do(bob, 'TransferContract', { to_address: alice.hex, amount: 1n })
  on.do(bob, 'TransferContract', { to_address: alice.hex, amount: 1n })
  const burned = on.do(bob, 'TransferContract', { to_address: alice.hex, amount: 1n })
  assert.deepEqual([burned.receipt, burned.fee], [{ net_fee: 265_000 }, 265_000])
  const memo = on.do(
    alice,
    'TransferContract',
    { to_address: bob.hex, amount: 1n },
    { data: 'cafe' },
  )
  assert.deepEqual([memo.receipt, memo.fee], [{ net_usage: 269 }, 1_000_000])
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 1000n * TRX })
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
  assert.equal(on.resources(alice).NetUsed, 265)
})

test('an account is created for 1 TRX and 0.1 TRX of bandwidth, or by staked bandwidth', () => {
  const on = scene()
  const first = on.do(alice, 'TransferContract', { to_address: carol.hex, amount: 5n })
  assert.deepEqual([first.receipt, first.fee], [{ net_fee: 100_000 }, 1_100_000])
  assert.equal(on.balance(carol), 5n)
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 1000n * TRX })
  const created = on.do(alice, 'AccountCreateContract', { account_address: person('dave').hex })
  assert.deepEqual([created.receipt, created.fee], [{ net_usage: 266 }, 1_000_000])
  assert.match(
    String(on.send(alice, 'AccountCreateContract', { account_address: carol.hex }).message),
    /Account has existed$/,
  )
})

test('blocks are taken back to the state before; their transactions wait again or are lost', () => {
  const on = scene()
  const before = audit(on.devchain)
  const balance = on.balance(bob)
  const kept = pay(on, alice, bob, 7n)
  on.mine(2)
  on.devchain.chain.reorganize(2, false)
  assert.deepEqual(receipt(on, kept.txid), {})
  assert.deepEqual(audit(on.devchain), before)
  assert.equal(on.devchain.chain.pendingSize(), 1)
  on.mine()
  assert.equal(receipt(on, kept.txid).id, kept.txid)
  on.devchain.chain.reorganize(1, true)
  assert.equal(on.balance(bob), balance)
  on.mine()
  assert.deepEqual(receipt(on, kept.txid), {})
  assert.throws(() => on.devchain.chain.reorganize(19, false), RangeError)
})

test('the solid state is the one 18 blocks ago, whatever has happened since', () => {
  const on = scene()
  const solid = (who: Person) => on.post('/walletsolidity/getaccount', { address: who.hex }).balance
  for (let step = 1; step <= 25; step++) {
    on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })
    assert.equal(solid(bob), 100_000_000 + Math.max(0, step - 18))
  }
  assert.deepEqual(on.post('/walletsolidity/getaccount', { address: carol.hex }), {})
})

test('with more transactions waiting than the node allows, it is busy', () => {
  const on = new Scene({ alice: 100n * TRX, bob: TRX }, { pending_max: 3 })
  const codes = Array.from({ length: 6 }, () => pay(on, alice, bob, 1n).code)
  assert.deepEqual(codes, [...Array(4).fill('SUCCESS'), 'SERVER_BUSY', 'SERVER_BUSY'])
  on.mine()
  assert.equal(pay(on, alice, bob, 1n).code, 'SUCCESS')
})

// Histories of random contracts by a few people: what must hold whatever they do.

const people = ['ann', 'ben', 'cid', 'dot'].map(person)
const someone = fc.nat({ max: people.length - 1 }).map((index) => people[index]!)
const sun = fc.bigInt({ min: -1n, max: 400n * TRX })
const resource = fc.constantFrom('ENERGY', 'BANDWIDTH')
type Step = (on: Scene) => void

const act =
  (who: Person, type: string, given: Record<string, unknown>): Step =>
  (on) =>
    void on.send(who, type, given)

const step: fc.Arbitrary<Step> = fc.oneof(
  fc
    .tuple(someone, someone, sun)
    .map(([from, to, amount]) => act(from, 'TransferContract', { to_address: to.hex, amount })),
  fc
    .tuple(someone, fc.nat({ max: 999 }))
    .map(([from, name]) =>
      act(from, 'AccountCreateContract', { account_address: person(`new${name}`).hex }),
    ),
  fc
    .tuple(someone, sun, resource)
    .map(([who, frozen_balance, kind]) =>
      act(who, 'FreezeBalanceV2Contract', { frozen_balance, resource: kind }),
    ),
  fc
    .tuple(someone, sun, resource)
    .map(([who, unfreeze_balance, kind]) =>
      act(who, 'UnfreezeBalanceV2Contract', { unfreeze_balance, resource: kind }),
    ),
  fc.tuple(someone, someone, sun, resource, fc.boolean()).map(([from, to, balance, kind, lock]) =>
    act(from, 'DelegateResourceContract', {
      receiver_address: to.hex,
      balance,
      resource: kind,
      lock,
      lock_period: 2n,
    }),
  ),
  fc.tuple(someone, someone, sun, resource).map(([from, to, balance, kind]) =>
    act(from, 'UnDelegateResourceContract', {
      receiver_address: to.hex,
      balance,
      resource: kind,
    }),
  ),
  someone.map((who) => act(who, 'CancelAllUnfreezeV2Contract', {})),
  someone.map((who) => act(who, 'WithdrawExpireUnfreezeContract', {})),
  fc.tuple(someone, fc.bigInt({ min: 1n, max: TRX })).map(
    ([who, amount]): Step =>
      (on) =>
        on.devchain.fund(who.address, amount),
  ),
  fc.integer({ min: 1, max: 20 * 86_400 }).map(
    (seconds): Step =>
      (on) =>
        void on.wait(seconds),
  ),
  fc.tuple(fc.integer({ min: 1, max: 5 }), fc.boolean()).map(
    ([count, drop]): Step =>
      (on) =>
        on.devchain.chain.reorganize(count, drop),
  ),
)

const funded = Object.fromEntries(['ann', 'ben', 'cid', 'dot'].map((name) => [name, 1000n * TRX]))

function run(steps: readonly Step[], check: (on: Scene) => void): Scene {
  const on = new Scene(funded)
  steps.forEach((one, index) => {
    one(on)
    if (index % 3 === 2) on.mine()
    check(on)
  })
  return on
}

/** Delegated stakes seen from three sides: the rows, the lenders and the receivers. */
function delegatedSums(on: Scene): Record<string, bigint> {
  const sums = { rows: 0n, lent: 0n, acquired: 0n }
  const { head_state } = on.devchain.chain
  for (const [, row] of head_state.entries('delegation'))
    sums.rows += row!.sun.BANDWIDTH + row!.sun.ENERGY
  for (const [, account] of head_state.entries('account')) {
    sums.lent += account!.delegated.BANDWIDTH + account!.delegated.ENERGY
    sums.acquired += account!.acquired.BANDWIDTH + account!.acquired.ENERGY
  }
  return sums
}

test('no history makes or loses a sun, and what is lent is what is acquired', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      run(steps, (on) => {
        const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
        assert.equal(held_sun + burned_sun, issued_sun)
        const { rows, lent, acquired } = delegatedSums(on)
        assert.deepEqual([lent, acquired], [rows, rows])
      })
    }),
    { numRuns: 25 },
  )
})

test("the network's weights are the sums of the stakes, and no balance is ever negative", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const on = run(steps, () => {})
      let energy = 0n
      let net = 0n
      for (const [, account] of on.devchain.chain.head_state.entries('account')) {
        assert.ok(account!.balance >= 0n)
        energy += (account!.frozen.ENERGY + account!.delegated.ENERGY) / TRX
        net += (account!.frozen.BANDWIDTH + account!.delegated.BANDWIDTH) / TRX
      }
      const totals = on.devchain.chain.head_state.read('totals', '')!
      assert.deepEqual([totals.energy_weight, totals.net_weight], [energy, net])
    }),
    { numRuns: 15 },
  )
})

test('the same calls make the same chain, block id by block id; another seed, another', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const ids = (on: Scene) =>
        Array.from({ length: on.devchain.head.header.number + 1 }, (_, number) =>
          on.devchain.chain.blockId(number),
        )
      assert.deepEqual(ids(run(steps, () => {})), ids(run(steps, () => {})))
    }),
    { numRuns: 10 },
  )
  assert.notEqual(
    new Scene({}, { seed: 'one' }).devchain.head.id,
    new Scene({}, { seed: 'two' }).devchain.head.id,
  )
})
