import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { tronNode } from '../../chain/node/node.ts'
import { nodeTally } from '../../health/processes/node_tally.ts'
import { systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { connect } from '../../platform/database/sql.ts'
import {
  measuredLog,
  measuredStep,
  measureRuntime,
  newMeasures,
  nodeObserver,
  poolObserver,
} from './instruments.ts'

const lines = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`penstock_${name}`))

test('requests are counted by endpoint and code, and nothing else of them', () => {
  const measures = newMeasures()
  const log = measuredLog(silentLog, measures, new Set(['/v1/balance']))
  log('request', {
    path: '/v1/balance',
    status: 200,
    code: 0,
    ms: 12,
    request_id: 'r',
    customer_id: 'c',
  })
  log('request', { path: '/v1/balance', status: 200, code: 1, ms: 1, ip: '203.0.113.7' })
  log('request', { path: '/../../etc/passwd', status: 404, code: 404, ms: 0 })
  log('request', { path: '/v1/balance', status: 429, code: 429, ms: 0, lines_left_out: 7 })
  log('step_failed', { step: 'x' })
  const text = measures.text()
  assert.deepEqual(lines(text, 'http_requests_total'), [
    'penstock_http_requests_total{endpoint="/v1/balance",code="0"} 1',
    'penstock_http_requests_total{endpoint="/v1/balance",code="1"} 1',
    'penstock_http_requests_total{endpoint="other",code="404"} 1',
    'penstock_http_requests_total{endpoint="/v1/balance",code="429"} 1',
  ])
  assert.deepEqual(lines(text, 'http_refused_total'), [
    'penstock_http_refused_total{reason="auth"} 1',
    'penstock_http_refused_total{reason="not_logged"} 7',
    'penstock_http_refused_total{reason="rate"} 1',
  ])
  assert.ok(!/203\.0|passwd/.test(text))
})

test('runs of a step are counted, also those that fail, and the step does as before', async () => {
  const measures = newMeasures()
  const results = [true, false]
  const step = measuredStep(
    {
      name: 'fill',
      rest_ms: 5,
      after: ['empty'],
      async run() {
        const result = results.shift()
        if (result === undefined) throw new Error('nothing left')
        return result
      },
    },
    measures,
  )
  assert.deepEqual([step.name, step.rest_ms, step.after], ['fill', 5, ['empty']])
  assert.deepEqual([await step.run(), await step.run()], [true, false])
  await assert.rejects(step.run(), /nothing left/)
  const text = measures.text()
  assert.deepEqual(lines(text, 'step_runs_total'), ['penstock_step_runs_total{step="fill"} 3'])
  assert.deepEqual(lines(text, 'step_moved_total'), ['penstock_step_moved_total{step="fill"} 1'])
  assert.deepEqual(lines(text, 'step_failures_total'), [
    'penstock_step_failures_total{step="fill"} 1',
  ])
})

test('a node is named by its place, and its address is nowhere', async () => {
  const measures = newMeasures()
  const nodes = [
    { url: 'https://one.example/KEY1/' },
    { url: 'https://two.example', solid_url: 'https://two.example/KEY2' },
  ]
  const tally = nodeTally(systemClock)
  const node = tronNode({
    nodes,
    observer: nodeObserver(nodes, { tally, measures }),
    async transport({ url }) {
      if (url.includes('one')) return { status: 200, body: '{}' }
      throw new Error('no answer')
    },
  })
  await assert.rejects(node.head(), /two.example does not answer/)
  await assert.rejects(node.only('two.example').solidHead())
  const text = measures.text()
  const of_head = 'path="/wallet/getblock"'
  assert.deepEqual(lines(text, 'node_requests_total'), [
    `penstock_node_requests_total{node="1",${of_head},outcome="200"} 1`,
    `penstock_node_requests_total{node="2",${of_head},outcome="no answer"} 1`,
    'penstock_node_requests_total{node="2",path="/walletsolidity/getblock",outcome="no answer"} 1',
  ])
  assert.ok(!/KEY|example/.test(text))
  const counts = tally.counts().map(({ name, requests, failures }) => [name, requests, failures])
  assert.deepEqual(counts, [
    ['one.example', 1, 1],
    ['two.example', 2, 2],
  ])
})

test('connections, transactions and database failures are counted by pool', async (t) => {
  const { url } = await freshDatabase(t)
  const measures = newMeasures()
  const loads: (() => void)[] = []
  const sql = connect({ url, connections_max: 2, observer: poolObserver('steps', measures, loads) })
  await sql`select 1`
  await sql.begin((tx) => tx`select 1`)
  await assert.rejects(sql`select pg_terminate_backend(pg_backend_pid())`)
  for (const load of loads) load()
  const text = measures.text()
  assert.deepEqual(lines(text, 'db_transactions_total'), [
    'penstock_db_transactions_total{pool="steps"} 3',
  ])
  assert.deepEqual(lines(text, 'db_outages_total'), [
    'penstock_db_outages_total{pool="steps",class="57"} 1',
  ])
  assert.deepEqual(lines(text, 'db_waiting'), ['penstock_db_waiting{pool="steps"} 0'])
  await sql.close()
})

test('the runtime is measured under the names that dashboards know', () => {
  const runtime = measureRuntime()
  const text = runtime.text()
  for (const name of [
    'process_resident_memory_bytes',
    'nodejs_eventloop_lag_p99_seconds',
    'process_cpu_seconds_total',
  ])
    assert.match(text, new RegExp(`^${name} [\\d.e-]+$`, 'm'))
  runtime.stop()
})
