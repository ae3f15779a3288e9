import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { USDT } from '../devchain.ts'
import { person, TRX } from '../scene.ts'
import { startDevchain } from '../serve.ts'
import { type Outcome, runConformance } from './conformance.ts'

const alice = person('alice')
const waiting = { poll_ms: 20, patience_ms: 30_000 }

test('the development chain behaves as a node does, asked from outside', async () => {
  const served = await startDevchain({
    block_time_seconds: 0.05,
    genesis_balances: [{ address: alice.address, sun: 1000n * TRX }],
  })
  const told: Outcome[] = []
  const suite = { url: served.url, key: alice.key, token: USDT, permissions: true, ...waiting }
  const outcomes = await runConformance(suite, (outcome) => told.push(outcome))
  await served.close()
  assert.deepEqual(
    outcomes.filter(({ outcome }) => outcome !== 'holds'),
    [],
  )
  assert.deepEqual(told, outcomes)
  assert.ok(outcomes.length > 20)
})

test('a node that is wrong fails, and what cannot be asked is not run', async () => {
  const served = await startDevchain({ block_time_seconds: 0 })
  const answer = served.chain.request.bind(served.chain)
  served.chain.request = (method, path, body) =>
    path === '/wallet/getaccount'
      ? { status: 200, body: '{"balance":0}' }
      : answer(method, path, body)
  const suite = { url: served.url, key: alice.key, permissions: false, ...waiting }
  const outcomes = await runConformance(suite, () => {})
  await served.close()
  const of = (text: string) => outcomes.find(({ title }) => title.includes(text))!
  assert.equal(of('does not exist is an empty object').outcome, 'fails')
  assert.deepEqual(of('a token is asked'), {
    title: of('a token is asked').title,
    outcome: 'not run',
    why: 'no --token is given',
  })
  assert.match(of('a memo costs').why!, /^T\w{33} has less than 5 TRX$/)
})

test('where nothing answers, the command says not run, and ends with its own code', async () => {
  const file = fileURLToPath(new URL('../penstock-conformance.js', import.meta.url))
  const child = spawn(process.execPath, [file, '--url', 'http://127.0.0.1:9', '--key', alice.key])
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(code, 2)
  assert.match(out, /not run: http:\/\/127\.0\.0\.1:9 does not answer/)
  assert.match(out, /0 hold, 0 fail, \d+ not run$/m)
})
