// Everything that `npm start` starts beside the service.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { readConfig } from 'penstock-service/config.ts'
import { startChain } from './start.ts'

test('the chain listens on this machine alone, though the API listens for others', async (t) => {
  const config = readConfig(['--host', '0.0.0.0', '--chain-port', '0'], {})
  const closers: (() => Promise<unknown>)[] = []
  t.after(() => Promise.all(closers.map((close) => close())))
  const options = { config, log: () => {}, block_time_seconds: 0, throw_away: true }
  // The address is the one that the system says the port is bound to.
  const { hostname, port } = new URL((await startChain(options, closers)).url)
  assert.equal(hostname, '127.0.0.1')
  const other = connect({ host: '127.0.0.2', port: Number(port) })
  t.after(() => other.destroy())
  await assert.rejects(once(other, 'connect'), 'another address of this machine reaches it')
})

test('the chain makes no block by itself before it is told to', async (t) => {
  const config = readConfig(['--chain-port', '0'], {})
  const closers: (() => Promise<unknown>)[] = []
  t.after(() => Promise.all(closers.map((close) => close())))
  const options = { config, log: () => {}, block_time_seconds: 0.01, throw_away: true }
  const { url, begin } = await startChain(options, closers)
  const head = async () => {
    const reply = await fetch(`${url}/wallet/getnowblock`, { method: 'POST', body: '{}' })
    const { block_header } = (await reply.json()) as {
      block_header: { raw_data: { number?: number } }
    }
    return block_header.raw_data.number ?? 0
  }
  const first = await head()
  await delay(100)
  assert.equal(await head(), first)
  begin()
  while ((await head()) === first) await delay(5)
})
