// What each of several real nodes says: one that is ahead, one behind it, one that is away, and one
// that refuses.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startDevchain } from 'penstock-devchain'
import { systemClock } from '../../lib/clock.ts'
import { httpTransport, tronNode } from '../node/node.ts'
import { reportNodes } from './node_report.ts'

test('each node says how far it is, or why it does not answer', async (t) => {
  const genesis_time_ms = Date.now()
  const [ahead, behind] = await Promise.all(
    [1, 2].map(() => startDevchain({ block_time_seconds: 0, genesis_time_ms })),
  )
  t.after(() => Promise.all([ahead!.close(), behind!.close()]))
  const refusing = createServer((_request, response) => {
    response.end(JSON.stringify({ Error: `secret-key\u001b\n ${'x'.repeat(10_000)}` }))
  })
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  t.after(() => refusing.close())
  const refusing_host = `127.0.0.1:${(refusing.address() as AddressInfo).port}`
  const away = '127.0.0.1:9'
  for (let i = 0; i < 3; i++) ahead!.chain.mine()
  const urls = [ahead!.url, `${behind!.url}/secret-key/..`, `http://${away}/secret-key`]
  const nodes = [...urls, `http://${refusing_host}/secret-key`].map((url) => ({ url }))
  const node = tronNode({ nodes, transport: httpTransport, timeout_ms: 5_000 })
  const found = await reportNodes({ node, clock: systemClock })

  assert.deepEqual(
    found.map(({ name, behind_blocks }) => [name, behind_blocks]),
    [
      [new URL(ahead!.url).host, 0],
      [new URL(behind!.url).host, 3],
      [away, null],
      [refusing_host, null],
    ],
  )
  const [first, second, third, fourth] = found
  assert.equal(first!.head_number! - second!.head_number!, 3)
  assert.ok(first!.solid_number! <= first!.head_number!)
  assert.ok(first!.answered_ms! >= 0)
  assert.equal(first!.head_time!.getTime() - second!.head_time!.getTime(), 9_000)
  assert.match(third!.error!, /^node 127\.0\.0\.1:9 does not answer \/wallet/)
  assert.match(fourth!.error!, / with \.\.\. x+$/)
  assert.equal(fourth!.error!.length, 200)
  assert.doesNotMatch(JSON.stringify(found), /secret-key/)
})
