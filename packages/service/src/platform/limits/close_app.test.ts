// Stopping a server while connections of all kinds are open.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fastify from 'fastify'
import { appCloser } from './close_app.ts'

async function started(t: TestContext, ms_max?: number) {
  const app = fastify()
  const closeApp = appCloser(app, ms_max)
  let answer = () => {}
  const asked = new Promise<void>((resolve) => {
    app.get('/slow', async () => {
      resolve()
      await new Promise<void>((done) => {
        answer = done
      })
      return 'slowly'
    })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.server.closeAllConnections())
  const open = async (sent: string) => {
    const { port } = app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    const closed = once(socket, 'close')
    let heard = ''
    socket.on('data', (bytes) => {
      heard += bytes
    })
    socket.on('error', () => {})
    if (sent) socket.write(sent)
    return { closed, heard: () => heard }
  }
  return { closeApp, open, asked, answer: () => answer() }
}

const REQUEST = 'GET /slow HTTP/1.1\r\nHost: here\r\n\r\n'

test('a stop answers what was asked, and waits for no connection that asks nothing', async (t) => {
  const { closeApp, open, asked, answer } = await started(t)
  const silent = await open('')
  const slow = await open(REQUEST)
  await asked
  const closing = closeApp()
  await silent.closed
  assert.equal(await Promise.race([closing, delay(300, 'waits')]), 'waits')
  answer()
  // The connection would be kept for the next request: nobody waits for that one either.
  await Promise.all([closing, slow.closed])
  assert.match(slow.heard(), /^HTTP\/1\.1 200 [\s\S]*slowly$/)
})

test('a stop waits no longer than it may for a request that does not end', async (t) => {
  const { closeApp, open, asked, answer } = await started(t, 300)
  const half = await open('GET / HTTP/1.1\r\nHost:')
  const slow = await open(REQUEST)
  await asked
  const closing = closeApp()
  await Promise.all([half.closed, slow.closed])
  answer()
  await closing
})
