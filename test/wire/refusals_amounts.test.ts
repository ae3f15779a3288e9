// The three fields in which clients of different ages put an amount, and what each of them says
// with it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../harness/world.ts'

const NEW = '/v1/transaction/new'

type Row = [
  service: string,
  params: string,
  outcome: number | { energy?: number; bandwidth?: number },
]

const E = { energy: 65_000 }
const B = { bandwidth: 345 }
const BOTH = { ...E, ...B }

/** What the amount fields of a request come to: the amounts that are bought, or the code. */
const AMOUNTS: Row[] = [
  ['energy', '"amount":65000', E],
  ['energy', '"amounts":{"energy":65000}', E],
  ['energy', '"energy_amount":65000', E],
  // The order of the sources.
  ['energy', '"amounts":{"energy":65000},"amount":70000,"energy_amount":80000', E],
  ['energy', '"amount":65000,"energy_amount":80000', E],
  // A source that is absent, or lacks the resource, is passed over.
  ['energy', '"amounts":null,"amount":65000', E],
  ['energy', '"amounts":"","amount":65000', E],
  ['energy', '"amounts":{},"amount":65000', E],
  ['energy', '"amounts":[],"amount":65000', E],
  ['energy', '"amounts":{"energy":null},"amount":65000', E],
  ['energy', '"amounts":{"energy":""},"amount":65000', E],
  ['energy', '"amounts":{"bandwidth":0},"amount":65000', E],
  ['energy', '"amounts":{"energy":65000,"bandwidth":null}', E],
  ['energy', '"amount":null,"energy_amount":65000', E],
  ['energy', '"amount":"","energy_amount":65000', E],
  ['energy', '"amounts":{"energy":65000},"amount":"nonsense"', E],
  // One that is present and is no amount is refused, whatever the next one says.
  ['energy', '"amounts":{"energy":0},"amount":65000', 11],
  ['energy', '"amounts":{"energy":-1},"amount":65000', 11],
  ['energy', '"amounts":{"energy":"65000"},"amount":65000', 11],
  ['energy', '"amounts":65000,"amount":65000', 11],
  ['energy', '"amounts":"65000","amount":65000', 11],
  ['energy', '"amounts":[65000],"amount":65000', 11],
  ['energy', '"amounts":true,"amount":65000', 11],
  ['energy', '"amount":0,"energy_amount":65000', 11],
  ['energy', '"amount":false,"energy_amount":65000', 11],
  ['energy', '"amount":[],"energy_amount":65000', 11],
  ['energy', '"amount":{},"energy_amount":65000', 11],
  // What is no amount.
  ['energy', '"x":1', 11],
  ['energy', '"amount":-65000', 11],
  ['energy', '"amount":-0', 11],
  ['energy', '"amount":65000.0', 11],
  ['energy', '"amount":65000.5', 11],
  ['energy', '"amount":6.5e4', 11],
  ['energy', '"amount":65E3', 11],
  ['energy', '"amount":"65000"', 11],
  ['energy', '"amount":true', 11],
  ['energy', '"amount":[65000]', 11],
  ['energy', '"amount":9007199254740993', 11],
  ['energy', '"amount":1e400', 11],
  ['energy', `"amount":1${'0'.repeat(300)}`, 11],
  // The borders of the tiers.
  ['energy', '"amount":31999', 11],
  ['energy', '"amount":32000', { energy: 32_000 }],
  ['energy', '"amount":130999', { energy: 130_999 }],
  ['energy', '"amount":131000', { energy: 131_000 }],
  ['energy', '"amount":3000000', { energy: 3_000_000 }],
  ['energy', '"amount":3000001', 11],
  ['bandwidth', '"amount":345', B],
  ['bandwidth', '"amounts":{"bandwidth":345}', B],
  ['bandwidth', '"amounts":{"bandwidth":345},"amount":400', B],
  ['bandwidth', '"amounts":{"energy":0},"amount":345', B],
  ['bandwidth', '"energy_amount":345', 50],
  ['bandwidth', '"amounts":{},"energy_amount":345', 50],
  ['bandwidth', '"x":1', 50],
  ['bandwidth', '"amount":0', 50],
  ['bandwidth', '"amount":"345"', 50],
  ['bandwidth', '"amount":345.0', 50],
  ['bandwidth', '"amounts":[345]', 50],
  ['bandwidth', '"amount":299', 50],
  ['bandwidth', '"amount":300', { bandwidth: 300 }],
  ['bandwidth', '"amount":100000', { bandwidth: 100_000 }],
  ['bandwidth', '"amount":100001', 50],
  // A resource that the service does not sell.
  ['energy', '"amounts":{"energy":65000,"bandwidth":345}', 2],
  ['bandwidth', '"amounts":{"energy":65000,"bandwidth":345}', 2],
  ['energy', '"amounts":{"bandwidth":345},"amount":65000', 2],
  ['energy', '"amounts":{"energy":65000,"bandwidth":0.5}', 2],
  ['energy', '"amounts":{"energy":65000,"bandwidth":"345"}', 2],
  ['energy', '"amounts":{"energy":65000,"bandwidth":[]}', 2],
  ['activate_address', '"amounts":{"energy":65000}', 2],
  // Named, and nothing asked for.
  ['energy', '"amounts":{"energy":65000,"bandwidth":0}', E],
  ['energy', '"amounts":{"energy":65000,"bandwidth":-345}', E],
  ['energy', '"amounts":{"energy":65000,"bandwidth":0.0}', E],
  ['energy', '"amounts":{"energy":65000,"bandwidth":-1e400}', E],
  ['bandwidth', '"amounts":{"energy":-1,"bandwidth":345}', B],
  ['bandwidth', '"amounts":{"energy":-1},"amount":345', B],
  ['activate_address', '"amounts":{"energy":0,"bandwidth":-1}', 25],
  ['resource_bundle', '"amounts":{"energy":65000,"bandwidth":345}', BOTH],
  [
    'resource_bundle',
    '"amounts":{"energy":65000,"bandwidth":345},"amount":1,"energy_amount":1',
    BOTH,
  ],
  ['resource_bundle', '"amount":65000', 2],
  ['resource_bundle', '"energy_amount":65000', 2],
  ['resource_bundle', '"amounts":null,"amount":65000', 2],
  ['resource_bundle', '"amounts":{"bandwidth":345}', 11],
  ['resource_bundle', '"amounts":{"bandwidth":345},"amount":65000', 11],
  ['resource_bundle', '"amounts":{"energy":1,"bandwidth":1}', 11],
  ['resource_bundle', '"amounts":{"energy":65000}', 50],
  ['resource_bundle', '"amounts":{"energy":65000,"bandwidth":0}', 50],
  ['resource_bundle', '"amounts":{"energy":65000,"bandwidth":"345"}', 50],
]

test('where an amount comes from, and what is none', async (t) => {
  const world = await makeWorld(t)
  const rich = await world.customer({ trx: 1_000 })
  const bob = world.person('bob', 1).address
  for (const [service, params, outcome] of AMOUNTS) {
    const body = `{"service":"${service}","params":{"address":"${bob}","duration":1,${params}}}`
    const { code, result } = await rich.call(NEW, body)
    const name = `${service} ${params.slice(0, 100)}`
    if (typeof outcome === 'number') assert.equal(code, outcome, name)
    else
      assert.deepEqual(
        [code, (result?.params as { amounts: unknown })?.amounts],
        [0, outcome],
        name,
      )
  }
})
