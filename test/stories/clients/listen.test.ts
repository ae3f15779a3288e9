// `penstock listen` while the service is stopped and started again: everything is forwarded, in the
// order of its numbers, once, and verified by one secret all the time.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type LocalService, startLocal } from 'penstock-playground/start.ts'
import { readConfig } from 'penstock-service/config.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { runCommand } from '../../../packages/cli/src/run.ts'
import { Penstock } from '../../../packages/sdk/src/penstock.ts'
import { verifyWebhook } from '../../../packages/sdk/src/webhooks.ts'
import { createDatabase, dropDatabase } from '../../harness/database.ts'
import { sharePages } from '../../harness/sandbox.ts'
import { freePort } from '../../runtimes/runtimes.ts'

test('listen misses nothing while the service is stopped and started again', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-listen-'))
  await sharePages(folder)
  const { url: DATABASE_URL, name } = await createDatabase()
  let local: LocalService | undefined
  t.after(async () => {
    await local?.close()
    await dropDatabase(name)
    await rm(folder, { recursive: true, maxRetries: 5 })
  })
  const args = ['--port', String(await freePort()), '--chain-port', '0', '--data-dir', folder]
  const { help: _, ...config } = readConfig(args, { DATABASE_URL })
  const start = () => startLocal({ config, log: silentLog, block_time_seconds: 0.5 })

  const calls: { body: string; headers: Record<string, string> }[] = []
  const receiver = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const headers = request.headers as Record<string, string>
    calls.push({ body: Buffer.concat(parts).toString(), headers })
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.after(() => receiver.close())

  local = await start()
  const { token, secret } = local.customer
  const penstock = new Penstock({ url: local.api_url, token, secret })
  const env = { PENSTOCK_URL: local.api_url, PENSTOCK_TOKEN: token, PENSTOCK_SECRET: secret }
  const end = new AbortController()
  let said = ''
  const type = (line: string) =>
    runCommand(line.split(' '), '1.2.3', {
      env: { ...env, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
      out: (text) => (said += text),
      err: (text) => (said += text),
      input: async () => '',
      ask: undefined,
      color: false,
      columns: undefined,
      signal: end.signal,
    })
  const { port } = receiver.address() as AddressInfo
  const line = `listen --forward-to :${port}/hook`
  const printSecret = async () => {
    said = ''
    assert.equal(await type(`${line} --print-secret`), 0)
    return said.trim()
  }
  const before = await printSecret()
  // From the first event there is, so that nothing depends on when the stream is open.
  const listening = type(`${line} --after 0`)
  const trigger = () => penstock.events.trigger({ type: 'order.ended' })
  const called = async (count: number) => {
    while (calls.length < count) await delay(20)
  }
  for (let i = 0; i < 3; i++) await trigger()
  await called(4)
  await local.close()
  local = await start()
  for (let i = 0; i < 3; i++) await trigger()
  const newest = (await penstock.events.list({ limit: 1 }).next()).value!.number
  await called(newest)
  end.abort(new Error('interrupted'))
  assert.equal(await listening, 130)
  assert.equal(await printSecret(), before, 'the secret is the same')
  const events = await Promise.all(
    calls.map(({ body, headers }) => verifyWebhook(body, headers, before)),
  )
  assert.deepEqual(
    events.map(({ number }) => number),
    Array.from({ length: newest }, (_, i) => i + 1),
  )
  assert.equal(events.filter(({ test }) => test).length, 6)
})

test('listen says once that its stream is lost, however many tries fail', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-listen-'))
  t.after(() => rm(folder, { recursive: true }))
  const end = new AbortController()
  let asked = 0
  const service = createServer((_, response) => {
    asked++
    if (asked <= 3) return void response.socket?.destroy()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open 7\n\n')
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.after(() => service.close().closeAllConnections())
  const { port } = service.address() as AddressInfo
  let said = ''
  const env = {
    PENSTOCK_URL: `http://127.0.0.1:${port}`,
    PENSTOCK_TOKEN: 't',
    PENSTOCK_SECRET: 's',
  }
  const listening = runCommand(['listen'], '1.2.3', {
    env: { ...env, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder },
    out: () => {},
    err: (text) => {
      said += text
      if (/stream is back/.test(said)) end.abort(new Error('interrupted'))
    },
    input: async () => '',
    ask: undefined,
    color: false,
    columns: undefined,
    signal: end.signal,
  })
  assert.equal(await listening, 130)
  assert.equal(asked, 4)
  assert.match(said, /^The stream is lost; [^\n]*\nThe stream is back\.\n/)
})
