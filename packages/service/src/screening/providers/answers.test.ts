// Answers of outside services, taken for what their status, their shape and their numbers say, at
// each limit and just beyond it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { amlbot } from './amlbot.ts'
import { misttrack } from './misttrack.ts'
import {
  askJson,
  type Http,
  objectOf,
  type Provider,
  ProviderFailure,
  type ProviderQuestion,
  sharesOf,
} from './provider.ts'

const QUESTION: ProviderQuestion = {
  type: 'address',
  network: 'TRX',
  address: 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8',
  hash: null,
  direction: null,
}
const { signal } = new AbortController()

/** A transport that answers with these bytes. */
const saying =
  (text: string, { status = 200, content_type = 'application/json' } = {}): Http =>
  async () => ({ status, content_type, retry_after_ms: 7, body: Buffer.from(text) })

const ask = (http: Http) => askJson(http, { method: 'GET', url: 'http://it', signal })

/** The kind and the sentence of a failure; undefined: it is none. */
const failureOf = async (asked: Promise<unknown>) =>
  asked.then(
    () => undefined,
    (thrown: unknown) => {
      assert.ok(thrown instanceof ProviderFailure, String(thrown))
      return `${thrown.kind}: ${thrown.message}`
    },
  )

test('the status of an answer says what failed, to the number', async () => {
  const kinds: [number, string | undefined][] = [
    [199, 'permanent: HTTP 199'],
    [200, undefined],
    [299, undefined],
    [300, 'permanent: HTTP 300'],
    [400, 'permanent: HTTP 400'],
    [401, 'auth: HTTP 401'],
    [402, 'quota: HTTP 402'],
    [403, 'auth: HTTP 403'],
    [404, 'permanent: HTTP 404'],
    [428, 'permanent: HTTP 428'],
    [429, 'transient: HTTP 429'],
    [430, 'permanent: HTTP 430'],
    [499, 'permanent: HTTP 499'],
    [500, 'transient: HTTP 500'],
    [501, 'transient: HTTP 501'],
  ]
  for (const [status, said] of kinds)
    assert.equal(await failureOf(ask(saying('{}', { status }))), said, `${status}`)
  const html = saying('{}', { status: 500, content_type: 'text/html' })
  assert.equal(await failureOf(ask(html)), 'transient: HTTP 500 without JSON')
  await assert.rejects(ask(saying('{}', { status: 429 })), { retry_after_ms: 7 })
})

test('an answer is an object of JSON that says that it is JSON, or none', async () => {
  for (const text of ['null', '[]', '[{}]', '5', '"text"', 'true', '', '{'])
    assert.equal(await failureOf(ask(saying(text))), 'transient: the answer is not JSON', text)
  assert.deepEqual((await ask(saying('{"a":[1]}'))).fields, { a: [1] })
  const problem = await ask(saying('{}', { content_type: 'application/problem+JSON; x=y' }))
  assert.deepEqual(problem.fields, {})
  for (const content_type of ['', 'text/html', 'application/jsonp'])
    assert.equal(
      await failureOf(ask(saying('{}', { content_type }))),
      'transient: the answer is not JSON',
      content_type,
    )
})

test('no answer at all is said in the words of who has tried', async () => {
  const rejecting = (thrown: unknown) => failureOf(ask(() => Promise.reject(thrown)))
  assert.equal(await rejecting(new TypeError('reset')), 'transient: no answer: reset')
  assert.equal(await rejecting('in words'), 'transient: no answer: in words')
})

test('what is no object has no fields', () => {
  for (const value of [null, undefined, [1], 'text', 5, true])
    assert.deepEqual(objectOf(value), {}, String(value))
  assert.deepEqual(objectOf({ a: 1 }), { a: 1 })
})

test('a share is a number above zero, at most the whole, under our names', () => {
  const theirs = {
    mixer: '0.25',
    scam: 0.5,
    exchange: 0,
    gambling: -0.1,
    ransom: Number.NaN,
    sanctions: Number.POSITIVE_INFINITY,
    dark_market: 'much',
    stolen_coins: true,
    one: 0.75,
    another: 0.5,
  }
  assert.deepEqual(sharesOf(theirs), [
    { category: 'mixer', share: 0.25 },
    { category: 'scam', share: 0.5 },
    { category: 'unidentified', share: 1 },
  ])
})

const wait = async () => {}
const screen = (provider: Provider, more: Partial<ProviderQuestion> = {}) =>
  provider.screen({ ...QUESTION, ...more }, signal)

test("AMLBot's score is a fraction from 0 to 1, and its flag bars", async () => {
  const of = (data: string) => {
    const http = saying(`{"result":true,"data":${data}}`)
    return screen(amlbot({ http, wait }, { access_id: 'id', access_key: 'key' }))
  }
  for (const [said, score] of [
    ['0', 0],
    ['"0"', 0],
    ['0.5', 50],
    ['"0.5"', 50],
    ['1', 100],
  ] as const)
    assert.equal((await of(`{"riskscore":${said}}`)).score, score, said)
  for (const said of ['1.001', '-0.001', '1e999', '"much"', 'true', '[0.5]'])
    assert.equal(
      await failureOf(of(`{"riskscore":${said}}`)),
      'permanent: the answer has no score',
      said,
    )
  const flagged = async (flag: string) =>
    (await of(`{"riskscore":0,"hasBlackListFlag":${flag}}`)).blacklist
  assert.deepEqual(await Promise.all(['true', 'false', '"true"', '1'].map(flagged)), [
    true,
    false,
    false,
    false,
  ])
})

test('what AMLBot says of a refusal is handed on, and its kind is by its words', async () => {
  const of = (more: string) => {
    const http = saying(`{"result":false${more}}`)
    return failureOf(screen(amlbot({ http, wait }, { access_id: 'id', access_key: 'key' })))
  }
  assert.equal(await of(''), 'permanent: refused')
  assert.equal(await of(',"description":"no such chain"'), 'permanent: no such chain')
  assert.equal(await of(',"description":"Tariff is over"'), 'quota: Tariff is over')
  assert.equal(await of(',"description":"Access denied"'), 'auth: Access denied')
})

/** MistTrack with a task that has its result, and the questions that it was asked. */
function mistTrack(data: string, msg = '') {
  const asked: string[] = []
  const waited: number[] = []
  const http: Http = async (request) => {
    asked.push(request.body ?? request.url)
    const made = '{"success":true,"data":{"has_result":true,"task_id":"t"}}'
    const text = request.method === 'POST' ? made : `{"success":true,"msg":"${msg}","data":${data}}`
    return saying(text)(request)
  }
  const outside = { http, wait: async (ms: number) => void waited.push(ms) }
  return { provider: misttrack(outside, { api_key: 'k' }), asked, waited }
}

test("MistTrack's score is one from 0 to 100 with a level", async () => {
  const of = (fields: string) => screen(mistTrack(`{${fields}}`).provider)
  for (const score of [0, 0.5, 100]) {
    const answer = await of(`"score":${score},"risk_level":"Low"`)
    assert.deepEqual([answer.score, answer.level, answer.shares], [score, 'low', []])
  }
  for (const fields of [
    '"score":-0.001,"risk_level":"Low"',
    '"score":100.001,"risk_level":"Low"',
    '"score":"50","risk_level":"Low"',
    '"score":null,"risk_level":"Low"',
    '"score":50',
    '"score":50,"risk_level":"odd"',
  ])
    assert.equal(await failureOf(of(fields)), 'permanent: the answer has no score', fields)
})

test('MistTrack is not waited for when its task has a result, and names its network', async () => {
  const { provider, waited } = mistTrack('{"score":1,"risk_level":"Low"}')
  await screen(provider)
  assert.deepEqual(waited, [])
  assert.ok(provider.covers({ type: 'hash', network: 'TRX' }))
  assert.ok(!provider.covers({ type: 'address', network: 'ETH' }))
})

test('MistTrack is asked about a transaction by its way', async () => {
  for (const [direction, way] of [
    ['withdrawal', 'withdraw'],
    ['deposit', 'deposit'],
    [null, 'deposit'],
  ] as const) {
    const { provider, asked } = mistTrack('{"score":1,"risk_level":"Low"}')
    await screen(provider, { type: 'hash', hash: 'ab', direction })
    const { txid, direction: sent, address } = JSON.parse(asked[0]!)
    assert.deepEqual([txid, sent, address], ['ab', way, undefined])
  }
})

test('MistTrack bars who is a sanctioned party itself, directly', async () => {
  const match = async (risk_type: string, exposure_type: string, hop_num: number) => {
    const detail = JSON.stringify([{ risk_type, exposure_type, hop_num, percent: 1 }])
    const { provider } = mistTrack(`{"score":1,"risk_level":"Low","risk_detail":${detail}}`)
    return (await screen(provider)).blacklist
  }
  assert.equal(await match('sanctioned_entity', 'direct', 0), true)
  assert.equal(await match('sanctioned_entity', 'direct', 1), false)
  assert.equal(await match('sanctioned_entity', 'indirect', 0), false)
  assert.equal(await match('mixer', 'direct', 0), false)
})

test('a refusal of MistTrack without words is one all the same', async () => {
  const of = (text: string) =>
    failureOf(screen(misttrack({ http: saying(text), wait }, { api_key: 'k' })))
  assert.equal(await of('{"success":false}'), 'permanent: refused')
  assert.equal(await of('{"success":false,"msg":"odd"}'), 'permanent: odd')
  assert.equal(await of('{"msg":"TaskNotFound"}'), 'transient: TaskNotFound')
})
