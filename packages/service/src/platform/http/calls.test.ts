// What is kept of a call and of a request: which refusals, which lines of the log, under which ids.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Fault } from '../../lib/fault.ts'
import type { Log } from '../../lib/log.ts'
import { type Customer, type Endpoint, endpoint } from '../wire/endpoint.ts'
import type { Answer } from '../wire/replies.ts'
import { statusOfUnreadable } from './bare.ts'
import { type Asker, byKey, type Call, type Door, refusedCall, refuseSuspended } from './calls.ts'
import { acceptsEncoding } from './pages.ts'
import { uuidMaker } from './request_ids.ts'
import { requestLog } from './request_log.ts'

const EMPTY = new Uint8Array()

/** A request of an address, with these headers, once each. */
function requestOf({ url = '/v1/do', body = undefined as unknown, headers = {} } = {}) {
  const raw = { rawHeaders: Object.entries(headers).flat() }
  const caller = { ip: '203.0.113.7', network: '203.0.113.7', counted: false }
  return { id: 'r', url, body, headers, raw, caller } as unknown as FastifyRequest
}

const endpointOf = (more: object = {}): Endpoint =>
  endpoint({
    path: '/v1/do',
    auth: 'signature',
    scope: 'read',
    summary: 'Does something',
    body: Type.Object({ note: Type.Optional(Type.String()) }),
    reply: Type.Object({}),
    faults: [],
    handle: async () => ({}),
    ...more,
  })

const callOf = (request = requestOf(), of = endpointOf()) =>
  ({ endpoint: of, request, reply: undefined }) as unknown as Call

test('a refusal is kept when it is known whose it is, and a success never is', () => {
  const kept = (code: number, asker: Asker, call = callOf()) =>
    refusedCall(call, { answer: { code } as Answer, asker }, { at: new Date(0), ms: 7 })
  assert.equal(kept(0, { key_id: 'k' }), undefined)
  assert.equal(kept(1, {}), undefined)
  const refusal = kept(1, { key_id: 'k' })
  assert.deepEqual([refusal?.code, refusal?.key, refusal?.key_id], [1, '', 'k'])
  assert.deepEqual([refusal?.ip, refusal?.path, refusal?.ms], ['203.0.113.7', '/v1/do', 7])
  assert.deepEqual(
    [refusal?.body, refusal?.kept, refusal?.signature],
    [EMPTY, undefined, undefined],
  )
})

test('of a refused call the body is kept where that may be, and a signature if wrong', () => {
  const body = Buffer.from('{}')
  const signed = requestOf({ body, headers: { 'x-signature': 'abc' } })
  const keeping = endpointOf({ keeps_body: true })
  const kept = (auth?: string) =>
    refusedCall(
      callOf(signed, keeping),
      { answer: { code: 1 } as Answer, asker: { key_id: 'k', auth } },
      { at: new Date(0), ms: 7 },
    )
  assert.deepEqual([kept()?.body, kept()?.kept], [body, keeping.body])
  assert.equal(kept('wrong_signature')?.signature, 'abc')
  assert.equal(kept('unknown_token')?.signature, undefined)
})

test('who is suspended begins nothing, except what may be a repetition', () => {
  const refuses = (of: object, suspended: boolean) => {
    try {
      refuseSuspended(of as Endpoint, { suspended } as Customer)
      return false
    } catch (thrown) {
      assert.ok(thrown instanceof Fault)
      return true
    }
  }
  for (const [creates, repeats, suspended, is_refused] of [
    [true, false, true, true],
    [true, false, false, false],
    [false, false, true, false],
    [true, true, true, false],
  ] as const)
    assert.equal(refuses({ creates, repeats }, suspended), is_refused)
})

test('a key asks for what one of its scopes lets it, and shows a second signature', () => {
  const entry = byKey({} as Pick<Door, 'gate' | 'connections'> & Parameters<typeof byKey>[0])
  const asks = (of: object, scopes: string[], headers = {}) => {
    const call = callOf(requestOf({ headers }), { ...endpointOf(), ...of } as Endpoint)
    entry.mayAsk(call, { scopes, suspended: false } as unknown as Customer)
  }
  asks({ scopes: [] }, [])
  asks({ scopes: ['read'] }, ['read'])
  asks({ scopes: ['read', 'buy'] }, ['buy'])
  for (const scopes of [['read'], ['read', 'buy']])
    assert.throws(() => asks({ scopes }, ['money']), /lacks the scope read/)
  const second = { scopes: [], second_signature: true }
  assert.throws(() => asks(second, []), /requires X-Signature-V2/)
  asks(second, [], { 'x-signature-v2': 'abc' })
  asks({ scopes: [] }, [], { 'x-signature-v2': 'abc' })
})

test('strangers who are turned away leave so many lines, and the next says how many not', () => {
  const lines: Record<string, unknown>[] = []
  let now_ms = 0
  const log: Log = (_event, fields) => void lines.push({ ...fields })
  const { answered } = requestLog({ log, clock: { now: () => new Date(now_ms) } })
  const ask = (status: number, code: number, asker: Asker = {}, url?: string) =>
    answered(requestOf({ ...(url !== undefined && { url }) }), { status, code, ms: 0 }, asker)
  for (const [status, code] of [
    [400, 400],
    [404, 404],
    [200, 1],
  ] as const)
    for (let i = 0; i < 70; i++) ask(status, code)
  assert.equal(lines.length, 200)
  for (const [status, code, asker] of [
    [200, 0, {}],
    [200, 2, {}],
    [399, 2, {}],
    [400, 400, { customer_id: 'anna' }],
  ] as const)
    ask(status, code, asker)
  assert.equal(lines.length, 204, 'who is answered is no such stranger, nor is a customer')
  now_ms += 200
  ask(404, 404)
  ask(404, 404)
  ask(404, 404)
  assert.deepEqual(
    lines.slice(204).map(({ lines_left_out }) => lines_left_out),
    [10, undefined],
  )
  ask(200, 0, {}, '/a\u00e9 b?c')
  assert.equal(lines.at(-1)?.path, '/a??b')
})

test('an id is 16 random bytes with the marks of a version, of bytes drawn for many', () => {
  let drawn = 0
  const nextId = uuidMaker({
    bytes: (length) => new Uint8Array(length).fill(drawn++ ? 0x00 : 0xff),
  })
  const ids = Array.from({ length: 257 }, nextId)
  assert.equal(new Set(ids.slice(0, 256)).size, 1)
  assert.equal(ids[0], 'ffffffff-ffff-4fff-bfff-ffffffffffff')
  assert.equal(ids[256], '00000000-0000-4000-8000-000000000000')
  assert.equal(drawn, 2)
})

test('a browser takes an encoding that it names, unless it says that it does not', () => {
  assert.equal(acceptsEncoding('gzip', 'gzip'), true)
  assert.equal(acceptsEncoding('br, gzip;q=0.5', 'gzip'), true)
  for (const accepted of ['', 'br', 'gzip;q=0', 'br;q=1, gzip; q=0'])
    assert.equal(acceptsEncoding(accepted, 'gzip'), false, accepted)
})

test('bytes that are no request are answered by what is wrong with them', () => {
  assert.deepEqual(
    ['HPE_HEADER_OVERFLOW', 'ERR_HTTP_REQUEST_TIMEOUT', 'HPE_INVALID', undefined].map(
      statusOfUnreadable,
    ),
    [431, 408, 400, 400],
  )
})
