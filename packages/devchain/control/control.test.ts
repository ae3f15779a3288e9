import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from 'penstock-tron/keys.ts'
import { audit, keyOf, person, Scene, TRX } from '../scene.ts'

const alice = person('alice')
const bob = person('bob')

const scene = () => new Scene({ alice: 10_000n * TRX, bob: 100n * TRX })
const pay = (on: Scene) => on.send(alice, 'TransferContract', { to_address: bob.hex, amount: 1n })

test('funding holds at once on the head, enters the next block, and is counted as issued', () => {
  const on = scene()
  const newcomer = person('newcomer')
  const issued = audit(on.devchain).issued_sun
  assert.deepEqual(on.post('/devchain/fund', { address: newcomer.address, sun: 5_000_000 }), {
    address: newcomer.address,
    balance_sun: 5_000_000,
  })
  assert.equal(on.balance(newcomer), 5n * TRX)
  assert.equal(
    on.send(newcomer, 'TransferContract', { to_address: bob.hex, amount: 1n }).result,
    true,
  )
  on.mine()
  assert.equal(audit(on.devchain).issued_sun - issued, 5n * TRX)
  assert.deepEqual(on.post('/walletsolidity/getaccount', { address: newcomer.hex }), {})
  on.mine(18)
  assert.equal(on.post('/walletsolidity/getaccount', { address: newcomer.hex }).balance, 4_999_999)
})

test('what a reorganisation takes back of a funding, the next block gives again', () => {
  const on = scene()
  on.post('/devchain/fund', { address: bob.address, sun: 7 })
  on.mine()
  on.post('/devchain/reorg', { blocks: 1, drop_transactions: true })
  assert.equal(on.balance(bob), 100n * TRX + 7n)
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('mining makes blocks 3 s apart, advancing makes one block after a pause', () => {
  const on = scene()
  const { number, timestamp } = on.devchain.head.header
  on.post('/devchain/mine', { blocks: 4 })
  assert.equal(on.devchain.head.header.number, number + 4)
  assert.equal(on.devchain.head.header.timestamp, timestamp + 12_000)
  on.post('/devchain/advance', { seconds: 3600 })
  assert.equal(on.devchain.head.header.number, number + 5)
  assert.equal(on.devchain.head.header.timestamp, timestamp + 12_000 + 3_600_000)
})

test('an empty block leaves what is pending for the next', () => {
  const on = scene()
  const { txid } = pay(on)
  on.post('/devchain/mine', { empty: true })
  assert.equal(on.devchain.head.transactions.length, 0)
  on.mine()
  assert.equal(on.devchain.head.transactions[0]!.transaction.id, txid)
})

test('a reorganisation replaces the newest blocks by one more, with other ids throughout', () => {
  const on = scene()
  const { txid } = pay(on)
  on.mine(3)
  const ids = [0, 1, 2].map(
    (back) => on.devchain.chain.blockId(on.devchain.head.header.number - back)!,
  )
  const { number } = on.devchain.head.header
  on.post('/devchain/reorg', { blocks: 3 })
  assert.equal(on.devchain.head.header.number, number + 1)
  for (const [back, id] of ids.entries())
    assert.notEqual(on.devchain.chain.blockId(number - back), id)
  assert.equal(on.post('/wallet/gettransactioninfobyid', { value: txid }).id, txid)
  for (const id of ids) assert.deepEqual(on.post('/wallet/getblockbyid', { value: id }), {})
  on.post('/devchain/reorg', { blocks: 4, drop_transactions: true })
  assert.deepEqual(on.post('/wallet/gettransactioninfobyid', { value: txid }), {})
  assert.equal(on.post('/devchain/reorg', { blocks: 19 }).error, 'only 18 blocks are not solid')
})

test('each fork differs from all before: it starts a slot after the first lost block', () => {
  const on = scene()
  const { chain } = on.devchain
  on.mine()
  const { number, timestamp } = on.devchain.head.header
  const seen = new Set([on.devchain.head.id])
  for (const blocks of [1, 2, 3]) {
    on.post('/devchain/reorg', { blocks })
    assert.equal(chain.block(number)!.header.timestamp, timestamp + 3000 * blocks)
    assert.ok(!seen.has(chain.blockId(number)!))
    seen.add(chain.blockId(number)!)
  }
  on.wait(3600)
  const late = on.devchain.head.header
  on.post('/devchain/reorg', { blocks: 1 })
  assert.equal(chain.block(late.number)!.header.timestamp, late.timestamp + 3000)
})

test('a funding and the drift of weights see the head even while readers lag behind it', () => {
  const on = scene()
  on.post('/devchain/set_lag', { blocks: 5 })
  const newcomer = person('newcomer')
  assert.equal(on.post('/devchain/fund', { address: newcomer.address, sun: 7 }).balance_sun, 7)
  const before = on.post('/devchain/state').net_weight_trx as number
  on.post('/devchain/set_drift', { net_trx: 10 })
  on.mine(9)
  on.post('/devchain/set_lag', { blocks: 0 })
  assert.equal(on.post('/devchain/state').net_weight_trx, before + 90)
})

test('no funding takes the sum of all sun beyond 64 bits', () => {
  const on = scene()
  const most = { address: alice.address, sun: String(2n ** 62n) }
  on.post('/devchain/fund', most)
  assert.match(
    String(on.post('/devchain/fund', most).error),
    /there cannot be more than 9223372036854775807 sun/,
  )
  assert.equal(on.balance(alice), 10_000n * TRX + 2n ** 62n)
})

test('a token is made once: another at its address is refused and leaves it as it is', () => {
  const on = scene()
  const asked = {
    address: person('coin').address,
    owner: alice.address,
    name: 'Coin',
    symbol: 'COIN',
    decimals: 2,
  }
  assert.deepEqual(on.post('/devchain/token', asked), { address: asked.address })
  on.post('/devchain/mint', { token: asked.address, address: bob.address, amount: 5 })
  assert.equal(
    on.post('/devchain/token', asked).error,
    'there is a contract at this address already',
  )
  const call = { owner_address: bob.address, contract_address: asked.address, visible: true }
  const supply = on.post('/wallet/triggerconstantcontract', {
    ...call,
    function_selector: 'totalSupply()',
  })
  assert.equal(BigInt(`0x${(supply.constant_result as string[])[0]}`), 5n)
})

test('the weights of the rest of the network set what a staked TRX yields', () => {
  const on = scene()
  on.do(alice, 'FreezeBalanceV2Contract', { frozen_balance: 1000n * TRX, resource: 'ENERGY' })
  on.post('/devchain/set_weight', { energy_weight_trx: 179_999_000 })
  assert.equal(on.resources(alice).EnergyLimit, 1_000_000)
  on.mine()
  assert.equal(on.resources(alice).EnergyLimit, 1_000_000)
})

test('the weights of the rest of the network can drift, up and down to nothing', () => {
  const on = scene()
  on.post('/devchain/set_weight', { energy_weight_trx: 1000, net_weight_trx: 1000 })
  on.post('/devchain/set_drift', { energy_trx: 10, net_trx: -600 })
  on.mine(2)
  const { TotalEnergyWeight, TotalNetWeight } = on.resources(alice)
  assert.deepEqual([TotalEnergyWeight, TotalNetWeight], [1020, undefined])
  on.post('/devchain/set_drift')
  on.mine()
  assert.equal(on.resources(alice).TotalEnergyWeight, 1020)
})

test('the solid lag can be set, and the solid block never moves back', () => {
  const on = scene()
  on.post('/devchain/set_solid_lag', { blocks: 0 })
  on.mine()
  assert.equal(on.devchain.solid.id, on.devchain.head.id)
  on.post('/devchain/set_solid_lag', { blocks: 30 })
  const { number } = on.devchain.solid.header
  on.mine(5)
  assert.equal(on.devchain.solid.header.number, number)
})

test('a snapshot is gone back to: blocks, solid block, pending transactions and fundings', () => {
  const on = scene()
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 2n * TRX })
  const { txid } = pay(on)
  on.post('/devchain/fund', { address: bob.address, sun: 3 })
  const before = {
    head: on.devchain.head.id,
    solid: on.devchain.solid.id,
    audit: audit(on.devchain),
  }
  assert.deepEqual(on.post('/devchain/snapshot'), { snapshot: 1 })
  on.mine(40)
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 5n * TRX })
  on.post('/devchain/restore', { snapshot: 1 })
  assert.deepEqual(
    { head: on.devchain.head.id, solid: on.devchain.solid.id, audit: audit(on.devchain) },
    before,
  )
  assert.equal(on.balance(bob), 102n * TRX + 4n)
  assert.equal(on.post('/walletsolidity/getaccount', { address: bob.hex }).balance, 100_000_000)
  assert.equal(on.mine().transactions[0]!.transaction.id, txid)
  assert.match(
    String(on.post('/devchain/restore', { snapshot: 1 }).error),
    /there is no snapshot 1/,
  )
})

test('a snapshot whose block a fork has replaced cannot be gone back to', () => {
  const on = scene()
  on.mine()
  on.post('/devchain/snapshot')
  on.post('/devchain/reorg', { blocks: 2 })
  assert.match(String(on.post('/devchain/restore', { snapshot: 1 }).error), /a fork has replaced/)
})

test('a lagging node shows blocks and balances as they were, but takes transactions', () => {
  const on = scene()
  const { number } = on.devchain.head.header
  on.do(alice, 'TransferContract', { to_address: bob.hex, amount: 5n })
  on.mine()
  on.post('/devchain/set_lag', { blocks: 2 })
  const shown = on.post('/wallet/getnowblock') as { block_header: { raw_data: { number: number } } }
  assert.equal(shown.block_header.raw_data.number, number)
  assert.equal(on.balance(bob), 100n * TRX)
  assert.deepEqual(on.post('/wallet/getblockbynum', { num: number + 1 }), {})
  assert.equal(pay(on).result, true)
  on.post('/devchain/set_lag', { blocks: 0 })
  assert.equal(on.balance(bob), 100n * TRX + 6n)
})

test('an impersonated account needs no signature', () => {
  const on = scene()
  const unsigned = { to_address: bob.hex, amount: 1n }
  const send = () => on.send(alice, 'TransferContract', unsigned, { keys: [] }).code
  assert.equal(send(), 'SIGERROR')
  on.post('/devchain/impersonate', { address: alice.address })
  assert.equal(send(), 'SUCCESS')
  assert.equal(on.mine().transactions.length, 1)
  on.post('/devchain/impersonate', { address: alice.address, allowed: false })
  assert.equal(send(), 'SIGERROR')
})

test("the official image's interface gives funded keys and blocks, and unlocks accounts", () => {
  const on = new Scene({ alice: 100n * TRX })
  const made = on.devchain.request(
    'GET',
    '/admin/temporary-accounts-generation?accounts=3&defaultBalance=7',
    '',
  )
  assert.match(made.body, /\(2\) T\w{33} \(7 TRX\)/)
  const { privateKeys, more } = on.get('/admin/accounts-json') as {
    privateKeys: []
    more: { privateKeys: string[] }[]
  }
  assert.deepEqual([privateKeys, more.length, more[0]!.privateKeys.length], [[], 1, 3])
  const [key] = more[0]!.privateKeys
  assert.equal(
    on.get(`/wallet/getaccount?address=${addressOf(key!)}&visible=true`).balance,
    7_000_000,
  )
  const before = on.devchain.head.header.number
  assert.deepEqual(
    on.post('/tre', { jsonrpc: '2.0', id: 5, method: 'tre_mine', params: [{ blocks: 2 }] }),
    {
      jsonrpc: '2.0',
      id: 5,
      result: '0x0',
    },
  )
  assert.equal(on.devchain.head.header.number, before + 2)
  const send = () =>
    on.send(
      alice,
      'TransferContract',
      { to_address: bob.hex, amount: 1n },
      { keys: [keyOf('bob')] },
    )
  assert.equal(send().code, 'SIGERROR')
  on.post('/tre', { method: 'tre_unlockedAccounts', params: [[alice.address]] })
  assert.equal(send().result, true)
  const wrong = (body: object) =>
    (on.post('/tre', { ...body }).error as { message: string }).message
  assert.match(wrong({ method: 'eth_call' }), /does not exist here/)
  assert.match(wrong({ method: 'tre_mine', params: [{ blocks: -1 }] }), /whole number/)
  assert.match(wrong({ method: 'tre_unlockedAccounts', params: ['x'] }), /not an address/)
  assert.match(
    wrong({ method: 'tre_unlockedAccounts', params: [2n ** 64n] }),
    /18446744073709552000 is not an address/,
  )
  assert.match(wrong({ method: { toString: 1 } }), /does not exist here/)
})

test('accounts that are made are solid at once', () => {
  const on = new Scene()
  on.devchain.request('GET', '/admin/temporary-accounts-generation?accounts=1', '')
  const { more } = on.get('/admin/accounts-json') as { more: { privateKeys: string[] }[] }
  const address = addressOf(more[0]!.privateKeys[0]!)
  assert.equal(
    on.get(`/walletsolidity/getaccount?address=${address}&visible=true`).balance,
    10_000_000_000,
  )
})

test('the state says where the chain stands', () => {
  const on = scene()
  const state = on.get('/devchain/state') as {
    head: { id: string }
    pending: number
    faults: unknown[]
  }
  assert.equal(state.head.id, on.devchain.head.id)
  assert.equal(state.pending, 0)
  assert.deepEqual(state.faults, [])
})

test('a control that makes no sense is refused with status 400 and one sentence', () => {
  const on = scene()
  const said = (name: string, body: string) => {
    const answer = on.devchain.request('POST', `/devchain/${name}`, body)
    assert.equal(answer.status, 400)
    return (JSON.parse(answer.body) as { error: string }).error
  }
  assert.equal(said('fund', '{"address":"T","sun":1}'), 'address must be a TRON address')
  assert.equal(said('fund', `{"address":"${bob.address}","sun":1.5}`), 'sun must be a whole number')
  assert.match(said('fund', `{"address":"${bob.address}","sun":0}`), /^sun must be from 1 to \d+$/)
  assert.equal(said('mine', '{"blocks":0}'), 'blocks must be from 1 to 100000')
  assert.equal(said('mine', '[]'), 'the body must be a JSON object')
  assert.equal(said('mine', '{'), 'the body is not JSON')
  assert.match(said('fault', '{"kind":"flood"}'), /^kind must be one of lose_answer, drop, /)
  assert.equal(on.devchain.request('POST', '/devchain/nosuch', '').status, 404)
  assert.equal(on.devchain.request('GET', '/devchain/mine', '').status, 405)
})
