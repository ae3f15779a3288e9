// Money that arrives on the chain.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainView, missingOnChain } from 'penstock-service/health/books/chain.ts'
import { findDeposits } from 'penstock-service/treasury/deposits/deposits.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { addressWord, numberWord, USDT } from 'penstock-tron/tokens.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld, TRX, type World } from '../../harness/world.ts'

test('a deposit is credited once, when its block is solid, however often steps run', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const other = await world.startProcess()
  world.pay(anna.deposit_address, 12_345_678n)
  world.mine(18)
  await world.drain()
  assert.equal(await anna.balance(), 0)
  world.mine(1)
  for (let round = 0; round < 3; round++) {
    await Promise.all([...world.app.steps, ...other.app.steps].map((step) => step.run()))
  }
  await world.drain()
  await world.drain(other.app)
  assert.equal(await anna.balance(), 12.345678)
})

test('a deposit whose block a fork takes back is credited when it comes again', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  world.pay(anna.deposit_address, 5n * TRX)
  world.mine()
  await world.drain()
  world.fork(1, { drop: true })
  await world.drain()
  world.pay(zoe.deposit_address, 7n * TRX)
  world.mine()
  await world.drain()
  world.fork(1)
  await world.solidify()
  assert.equal(await anna.balance(), 0)
  assert.equal(await zoe.balance(), 7)
})

test('several deposits in one block are credited each, down to a single sun', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  const ids = [
    world.pay(anna.deposit_address, 1n),
    world.pay(anna.deposit_address, 2n),
    world.pay(zoe.deposit_address, 3n),
    world.pay(anna.deposit_address, 1_000_000n, world.person('pool-0')),
  ]
  await world.solidify()
  assert.equal(await anna.balance(), 1.000003)
  assert.equal(await zoe.balance(), 0.000003)
  for (const id of ids) assert.equal((await findDeposits(world.sql, id))[0]?.state, 'credited')
})

test('a deposit beyond 2^53 sun is credited to the sun', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const sun = 2n ** 53n + 1n
  world.scene.devchain.fund(world.person('whale').address, 2n * sun)
  world.mine()
  world.pay(anna.deposit_address, sun, world.person('whale'))
  await world.solidify()
  const { payload } = await world.api.inject({ method: 'GET', url: '/health' })
  assert.match(payload, /ok/)
  const [account] = await world.sql<{
    posted_sun: bigint
  }>`select posted_sun from account where id = ${`customer:${anna.id}`}`
  assert.equal(account?.posted_sun, sun)
})

type Transfer = { txID: string }

test('failed transfers are not deposits', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  // The chain refuses some of these today; what a node could still say of older blocks is put into
  // its mouth.
  const changes: Record<string, (body: string) => string> = {}
  const told = (change: (body: string) => string) => {
    changes[world.pay(anna.deposit_address, 5n * TRX)] = change
  }
  told((body) => body.replace('"contractRet":"SUCCESS"', '"contractRet":"REVERT"'))
  told((body) => body.replace('"ret":[{"contractRet":"SUCCESS"}],', ''))
  const good = world.pay(anna.deposit_address, 3n * TRX)
  let changed = 0
  world.network.answers = (_path, body) => {
    const answer = JSON.parse(body) as { block?: { transactions?: Transfer[] }[] }
    for (const block of answer.block ?? []) {
      if (!block.transactions) continue
      block.transactions = block.transactions.map((one) => {
        const change = changes[one.txID]
        if (!change) return one
        const text = JSON.stringify(one)
        assert.notEqual(change(text), text)
        changed += 1
        return JSON.parse(change(text)) as Transfer
      })
    }
    return answer.block ? JSON.stringify(answer) : body
  }
  await world.solidify()
  assert.ok(changed >= 2, `${changed}`)
  assert.equal(await anna.balance(), 3)
  assert.equal((await findDeposits(world.sql, good)).length, 1)
  const [rows] = await world.sql<{ n: bigint }>`select count(*) as n from deposit`
  assert.equal(rows?.n, 1n)
})

type InnerTransfer = { to: string; sun: number; rejected?: boolean; token?: string }

/** Lets the node say that contracts sent TRX along in a transaction. */
function sendsAlong(world: World, tx_id: string, inner: InnerTransfer[]): void {
  const contract = addressToHex(world.person('contract').address)
  const internal_transactions = inner.map(({ to, sun, rejected, token }) => ({
    hash: tx_id,
    caller_address: contract,
    transferTo_address: addressToHex(to),
    note: '63616c6c',
    callValueInfo: [{ callValue: sun, ...(token !== undefined && { tokenId: token }) }],
    ...(rejected && { rejected }),
  }))
  const before = world.network.answers
  world.network.answers = (path, body) => {
    const answer = before(path, body)
    if (!path.endsWith('gettransactioninfobyblocknum') || !answer.includes(tx_id)) return answer
    const receipts = JSON.parse(answer) as { id: string }[]
    return JSON.stringify(
      receipts.map((one) => (one.id === tx_id ? { ...one, internal_transactions } : one)),
    )
  }
}

test('TRX from a contract to a deposit address is credited, unless rejected', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  const tx_id = world.pay(world.person('router', 1).address, TRX)
  sendsAlong(world, tx_id, [
    { to: anna.deposit_address, sun: 2_000_000 },
    { to: zoe.deposit_address, sun: 5 },
    { to: anna.deposit_address, sun: 2_000_000 },
    { to: anna.deposit_address, sun: 7_000_000, rejected: true },
    { to: anna.deposit_address, sun: 9_000_000, token: '1002000' },
    { to: anna.deposit_address, sun: 0 },
  ])
  // The balances bear it out.
  world.scene.post('/devchain/fund', { address: anna.deposit_address, sun: 4_000_000 })
  world.scene.post('/devchain/fund', { address: zoe.deposit_address, sun: 5 })
  world.mine(18)
  await world.drain()
  assert.equal(await anna.balance(), 0, 'not before it is solid')
  const other = await world.startProcess()
  await world.solidify()
  await world.drain(other.app)
  assert.deepEqual([await anna.balance(), await zoe.balance()], [4, 0.000005])
  const deposits = await findDeposits(world.sql, tx_id)
  assert.deepEqual(
    deposits.map((one) => [one.state, one.amount_sun ?? one.token_amount, one.from_address]),
    [
      ['ignored', 9_000_000n],
      ['credited', 2_000_000n],
      ['credited', 5n],
      ['credited', 2_000_000n],
    ].map(([state, amount]) => [state, amount, world.person('contract').address]),
  )
  const at = await worldOperator(world)
  const { code, out } = await at.type('books', 'check')
  assert.equal(code, 0, out)
  const view = chainView([{ url: 'http://devchain' }], async ({ url, body }) => {
    const path = new URL(url).pathname
    const answer = world.scene.devchain.request('POST', path, body)
    return { ...answer, body: world.network.answers(path, answer.body) }
  })
  assert.deepEqual((await missingOnChain(world.sql, view, null)).deposits, [])
  world.network.answers = (_path, body) => body
  const now = await missingOnChain(world.sql, view, null)
  assert.deepEqual(
    [now.deposits.length, now.unseen.length],
    [0, 3],
    'the node shows nothing of that now',
  )
})

test('TRX from a contract to the published address is held, with the reason', async (t) => {
  const world = await makeWorld(t)
  const tx_id = world.pay(world.person('router', 1).address, TRX)
  sendsAlong(world, tx_id, [{ to: world.recharge.address, sun: 3_000_000 }])
  world.scene.post('/devchain/fund', { address: world.recharge.address, sun: 3_000_000 })
  await world.solidify()
  await world.solidify()
  const [held, ...more] = await findDeposits(world.sql, tx_id)
  assert.deepEqual(
    [held?.state, held?.reason, held?.amount_sun],
    ['held', 'it was sent by a contract', 3_000_000n],
  )
  assert.equal(more.length, 0)
})

/** Sends a token of TRC-20 that is there from now on. */
function sendToken(world: World, to: string, amount: bigint): string {
  const payer = world.person('payer')
  world.scene.post('/devchain/mint', { address: payer.address, amount })
  world.mine()
  const data = `a9059cbb${addressWord(to)}${numberWord(amount)}`
  const message = { contract_address: addressToHex(USDT), data }
  const answer = world.scene.send(payer, 'TriggerSmartContract', message, {
    fee_limit: 1_000n * TRX,
  })
  assert.equal(answer.result, true, String(answer.message))
  return String(answer.txid)
}

/** Issues a TRC-10 asset and sends some of it. */
function sendAsset(world: World, to: string, amount: bigint): string {
  const payer = world.person('payer')
  const hex = (text: string) => Buffer.from(text).toString('hex')
  const now_ms = BigInt(world.scene.devchain.head.header.timestamp)
  const coin = {
    name: hex('TRXX'),
    abbr: hex('TRXX'),
    url: hex('https://coin.invalid'),
    total_supply: 1_000n,
    trx_num: 1,
    num: 1,
    precision: 6,
    start_time: now_ms + 3_000n,
    end_time: now_ms + 600_000n,
  }
  const send = (type: string, message: Record<string, unknown>) => {
    const answer = world.scene.send(payer, type, message as Parameters<typeof world.scene.send>[2])
    assert.equal(answer.result, true, String(answer.message))
    world.mine()
    return String(answer.txid)
  }
  send('AssetIssueContract', coin)
  return send('TransferAssetContract', {
    asset_name: hex('1000001'),
    to_address: addressToHex(to),
    amount,
  })
}

for (const [title, tokens] of [
  ['a token that is followed is held, TRC-10 is ignored', [USDT]],
  ['a token that is not followed is ignored, as is TRC-10', []],
] as const)
  test(title, async (t) => {
    const world = await makeWorld(t, { tokens })
    const anna = await world.customer()
    const payer = world.person('payer').address
    for (const [to, customer_id] of [
      [anna.deposit_address, anna.id],
      [world.recharge.address, null],
    ] as const) {
      const sent = [
        { tx_id: sendToken(world, to, 10n ** 12n), token: USDT, token_amount: 10n ** 12n },
        ...(to === anna.deposit_address
          ? [{ tx_id: sendAsset(world, to, 7n), token: '1000001', token_amount: 7n }]
          : []),
      ]
      world.mine()
      await world.drain()
      for (const { tx_id } of sent)
        assert.equal((await findDeposits(world.sql, tx_id))[0]?.state, 'seen')
      await world.solidify()
      await world.solidify()
      for (const { tx_id, token, token_amount } of sent) {
        const [found, ...more] = await findDeposits(world.sql, tx_id)
        assert.ok(found)
        assert.equal(more.length, 0)
        const followed = tokens.some((one) => one === token)
        const fate = followed
          ? ['held', 'a token that is not TRX']
          : ['ignored', 'a token that is not followed']
        assert.deepEqual(
          [found.state, found.reason, found.token, BigInt(found.token_amount!)],
          [...fate, token, token_amount],
        )
        assert.deepEqual(
          [found.from_address, found.customer_id, found.amount_sun],
          [payer, customer_id, null],
        )
      }
    }
    assert.equal(await anna.balance(), 0)
  })

test('a deposit is seen as soon as a block has it, and gone when a fork takes that', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const tx_id = world.pay(anna.deposit_address, 5n * TRX)
  world.mine()
  await world.drain()
  const look = async () => {
    const { state, solid_at, amount_sun, reason } = (await findDeposits(world.sql, tx_id))[0]!
    return { state, solid: solid_at !== null, amount_sun, reason }
  }
  const seen = { state: 'seen', solid: false, amount_sun: 5n * TRX, reason: null }
  assert.deepEqual(await look(), seen)
  assert.equal(await anna.balance(), 0)
  world.fork(1)
  await world.drain()
  assert.deepEqual(await look(), seen, 'the other branch has it too')
  world.fork(2, { drop: true })
  await world.drain()
  await world.solidify()
  assert.deepEqual(await look(), { ...seen, state: 'gone', reason: 'taken back by a fork' })
  assert.equal(await anna.balance(), 0)
})

test('a deposit that a fork took and that comes again is credited as ever', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const tx_id = world.pay(anna.deposit_address, 5n * TRX)
  world.mine()
  await world.drain()
  await world.sql`
    update deposit set state = 'gone', reason = 'taken back by a fork' where tx_id = ${tx_id}`
  await world.solidify()
  const [deposit] = await findDeposits(world.sql, tx_id)
  assert.deepEqual([deposit?.state, deposit?.reason], ['credited', null])
  assert.equal(await anna.balance(), 5)
})

test('what a contract sends otherwise after a fork is credited as it is then', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const zoe = await world.customer()
  const tx_id = world.pay(world.person('router', 1).address, TRX)
  sendsAlong(world, tx_id, [
    { to: anna.deposit_address, sun: 9_000_000 },
    { to: anna.deposit_address, sun: 2_000_000 },
    { to: anna.deposit_address, sun: 5 },
  ])
  world.mine()
  await world.drain()
  assert.equal((await findDeposits(world.sql, tx_id)).length, 3)
  sendsAlong(world, tx_id, [
    { to: zoe.deposit_address, sun: 4_000_000 },
    { to: anna.deposit_address, sun: 3_000_000 },
  ])
  world.scene.post('/devchain/fund', { address: zoe.deposit_address, sun: 4_000_000 })
  world.scene.post('/devchain/fund', { address: anna.deposit_address, sun: 3_000_000 })
  world.fork(1)
  await world.drain()
  await world.solidify()
  await world.solidify()
  assert.deepEqual([await anna.balance(), await zoe.balance()], [3, 4])
  const rows = await findDeposits(world.sql, tx_id)
  assert.deepEqual(
    rows.map(({ state, customer_id, amount_sun }) => [state, customer_id, amount_sun]),
    [
      ['gone', anna.id, 5n],
      ['credited', anna.id, 3_000_000n],
      ['credited', zoe.id, 4_000_000n],
    ],
  )
  const at = await worldOperator(world)
  const { code, out } = await at.type('books', 'check')
  assert.equal(code, 0, out)
})

test('what is sent to nobody we know is not a deposit', async (t) => {
  const world = await makeWorld(t)
  const stranger = world.person('stranger', 1)
  const tx_id = world.pay(stranger.address, 5n * TRX)
  await world.solidify()
  assert.deepEqual(await findDeposits(world.sql, tx_id), [])
})

test('a service that was down for long reads every block it missed, in order', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  let sun = 0n
  for (let i = 1; i <= 60; i++) {
    const amount_sun = BigInt(i) * 1_000n
    if (i % 3 === 0) {
      world.pay(anna.deposit_address, amount_sun)
      sun += amount_sun
    }
    world.mine(4)
  }
  await world.solidify()
  assert.equal(await anna.balance(), Number(sun) / 1e6)
  const [gap] = await world.sql`
    select number from block as b
    where not exists (select 1 from block as p where p.number = b.number - 1)
      and number > (select min(number) from block)`
  assert.equal(gap, undefined)
})

test('every customer has a deposit address of its own', async (t) => {
  const world = await makeWorld(t)
  const addresses = new Set<string>()
  for (let i = 0; i < 5; i++) addresses.add((await world.customer()).deposit_address)
  assert.equal(addresses.size, 5)
  const anna = await world.customer()
  const { address } = await anna.get<{ address: string }>('/v1/balance')
  assert.equal(address, anna.deposit_address)
})
