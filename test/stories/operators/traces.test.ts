// What an SDK of OpenTelemetry is shown of one order, from the call to the block, and what it is
// not shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isTraced } from 'penstock-service/lib/tracing.ts'
import { addressOf, newPrivateKey } from 'penstock-tron/keys.ts'
import { Penstock } from '../../../packages/sdk/src/penstock.ts'
import { startSandbox } from '../../harness/sandbox.ts'
import { type KeptSpan, keepSpans } from '../../harness/traces.ts'

const CALLER = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', span: '00f067aa0ba902b7' }

/** Its attributes and those of its events. */
const saidBy = ({ attributes, events }: KeptSpan) => [
  attributes,
  ...events.map((one) => one.attributes),
]
const speaksOf = (name: string, id: string) => (span: KeptSpan) =>
  saidBy(span).some((one) => one[name] === id)

test('without an SDK there are no spans', () => {
  assert.equal(isTraced(), false)
})

test('an order is followed from its call to its block', { timeout: 120_000 }, async (t) => {
  const { spans, stop } = keepSpans()
  t.after(stop)
  const sandbox = await startSandbox()
  t.after(() => sandbox.close())
  const { api_url: url, customer, control } = sandbox
  const { token, secret } = customer
  const withTrace: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('traceparent', `00-${CALLER.trace}-${CALLER.span}-01`)
    return fetch(input, { ...init, headers })
  }
  const penstock = new Penstock({ url, token, secret, fetch: withTrace })
  const address = addressOf(newPrivateKey())
  await control('fund', { address, sun: 1_000_000 })
  await control('mine', { blocks: 1 })
  const order = await penstock.orders.create({
    service: 'energy',
    params: { address, amount: 65_000, duration: 1 },
  })
  const find = async (what: string, is: (span: KeptSpan) => boolean): Promise<KeptSpan> => {
    for (let tries = 0; tries < 600; tries += 1) {
      const span = spans.find((one) => one.ended && is(one))
      if (span) return span
      await delay(100)
    }
    return assert.fail(`no span: ${what}`)
  }
  const call = await find('request', ({ name }) => name === 'POST /v1/transaction/new')
  assert.deepEqual([call.trace, call.parent], [CALLER.trace, CALLER.span])
  assert.equal(call.attributes['http.response.status_code'], 200)
  assert.ok(speaksOf('penstock.order', order.id)(call))
  const below = (above: KeptSpan, name: string) =>
    find(name, (span) => span.name === name && span.parent === above.id)
  const batches = spans.filter(({ name, parent }) => name === 'batch' && parent === call.id)
  const isOfBatch = ({ parent }: KeptSpan) => batches.some(({ id }) => id === parent)
  await find('transaction', (span) => span.name === 'transaction' && isOfBatch(span))

  const delegated = (span: KeptSpan) =>
    span.name === 'step delegate' && speaksOf('penstock.order', order.id)(span)
  const step = await find('step', delegated)
  assert.notEqual(step.trace, call.trace)
  const attempt = saidBy(step).find((one) => one['penstock.order'] === order.id)![
    'penstock.attempt'
  ]
  assert.ok(typeof attempt === 'string')
  await below(step, 'transaction')
  const isOfAttempt = speaksOf('penstock.attempt', attempt)
  await find('broadcast', (span) => span.name === 'broadcast' && isOfAttempt(span))
  const inclusion = await find(
    'inclusion',
    (span) => span.name === 'inclusion' && isOfAttempt(span),
  )
  assert.ok(Number(inclusion.attributes['penstock.block']) > 0)
  assert.ok(!spans.some(({ name }) => name === 'step sign'), 'the signer has none')

  const said = JSON.stringify(spans)
  const keys = Object.values(sandbox.sandbox).flatMap((one) => secretsIn(one))
  assert.ok(keys.length > 0)
  for (const hidden of [token, secret, address, ...keys])
    assert.ok(!said.includes(hidden), 'a secret, or what was sent, is in a span')
})

/** Texts below it that are as long as a private key. */
function secretsIn(value: unknown): string[] {
  if (typeof value === 'string') return /^[0-9a-f]{64}$/i.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(secretsIn)
}
