// The operators' console at a whole service on a chain, and people who are signed in at it.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { refusal } from 'penstock-service/lib/fault.ts'
import { idMaker } from 'penstock-service/lib/ids.ts'
import { type Log, silentLog } from 'penstock-service/lib/log.ts'
import { findOperation, readArguments } from 'penstock-service/operators/command_line/arguments.ts'
import { ConsoleLive } from 'penstock-service/operators/console/live.ts'
import { buildConsole } from 'penstock-service/operators/console/server.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import { databasePlace } from 'penstock-service/operators/table/place.ts'
import { signInOn } from 'penstock-service/people/sign_in/routes.ts'
import { consoleFace } from 'penstock-service/people/users/faces.ts'
import type { HouseRole } from 'penstock-service/people/users/roles.ts'
import { inviteUser, makeLink } from 'penstock-service/people/users/users.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import { replyChecker } from 'penstock-service/platform/wire/replies.ts'
import { SEALING_KEY } from './operator.ts'
import { repeatable, type World } from './world.ts'

export const CONSOLE_URL = new URL('http://localhost:8081')

export type ConsoleReply = {
  status: number
  code: number
  key?: string
  param?: string
  error?: string
  result?: unknown
  ok?: boolean
  note?: string | null
}

/** A person of the house as a browser shows it: by the cookie. */
export type Person = Record<string, string>

const checking = replyChecker()

/** The headers that a page of the console sends. */
export const OF_OUR_PAGE = {
  host: CONSOLE_URL.host,
  origin: CONSOLE_URL.origin,
  'x-penstock': '1',
  'sec-fetch-site': 'same-origin',
}

export async function worldConsole(
  t: TestContext,
  world: World,
  { trusted_proxies, log = silentLog }: { trusted_proxies?: readonly string[]; log?: Log } = {},
) {
  // The record notes from where: as a command does that is typed.
  const sql = world.database.connect({ role: 'penstock_admin', by_tcp: true })
  const clock = { now: () => world.now }
  const random = repeatable('cli')
  const face = consoleFace(CONSOLE_URL.origin)
  const { deposit_address } = world.app
  const sign_in = signInOn(sql, world.app.sign_in)
  const key = new Uint8Array(Buffer.from(SEALING_KEY, 'hex'))
  const live = new ConsoleLive({
    sql,
    clock,
    log: silentLog,
    face,
    tick: async () => '{}',
    tick_ms: 50,
  })
  const [row] = await sql<{ name: string }>`select current_database()::text as name`
  const app = buildConsole({
    clock,
    random: repeatable('console'),
    log,
    face,
    sign_in,
    live,
    operations: OPERATIONS,
    rate: { per_second: 1_000, burst: 100_000 },
    trusted_proxies,
    check: await checking,
    operation_needs: {
      clock,
      random,
      sql,
      // As each command draws its own.
      new_id: () => idMaker(clock, random)(),
      wait: async () => {},
      wake: () => {},
      database: databasePlace(`postgres://127.0.0.1/${row!.name}`),
      download: () => Promise.reject(new Error('nothing is downloaded')),
      archive: () => undefined,
      node: () => world.node,
      chain: () => undefined,
      publicUrl: () => 'http://localhost:8080',
      consoleUrl: () => CONSOLE_URL.origin,
      stopHere: async () => false,
      seal: async () => sealWith({ current: 'k1', keys: { k1: key } }, random),
      depositAddress: async () => deposit_address,
      wallets: () => Promise.reject(refusal('none')),
    },
  })
  t.after(async () => {
    live.close()
    await app.close()
  })
  /** Signs a person in who is new. `is_there`: has just shown to be there. */
  async function signIn(name: string, role: HouseRole, { is_there = true } = {}): Promise<Person> {
    const own = { clock, random: repeatable(name), new_id: idMaker(clock, repeatable(name)) }
    const token = await sql.begin(async (tx) => {
      const wanted = { customer_id: null, name, role, invited_by: 'test' }
      const { id: user_id } = await inviteUser(tx, own, wanted)
      return (await makeLink(tx, own, { user_id, purpose: 'sign_in' })).token
    })
    const answer = await app.inject({
      method: 'POST',
      url: '/console/session/link',
      headers: OF_OUR_PAGE,
      payload: JSON.stringify({ token }),
    })
    const { code, error, result } = answer.json()
    assert.equal(code, 0, error)
    const cookie = String(answer.headers['set-cookie']).split(';', 1)[0]!
    if (!is_there) {
      await sql`update user_session set stepped_up_until = null where id = ${result.session.id}`
      sign_in.sessions.forget(cookie.split('=', 2)[1])
    }
    return { cookie }
  }
  /** What a page asks for. */
  async function post(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<ConsoleReply> {
    const answer = await app.inject({
      method: 'POST',
      url: path,
      headers: { ...OF_OUR_PAGE, ...headers },
      payload: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { ...(answer.json() as Omit<ConsoleReply, 'status'>), status: answer.statusCode }
  }
  /** Runs what would be typed. */
  async function type(words: readonly string[], headers: Record<string, string>) {
    const { operation, rest } = findOperation(OPERATIONS, words)
    const { body, reason } = readArguments(operation, rest)
    const path = `/console/run/${operation.cli.words.replaceAll(' ', '/')}`
    return post(path, { ...body, reason }, headers)
  }
  /** What it answers to what succeeds. */
  async function json<Value>(words: readonly string[], headers: Record<string, string>) {
    const { code, error, result } = await type(words, headers)
    assert.equal(code, 0, `${words.join(' ')}: ${error}`)
    return result as Value
  }
  return { app, live, signIn, post, type, json }
}
