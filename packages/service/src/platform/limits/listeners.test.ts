import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { listenOn } from './listeners.ts'

const HOST = '127.0.0.1'

function app() {
  const made = fastify()
  made.get('/', async () => 'hello')
  return made
}

test('every connection on either socket is answered, and closing ends them all', async () => {
  const { port, close } = await listenOn(app(), { port: 0, host: HOST })
  const ask = async () =>
    (await fetch(`http://${HOST}:${port}/`, { headers: { connection: 'close' } })).text()
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 50 }, ask))), new Set(['hello']))
  // One that is kept open, and idle.
  assert.equal(await (await fetch(`http://${HOST}:${port}/`)).text(), 'hello')
  await close()
  await assert.rejects(fetch(`http://${HOST}:${port}/`))
})

test('a port that is taken is refused, though its owner would share it', async (t) => {
  const { port, close } = await listenOn(app(), { port: 0, host: HOST })
  t.after(close)
  await assert.rejects(listenOn(app(), { port, host: HOST }), { code: 'EADDRINUSE' })
  const plain = createServer().listen(0, HOST)
  t.after(() => plain.close())
  await new Promise((resolve) => plain.once('listening', resolve))
  const taken = (plain.address() as { port: number }).port
  await assert.rejects(listenOn(app(), { port: taken, host: HOST }), { code: 'EADDRINUSE' })
})
