// The pool of connections on servers that follow one another. What takes longer is `npm run torture
// -- failover`.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Outage } from 'penstock-service/lib/fault.ts'
import { againFor } from 'penstock-service/platform/database/again.ts'
import { requireDurable } from 'penstock-service/platform/database/durable.ts'
import { NothingDone } from 'penstock-service/platform/database/outages.ts'
import { connect } from 'penstock-service/platform/database/sql.ts'
import { Servers } from './servers.ts'

let servers: Servers
before(async () => {
  servers = await Servers.open(2)
})
after(() => servers.stop())

/** The address with a standby before the primary. */
const standbyFirst = () =>
  servers.url.replace(/127[\d.:,]+/, () =>
    [...servers.standbys, servers.primary].map(({ port }) => `127.0.0.1:${port}`).join(','),
  )

test('a standby is left for the next host, a dead server for the promoted one', async () => {
  const [standby] = servers.standbys
  const sql = connect({ url: `${standbyFirst()}?target_session_attrs=read-write` })
  await sql`create table kept (n int)`
  await sql`insert into kept values (1)`
  const ours = await servers.ask(
    standby!,
    `select from pg_stat_activity where application_name = 'penstock'`,
  )
  assert.equal(ours.length, 0)
  await assert.rejects(connect({ url: servers.urlOf(standby!) })`select 1`, NothingDone)

  await requireDurable(sql, 1)
  await assert.rejects(requireDurable(sql, 2), /asks for 2, and 1 standbys confirm commits/)

  // Nobody confirms a commit any more; its wait is cut short.
  let unreplicated = 0
  const waiting = connect({ url: servers.url, unreplicated: () => unreplicated++ })
  await servers.kill(standby!)
  for (const commit of [
    () => waiting`insert into kept values (2)`,
    () => waiting.begin((tx) => tx`insert into kept values (2)`),
  ]) {
    const refused = assert.rejects(commit(), (thrown) => {
      assert.ok(thrown instanceof Outage && !(thrown instanceof NothingDone), String(thrown))
      return true
    })
    for (let cancelled = 0; cancelled === 0; ) {
      const rows = await servers.ask(
        servers.primary,
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      )
      cancelled = rows.length
    }
    await refused
  }
  assert.equal(unreplicated, 2)
  await waiting.close()

  await servers.kill(servers.primary)
  const timer = { now_ms: () => performance.now(), wait: (ms: number) => delay(ms) }
  const patient = connect({ url: servers.url, again: againFor(60_000, timer) })
  const answers = Promise.all([
    patient`select n from kept`,
    patient.begin((tx) => tx`select n from kept where n = 1`),
  ])
  await servers.start(standby!)
  await servers.promote()
  assert.deepEqual(await answers, [[{ n: 1 }], [{ n: 1 }]])
  await patient.close()
  const kept = await sql`select n from kept`.catch(() => sql`select n from kept`)
  assert.deepEqual(kept, [{ n: 1 }])
  await sql.close()
})
