// What several workers do of which one is enough. What takes minutes is `npm run torture -- idle`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countIdle } from './idle.ts'
import { Rig } from './rig.ts'

/** A duty is over after 5 s, and asked for every second; machines are slow. */
const TAKEN_MS_MAX = 30_000

test('a worker that is killed has its duties taken over by another within seconds', async (t) => {
  const rig = await Rig.open()
  t.after(() => rig.close())
  const followed = async () => {
    const [chain] = await rig.sql<{ head_number: bigint }>`select head_number from chain`
    return Number(chain?.head_number ?? 0)
  }
  const holders = async () => {
    const rows = await rig.sql<{ process_id: string }>`
      select distinct process_id from duty where until > clock_timestamp()`
    return rows.map(({ process_id }) => process_id)
  }
  const first = await rig.start('worker')
  const [holder, ...more] = await holders()
  assert.deepEqual(more, [])
  await rig.start('worker')
  await rig.fund()
  assert.deepEqual(await holders(), [holder])

  await first.kill('SIGKILL')
  const began_ms = performance.now()
  rig.mine(3)
  const head = rig.chain.chain.chain.head_number
  await rig.until('nobody follows the chain', async () => (await followed()) === head)
  const taken_ms = performance.now() - began_ms
  assert.ok(taken_ms < TAKEN_MS_MAX, `${taken_ms}`)
  const [other, ...others] = await holders()
  assert.deepEqual(others, [])
  assert.notEqual(other, holder)
  const listed = JSON.parse(await rig.operate('processes', 'list', '--json')) as {
    id: string
    duties: string[]
  }[]
  const duties = new Map(listed.map((one) => [one.id, one.duties]))
  assert.deepEqual(duties.get(other!), ['blocks', 'chain', 'upkeep'])
  assert.deepEqual(duties.get(holder!), [])
})

test('two workers ask their node little while nothing is sold', async () => {
  const { requests, by_path } = await countIdle(2, 24_000)
  const said = JSON.stringify(by_path)
  // Some 60 in eight blocks; four looks a second of each worker would be 192.
  assert.ok(requests <= 110, said)
  assert.ok((by_path['/wallet/getblockbylimitnext'] ?? 0) >= 5, said)
})
