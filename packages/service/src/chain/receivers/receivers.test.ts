import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from 'penstock-tron/address.ts'
import { Outage } from '../../lib/fault.ts'
import type { AccountState } from '../node/node.ts'
import { receiverReader } from './receivers.ts'

const ADDRESS = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

type Needs = Parameters<typeof receiverReader>[0]

/** A reader of what the chain says, one answer after the other, and how often it was asked. */
const reader = (...answers: (Partial<AccountState> | Error)[]) => readerWith({}, ...answers)

function readerWith(more: Partial<Needs>, ...answers: (Partial<AccountState> | Error)[]) {
  let asked = 0
  const node = {
    async account() {
      asked += 1
      const answer = answers.shift()
      if (answer === undefined || answer instanceof Error)
        throw answer ?? new Error('asked too often')
      return {
        active: false,
        contract: false,
        existed_at: undefined,
        has_signed: false,
        balance_sun: 0n,
        permissions: [],
        ...answer,
      } as AccountState
    },
  }
  let now_ms = 1_000_000
  const block = { number: 1, confirmed_at: new Date(500_000), signers: new Set<string>() }
  const followed = {
    newest: async () => ({ id: `block ${block.number}`, confirmed_at: block.confirmed_at }),
    hasSigned: (address: string) => block.signers.has(address),
  }
  const clock = { now: () => new Date(now_ms) }
  const receiver = receiverReader({ clock, node, followed, ...more })
  const look = () => receiver(ADDRESS)
  const later = (ms: number) => {
    now_ms += ms
  }
  return { look, asked: () => asked, later, block }
}

const KINDS = [
  ['active', { active: true }],
  ['inactive', {}],
  ['contract', { active: true, contract: true }],
] as const

test('what the chain says is kept until the next block, and for as long as one takes', async () => {
  for (const [kind, answer] of KINDS) {
    const { look, asked, later, block } = reader(answer, answer, answer)
    assert.deepEqual([await look(), await look(), asked()], [kind, kind, 1])
    later(2_999)
    assert.deepEqual([await look(), asked()], [kind, 1])
    block.number += 1
    assert.deepEqual([await look(), await look(), asked()], [kind, kind, 2])
    later(3_000)
    assert.deepEqual([await look(), asked()], [kind, 3])
  }
})

test('an address that the next block activates is not refused after it', async () => {
  const { look, block } = reader({}, { active: true })
  const before = await look()
  block.number += 1
  assert.deepEqual([before, await look()], ['inactive', 'active'])
})

test('what has signed, and is confirmed, stays active for ever', async () => {
  const confirmed = { active: true, has_signed: true, existed_at: new Date(500_000) }
  const { look, asked, later, block } = reader(confirmed)
  await look()
  block.number += 1
  later(1e12)
  assert.deepEqual([await look(), asked()], ['active', 1])
})

test('a fork takes back what it takes back: nothing unconfirmed is kept beyond it', async () => {
  const unconfirmed = { active: true, has_signed: true, existed_at: new Date(500_001) }
  const { look, block } = reader(unconfirmed, {})
  const before = await look()
  block.number += 1
  assert.deepEqual([before, await look()], ['active', 'inactive'])
})

test('an address whose key nobody has shown may become a contract', async () => {
  const unsigned = { active: true, existed_at: new Date(1) }
  const { look, block } = reader(unsigned, { ...unsigned, contract: true })
  const before = await look()
  block.number += 1
  assert.deepEqual([before, await look()], ['active', 'contract'])
})

test('a contract is no receiver for ever, whatever a node says of what it has signed', async () => {
  const contract = { active: true, contract: true, has_signed: true, existed_at: new Date(1) }
  const { look, block, asked } = reader(contract, { ...contract, contract: false })
  const before = await look()
  block.number += 1
  assert.deepEqual([before, await look(), asked()], ['contract', 'active', 2])
})

test('who has signed what a confirmed block has is active, and no node is asked', async () => {
  const { look, asked, block } = reader()
  block.signers.add(ADDRESS)
  assert.deepEqual([await look(), asked()], ['active', 0])
})

test('without the chain nothing is known or cached; a bug stays a bug', async () => {
  const { look } = reader(new Outage('the node'), { active: true })
  assert.deepEqual([await look(), await look()], ['unknown', 'active'])
  await assert.rejects(reader(new TypeError('bug')).look(), TypeError)
})

test('an inactive account is not active for ever, whatever it has signed', async () => {
  const inactive = { active: false, has_signed: true, existed_at: new Date(1) }
  const { look, block, asked } = reader(inactive, inactive)
  assert.equal(await look(), 'inactive')
  block.number += 1
  assert.deepEqual([await look(), asked()], ['inactive', 2])
})

test('an address of ours and a barred one are said without asking a node', async () => {
  const ours = new Set([ADDRESS as Address])
  const is_barred = async (address: string) => address === ADDRESS
  for (const [more, receiver] of [
    [{ ours, is_barred }, 'ours'],
    [{ is_barred }, 'barred'],
  ] as const) {
    const { look, asked } = readerWith(more, { active: true })
    assert.deepEqual([await look(), asked()], [receiver, 0])
  }
})
