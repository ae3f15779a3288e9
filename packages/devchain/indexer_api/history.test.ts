import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { selectorOf, wordOfAddress, wordOfInteger } from '../calls/abi.ts'
import { USDT } from '../devchain.ts'
import { type Answer, audit, type Person, person, Scene, TRX } from '../scene.ts'
import { startDevchain } from '../serve.ts'

const alice = person('alice')
const bob = person('bob')
const carol = person('carol')
const payer = person('paying contract')

function scene(): Scene {
  const on = new Scene({ alice: 100_000n * TRX })
  on.post('/devchain/mint', { address: alice.address, amount: 1_000_000n })
  on.post('/devchain/contract', { address: payer.address, owner: alice.address })
  on.mine()
  return on
}

const send = (on: Scene, from: Person, to: Person, sun: bigint) =>
  on.do(from, 'TransferContract', { to_address: to.hex, amount: sun })

function trigger(
  on: Scene,
  contract: string,
  signature: string,
  words: string[],
  sun = 0n,
): Answer {
  const data = selectorOf(signature) + words.join('')
  const message = { contract_address: contract, data, call_value: sun }
  return on.do(alice, 'TriggerSmartContract', message, { fee_limit: 100n * TRX })
}

type Entry = { txID: string; transaction_id: string; [name: string]: unknown }
const history = (on: Scene, who: Person, rest = '') =>
  (on.get(`/v1/accounts/${who.address}/transactions${rest}`) as { data: Entry[] }).data

test("an account's history has what it sent, what it was sent, and what contracts paid it", () => {
  const on = scene()
  const first = send(on, alice, bob, 5n * TRX)
  const second = trigger(on, payer.hex, 'forward(address)', [wordOfAddress(bob.hex)], 2n * TRX)
  const third = send(on, bob, carol, TRX)
  const ids = (rest = '') => history(on, bob, rest).map(({ txID }) => txID)
  assert.deepEqual(ids(), [third.id, second.id, first.id])
  assert.deepEqual(ids('?only_from=true'), [third.id])
  assert.deepEqual(ids('?only_to=true'), [second.id, first.id])
  assert.deepEqual(ids('?limit=1'), [third.id])
  assert.deepEqual(ids('?limit=1&fingerprint=1'), [second.id])
  assert.deepEqual(ids('?only_confirmed=true'), [])
  const [, paid] = history(on, bob)
  assert.equal((paid!.internal_transactions as unknown[]).length, 1)
  assert.equal((paid!.ret as { contractRet: string }[])[0]!.contractRet, 'SUCCESS')
  assert.equal(history(on, person('nobody')).length, 0)
})

test('the transfers of tokens of an account name the token, both sides and the amount', () => {
  const on = scene()
  const words = [wordOfAddress(bob.hex), wordOfInteger(250n)]
  const sent = trigger(on, addressToHex(USDT), 'transfer(address,uint256)', words)
  const [transfer, ...more] = history(on, bob, '/trc20')
  assert.equal(more.length, 0)
  assert.deepEqual(transfer, {
    transaction_id: sent.id,
    token_info: { symbol: 'USDT', address: USDT, decimals: 6, name: 'Tether USD' },
    block_timestamp: sent.blockTimeStamp,
    from: alice.address,
    to: bob.address,
    type: 'Transfer',
    value: '250',
  } as unknown as Entry)
  assert.equal(history(on, alice, `/trc20?only_from=true&contract_address=${USDT}`).length, 1)
  assert.equal(history(on, alice, `/trc20?contract_address=${bob.address}`).length, 0)
  assert.equal(history(on, bob, '/trc20?only_from=true').length, 0)
})

test('what is no address, and what is no page, is said', () => {
  const on = scene()
  const status = (path: string) => on.devchain.request('GET', path, '').status
  assert.equal(status('/v1/accounts/T/transactions'), 400)
  assert.equal(status(`/v1/accounts/${alice.address}/transactions/trc99`), 404)
  assert.equal(status(`/v1/accounts/${alice.address}`), 404)
})

test('a block tells what it changed, and an account what it had at a block', () => {
  const on = scene()
  const before = on.devchain.head
  const { fee = 0 } = send(on, alice, bob, 5n * TRX) as { fee?: number }
  const { id: hash, header } = on.devchain.head
  const asked = { hash, number: header.number }
  const trace = on.post('/wallet/getblockbalance', asked)
  assert.deepEqual(trace.block_identifier, asked)
  type Trace = { operation: { address: string; amount: number }[]; type: string; status: string }
  const [one] = trace.transaction_balance_trace as Trace[]
  const amounts = Object.fromEntries(one!.operation.map(({ address, amount }) => [address, amount]))
  assert.deepEqual(amounts, { [alice.hex]: -5_000_000 - fee, [bob.hex]: 5_000_000 })
  assert.deepEqual([one!.type, one!.status], ['TransferContract', 'SUCCESS'])
  on.post('/devchain/fund', { address: bob.address, sun: 7 })
  on.mine(3)
  send(on, bob, carol, TRX)
  const at = ({ id, header }: typeof before) =>
    on.post('/wallet/getaccountbalance', {
      account_identifier: { address: bob.hex },
      block_identifier: { hash: id, number: header.number },
    })
  assert.equal(at(before).balance, undefined)
  assert.equal(at(on.devchain.chain.block(header.number)!).balance, 5_000_000)
  assert.equal(at(on.devchain.chain.block(header.number + 1)!).balance, 5_000_007)
  assert.equal(BigInt(at(on.devchain.head).balance as number), on.balance(bob))
  const wrong = { ...asked, hash: before.id }
  assert.match(String(on.post('/wallet/getblockbalance', wrong).Error), /do not match/)
  assert.match(String(on.post('/wallet/getaccountbalance', {}).Error), /account_identifier is null/)
})

test('the receipt alone is there under its own name', () => {
  const on = scene()
  const { id, receipt } = send(on, alice, bob, TRX)
  assert.deepEqual(on.post('/wallet/gettransactionreceiptbyid', { value: id }), {
    Receipt: receipt,
  })
  assert.deepEqual(on.post('/wallet/gettransactionreceiptbyid', { value: '00'.repeat(32) }), {})
})

test('the official image sets a balance, up or down, in every way of writing it', () => {
  const on = scene()
  const set = (address: unknown, balance: unknown) =>
    on.post('/tre', { id: 1, method: 'tre_setAccountBalance', params: [address, balance] as never })
  assert.equal(set(carol.address, 3_000_000).result, true)
  assert.equal(on.balance(carol), 3n * TRX)
  assert.equal(set(carol.address, '0x3e8').result, true)
  assert.equal(on.balance(carol), 1000n)
  assert.equal(set(carol.address, '5000').result, true)
  on.mine()
  assert.equal(on.balance(carol), 5000n)
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
  for (const odd of [-1, 1.5, 'x', null, '99999999999999999999', '9223372036854775807']) {
    assert.ok(set(carol.address, odd).error, String(odd))
  }
  assert.ok(set('T', 1).error)
  assert.equal(on.balance(carol), 5000n)
})

test('the official image changes how often blocks come, where there is a clock', async () => {
  const on = scene()
  assert.match(
    JSON.stringify(on.post('/tre', { method: 'tre_blockTime', params: [1] })),
    /no clock/,
  )
  const served = await startDevchain({ block_time_seconds: 0 })
  const ask = (seconds: number) =>
    served.chain.request(
      'POST',
      '/tre',
      JSON.stringify({ method: 'tre_blockTime', params: [seconds] }),
    )
  assert.match(ask(1).body, /"result":true/)
  const { number } = served.chain.head.header
  await new Promise<void>((resolve) => {
    const record = served.chain.chain.onInput
    served.chain.chain.onInput = (input) => {
      record(input)
      if (input.kind === 'block') resolve()
    }
  })
  assert.equal(served.chain.head.header.number, number + 1)
  assert.equal(served.chain.instant, false)
  ask(0)
  assert.equal(served.chain.instant, true)
  await served.close()
})
