// A machine whose clock is wrong. By Debian's libfaketime where that is there (`apt-get install
// faketime`), else by a module that is loaded first and moves what Node says the time is.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { signedCall } from '../../bench/parts/load.ts'
import { databaseAsServer } from '../harness/database.ts'
import type { Reply } from './buyers.ts'
import { Rig } from './rig.ts'

const AHEAD_S = 40
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

const MODULE = {
  NODE_OPTIONS: `--import=${import.meta.dirname}/clock_ahead.mjs`,
  CLOCK_AHEAD_MS: String(AHEAD_S * 1_000),
}
const FAKETIME = {
  LD_PRELOAD: LIBRARY,
  FAKETIME: `+${AHEAD_S}s`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
}

const WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a module': MODULE,
  ...(existsSync(LIBRARY) && { libfaketime: FAKETIME }),
}

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

for (const [way, env] of Object.entries(WAYS)) {
  test(`an API whose clock is ${AHEAD_S} s ahead sells, and status says so (${way})`, (t) =>
    sellsWith(t, env))
}
