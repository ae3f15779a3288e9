// The console as a process starts it: on a port of its own, for people who have signed in, with
// what happens as it happens.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { chainView } from '../audit/chain.ts'
import { sealWith } from '../customers/seal.ts'
import { publishStep } from '../events/publish.ts'
import { systemClock } from '../lib/clock.ts'
import { idMaker, systemRandom } from '../lib/ids.ts'
import { silentLog } from '../lib/log.ts'
import { watchAlertsStep } from '../monitoring/watch_alerts.ts'
import { passwordHasher } from '../sign_in/passwords.ts'
import { drain } from '../steps/step.ts'
import { sessionReader } from '../users/sessions.ts'
import { inviteUser, makeLink } from '../users/users.ts'
import { startConsole } from './start.ts'

const noNode = () => Promise.reject(new Error('no node'))

async function console_(t: TestContext, port = 0) {
  const { sql, url: database_url } = await freshDatabase(t)
  const clock = systemClock
  const random = systemRandom
  const new_id = idMaker(clock, random)
  const seal = sealWith({ current: 'k1', keys: { k1: new Uint8Array(32) } }, random)
  const sessions = sessionReader({ sql, clock })
  const common = { sql, clock, random, new_id, seal, wake: () => {} }
  const offers = { brand: 'Penstock', passwords: passwordHasher(random, 10) }
  const sign_in = { ...common, ...offers, sessions, network: async () => 'sandbox' }
  const running = await startConsole(
    {
      console_host: '127.0.0.1',
      console_port: port,
      console_port_any: true,
      console_url: undefined,
      data_dir: '/nowhere',
    },
    {
      ...common,
      database_url,
      log: silentLog,
      wait: async () => {},
      node: {} as never,
      chain: chainView([{ url: 'http://nowhere' }], noNode),
      public_url: 'http://localhost:8080',
      app: { new_id, seal, deposit_address: () => 'T' as never, sign_in },
    },
  )
  t.after(running.close)
  const headers = { origin: running.url, 'x-penstock': '1', 'sec-fetch-site': 'same-origin' }
  const post = (path: string, body: object, more: Record<string, string> = {}) =>
    fetch(`${running.url}/console/${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    })
  const token = await sql.begin(async (tx) => {
    const wanted = { customer_id: null, name: 'olga', role: 'operator', invited_by: 'test' }
    const { id: user_id } = await inviteUser(tx, common, wanted)
    return (await makeLink(tx, common, { user_id, purpose: 'sign_in' })).token
  })
  const signed_in = await post('session/link', { token })
  const cookie = signed_in.headers.get('set-cookie')!.split(';', 1)[0]!
  return { sql, url: running.url, headers, post, cookie }
}

test('a page hears of the figures and of what happens, until its session ends', async (t) => {
  const { sql, url, headers, post, cookie } = await console_(t)
  const refused = await fetch(`${url}/console/events`, { headers })
  assert.match(await refused.text(), /"key":"auth.session"/)
  const stream = await fetch(`${url}/console/events`, { headers: { ...headers, cookie } })
  assert.match(stream.headers.get('content-type')!, /^text\/event-stream/)
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const until = async (pattern: RegExp) => {
    while (!pattern.test(heard)) {
      const { done, value } = await reader.read()
      if (done) return assert.fail(`it ended without ${pattern}: ${heard}`)
      heard += value
    }
  }
  await until(/event: tick\ndata: \{"at":.*"orders_last_minute":0/)
  const off = await post('run/services/off', { names: ['energy'], reason: 'a test' }, { cookie })
  assert.match(await off.text(), /^\{"code":0/)
  await watchAlertsStep({ sql, clock: systemClock }).run()
  await drain([publishStep({ sql, tellStreams: () => {} })])
  await until(/event: action\.made\ndata: .*"made_by":"olga","reason":"a test"/)
  await until(/event: alert\.raised\ndata: .*"alert":"chain_unknown"/)
  await sql`update user_session set ended_at = now()`
  const began = performance.now()
  for (let piece = await reader.read(); !piece.done; ) piece = await reader.read()
  assert.ok(performance.now() - began < 15_000)
})

test('a port that nobody has named gives way, and is reached by its own name alone', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const { url, cookie, headers } = await console_(t, port)
  assert.notEqual(new URL(url).port, String(port))
  assert.match(url, /^http:\/\/localhost:\d+$/)
  const by_address = await fetch(`${url.replace('localhost', '127.0.0.1')}/console/run/status`, {
    method: 'POST',
    headers: { ...headers, cookie },
  })
  assert.match(await by_address.text(), /"customers":0/)
})
