import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { testCluster } from 'penstock-test/harness/database.ts'
import { Misuse } from '../../lib/fault.ts'
import { Hosts, hostUrls } from './hosts.ts'
import { connect } from './sql.ts'

test('an address of several hosts is read as the addresses of each', () => {
  const rest = 'penstock?sslmode=verify-full&options=-c%20jit%3Doff'
  assert.deepEqual(
    hostUrls(`postgres://u:p%40w@h1:5432,h2,[::1]:6543/${rest}&target_session_attrs=read-write`),
    ['h1:5432', 'h2', '[::1]:6543'].map((host) => `postgres://u:p%40w@${host}/${rest}`),
  )
  for (const alone of ['postgres://h/db', 'postgresql:///db?host=/run', 'postgres://u@h:1/db?a=b'])
    assert.deepEqual(hostUrls(alone), [alone])
  assert.deepEqual(hostUrls('postgres://h1,h2/db?target_session_attrs=primary'), [
    'postgres://h1/db',
    'postgres://h2/db',
  ])
})

test('an address that cannot be meant is refused in one sentence', () => {
  for (const wrong of [
    'mysql://h/db',
    'postgres://h1,,h2/db',
    'postgres://h1,h2/db?target_session_attrs=any',
  ])
    assert.throws(() => hostUrls(wrong), Misuse, wrong)
})

test('of several who leave a host, one goes on to the next', () => {
  const hosts = Hosts.of('postgres://h1,h2/db')
  const first = hosts.next
  for (let i = 0; i < 2; i++) hosts.leave(first)
  assert.equal(hosts.next, 'postgres://h2/db')
  hosts.leave(hosts.next)
  assert.equal(hosts.next, first)
})

test('a host that is not there or says nothing is left, and asked no more', async (t) => {
  let asked = 0
  const silent = createServer(() => {
    asked += 1
  })
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
  t.after(() => silent.close())
  const { port } = silent.address() as { port: number }
  const url = new URL(await testCluster())
  const several = url.href.replace(url.host, `127.0.0.1:1,127.0.0.1:${port},${url.host}`)
  const sql = connect({ url: several })
  for (let i = 0; i < 3; i++) assert.deepEqual(await sql`select 1 as one`, [{ one: 1 }])
  await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.01)`))
  assert.equal(asked, 1)
  // What every host would say is said at once.
  const wrong = connect({ url: several.replace(url.password, 'wrong') })
  await assert.rejects(wrong`select 1`, { code: '28P01' })
  await Promise.all([sql, wrong].map((one) => one.close()))
})
