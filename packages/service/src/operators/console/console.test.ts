// The console is the table of the operators' operations over HTTP: the same answers and the same
// sentences as on the command line, for those who are signed in, by pages of its own alone.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { person } from 'penstock-devchain/scene.ts'
import { OF_OUR_PAGE, worldConsole } from 'penstock-test/harness/console.ts'
import { runMostOperations } from 'penstock-test/harness/operations.ts'
import { worldOperator } from 'penstock-test/harness/operator.ts'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { findOperation } from '../command_line/arguments.ts'
import { OPERATIONS } from '../operations.ts'
import type { Operation } from '../table/operation.ts'

const served = OPERATIONS.filter((one) => !one.local)
const pathOf = ({ cli }: Operation) => `/console/run/${cli.words.replaceAll(' ', '/')}`

test('every operation answers over HTTP what --json prints', async (t) => {
  const [typed_world, console_world] = [await makeWorld(t), await makeWorld(t)]
  const operator = await worldOperator(typed_world)
  // Signing in draws ids, too.
  const also = await worldConsole(t, typed_world)
  for (const name of ['ops', 'bea']) await also.signIn(name, 'admin')
  const typed: [string, unknown][] = []
  const words = await runMostOperations(typed_world, {
    ask: (...args) => operator.json(...withReason(args)),
    async run(args) {
      // The console asks for a reason, always.
      const { out } = await operator.type(...withReason(args), '--json')
      typed.push([args.join(' '), out === '' ? undefined : JSON.parse(out)])
    },
  })
  const { type, json, signIn } = await worldConsole(t, console_world)
  const olga = await signIn('ops', 'admin')
  const bea = await signIn('bea', 'admin')
  const answered: [string, unknown][] = []
  await runMostOperations(console_world, {
    ask: (...args) => json(withReason(args), olga),
    async run(args) {
      const by = args.join(' ').includes('--by bea') ? bea : olga
      const { result, error } = await type(withReason(args), by)
      assert.equal(error, undefined, args.join(' '))
      answered.push([args.join(' '), result])
    },
  })
  for (const [i, [what, value]] of typed.entries())
    assert.deepEqual(withoutPlace(answered[i]), withoutPlace([what, value]), what)
  assert.equal(answered.length, words.length)
})

/** `status` says where the database is, and `aml index` what a table takes on disk, which the
 *  server makes less of when it likes: each world has its own. */
const withoutPlace = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/"database":"[^"]+"/, '"database":""')
      .replace(/"(log|carried)_bytes":\d+/g, '"$1_bytes":0'),
  )

/** With what the console wants of a change. */
function withReason(args: readonly string[]): string[] {
  const { changes } = findOperation(OPERATIONS, args).operation
  return changes && !args.includes('--reason') ? [...args, '--reason', 'a test'] : [...args]
}

/** A body with everything that an operation needs. */
const needed = ({ body }: Operation) =>
  Object.fromEntries((body.required ?? []).map((field) => [field, valueFor(body, field)]))

function valueFor({ properties }: Operation['body'], field: string): unknown {
  const schema = properties[field] as { type?: string; enum?: string[]; format?: string }
  if (field === 'range') return { min_amount: 1, max_amount: 2 }
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'integer') return 1
  if (schema.type === 'array') return []
  if (schema.type === 'object') return {}
  return schema.format === 'address' ? person('bob').address : '01m7xps0ca8ksnnfg71x89vdp6'
}

/** What no field of a schema takes, with the place that is named. */
function wrongValues(body: Operation['body']): [field: string, value: unknown][] {
  return Object.entries(body.properties).flatMap(([field, schema]) => {
    if ('checked_by_handler' in (schema as object)) return []
    const { type, minimum, format } = schema as { type?: string; minimum?: number; format?: string }
    const wrong: unknown[] = [{ no: 'field' }, type === 'boolean' ? 'x' : true]
    if (type === 'integer') wrong.push('nonsense!', 1.5, (minimum ?? 0) - 1)
    if (format !== undefined) wrong.push('2026-13-45')
    return wrong.map((value): [string, unknown] => [field, value])
  })
}

test('what is wrong in a body is refused with its field, and what is none of it', async (t) => {
  const { post, signIn } = await worldConsole(t, await makeWorld(t))
  const olga = await signIn('olga', 'admin')
  let refused = 0
  for (const operation of served.filter(({ takes }) => takes !== 'secret')) {
    const right = { ...needed(operation), ...(operation.changes && { reason: 'a test' }) }
    const stray = await post(pathOf(operation), { ...right, nonsense: 'x' }, olga)
    assert.match(stray.error!, new RegExp(`^${operation.cli.words} takes no nonsense`))
    for (const [field, value] of wrongValues(operation.body)) {
      if (field === 'range' && typeof value === 'object') continue
      const { code, param } = await post(pathOf(operation), { ...right, [field]: value }, olga)
      assert.equal(code, 2, `${operation.path} ${field} ${JSON.stringify(value)}`)
      assert.ok(param?.startsWith(field), `${operation.path} ${field} ${param}`)
      refused += 1
    }
  }
  assert.ok(refused > 200, `${refused}`)
})

const STRANGE_HOSTS = [
  'evil.example',
  'localhost.evil.example',
  'evil.example:8081',
  '127.0.0.1.nip.example',
  'localhost.',
  'localhost.localdomain',
  'console.localhost',
  '127.0.0.2',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0.0.0.0:8081',
  '[::]:8081',
  '[::ffff:127.0.0.1]:8081',
  '192.168.1.4:8081',
  'user@localhost:8081',
  'localhost:8081:1',
  'localhost:808100',
  'localhost evil.example',
  'xn--localhost-9za',
]

test('a name that is not ours gets nothing, whatever it asks for', async (t) => {
  const { app, signIn } = await worldConsole(t, await makeWorld(t))
  const cookie = await signIn('olga', 'admin')
  for (const host of STRANGE_HOSTS) {
    const headers = { ...OF_OUR_PAGE, ...cookie, host }
    const posted = await app.inject({ method: 'POST', url: '/console/run/status', headers })
    const read = await app.inject({ method: 'GET', url: '/console/events', headers })
    assert.deepEqual([posted.statusCode, read.statusCode], [421, 421], host)
  }
  for (const host of [
    'localhost:8081',
    '127.0.0.1:8081',
    '[::1]:8081',
    'LOCALHOST',
    'localhost:9',
  ]) {
    const headers = { ...OF_OUR_PAGE, ...cookie, host }
    const posted = await app.inject({ method: 'POST', url: '/console/run/status', headers })
    assert.equal(posted.json().code, 0, host)
  }
})

test('what no page of the console has sent changes nothing and shows nothing', async (t) => {
  const world = await makeWorld(t)
  const { app, signIn } = await worldConsole(t, world)
  const cookie = await signIn('olga', 'admin')
  const foreign: Record<string, string>[] = [
    { origin: 'http://localhost:8080' },
    { origin: 'http://127.0.0.1:8081' },
    { origin: 'https://localhost:8081' },
    { origin: 'http://localhost:8081.evil.example' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { 'x-penstock': '0' },
    { 'x-penstock': '' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
  ]
  for (const headers of foreign) {
    const { body } = await app.inject({
      method: 'POST',
      url: '/console/run/services/off',
      headers: { ...OF_OUR_PAGE, ...cookie, ...headers },
      payload: '{"all":true,"reason":"forged"}',
    })
    assert.match(body, /"code":1,"key":"auth.origin"/, JSON.stringify(headers))
  }
  for (const missing of ['origin', 'x-penstock']) {
    const { [missing]: _, ...headers } = { ...OF_OUR_PAGE, ...cookie } as Record<string, string>
    const { body } = await app.inject({ method: 'POST', url: '/console/run/status', headers })
    assert.match(body, /"key":"auth.origin"/, missing)
  }
  for (const site of ['same-site', 'cross-site', '']) {
    const headers = { host: 'localhost:8081', ...cookie, 'sec-fetch-site': site }
    const { body } = await app.inject({ method: 'GET', url: '/console/events', headers })
    assert.match(body, /"key":"auth.origin"/, site)
  }
  const stolen = { ...OF_OUR_PAGE, cookie: 'penstock=olga' }
  const unknown = await app.inject({ method: 'POST', url: '/console/run/status', headers: stolen })
  assert.match(unknown.body, /"code":1,"key":"auth.session"/)
  const [row] = await world.sql`select count(*) as actions from operator_action`
  assert.deepEqual(row, { actions: 0n })
})

test('auditors change nothing, operators nothing of admins, nobody without a proof', async (t) => {
  const world = await makeWorld(t)
  const { post, signIn } = await worldConsole(t, world)
  const auditor = await signIn('aud', 'auditor')
  const operator = await signIn('oli', 'operator')
  const away = await signIn('away', 'admin', { is_there: false })
  for (const operation of served) {
    const { changes, careful, role } = operation
    const path = pathOf(operation)
    const by_auditor = await post(path, { reason: 'x', nonsense: 'x' }, auditor)
    const expected = changes ? 'forbidden.role' : 'invalid_service_or_params.option'
    assert.equal(by_auditor.key, expected, path)
    const by_operator = await post(path, { nonsense: 'x' }, operator)
    assert.equal(by_operator.key === 'forbidden.role', role === 'admin', path)
    const by_nobody = await post(path, { nonsense: 'x' }, away)
    assert.equal(by_nobody.key === 'forbidden.step_up', careful, path)
  }
  assert.ok(served.some(({ role }) => role === 'admin'))
  const local = OPERATIONS.filter((one) => one.local)
  for (const operation of local) {
    const { status } = await post(pathOf(operation), {}, away)
    assert.equal(status, 404, operation.path)
  }
  const [row] = await world.sql`select count(*) as actions from operator_action`
  assert.deepEqual(row, { actions: 0n })
})

test('an empty text takes away what was set, and only where that is a value', async (t) => {
  const world = await makeWorld(t)
  const { post, signIn } = await worldConsole(t, world)
  const admin = await signIn('olga', 'admin')
  const set = async (body: object) => {
    const { code, result } = await post('/console/run/brand/set', { reason: 'x', ...body }, admin)
    assert.equal(code, 0)
    return result as { name: string; accent: string | null }
  }
  assert.equal((await set({ name: 'Example Energy', accent: '#cc8800' })).accent, '#cc8800')
  const left = await set({ accent: '' })
  assert.deepEqual([left.name, left.accent], ['Example Energy', null])
})

test('a key is ended at once, but what it has made only with a proof', async (t) => {
  const world = await makeWorld(t)
  const anna = await world.customer()
  const { key_id: key } = await (await worldOperator(world)).json<{ key_id: string }>(
    ...['keys', 'issue', anna.id],
  )
  const { post, signIn } = await worldConsole(t, world)
  const away = await signIn('away', 'operator', { is_there: false })
  const revoke = (more: object) =>
    post('/console/run/keys/revoke', { reason: 'x', key, ...more }, away)
  assert.equal((await revoke({ with_made: true })).key, 'forbidden.step_up')
  assert.equal((await revoke({})).code, 0)
})

test('what a page asks for all at once is answered in turns', async (t) => {
  const world = await makeWorld(t)
  const { post, signIn } = await worldConsole(t, world)
  const auditor = await signIn('aud', 'auditor')
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => post('/console/run/prices/list', {}, auditor)),
  )
  assert.deepEqual(new Set(answers.map(({ code }) => code)), new Set([0]))
})

test('each change is recorded with who made it, and why; without why there is none', async (t) => {
  const world = await makeWorld(t)
  const { post, json, signIn } = await worldConsole(t, world)
  const olga = await signIn('olga', 'operator')
  for (const operation of served.filter((one) => one.changes && one.role !== 'admin')) {
    const { code, error } = await post(pathOf(operation), needed(operation), olga)
    assert.deepEqual(
      [code, error],
      [2, '--reason is missing: why, for the record.'],
      operation.path,
    )
  }
  const { code, note } = await post(
    '/console/run/services/off',
    { all: true, reason: 'a test' },
    olga,
  )
  assert.deepEqual([code, note], [0, 'Changed: in force in every process within a second.'])
  type Row = { made_by: string; reason: string; action: string; subject: string }
  const actions = await json<Row[]>(['actions', 'list'], olga)
  assert.ok(actions.length > 4)
  for (const { made_by, reason, action } of actions)
    assert.deepEqual([made_by, reason, action], ['olga', 'a test', 'services off'])
})

test('files come along with the call, and none of the machine is read or written', async (t) => {
  const world = await makeWorld(t)
  const { post, signIn } = await worldConsole(t, world)
  const olga = await signIn('olga', 'admin')
  const given = { list: 'operator', file: 'mine.csv', reason: 'a test' }
  const missing = await post('/console/run/lists/import', given, olga)
  assert.match(missing.error!, /^file is not /)
  const passwd = await post('/console/run/books/check', { roots: ['/etc/passwd'] }, olga)
  assert.match(passwd.error!, /^books check takes no roots/)
  const written = await post('/console/run/books/roots', { export: '/tmp/roots' }, olga)
  assert.match(written.error!, /^books roots takes no export/)
  const node = { node_url: ['http://169.254.169.254'] }
  const elsewhere = await post('/console/run/books/check', node, olga)
  assert.match(elsewhere.error!, /^books check takes no node_url/)
})

test('a long answer says how far it is, and ends with what it has come to', async (t) => {
  const world = await makeWorld(t)
  const { app, signIn } = await worldConsole(t, world)
  const cookie = await signIn('olga', 'operator')
  const ask = async (payload: object, path = 'books/check') => {
    const headers = { ...OF_OUR_PAGE, ...cookie, accept: 'text/event-stream' }
    const url = `/console/run/${path}`
    const answer = await app.inject({ method: 'POST', url, headers, payload })
    assert.match(answer.headers['content-type'] as string, /^text\/event-stream/)
    return answer.body.split('\n\n').filter((frame) => frame.startsWith('event:'))
  }
  const [result, ...more] = await ask({})
  assert.equal(more.length, 0)
  assert.match(result!, /^event: result\ndata: \{"code":0,.*"books_balanced":true/)
  const [refused] = await ask({ since: 'yesterday' })
  assert.match(refused!, /^event: result\ndata: \{"code":2,.*since must be a day/)
  const file = { name: 'mine.csv', text: 'address,category,entity\n' }
  const given = { list: 'operator', file, reason: 'x' }
  const frames = await ask(given, 'lists/import')
  assert.match(frames.at(-1)!, /^event: result/)
})

test('one who was removed while a request was being sent changes nothing by it', async (t) => {
  const world = await makeWorld(t)
  const { app, signIn, json } = await worldConsole(t, world)
  const olga = await signIn('olga', 'admin')
  const { cookie } = await signIn('bea', 'admin')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const body = '{"all":true,"reason":"too late"}'
  const headers = { ...OF_OUR_PAGE, cookie, 'content-length': body.length }
  const path = '/console/run/services/off'
  const sent = request({ port, path, method: 'POST', headers })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.write(body.slice(0, 5))
  const arrived = once(app.server, 'request')
  await arrived
  // She was let in; what she wants is still to come.
  const users = await json<{ id: string; name: string }[]>(['operators', 'list'], olga)
  const { id } = users.find(({ name }) => name === 'bea')!
  await json(['operators', 'remove', id, '--reason', 'left'], olga)
  world.wait(2)
  sent.end(body.slice(5))
  const [answer] = await answered
  assert.match(Buffer.concat(await answer.toArray()).toString(), /"key":"auth.session"/)
  const actions = await json<{ action: string }[]>(['actions', 'list'], olga)
  assert.ok(actions.every(({ action }) => action !== 'services off'))
})

test('who was removed, or went away, while waiting for a turn changes nothing by it', async (t) => {
  const world = await makeWorld(t)
  const { app, signIn, post, json } = await worldConsole(t, world)
  const [olga, bea, carl] = [
    await signIn('olga', 'admin'),
    await signIn('bea', 'admin'),
    await signIn('carl', 'admin'),
  ]
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const off = { all: true, reason: 'too late' }
  const [turns, refused] = await world.sql.begin(async (tx) => {
    await tx`lock table price in access exclusive mode`
    const turns = [olga, bea].flatMap((one) =>
      Array.from({ length: 4 }, () => post('/console/run/prices/list', {}, one)),
    )
    const waiting = () => tx<{ count: bigint }>`
      select count(*) as count from pg_locks where relation = 'price'::regclass and not granted`
    while ((await waiting())[0]!.count < 8n) await delay(10)
    const refused = post('/console/run/services/off', off, bea)
    const headers = { ...OF_OUR_PAGE, ...olga }
    const sent = request({ port, path: '/console/run/services/off', method: 'POST', headers })
    const arrived = once(app.server, 'request') as Promise<[IncomingMessage]>
    sent.on('error', () => {}).end(JSON.stringify(off))
    const [{ socket }] = await arrived
    // It was let in, and waits.
    await json(['operators', 'list'], carl)
    sent.destroy()
    if (!socket.destroyed) await once(socket, 'close')
    const users = await json<{ id: string; name: string }[]>(['operators', 'list'], carl)
    const { id } = users.find(({ name }) => name === 'bea')!
    await json(['operators', 'remove', id, '--reason', 'left'], carl)
    world.wait(2)
    return [turns, [refused]]
  })
  assert.deepEqual(new Set((await Promise.all(turns)).map(({ code }) => code)), new Set([0]))
  assert.equal((await refused[0]!).key, 'auth.session')
  // One of hers that comes later is done when all before are.
  await json(['prices', 'list'], olga)
  const actions = await json<{ action: string }[]>(['actions', 'list'], carl)
  assert.ok(actions.every(({ action }) => action !== 'services off'))
})

test('behind a proxy that is named, those who guess keep nobody else waiting', async (t) => {
  const world = await makeWorld(t)
  const guess = { sign_in_name: 'olga', password: 'a guess of somebody', code: '123456' }
  const waits = async (trusted_proxies: readonly string[]) => {
    const { post } = await worldConsole(t, world, { trusted_proxies })
    const from = (ip: string, sign_in_name: string) =>
      post('/console/session/password', { ...guess, sign_in_name }, { 'x-forwarded-for': ip })
    for (let i = 0; i < 22; i++) await from('203.0.113.5', `somebody${i}`)
    const [same, other] = [await from('203.0.113.5', 'bea'), await from('198.51.100.7', 'bob')]
    return [same.status, other.status]
  }
  assert.deepEqual(await waits(['127.0.0.1']), [429, 200])
  // What nobody vouches for is not believed.
  assert.deepEqual(await waits([]), [429, 429])
})
