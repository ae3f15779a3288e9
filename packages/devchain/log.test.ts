import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RandomSeries } from './http/faults.ts'
import { ChainLog } from './log.ts'
import { audit, person, Scene, TRX } from './scene.ts'
import { printJson } from './state/json.ts'
import { tableNames } from './state/state.ts'

const names = ['ann', 'ben', 'cid']
const people = names.map(person)

function scene(): Scene {
  const on = new Scene(Object.fromEntries(names.map((name) => [name, 1_000_000n * TRX])))
  for (const { hex } of people) on.devchain.chain.impersonate(hex, true)
  return on
}

/** Every record of the head, and what the solid side says of the people. */
function everything(on: Scene): string[] {
  const { head_state } = on.devchain.chain
  const records = tableNames.flatMap((table) =>
    Array.from(
      head_state.entries(table),
      ([key, record]) => `${table} ${key} ${printJson(record as bigint)}`,
    ).sort(),
  )
  const solid = people.map(({ hex }) =>
    JSON.stringify(on.post('/walletsolidity/getaccount', { address: hex })),
  )
  return [on.devchain.head.id, on.devchain.solid.id, ...records, ...solid]
}

/** One step of a life: mostly transactions and blocks, sometimes a fork or a way back. */
function step(on: Scene, random: RandomSeries): void {
  const among = (count: number) => Math.floor(random.next() * count)
  const [one, other] = [people[among(3)]!, people[among(3)]!]
  const lend = {
    receiver_address: other.hex,
    balance: 20n * TRX,
    resource: 'ENERGY',
    lock: among(2) === 0,
    lock_period: 20n,
  }
  const transactions: (() => unknown)[] = [
    () =>
      on.send(
        one,
        'TransferContract',
        { to_address: other.hex, amount: BigInt(among(1e9)) },
        { keys: [] },
      ),
    () =>
      on.send(
        one,
        'FreezeBalanceV2Contract',
        { frozen_balance: 1000n * TRX, resource: 'ENERGY' },
        { keys: [] },
      ),
    () =>
      on.send(
        one,
        'UnfreezeBalanceV2Contract',
        { unfreeze_balance: TRX, resource: 'ENERGY' },
        { keys: [] },
      ),
    () => on.send(one, 'DelegateResourceContract', lend, { keys: [] }),
    () => on.send(one, 'UnDelegateResourceContract', { ...lend, balance: TRX }, { keys: [] }),
  ]
  const controls: [string, object][] = [
    ['mine', { blocks: 1 + among(3) }],
    ['mine', {}],
    ['advance', { seconds: 1 + among(40_000) }],
    ['reorg', { blocks: 1 + among(20), drop_transactions: among(3) === 0 }],
    ['snapshot', {}],
    ['restore', { snapshot: 1 + among(3) }],
    ['fund', { address: one.address, sun: 5 }],
    ['set_weight', { energy_weight_trx: among(1e10) }],
    ['set_solid_lag', { blocks: among(25) }],
  ]
  const kind = random.next()
  if (kind < 0.6) transactions[among(transactions.length)]!()
  else if (kind < 0.8) on.mine()
  else {
    const [name, body] = controls[among(controls.length)]!
    on.post(`/devchain/${name}`, { ...body })
  }
}

test('whatever happens to a chain, forks included, its log makes the same chain again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'devchain-log-'))
  for (let life = 0; life < 8; life++) {
    const random = new RandomSeries(`life ${life}`)
    const log = new ChainLog(join(folder, String(life)))
    log.found({})
    const on = scene()
    log.attach(on.devchain.chain)
    for (let made = 0; made < 120; made++) {
      step(on, random)
      const { held_sun, burned_sun, issued_sun } = audit(on.devchain)
      assert.equal(held_sun + burned_sun, issued_sun)
    }
    log.close()
    const again = scene()
    const read = new ChainLog(join(folder, String(life)))
    read.attach(again.devchain.chain)
    read.close()
    assert.deepEqual(everything(again), everything(on), `life ${life}`)
  }
  rmSync(folder, { recursive: true })
})
