import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressToHex } from 'penstock-tron/address.ts'
import { audit, Scene } from './scene.ts'
import { Traffic } from './traffic.ts'

/** People on a chain of its own, after some blocks. */
function trafficOf(seed: string, blocks: number) {
  const on = new Scene({}, { seed })
  const traffic = new Traffic(on.devchain, seed)
  const made = Array.from({ length: blocks }, () => {
    traffic.next(20)
    return on.mine()
  })
  return { on, traffic, made }
}

test('traffic fills blocks with transfers of TRX and tokens, some with labelled services', () => {
  const { on, traffic, made } = trafficOf('a', 12)
  const later = made.slice(1).flatMap(({ transactions }) => transactions)
  assert.ok(later.length > 150, `${later.length} transfers`)
  const types = new Set(later.map(({ transaction }) => transaction.contract_name))
  assert.deepEqual([...types].sort(), ['TransferContract', 'TriggerSmartContract'])
  const ends = new Set(later.map(({ transaction }) => transaction.owner_address))
  assert.ok(traffic.labels.filter(({ address }) => ends.has(addressToHex(address))).length >= 6)
  assert.ok(ends.size > 40, `${ends.size} senders`)
  const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
  assert.equal(held_sun + burned_sun, issued_sun)
})

test('the same seed makes the same traffic, another seed another', () => {
  const headOf = (seed: string) => trafficOf(seed, 4).made.at(-1)!.id
  assert.equal(headOf('a'), headOf('a'))
  assert.notEqual(headOf('a'), headOf('b'))
})
