// Which transfers a new collection has: of addresses that are just inside and just outside of what
// it asks for, by rows and by what nodes say of them.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import {
  addCustomer,
  addDeposit,
  addOutflow,
  insertTransfers,
  now,
  safe,
} from 'penstock-test/harness/collecting_rows.ts'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Node } from '../../chain/node/node.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { BLOCKED } from '../deposits/deposits.ts'
import { type CollectionOrder, networkOf, prepareCollection } from './making.ts'

/** What came to an address, and what its node says where that is something else. */
type Owner = {
  trx?: bigint
  blocked?: bigint
  under_way?: bigint
  tokens?: bigint
  tokens_blocked?: boolean
  tokens_under_way?: bigint
  /** On the chain. */
  balance?: bigint
  holding?: bigint
  token_balance?: bigint
  keeps_tokens?: boolean
  energy?: bigint
  bandwidth?: bigint
}

const ORDER: CollectionOrder = {
  to: safe,
  min_sun: 100n,
  tokens: [USDT],
  min_token: 50n,
  hours: 1,
  burn: false,
}
const PLENTY = 100_000n
const head = { id: '00'.repeat(32), number: 9, time: now }
const addressOf = (name: string): Address => person(name).address

let n = 0
async function addRows(sql: Sql, name: string, i: number, owner: Owner): Promise<void> {
  const { trx = 0n, blocked = 0n, under_way = 0n, tokens, tokens_under_way = 0n } = owner
  const to = addressOf(name)
  await addCustomer(sql, name, i)
  const row = { to, customer: name, state: 'credited' }
  if (trx > blocked) await addDeposit(sql, { ...row, n: n++, sun: trx - blocked })
  if (trx < 0n) await addOutflow(sql, `out ${name}`, { address: to, sun: -trx })
  const held = { state: 'held', reason: BLOCKED }
  if (blocked > 0n) await addDeposit(sql, { ...row, n: n++, sun: blocked, ...held })
  if (tokens !== undefined) {
    const state = owner.tokens_blocked ? held : { state: 'held', reason: 'a token' }
    await addDeposit(sql, { ...row, n: n++, sun: tokens, token: USDT, ...state })
  }
  const made = { from: to, index: i }
  if (under_way > 0n)
    await insertTransfers(sql, `c ${name}`, [{ ...made, tx_id: `t ${name}`, amount: under_way }])
  const token = { ...made, tx_id: `k ${name}`, token: USDT, energy: 1 }
  if (tokens_under_way > 0n)
    await insertTransfers(sql, `k ${name}`, [{ ...token, amount: tokens_under_way }])
}

/** A node that knows what each owner has, and notes of whom it was asked. */
function nodeOf(owners: ReadonlyMap<Address, Owner>, asked: Set<Address>): Node {
  const of = (address: Address) => {
    asked.add(address)
    return owners.get(address)!
  }
  return {
    accountEverywhere: async (to: Address) => [{ active: true }, { active: to === safe }],
    blocks: async () => [{ id: 'first' }],
    head: async () => head,
    solidHead: async () => head,
    parameters: async () => new Map(),
    account: async (one: Address) => ({ balance_sun: of(one).balance ?? of(one).trx ?? 0n }),
    holdings: async (one: Address) => of(one).holding ?? of(one).balance ?? of(one).trx ?? 0n,
    resources: async (one: Address) => ({
      energy: { left: of(one).energy ?? PLENTY },
      bandwidth: { left: of(one).bandwidth ?? PLENTY },
    }),
    constantCall: async ({ owner, selector }: { owner: Address; selector: string }) => {
      const { token_balance, tokens = 0n, keeps_tokens = false } = of(owner)
      if (selector !== 'balanceOf(address)') return { succeeded: !keeps_tokens, energy: 1_000n }
      const balance = token_balance ?? tokens
      return { succeeded: balance >= 0n, result: balance > 0n ? balance.toString(16) : '' }
    },
  } as unknown as Node
}

/** Each owner's transfers as `name amount` or `name token amount`, and all else of the file. */
async function prepare(t: TestContext, owners: Record<string, Owner>, order = {}) {
  const { sql } = await freshDatabase(t)
  const names = Object.keys(owners)
  for (const [i, name] of names.entries()) await addRows(sql, name, i, owners[name]!)
  const asked = new Set<Address>()
  const by_address = new Map(names.map((name) => [addressOf(name), owners[name]!]))
  const node = nodeOf(by_address, asked)
  const needs = { sql, node, tell: () => {} }
  const { transfers, ...found } = await prepareCollection(needs, { ...ORDER, ...order })
  const nameOf = (address: Address) => names.find((name) => addressOf(name) === address)!
  return {
    ...found,
    asked: names.filter((name) => asked.has(addressOf(name))),
    transfers: transfers.map(({ from, token, amount, energy }) =>
      [nameOf(from), ...(token ? ['token'] : []), amount, ...(energy ? [energy] : [])].join(' '),
    ),
  }
}

const NOTHING_LEFT_OUT = { dust: 0, blocked: 0, under_way: 0, without_trx: 0 }

test('an address gives its TRX from the least on, less what is blocked', async (t) => {
  const found = await prepare(t, {
    least: { trx: 100n },
    below: { trx: 99n },
    speck: { trx: 1n },
    'under way': { trx: 300n, under_way: 1n },
    'too much blocked': { trx: 250n, blocked: 151n },
    'enough free': { trx: 250n, blocked: 150n },
    'a speck blocked': { trx: 100n, blocked: 1n },
    overdrawn: { trx: -1n },
    empty: {},
    'gone meanwhile': { trx: 500n, balance: 0n },
    'partly gone': { trx: 500n, balance: 400n, holding: 300n },
    'partly held': { trx: 500n, balance: 200n, holding: 300n },
    // Nobody has looked yet at who has sent it.
    'more since': { trx: 500n, balance: 900n },
    'more since, and some blocked': { trx: 500n, blocked: 50n, balance: 900n },
  })
  assert.deepEqual(found.transfers, [
    'least 100',
    'enough free 100',
    'partly gone 300',
    'partly held 200',
    'more since 500',
    'more since, and some blocked 450',
  ])
  assert.deepEqual(found.left_out, { dust: 2, blocked: 2, under_way: 1, without_trx: 0 })
  assert.deepEqual(found.asked, [
    'least',
    'enough free',
    'gone meanwhile',
    'partly gone',
    'partly held',
    'more since',
    'more since, and some blocked',
  ])
  assert.deepEqual([found.network, found.fees_max_sun, found.energy_needed], ['first', 0n, 0n])
})

test('an address gives its tokens from the least on, beside its TRX', async (t) => {
  const found = await prepare(t, {
    least: { tokens: 50n },
    below: { tokens: 49n, token_balance: 60n },
    both: { trx: 500n, tokens: 60n },
    blocked: { tokens: 80n, tokens_blocked: true },
    'under way': { tokens: 80n, tokens_under_way: 1n },
    'TRX under way': { trx: 300n, under_way: 5n, tokens: 60n },
    'gone meanwhile': { tokens: 60n, token_balance: 0n },
    'partly gone': { tokens: 60n, token_balance: 49n },
    // Nobody has looked yet at who has sent them.
    'more since': { tokens: 60n, token_balance: 90n },
    unreadable: { tokens: 60n, token_balance: -1n },
    frozen: { tokens: 60n, keeps_tokens: true },
  })
  assert.deepEqual(found.transfers, [
    'least token 50 1000',
    'both token 60 1000',
    'both 500',
    'TRX under way token 60 1000',
    'more since token 60 1000',
  ])
  assert.deepEqual(found.left_out, { dust: 0, blocked: 1, under_way: 2, without_trx: 0 })
  assert.ok(!found.asked.includes('below'))
})

test('without a least every sun and every unit is collected, and nothing is none', async (t) => {
  const owners = {
    'one sun': { trx: 1n },
    'one unit': { tokens: 1n },
    'no unit': { tokens: 9n, token_balance: 0n },
  }
  const found = await prepare(t, owners, { min_sun: 0n, min_token: 0n })
  assert.deepEqual(found.transfers, ['one sun 1', 'one unit token 1 1000'])
  assert.deepEqual(found.left_out, NOTHING_LEFT_OUT)
  const one = await prepare(t, { only: { tokens: 50n }, empty: {} })
  assert.deepEqual(one.transfers, ['only token 50 1000'])
  const alone = await prepare(t, { only: { trx: 100n } }, { tokens: [] })
  assert.deepEqual(alone.transfers, ['only 100'])
  const others = await prepare(t, { trx: { trx: 100n }, tokens: { tokens: 80n } }, { tokens: [] })
  assert.deepEqual(others.transfers, ['trx 100'])
  await assert.rejects(prepare(t, { below: { trx: 99n } }), /There is nothing to collect/)
})

/** The most that a transfer of tokens burns for its energy, of 1,000 at the price of 100 sun, and
 *  for its bandwidth, by its bytes at 1,000 sun. */
const BURNED_SUN = 120_000n

test('TRX at an address pays for what a transfer of tokens lacks, or it is left out', async (t) => {
  const tokens = 60n
  const found = await prepare(
    t,
    {
      enough: { tokens, energy: 1_000n },
      short: { tokens, energy: 999n, trx: BURNED_SUN },
      'a sun too little': { tokens, energy: 999n, trx: BURNED_SUN - 1n },
      none: { tokens, energy: 0n, trx: BURNED_SUN + 100n },
    },
    { burn: true, min_sun: 100n },
  )
  assert.deepEqual(found.transfers, [
    'enough token 60 1000',
    'short token 60 1000',
    'a sun too little 119999',
    'none token 60 1000',
    'none 100',
  ])
  assert.deepEqual(found.left_out, { ...NOTHING_LEFT_OUT, without_trx: 1 })
  assert.deepEqual([found.fees_max_sun, found.energy_needed], [2n * BURNED_SUN, 1_001n])
  const elsewhere = await prepare(t, { short: { tokens, energy: 400n } })
  assert.deepEqual([elsewhere.fees_max_sun, elsewhere.energy_needed], [0n, 600n])
})

test('bandwidth that lacks is paid from the TRX that is sent', async (t) => {
  const whole = await prepare(t, { payer: { trx: 1_000_000n, bandwidth: 0n } })
  const fee = whole.fees_max_sun
  assert.ok(fee > 200_000n && fee < 400_000n, `${fee}`)
  assert.deepEqual(whole.transfers, [`payer ${1_000_000n - fee}`])
  const trx = (left: bigint) => ({ payer: { trx: fee + left, bandwidth: 0n } })
  assert.deepEqual((await prepare(t, trx(100n))).transfers, ['payer 100'])
  await assert.rejects(prepare(t, trx(99n)), /There is nothing to collect/)
})

test('a collection goes to an address that is active at every node, and no deposit', async (t) => {
  await assert.rejects(
    prepare(t, { payer: { trx: 500n } }, { to: addressOf('payer') }),
    /is the deposit address of payer: it would be paid/,
  )
  await assert.rejects(
    prepare(t, { payer: { trx: 500n } }, { to: addressOf('somebody') }),
    /is not active on the chain/,
  )
})

test('a network is known by its first block, which a node has to tell', async () => {
  const node = (blocks: object[]) => ({ blocks: async () => blocks }) as unknown as Node
  assert.equal(await networkOf(node([{ id: 'first' }])), 'first')
  await assert.rejects(networkOf(node([])), /no node says which network it is of/)
})
