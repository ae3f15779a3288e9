// The sandbox on a development chain: what a first purchase needs, made once, however often and
// wherever it is interrupted.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Devchain } from 'penstock-devchain/devchain.ts'
import { GENESIS_MS } from 'penstock-devchain/scene.ts'
import { type Transport, tronNode } from 'penstock-service/chain/node/node.ts'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, sign } from 'penstock-tron/keys.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import {
  contract,
  encodeRawData,
  encodeTransaction,
  transactionId,
} from 'penstock-tron/transaction.ts'
import {
  type ChainNeeds,
  deriveSandbox,
  devchainControl,
  paying,
  prepareChain,
  sandboxPhrase,
  transact,
} from './sandbox.ts'

const PHRASE = 'test test test test test test test test test test test junk'
const sandbox = deriveSandbox(PHRASE)

/** A chain, and a way to it that breaks at the given request (counted from 0). */
function chainThatBreaks(
  devchain: Devchain,
  breaks_at = Number.POSITIVE_INFINITY,
): ChainNeeds & { requests: () => number } {
  let requests = 0
  const transport: Transport = async ({ url, body }) => {
    if (requests++ >= breaks_at) throw new Error('interrupted')
    return devchain.request('POST', new URL(url).pathname, body)
  }
  const node = tronNode({ nodes: [{ url: 'http://devchain' }], transport })
  const control = devchainControl('http://devchain', transport)
  return {
    node,
    control,
    now: () => new Date(devchain.head.header.timestamp),
    requests: () => requests,
  }
}

const newChain = () => new Devchain({ genesis_time_ms: GENESIS_MS })

type Account = {
  balance?: number
  frozenV2?: { type?: string; amount?: number }[]
  active_permission?: unknown
}

/** The state of a prepared chain: stakes and permissions of the owners, balances of the funded
 *  accounts. */
function describe(devchain: Devchain) {
  const account = (address: Address) =>
    JSON.parse(
      devchain.request('POST', '/wallet/getaccount', JSON.stringify({ address, visible: true }))
        .body,
    ) as Account
  const owners = sandbox.owners.map(({ address }) => account(address))
  return {
    owners: owners.map(({ frozenV2, active_permission }) => ({ frozenV2, active_permission })),
    funds: sandbox.funded_accounts.map(({ address }) => account(address).balance ?? 0),
  }
}

test('the keys follow from the phrase, and no two are the same', () => {
  assert.deepEqual(deriveSandbox(PHRASE), sandbox)
  const keys = [
    ...sandbox.owners,
    ...sandbox.funded_accounts,
    ...sandbox.wallets.pool,
    sandbox.wallets.activation,
  ]
  assert.equal(new Set(keys.map(({ private_key }) => private_key)).size, keys.length)
  const other = deriveSandbox(
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
  )
  assert.notEqual(other.wallets.deposit_xpub, sandbox.wallets.deposit_xpub)
})

test('preparing a chain makes staked wallets and funded accounts, once', async () => {
  const devchain = newChain()
  await prepareChain(chainThatBreaks(devchain), sandbox)
  const made = describe(devchain)
  for (const { frozenV2 } of made.owners.slice(0, sandbox.wallets.pool.length)) {
    for (const resource of [undefined, 'ENERGY']) {
      const stake = frozenV2?.find(({ type }) => type === resource)
      assert.ok((stake?.amount ?? 0) > 1_000_000_000_000, resource ?? 'BANDWIDTH')
    }
  }
  assert.ok(made.funds.every((sun) => sun >= 1_000_000_000_000))
  const { number } = devchain.head.header
  await prepareChain(chainThatBreaks(devchain), sandbox)
  assert.equal(devchain.head.header.number, number)
  assert.deepEqual(describe(devchain), made)
})

test('interrupted at any request, it is completed by the next start', async () => {
  const whole = newChain()
  const undisturbed = chainThatBreaks(whole)
  await prepareChain(undisturbed, sandbox)
  const expected = describe(whole)
  for (let breaks_at = 0; breaks_at < undisturbed.requests(); breaks_at++) {
    const devchain = newChain()
    await assert.rejects(
      prepareChain(chainThatBreaks(devchain, breaks_at), sandbox),
      /does not answer|interrupted/,
    )
    // The chain lives on for a while before somebody starts again.
    devchain.mine()
    devchain.mine()
    const where = `interrupted at request ${breaks_at} of ${undisturbed.requests()}`
    await assert.doesNotReject(prepareChain(chainThatBreaks(devchain), sandbox), where)
    const { owners, funds } = describe(devchain)
    assert.deepEqual(owners, expected.owners, where)
    assert.ok(
      funds.every((sun, i) => sun >= expected.funds[i]!),
      where,
    )
  }
})

/** The chain's answer to an operation that is signed with a hot key. */
function attempt(
  devchain: Devchain,
  by: { private_key: string; permission_id: number },
  type: string,
  value: Message,
) {
  const { id, header } = devchain.head
  const raw_data = encodeRawData({
    ref_block_bytes: id.slice(12, 16),
    ref_block_hash: id.slice(16, 32),
    expiration: header.timestamp + 60_000,
    timestamp: header.timestamp,
    contract: [contract(type, value, by.permission_id)],
  })
  const transaction = encodeTransaction(raw_data, [sign(transactionId(raw_data), by.private_key)])
  const body = JSON.stringify({ transaction: Buffer.from(transaction).toString('hex') })
  return JSON.parse(devchain.request('POST', '/wallet/broadcasthex', body).body) as {
    result?: boolean
    code?: string
  }
}

test('a hot key can do what it is for, and the chain refuses it everything else', async () => {
  const devchain = newChain()
  await prepareChain(chainThatBreaks(devchain), sandbox)
  const { pool, activation, refund } = sandbox.wallets
  const bob = addressToHex(sandbox.funded_accounts[0]!.address)
  const operations = (owner: Address): Record<string, Message> => {
    const owner_address = addressToHex(owner)
    return {
      DelegateResourceContract: {
        owner_address,
        receiver_address: bob,
        balance: 5_000_000n,
        resource: 'ENERGY',
      },
      TransferContract: { owner_address, to_address: bob, amount: 5_000_000n },
      AccountCreateContract: {
        owner_address,
        account_address: addressToHex(addressOf('1'.repeat(64))),
      },
      UnfreezeBalanceV2Contract: {
        owner_address,
        unfreeze_balance: 5_000_000n,
        resource: 'ENERGY',
      },
    }
  }
  const may: [wallet: (typeof pool)[number], type: string][] = [
    ...pool.map(
      (wallet) => [wallet, 'DelegateResourceContract'] as [(typeof pool)[number], string],
    ),
    [activation, 'AccountCreateContract'],
    [refund!, 'TransferContract'],
  ]
  for (const [wallet, allowed] of may) {
    for (const [type, value] of Object.entries(operations(wallet.address))) {
      const { result, code } = attempt(devchain, wallet, type, value)
      assert.equal(result === true, type === allowed, `${type} by the key for ${allowed}: ${code}`)
    }
  }
})

test('an operation that the chain refuses is told with its words', async () => {
  const devchain = newChain()
  const needs = chainThatBreaks(devchain)
  await prepareChain(needs, sandbox)
  const [payer, other] = sandbox.funded_accounts
  await assert.rejects(
    transact(needs, payer!, paying(payer!, other!.address, 2n ** 60n)),
    /the chain refuses a TransferContract: .*balance/,
  )
})

test('what expired before its block came is signed again', async () => {
  const devchain = newChain()
  const needs = chainThatBreaks(devchain)
  await prepareChain(needs, sandbox)
  const [payer, other] = sandbox.funded_accounts
  let late = 3
  const slow: Transport = async ({ url, body }) => {
    // The machine is busy: minutes go by on the chain between signing and sending.
    if (url.endsWith('/broadcasthex') && late-- > 0)
      devchain.request('POST', '/devchain/advance', JSON.stringify({ seconds: 120 }))
    return devchain.request('POST', new URL(url).pathname, body)
  }
  const node = tronNode({ nodes: [{ url: 'http://devchain' }], transport: slow })
  await transact({ node, now: needs.now }, payer!, paying(payer!, other!.address, 1n))
  assert.equal(late, -1)
  late = Number.POSITIVE_INFINITY
  await assert.rejects(
    transact({ node, now: needs.now }, payer!, paying(payer!, other!.address, 2n)),
    /the chain refuses a TransferContract: .*TRANSACTION_EXPIRATION_ERROR/,
  )
})

async function freshFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-sandbox-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

test('the phrase of a folder is made once, readable by its owner only', async (t) => {
  const folder = join(await freshFolder(t), 'new')
  const phrase = await sandboxPhrase(folder)
  assert.equal(phrase.split(' ').length, 12)
  assert.equal(await sandboxPhrase(folder), phrase)
  const file = join(folder, 'sandbox.json')
  assert.equal((await stat(file)).mode & 0o077, 0)
  assert.match(await readFile(file, 'utf8'), /phrase/)
  assert.notEqual(await sandboxPhrase(await freshFolder(t)), phrase)
})
