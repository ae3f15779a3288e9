import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type AdminAnswers, openAdminPort } from './admin_port.ts'

async function open(t: TestContext, asked: Partial<AdminAnswers> = {}): Promise<string> {
  const ready = { ready: true, reasons: [], notices: [] }
  const all = {
    role: 'api',
    readiness: () => ready,
    started: () => true,
    metrics: () => 'a 1\n',
    ...asked,
  }
  const { url, close } = await openAdminPort({ host: '127.0.0.1', port: 0 }, all)
  t.after(close)
  return url
}

test('each page answers by itself, with the status that machines read', async (t) => {
  const reasons = [{ reason: 'clock_off', what: 'the clock' }]
  const url = await open(t, {
    readiness: () => ({ ready: false, reasons, notices: [] }),
    started: () => false,
  })
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(url + path, { method })
    return [response.status, await response.text()]
  }
  assert.deepEqual(await get('/livez'), [200, '{"status":"alive","role":"api"}\n'])
  assert.deepEqual(await get('/healthz?x=1'), [200, '{"status":"alive","role":"api"}\n'])
  assert.deepEqual(await get('/startupz'), [503, '{"status":"starting","role":"api"}\n'])
  const text =
    '{"status":"not ready","role":"api","reasons":[{"reason":"clock_off","what":"the ' +
    'clock"}],"notices":[]}\n'
  assert.deepEqual(await get('/readyz'), [503, text])
  assert.deepEqual(await get('/metrics'), [200, 'a 1\n'])
  assert.deepEqual(await get('/metrics', 'HEAD'), [200, ''])
  for (const path of ['/', '/nothing', '/__proto__', '/v1/balance'])
    assert.equal((await get(path))[0], 404, path)
  assert.equal((await get('/readyz', 'POST'))[0], 405)
})

test('bytes that are no request, and ends in the midst of one, do not end it', async (t) => {
  const url = await open(t)
  const port = Number(new URL(url).port)
  for (const bytes of [
    'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    'GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n',
    '\x16\x03',
    'GET /li',
  ]) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(bytes)
        setImmediate(() => socket.resetAndDestroy())
      })
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })
  }
  assert.equal((await fetch(`${url}/livez`)).status, 200)
})
