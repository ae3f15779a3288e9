// What somebody types as a secret, and what the service makes up as one, is afterwards in no table,
// no line of the log and no metric: through every endpoint of the wire, the portal and the console,
// as it should be sent and as it should not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { jsonLog } from 'penstock-service/lib/log.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import { SCOPES } from 'penstock-service/platform/wire/endpoint.ts'
import { measuredLog, newMeasures } from 'penstock-service/run/program/instruments.ts'
import pg from 'pg'
import type { TSchema } from 'typebox'
import { worldConsole } from '../harness/console.ts'
import { filled, prepareExamples } from '../harness/examples.ts'
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

/** Everything of a database that a dump of it has. */
async function dump(url: string): Promise<Map<string, string>> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const found = new Map<string, string>()
    const { rows: tables } = await client.query<{ name: string }>(`
      select table_name::text as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`)
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(
        `select t::text as row from ${name} as t`,
      )
      found.set(name, rows.map(({ row }) => row).join('\n'))
    }
    return found
  } finally {
    await client.end()
  }
}

/** Where a secret is found: as it is, or as bytes are printed. */
function placesOf(secret: string, texts: ReadonlyMap<string, string>): string[] {
  const bytes = Buffer.from(secret)
  const forms = [secret, bytes.toString('hex'), bytes.toString('base64').replace(/.{0,3}=*$/, '')]
  return [...texts].flatMap(([place, text]) =>
    forms.some((form) => text.includes(form)) ? [`${place}: ${secret.slice(0, 24)}`] : [],
  )
}

/** All texts below these names in what was answered: what the service has made up. */
function secretsIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /^(secret|token|poll_secret|recovery_codes|offer|link)$/.test(name) ? [value] : []
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

  await world.drain()
  await world.app.refusals.written()
  const texts = await dump(world.database.url)
  texts.set('log', lines.join('\n'))
  texts.set('metrics', measures.text())
  // It has looked where there is something.
  for (const [place, known] of [
    ['refusal', '/v1/transaction/new'],
    ['sign_in', 'password'],
    ['customer_action', 'session/totp'],
    ['log', '/session/totp'],
    ['metrics', '/v1/balance'],
  ] as const)
    assert.ok(texts.get(place)?.includes(known), place)
  const kept = [CANARY, ...secrets].flatMap((one) => placesOf(one, texts))
  assert.deepEqual(kept, [])
})

test('no secret that is pasted into a wrong field is repeated, kept or logged', async (t) => {
  const lines: string[] = []
  const log = jsonLog((line) => lines.push(line), systemClock.now)
  const world = await makeWorld(t, { log })
  const anna = await world.customer({ trx: 1_000, scopes: [...SCOPES] })
  const pasted = pastedSecrets(anna)
  const told = await paste(world, anna, pasted)
  for (const secret of pasted.filter((one) => !isPiece(one)))
    await world.api.inject({ method: 'POST', url: `/v1/${encodeURIComponent(secret)}` })
  await world.drain()
  await world.app.refusals.written()
  const kept = (await dump(world.database.url)).get('refusal')!
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
