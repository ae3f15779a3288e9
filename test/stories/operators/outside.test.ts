// What operators are told of those whom the service asks: nodes, of which one fails, and providers
// of screening answers, of which one fails; and of what a running service holds and keeps.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startDevchain } from 'penstock-devchain'
import { USDT } from 'penstock-devchain/devchain.ts'
import { startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import type { Policy } from 'penstock-service/screening/engine/policy.ts'
import { guarded, httpExchange } from 'penstock-service/screening/providers/guard.ts'
import { misttrack } from 'penstock-service/screening/providers/misttrack.ts'
import { createDatabase, dropDatabase } from '../../harness/database.ts'
import { eventually } from '../../harness/eventually.ts'
import { operatorAt, worldOperator } from '../../harness/operator.ts'
import { sharePages } from '../../harness/sandbox.ts'
import { makeWorld } from '../../harness/world.ts'

const KEY = '0123456789abcdef'
/** Blocks that are made at once do not lie in the future. */
const HEAD_START_MS = 180_000

type Handler = (path: string, body: string) => Promise<{ status: number; text: string }>

/** A server of JSON. Returns its address. */
async function serving(t: TestContext, handle: Handler): Promise<string> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { status, text } = await handle(request.url!, Buffer.concat(parts).toString())
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type NodeRow = {
  process_id: string
  name: string
  requests: number
  failures: number
  p50_ms: number | null
  head_number: number | null
  answered_at: string | null
  failed_at: string | null
  error: string | null
}
type IndexSizes = {
  memory: { process_id: string; in_use: boolean; slots: number; memory_bytes: number }[]
  log_bytes: number
}
type Retention = { what: string; kept_days: number | null; oldest_at: string | null }

test('a running service tells which node fails, what its index takes, what it keeps', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-outside-'))
  await sharePages(folder)
  const { url: database_url, name } = await createDatabase()
  const chain = await startDevchain({
    block_time_seconds: 0.5,
    genesis_time_ms: Date.now() - HEAD_START_MS,
  })
  let broken = false
  const relay = await serving(t, async (path, body) => {
    if (broken) return { status: 200, text: JSON.stringify({ Error: `${KEY} is\nunknown` }) }
    const { status, body: text } = chain.chain.request('POST', path.replace(`/${KEY}`, ''), body)
    return { status, text }
  })
  const nodes = ['--node-url', chain.url, '--node-url', `${relay}/${KEY}`]
  const args = [...nodes, '--data-dir', folder, '--port', '0', '--console-port', 'off']
  const env = { DATABASE_URL: database_url, PENSTOCK_EVENT_DAYS: '60' }
  const { help: _, ...config } = readConfig(args, env)
  const local = await startLocal({ config, log: silentLog })
  t.after(async () => {
    await local.close()
    await chain.close()
    await dropDatabase(name)
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  broken = true
  const operator = operatorAt(local.sql, database_url)
  const read = async () => {
    const rows = await operator.json<NodeRow[]>('nodes', 'requests')
    const of = (url: string) => rows.find((row) => row.name === new URL(url).host)!
    return { good: of(chain.url), bad: of(relay), rows }
  }
  const failing = await eventually('the node failed', async () => {
    const rows = await read()
    return rows.bad?.failures > 0 && rows
  })
  assert.equal(failing.rows.length, 2)
  assert.equal(new Set(failing.rows.map(({ process_id }) => process_id)).size, 1)
  assert.match(
    failing.bad.error!,
    /^node 127\.0\.0\.1:\d+ answers \/\w+\/\w+ with \.\.\. is unknown$/,
  )
  const { good } = failing
  assert.deepEqual([good.failures, good.error, good.failed_at], [0, null, null])
  assert.ok(good.requests > 0 && good.p50_ms !== null && good.head_number! > 0)
  broken = false
  await eventually('it answers again', async () => {
    const { bad } = await read()
    return bad.answered_at! > bad.failed_at!
  })

  const { memory, log_bytes } = await eventually('there is an index', async () => {
    const sizes = await operator.json<IndexSizes>('aml', 'index')
    return sizes.memory.some(({ in_use, slots }) => in_use && slots > 0) && sizes
  })
  assert.equal(memory[0]!.process_id, good.process_id)
  assert.ok(memory[0]!.memory_bytes > 64 * memory[0]!.slots && log_bytes > 0)

  const kept = await operator.json<Retention[]>('retention', 'list')
  const rule = (what: string) => kept.find((one) => one.what === what)!
  assert.equal(rule('events').kept_days, 60)
  assert.ok(rule('events').oldest_at !== null)
  assert.equal(rule('evidence').kept_days, 1_830)
  assert.equal(rule('refusals').kept_days, 7)
  assert.equal(rule('record').kept_days, null)
})

type ProviderRow = Record<string, string | number | boolean | null>

test('operators see which provider of screening answers fails, and what it says', async (t) => {
  const said = { text: '' }
  const url = await serving(t, async () => ({ status: 200, text: said.text }))
  const wait = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal })
  const provider = misttrack({ http: httpExchange, wait }, { api_key: KEY, url })
  const options = { clock: systemClock, wait, chance: () => 0 }
  const ours = guarded(provider, { ...options, tries_max: 1, secrets: [KEY] })
  const world = await makeWorld(t, { tokens: [USDT], providers: [ours] })
  const operator = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const policy = await operator.json<Policy>('aml', 'policy')
  const folder = await mkdtemp(join(tmpdir(), 'penstock-outside-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'policy.json')
  const providers = () => operator.json<ProviderRow[]>('aml', 'providers')
  assert.deepEqual(await providers(), [], 'nobody can ask one')
  const routes = { ...policy.routes, 'TRX/address': { use: ['misttrack'], mode: 'first' } }
  await writeFile(file, JSON.stringify({ ...policy, routes }))
  await operator.type('aml', 'publish', file)
  const [asked_never] = await providers()
  assert.deepEqual([asked_never!.in_policy, asked_never!.asked_day], [true, 0])

  await world.advance(3)
  const ask = async (text: string) => {
    said.text = text
    const { address } = world.person('bob', 1)
    const { code } = await anna.call('/v1/aml-checks/new', {
      type: 'address',
      network: 'TRX',
      address,
    })
    assert.equal(code, 0)
    await world.advance(3)
  }
  const answer = { has_result: true, task_id: 't', score: 7, risk_level: 'Low', risk_detail: [] }
  await ask(JSON.stringify({ success: true, msg: '', data: answer }))
  await ask(JSON.stringify({ success: false, msg: `The key ${KEY}\n is\u0000 over` }))
  const used_up = JSON.stringify({ success: false, msg: 'ExpiredPlan' })
  await assert.rejects(ask(used_up), /misttrack refuses us: quota/)
  const rows = await providers()
  const { answered_at, failed_at, ...row } = rows[0]!
  assert.deepEqual(
    [rows.length, row],
    [
      1,
      {
        name: 'misttrack',
        processes: 0,
        left_alone: 0,
        in_policy: true,
        asked_hour: 3,
        answered_hour: 1,
        failed_hour: 2,
        asked_day: 3,
        answered_day: 1,
        failed_day: 2,
        quota_day: 1,
        failure: 'quota',
        error: 'ExpiredPlan',
      },
    ],
  )
  assert.ok(answered_at! < failed_at!)
  const [refused] = await world.sql`select error from aml_answer where outcome = 'permanent'`
  assert.deepEqual(refused, { error: 'The key ... is over' })
  world.wait(3_600)
  const [later] = await providers()
  assert.deepEqual([later!.asked_hour, later!.asked_day], [0, 3])
})
