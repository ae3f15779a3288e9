// What is kept of a block, and when a node is taken to hide what contracts did.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { person } from 'penstock-devchain/scene.ts'
import type { Block, Receipt } from '../node/node.ts'
import { contentsOf } from './contents.ts'

const [owner, contract, other] = ['owner', 'contract', 'other'].map((one) => person(one).address)

type Call = { succeeded?: boolean; call?: { value_sun: bigint } | null; owned?: boolean }

function read(
  { succeeded = true, call = { value_sun: 0n }, owned = true }: Call,
  receipt: Partial<Receipt>,
) {
  const transaction = {
    tx_id: 'tx',
    owner: owned ? owner : undefined,
    contract_type: 'TriggerSmartContract',
    succeeded,
    call: call ? { contract: contract!, ...call } : undefined,
  }
  const head = { number: 7, id: 'id', parent_id: 'parent', time: new Date(0) }
  const transactions = [transaction]
  const moved = { transfers: [], asset_transfers: [] }
  const block: Block = { ...head, read_from: new Set(), transactions, ...moved }
  const nothing = { fee_sun: 0n, bandwidth: 0n, energy: 0n, staked: 0n, internal_shown: 0 }
  const lists = { logs: [], internal: [], unknown_internal: [] }
  return contentsOf(new Set(), block, [{ tx_id: 'tx', ...nothing, ...lists, ...receipt }])
}

test('a node hides calls when a contract speaks that was not called, and it shows none', () => {
  const says = (...contracts: (string | undefined)[]) =>
    contracts.map((one) => ({ contract: one!, topics: [], data: '' }))
  const hidden = (call: Call, receipt: Partial<Receipt>) => read(call, receipt).hidden_in
  assert.equal(hidden({}, { logs: says(contract, other) }), 'tx')
  assert.equal(hidden({}, { logs: says(contract, other), internal_shown: 1 }), undefined)
  assert.equal(hidden({}, { logs: says(contract) }), undefined)
  assert.equal(hidden({}, {}), undefined)
  assert.equal(hidden({ call: null }, { logs: says(other) }), undefined)
  assert.equal(hidden({ succeeded: false }, { logs: says(other) }), undefined)
})

test('energy is used, or a fee is paid, by whoever has signed, though it has failed', () => {
  for (const succeeded of [true, false]) {
    const { contents } = read({ succeeded }, { energy: 5n, staked: 3n, fee_sun: 2n })
    assert.deepEqual(contents.energy_uses, [{ tx_id: 'tx', owner, energy: 5n, staked: 3n }])
    assert.deepEqual(contents.fees, [])
    assert.deepEqual(read({ succeeded }, { fee_sun: 1n }).contents.fees, [{ tx_id: 'tx', owner }])
  }
  for (const { contents } of [
    read({}, {}),
    read({ owned: false }, { energy: 5n }),
    read({ owned: false }, { fee_sun: 1n }),
  ])
    assert.deepEqual([contents.energy_uses, contents.fees], [[], []])
})

test('what is sent along with a call is moved when it succeeds, and is not nothing', () => {
  const moved = (call: Call) =>
    read(call, {}).contents.moves.map(({ kind, amount }) => [kind, amount])
  assert.deepEqual(moved({ call: { value_sun: 1n } }), [['call_value', 1n]])
  assert.deepEqual(moved({ call: { value_sun: 0n } }), [])
  assert.deepEqual(moved({ call: { value_sun: 1n }, succeeded: false }), [])
  assert.deepEqual(moved({ call: { value_sun: 1n }, owned: false }), [])
})
