// What `npm start` starts beside the service.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
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
