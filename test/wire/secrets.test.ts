// What somebody types as a secret, and what the service makes up as one, is afterwards in no table,
// no file of the database, no line of the log, no metric and no process's report: through every
// endpoint of the wire, the portal and the console, as it should be sent and as it should not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { nodeTally } from 'penstock-service/health/processes/node_tally.ts'
import { writeReport } from 'penstock-service/health/processes/report.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { jsonLog } from 'penstock-service/lib/log.ts'
import { findOperation } from 'penstock-service/operators/command_line/arguments.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { measuredLog, newMeasures } from 'penstock-service/run/program/instruments.ts'
import type { TSchema } from 'typebox'
import { worldConsole } from '../harness/console.ts'
import { copyFromNow } from '../harness/copies.ts'
import { filled, prepareExamples } from '../harness/examples.ts'
import { runMostOperations } from '../harness/operations.ts'
import { codeAt, joinedByPassword, linkFor, signedIn } from '../harness/users.ts'
import { Visitor } from '../harness/visitor.ts'
import { type Customer, makeWorld, type World } from '../harness/world.ts'

/** In every secret that is typed; no word of it is in anything else. */
const CANARY = 'kanarienvogel'
const SECRET_NAMES = [
  ...['password', 'passwrod', 'passphrase', 'code', 'offer', 'secret', 'token', 'seed', 'totp'],
  ...['recovery', 'recovery_code', 'poll_secret', 'private_key', 'cookie', 'api_secret'],
]

type Shape = TSchema & {
  type?: string
  properties?: Record<string, TSchema>
  items?: TSchema
}

/** A body with text in every field that takes some, and fields that nobody asks for. */
function fullBody(schema: Shape): Record<string, unknown> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => [
    name,
    textIn(field, SECRET_NAMES.includes(name) ? `${CANARY}-${name}` : 'some text'),
  ])
  const more = SECRET_NAMES.map((name) => [name, `${CANARY}-${name}`])
  return { ...Object.fromEntries(more), ...Object.fromEntries(fields) }
}

function textIn(schema: Shape, text: string): unknown {
  if (schema.properties) return fullBody(schema)
  if (schema.items) return [textIn(schema.items, text)]
  return schema.type === 'integer' ? 1 : schema.type === 'boolean' ? true : text
}

/** The same in the ways in which people and programs get it wrong. */
function wrongBodies(schema: Shape): string[] {
  const full = fullBody(schema)
  const text = JSON.stringify(full)
  const fields = Object.fromEntries(Object.keys(full).map((name) => [name, `${CANARY}-${name}`]))
  const lists = Object.fromEntries(Object.keys(full).map((name) => [name, [`${CANARY}-${name}`]]))
  return [
    text,
    JSON.stringify(lists),
    JSON.stringify({ params: full, more: [full] }),
    text.replace(/}$/, ',}'),
    text.slice(0, -1),
    text.replaceAll('"', "'"),
    new URLSearchParams(fields).toString(),
    JSON.stringify([full]),
    JSON.stringify(`${CANARY}-alone`),
    `${CANARY}-alone`,
  ]
}

const HEADERS = { 'x-password': `${CANARY}-header`, 'x-api-secret': `${CANARY}-header` }
const QUERY = `?password=${CANARY}-query&token=${CANARY}-query`

/** Where a secret is found: as it is, or in a text as bytes are printed. */
function placesOf(secret: string, texts: ReadonlyMap<string, string | Buffer>): string[] {
  const bytes = Buffer.from(secret)
  const printed = [bytes.toString('hex'), bytes.toString('base64').replace(/.{0,3}=*$/, '')]
  return [...texts].flatMap(([place, text]) =>
    [secret, ...(typeof text === 'string' ? printed : [])].some((form) => text.includes(form))
      ? [`${place}: ${secret.slice(0, 24)}`]
      : [],
  )
}

/** All texts below these names in what was answered: what the service has made up. Of a link that
 *  is what no server sees; of one in the record it says that there is one. */
function secretsIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /^(secret|token|poll_secret|recovery_codes|offer|link)$/.test(name) && value !== 'new'
      ? [value.replace(/^.*#/, '')]
      : []
  if (Array.isArray(value)) return value.flatMap((one) => secretsIn(one, name))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([inner, one]) => secretsIn(one, inner))
}

/** Secrets of all kinds, as they are pasted into a field by mistake: without what tells that they
 *  are some, too. */
const pastedSecrets = ({ token, secret }: Customer): string[] => [
  ...[token, secret, token.slice(4), secret.slice(4), `"${secret.slice(4)}"`, secret.slice(6, 30)],
  ...['psp_', 'whsec_', ''].map((prefix) => prefix + 'Ab3-'.repeat(11).slice(0, 43)),
  Buffer.from('a webhook secret is 32 bytes, so').toString('base64'),
  '5a'.repeat(32),
  `xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPP${'q'.repeat(56)}`,
  'zoo abandon zoo abandon zoo abandon zoo abandon zoo abandon zoo wrong',
]

/** A body with the text in every field that takes some; in that of a hash a private key looks like
 *  one, so no text is pasted there. */
function bodyOf(schema: Shape, text: string): unknown {
  const { properties, items, type } = schema
  if (items) return [bodyOf(items, text)]
  if (!properties) return type === 'integer' ? 1 : type === 'boolean' ? true : text
  return Object.fromEntries(
    Object.entries(properties).map(([name, field]) => [
      name,
      bodyOf(field, name === 'hash' ? 'some text' : text),
    ]),
  )
}

/** A piece of a secret is known by its owner alone: by no public endpoint, and in no path. */
const isPiece = ({ length }: string) => length < 40

/** Pastes them into every field of what keys can call, and gives what each call was told. */
async function paste(world: World, customer: Customer, secrets: string[]): Promise<string> {
  const told: string[] = []
  for (const { path, open, body, auth } of world.app.endpoints)
    for (const secret of open ? [] : secrets) {
      if (auth === 'public' && isPiece(secret)) continue
      const bodies = [bodyOf(body, secret), { id: secret }, { params: { address: secret } }]
      for (const one of [...bodies, { [secret]: secret }])
        told.push((await customer.call(path, one)).error ?? '')
    }
  return told.join('\n')
}

/** Sends everything wrong to all that keys can call, and the examples with canaries beside. */
async function tryWire(world: World, customer: Customer): Promise<string[]> {
  const tried: Parameters<typeof filled>[1][number][] = []
  for (const { path, open, body, examples } of world.app.endpoints) {
    if (open) continue
    for (const wrong of wrongBodies(body)) await customer.call(path, wrong, HEADERS)
    for (const example of examples) {
      const right = { ...fullBody({}), ...filled(example.body, tried) }
      const { code, result } = await customer.call(path, right, HEADERS)
      tried.push({ path, answer: { code, result: result ?? {} } })
    }
    // With a wrong signature, and with what belongs into a header.
    await customer.call(path, wrongBodies(body)[0], { 'x-signature': `${CANARY}-signature` })
    await customer.call(path, '', { authorization: `Bearer ${CANARY}-token` })
    await world.api.inject({ method: 'POST', url: path + QUERY, headers: HEADERS, payload: '{}' })
  }
  return tried.flatMap(({ answer }) => secretsIn(answer))
}

/** The examples of what the portal has, with canaries beside, and what it has made up for them.
 *  Some have lost their sense: the address was activated before, by the same on the wire. */
async function tryPortal(world: World, owner: Visitor): Promise<string[]> {
  const answered: Parameters<typeof filled>[1][number][] = []
  const mounted = new Set(world.app.mounts.flatMap(({ endpoints }) => endpoints.map((e) => e.path)))
  const known = (value: unknown) => {
    const [, path] = /^<[\w.]+ of (.+)>$/.exec(String(value)) ?? []
    return path === undefined || answered.some((one) => one.path === path)
  }
  for (const { path, examples } of world.app.endpoints)
    for (const { body } of mounted.has(path) ? examples : []) {
      if (!Object.values(body).every(known)) continue
      const { code, result } = await owner.call(path, {
        ...fullBody({}),
        ...filled(body, answered),
      })
      if (code === 0) answered.push({ path, answer: { code, result } })
    }
  assert.ok(answered.length > 60, `${answered.length}`)
  return answered.flatMap(({ answer }) => secretsIn(answer))
}

/** What operators do, by the console, and what it has made up for them. */
async function tryOperations(
  world: World,
  console: Awaited<ReturnType<typeof worldConsole>>,
): Promise<string[]> {
  const made: string[] = []
  const olga = await console.signIn('ops', 'admin')
  const bea = await console.signIn('bea', 'admin')
  const type = async (args: readonly string[]): Promise<unknown> => {
    const { changes } = findOperation(OPERATIONS, args).operation
    const why = changes && !args.includes('--reason') ? ['--reason', 'a test'] : []
    const by = args.includes('bea') ? bea : olga
    const { result, error } = await console.type([...args, ...why], by)
    assert.equal(error, undefined, args.join(' '))
    made.push(...secretsIn(result))
    return result
  }
  await runMostOperations(world, {
    ask: <Value>(...args: string[]) => type(args) as Promise<Value>,
    run: async (args) => void (await type(args)),
  })
  return made
}

/** What a process says of itself, whose node is asked with a key in its address. */
function reportOfProcess(): string {
  const tally = nodeTally(systemClock)
  const key = `${CANARY}-key`
  const url = `https://somebody:${key}@node.example.com/${key}`
  tally.add([{ url, headers: { 'tron-pro-api-key': key } }])
  const signingTerms = () => null
  const sources = { providers: [], indexMemory: () => [], kept_days: null, signingTerms }
  return writeReport(tally, sources)
}

/** Sends everything wrong to all that a face has. */
async function tryFace(
  api: FastifyInstance,
  headers: Record<string, string>,
  paths: readonly { path: string; body: TSchema }[],
): Promise<Map<string, number>> {
  const answered = new Map<string, number>()
  for (const { path, body } of paths)
    for (const [i, payload] of wrongBodies(body).entries()) {
      const url = i === 0 ? path + QUERY : path
      const sent = { method: 'POST' as const, url, payload, headers: { ...headers, ...HEADERS } }
      const { statusCode } = await api.inject(sent)
      answered.set(path, statusCode)
    }
  return answered
}

test('no secret that is sent or made up is kept, logged or counted', async (t) => {
  const lines: string[] = []
  const measures = newMeasures()
  const note = jsonLog((line) => lines.push(line), systemClock.now)
  const paths = new Set<string>()
  const world = await makeWorld(t, { log: measuredLog(note, measures, paths) })
  for (const { path } of world.app.endpoints) paths.add(path)
  const copy = await copyFromNow(world.database.url)
  await prepareExamples(world)
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const secrets = [anna.token, anna.secret, ...(await tryWire(world, anna))]
  assert.ok(secrets.length > 8)

  // Somebody joins, mistypes a code at the change of a password, and signs in with another.
  const of = { customer_id: anna.id }
  const joined = await joinedByPassword(world, of)
  secrets.push(joined.secret, joined.token, ...joined.recovery_codes)
  const password = `${CANARY} horse battery`
  const { totp } = await joined.visitor.ask('/session/totp')
  const { secret, offer } = totp as { secret: string; offer: string }
  const wrong = await joined.visitor.call('/session/totp', { password, code: '000000', offer })
  assert.equal(wrong.key, 'invalid_service_or_params.code')
  world.wait(60)
  const code = codeAt(secret, world.now)
  await joined.visitor.ask('/session/totp', { password, code, offer })
  secrets.push(secret, offer, joined.visitor.cookie!.replace(/^[^=]*=/, ''))
  const other = new Visitor(world.api)
  const shown = { sign_in_name: 'anna', password }
  assert.equal((await other.call('/session/password', { ...shown, code: '111111' })).code, 1)
  const invited = await linkFor(world, of)
  secrets.push(invited.token)

  const bert = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const berts = await tryPortal(world, await signedIn(world, { customer_id: bert.id }))
  assert.ok(berts.length > 4)
  secrets.push(bert.token, bert.secret, ...berts)
  const owner = await signedIn(world, of)
  secrets.push(owner.cookie!.replace(/^[^=]*=/, ''))
  const { sign_in } = world.app
  assert.ok(sign_in)
  for (const { prefix, endpoints } of world.app.mounts) {
    // What ends the session comes last.
    const last = (path: string) => Number(path === '/session/end')
    const sorted = [...endpoints].sort((a, b) => last(a.path) - last(b.path))
    const asked = sorted.map(({ path, body }) => ({ path: prefix + path, body }))
    const answered = await tryFace(world.api, owner.headers, asked)
    assert.ok([...answered.values()].every((status) => status === 200 || status === 429))
  }
  const console = await worldConsole(t, world, { log: note })
  const olga = await console.signIn('olga', 'admin')
  secrets.push(olga.cookie!.replace(/^[^=]*=/, ''))
  const runs = OPERATIONS.filter(({ local }) => !local).map(({ cli, body }) => ({
    path: `/console/run/${cli.words.replaceAll(' ', '/')}`,
    body,
  }))
  const signing = world.app.mounts[0]!.endpoints.filter(({ path }) => path.startsWith('/session/'))
  const pages = signing.map(({ path, body }) => ({ path: `/console${path}`, body }))
  const { origin, host } = { origin: 'http://localhost:8081', host: 'localhost:8081' }
  const page = { origin, host, 'x-penstock': '1', 'sec-fetch-site': 'same-origin', ...olga }
  const answered = await tryFace(console.app, page, [...runs, ...pages])
  assert.ok(answered.size > 90 && ![...answered.values()].includes(404))

  const shown_once = await tryOperations(world, console)
  assert.ok(shown_once.length > 6)
  secrets.push(...shown_once)

  await world.drain()
  await world.app.refusals.written()
  const texts = await copy.rows()
  texts.set('log', lines.join('\n'))
  texts.set('report', reportOfProcess())
  texts.set('metrics', measures.text())
  // It has looked where there is something.
  for (const [place, known] of [
    ['refusal', '/v1/transaction/new'],
    ['sign_in', 'password'],
    ['customer_action', 'session/totp'],
    ['log', '/session/totp'],
    ['metrics', '/v1/balance'],
    ['report', 'node.example.com'],
  ] as const)
    assert.ok(texts.get(place)?.includes(known), place)
  // As a backup has it: the files, and the log of all that was written since.
  const files = await copy.files()
  assert.deepEqual(placesOf(`user:${joined.user_id}`, files).length > 1, true)
  const all = new Map<string, string | Buffer>([...texts, ...files])
  const kept = [CANARY, ...secrets].flatMap((one) => placesOf(one, all))
  assert.deepEqual(kept, [])
})

test('no secret that is pasted into a wrong field is repeated, kept or logged', async (t) => {
  const lines: string[] = []
  const log = jsonLog((line) => lines.push(line), systemClock.now)
  const world = await makeWorld(t, { log })
  const copy = await copyFromNow(world.database.url)
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const pasted = pastedSecrets(anna)
  const told = await paste(world, anna, pasted)
  for (const secret of pasted.filter((one) => !isPiece(one)))
    await world.api.inject({ method: 'POST', url: `/v1/${encodeURIComponent(secret)}` })
  await world.drain()
  await world.app.refusals.written()
  const kept = (await copy.rows()).get('refusal')!
  assert.ok(kept.split('\n').filter((row) => row.includes('…')).length > 500)
  assert.match(told, /that was sent \(\d+ characters\)/)
  const texts = new Map([
    ['refusal', kept],
    ['log', lines.join('\n')],
    ['error', told],
  ])
  for (const secret of pasted) {
    const bare = secret.replace(/^(pst|pss|psp|whsec)_|"/g, '')
    for (const [place, text] of texts)
      assert.ok(!text.includes(bare), `${place}: ${bare}: ${around(text, bare)}`)
  }
})

const around = (text: string, piece: string) =>
  text.slice(Math.max(0, text.indexOf(piece) - 80), text.indexOf(piece) + piece.length)
