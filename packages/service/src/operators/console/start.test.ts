// The console as a process starts it: on a port of its own, for people who have signed in, with
// what happens as it happens.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { startedConsole } from 'penstock-test/harness/started_console.ts'
import { publishStep } from '../../events/log/publish.ts'
import { watchAlertsStep } from '../../health/monitoring/watch_alerts.ts'
import { systemClock } from '../../lib/clock.ts'
import { drain } from '../../platform/steps/step.ts'

test('a page hears of the figures and of what happens, until its session ends', {
  timeout: 120_000,
}, async (t) => {
  const { sql, url, headers, post, cookie } = await startedConsole(t)
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
  // The process looks every second; whether it ends is asked, not when.
  for (let piece = await reader.read(); !piece.done; ) piece = await reader.read()
})

test('a port that nobody has named gives way, and is reached by its own name alone', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  t.after(() => other.close())
  const { port } = other.address() as { port: number }
  const { url, cookie, headers } = await startedConsole(t, { port })
  assert.notEqual(new URL(url).port, String(port))
  assert.match(url, /^http:\/\/localhost:\d+$/)
  const by_address = await fetch(`${url.replace('localhost', '127.0.0.1')}/console/run/status`, {
    method: 'POST',
    headers: { ...headers, cookie },
  })
  assert.match(await by_address.text(), /"customers":0/)
})
