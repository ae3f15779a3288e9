// An API on a machine whose clock is wrong; two workers are in `npm run torture -- faults clocks`.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { signedCall } from '../../bench/parts/load.ts'
import { databaseAsServer } from '../harness/database.ts'
import type { Reply } from './buyers.ts'
import { Rig } from './rig.ts'
import { wrongClocks } from './wrong_clock.ts'

const AHEAD_S = 40
type Status = {
  alerts: { alert: string; what: string }[]
  processes: { role: string; clock_offset_ms: number }[]
}

/** Its exit code is 1 when there is an alert. */
const statusOf = (rig: Rig): Promise<Status> =>
  rig
    .operate('status', '--json')
    .catch((ended: { stdout: string }) => ended.stdout)
    .then((said) => JSON.parse(said) as Status)

async function sellsWith(t: TestContext, env: Readonly<Record<string, string>>): Promise<void> {
  const rig = await Rig.open({ database: await databaseAsServer() })
  t.after(() => rig.close())
  await rig.start('worker')
  const { api_url } = await rig.start('api', [], { env })
  await rig.fund()
  const call = signedCall(api_url!, rig.customers[0]!)
  const params = { address: rig.sandbox.funded_accounts[0]!.address, amount: 65_000, duration: 1 }
  const sold = (await call('/v1/transaction/new', { service: 'energy', params })) as Reply
  assert.equal(sold.code, 0, JSON.stringify(sold))
  const { alerts, processes } = await statusOf(rig)
  const offset = processes.find(({ role }) => role === 'api')!.clock_offset_ms
  assert.ok(Math.abs(offset + AHEAD_S * 1_000) < 5_000, `${offset}`)
  const [off, ...more] = alerts.filter(({ alert }) => alert === 'clock_off')
  assert.match(off!.what, /\(api\) is -(39|40)(\.\d)? s off/)
  assert.deepEqual(more, [])
  rig.mine(1)
  const id = sold.result!.id!
  await rig.until('it is not delivered', async () => {
    rig.mine(1)
    const [order] = await rig.sql`select 1 from orders where id = ${id} and state = 'success'`
    return order !== undefined
  })
}

for (const [way, env] of Object.entries(wrongClocks(AHEAD_S))) {
  test(`an API whose clock is ${AHEAD_S} s ahead sells, and status says so (${way})`, (t) =>
    sellsWith(t, env))
}
