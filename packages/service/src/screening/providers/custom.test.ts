// A provider that a file describes, against a server on this machine, and files that describe none.

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Misuse } from '../../lib/fault.ts'
import { configuredProviders } from './configured.ts'
import { pointed } from './custom.ts'
import { readCustomProvider } from './custom_file.ts'
import { httpExchange } from './guard.ts'
import { ProviderFailure } from './provider.ts'

const ADDRESS = 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8'
const QUESTION = { type: 'address', network: 'TRX', address: ADDRESS, hash: null, direction: null }
const KEY = 'Bearer k-1234567890'

function fileOf(t: TestContext, value: unknown, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), 'provider-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'provider.json')
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
  chmodSync(file, mode)
  return file
}

/** A service that answers with what it is given, and keeps what it was asked. */
async function service(t: TestContext) {
  const said = { status: 200, body: '' }
  const asked: { line: string; key: string | undefined; body: string }[] = []
  const types: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const { method, url, headers } = request
    asked.push({ line: `${method} ${url}`, key: headers.authorization, body })
    types.push(headers['content-type'])
    response.writeHead(said.status, { 'content-type': 'application/json' }).end(said.body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, said, asked, types }
}

const DESCRIBED = {
  headers: { authorization: KEY },
  score: '/data/risk/0',
  score_max: 10,
  level: '/data/level',
  levels: { severe: 'high', fine: 'low', 5: 'low' },
  blacklist: '/data/listed',
  factors: '/data/exposure',
  factors_whole: 100,
  reference: '/id',
}
const ANSWER = {
  id: 7,
  data: { risk: [8.5], level: 'severe', listed: false, exposure: { mixer: 60, odd_name: 20 } },
}

type ProviderNeeds = Parameters<typeof configuredProviders>[1]

/** Those of a file, and of MistTrack where there is its key; each is asked once. */
function providersOf(file: string, http: ProviderNeeds['http'], misttrack?: string) {
  const keys = { amlbot: undefined, misttrack, chainalysis: undefined }
  return configuredProviders({ ...keys, custom: readCustomProvider(file) }, {
    http,
    wait: (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal))),
    clock: { now: () => new Date() },
    chance: () => 0.5,
    tries_max: 1,
  } as ProviderNeeds)
}

function providerOf(file: string) {
  const [provider] = providersOf(file, httpExchange)
  const screen = (question: object = QUESTION) =>
    provider!.screen(question as never, new AbortController().signal)
  return { provider: provider!, screen }
}

test('a provider that a file describes is asked as it says, and read where it says', async (t) => {
  const { url, said, asked, types } = await service(t)
  said.body = JSON.stringify(ANSWER)
  const by_get = providerOf(fileOf(t, { url: `${url}/v1/{network}/{address}`, ...DESCRIBED }))
  const { body, ...answer } = await by_get.screen()
  assert.deepEqual(answer, {
    score: 85,
    level: 'high',
    blacklist: false,
    shares: [
      { category: 'mixer', share: 0.6 },
      { category: 'unidentified', share: 0.2 },
    ],
    reference: '7',
  })
  assert.equal(Buffer.from(body).toString(), said.body)
  const question = { find: ['{address}'], on: '{network}', deep: { n: 1, none: null } }
  const by_post = providerOf(fileOf(t, { url: `${url}/v1`, body: question, ...DESCRIBED }))
  await by_post.screen()
  assert.deepEqual(asked, [
    { line: `GET /v1/TRX/${ADDRESS}`, key: KEY, body: '' },
    {
      line: 'POST /v1',
      key: KEY,
      body: JSON.stringify({ find: [ADDRESS], on: 'TRX', deep: { n: 1, none: null } }),
    },
  ])
  assert.deepEqual(types, [undefined, 'application/json'])
  assert.equal(by_get.provider.covers({ type: 'address', network: 'ETH' }), false)
  assert.equal(by_get.provider.covers({ type: 'hash', network: 'TRX' }), false)
  // What would leave the path of the address stays in it.
  await by_get.screen({ ...QUESTION, address: '../x?y#z' })
  assert.equal(asked.at(-1)!.line, 'GET /v1/TRX/..%2Fx%3Fy%23z')
})

test('an answer that is not what the file says is a failure, and never a score', async (t) => {
  const { url, said } = await service(t)
  const file = fileOf(t, { url: `${url}/{address}`, ...DESCRIBED })
  const { data } = ANSWER
  const wrong: [unknown, RegExp][] = [
    [{ id: 7, data: { ...data, risk: [11] } }, /no score from 0 to 10/],
    [{ id: 7, data: { ...data, risk: [-1] } }, /no score/],
    [{ id: 7, data: { ...data, risk: ['8'] } }, /no score/],
    [{ id: 7, data: { ...data, risk: null } }, /no score/],
    [{ id: 7 }, /no score/],
    [{ id: 7, data: { ...data, level: 'toString' } }, /no level/],
    [{ id: 7, data: { ...data, level: null } }, /no level/],
    [{ id: 7, data: { ...data, level: 5 } }, /no level/],
    [{ id: 7, data: { ...data, listed: 'no' } }, /whether it is blacklisted/],
    [{ id: 7, data: { ...data, exposure: { mixer: 60, scam: 50 } } }, /shares of a whole/],
    [{ id: 7, data: { ...data, exposure: { mixer: '60' } } }, /shares of a whole/],
    [{ id: 7, data: { ...data, exposure: [60] } }, /shares of a whole/],
    [{ id: 7, data: { ...data, exposure: null } }, /shares of a whole/],
    [{ id: 7, data: { ...data, exposure: 5 } }, /shares of a whole/],
    [{ id: 7, data: { ...data, exposure: { mixer: -1 } } }, /shares of a whole/],
    [{ data }, /no reference/],
    [{ id: [7], data }, /no reference/],
    [[ANSWER], /not JSON/],
  ]
  for (const [answer, sentence] of wrong) {
    said.body = JSON.stringify(answer)
    // Each time another: several that fail in a row are left alone.
    await assert.rejects(providerOf(file).screen(), (thrown) => {
      assert.ok(thrown instanceof ProviderFailure, String(thrown))
      assert.match(thrown.message, sentence)
      return true
    })
  }
  said.status = 401
  await assert.rejects(providerOf(file).screen(), { kind: 'auth' })
})

test('what a service repeats of its key is in no failure', async (t) => {
  const file = fileOf(t, { url: 'http://127.0.0.1:9/{address}', ...DESCRIBED })
  const keys = { amlbot: undefined, misttrack: undefined, chainalysis: undefined }
  for (const repeated of [KEY, 'k-1234567890']) {
    const [provider] = configuredProviders({ ...keys, custom: readCustomProvider(file) }, {
      http: () => Promise.reject(new Error(`no entry for ${repeated}`)),
      wait: (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal))),
      clock: { now: () => new Date() },
      chance: () => 0.5,
      tries_max: 1,
    } as Parameters<typeof configuredProviders>[1])
    await assert.rejects(
      provider!.screen(QUESTION as never, new AbortController().signal),
      (thrown: Error) => /no entry for/.test(thrown.message) && !thrown.message.includes('123456'),
    )
  }
})

test('a key may stand in the address or in the body, and is in no failure either', async (t) => {
  const [address, named, body] = ['path-1234567', 'named-1234567', 'body-1234567']
  const { headers: _, ...described } = DESCRIBED
  const url = `http://127.0.0.1:9/${address}/screening/{address}?key=${named}`
  const file = fileOf(t, { ...described, url, body: { deep: [{ key: body }] } })
  const keys = { amlbot: undefined, misttrack: undefined, chainalysis: undefined }
  const [provider] = configuredProviders({ ...keys, custom: readCustomProvider(file) }, {
    http: ({ url, body }: { url: string; body: string }) =>
      Promise.reject(new Error(`no entry for ${url} ${body}`)),
    wait: (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal))),
    clock: { now: () => new Date() },
    chance: () => 0.5,
    tries_max: 1,
  } as Parameters<typeof configuredProviders>[1])
  await assert.rejects(
    provider!.screen(QUESTION as never, new AbortController().signal),
    (thrown: Error) =>
      thrown.message.includes(`/screening/${ADDRESS}`) && !thrown.message.includes('1234567'),
  )
})

test('a file that describes no provider is refused by what is wrong, without its values', (t) => {
  const right = { url: 'https://api.example.com/{address}', ...DESCRIBED }
  assert.equal(readCustomProvider(fileOf(t, right)).score_max, 10)
  const asked = { ...right, url: 'https://api.example.com?of={address}' }
  assert.equal(readCustomProvider(fileOf(t, asked)).url, asked.url)
  const wrong: [unknown, RegExp][] = [
    ['{"url": ', /not JSON/],
    [[right], /no JSON object/],
    [{ ...right, secret: 'x' }, /it has secret; it can have url/],
    [{ ...right, url: 'ftp://api.example.com/{address}' }, /https/],
    [{ ...right, url: 'http://api.example.com/{address}' }, /https/],
    [{ ...right, url: 'https://u:p@api.example.com/{address}' }, /user name or a password/],
    [{ ...right, url: 'https://{address}.example.com/{address}' }, /no address|in its host/],
    [{ ...right, url: 'https://api.example.com/#{address}' }, /fragment/],
    [{ ...right, url: 'https://api.example.com/' }, /neither url nor body has/],
    [null, /no JSON object/],
    [5, /no JSON object/],
    ['"text"', /no JSON object/],
    [{ ...right, url: [right.url] }, /no address/],
    [{ ...right, url: 'http:///' }, /no address/],
    [{ ...right, url: 'https://u@api.example.com/{address}' }, /user name or a password/],
    [{ ...right, url: 'https://:p@api.example.com/{address}' }, /user name or a password/],
    [{ ...right, url: 'ftp://127.0.0.1/{address}' }, /https/],
    [{ ...right, networks: [] }, /networks/],
    [{ ...right, networks: 'TRX' }, /networks/],
    [{ ...right, networks: ['TRX', ''] }, /networks/],
    [{ ...right, level: 5 }, /level is no JSON pointer/],
    [{ ...right, level: ['/a'] }, /level is no JSON pointer/],
    [{ ...right, score_max: 1e9 + 1 }, /score_max/],
    [{ ...right, levels: [] }, /levels/],
    [{ ...right, levels: 'high' }, /levels/],
    [{ ...right, headers: null }, /headers/],
    [{ ...right, headers: [] }, /headers/],
    [{ ...right, headers: 5 }, /headers/],
    [{ ...right, headers: { a: '' } }, /headers/],
    [{ ...right, score: undefined }, /score is missing/],
    [{ ...right, score: 'data.risk' }, /score is no JSON pointer/],
    [{ ...right, level: '/a~2' }, /level is no JSON pointer/],
    [{ ...right, score_max: 0 }, /score_max/],
    [{ ...right, factors_whole: '1' }, /factors_whole/],
    [{ ...right, levels: { bad: 'worst' } }, /levels/],
    [{ ...right, headers: { 'a b': 'x' } }, /headers/],
    [{ ...right, headers: { a: 1 } }, /headers/],
  ]
  for (const [value, sentence] of wrong) {
    assert.throws(
      () => readCustomProvider(fileOf(t, value)),
      (thrown) => {
        assert.ok(thrown instanceof Misuse)
        assert.match(thrown.message, sentence)
        assert.doesNotMatch(thrown.message, /k-1234567890/)
        return true
      },
    )
  }
  assert.throws(() => readCustomProvider(fileOf(t, right, 0o644)), /chmod 600/)
  assert.throws(() => readCustomProvider('/nowhere/at/all'), /cannot be read/)
})

test('a pointer finds what an answer itself has', () => {
  const value = { a: [{ 'b/c': { 'd~e': 1 } }] }
  assert.equal(pointed(value, '/a/0/b~1c/d~0e'), 1)
  assert.equal(pointed(value, '/a/1'), undefined)
  assert.equal(pointed(value, '/a/length/x'), undefined)
  assert.equal(pointed(value, '/constructor/name'), undefined)
  assert.equal(pointed(value, '/__proto__'), undefined)
  assert.equal(pointed({ text: 'abc' }, '/text/length'), undefined)
  assert.equal(pointed({ none: null }, '/none/x'), undefined)
})

test('a file with a score alone is enough, and its answers say no more than that', async (t) => {
  const { url, said } = await service(t)
  const { screen } = providerOf(fileOf(t, { url: `${url}/{address}`, score: '/score' }))
  for (const [score, of_100] of [
    [0, 0],
    [0.5, 0.5],
    [100, 100],
  ]) {
    said.body = JSON.stringify({ score, level: 'high', listed: true })
    const { body, ...answer } = await screen()
    const nothing = { level: undefined, blacklist: false, shares: [], reference: ADDRESS }
    assert.deepEqual(answer, { score: of_100, ...nothing })
  }
})

test('shares are of the whole, with the error of what is rounded, and a flag bars', async (t) => {
  const { url, said } = await service(t)
  const more = { score: '/n', factors: '/of', blacklist: '/listed', reference: '/id' }
  const file = fileOf(t, { url: `${url}/{address}`, ...more })
  const answer = async (of: object) => {
    said.body = JSON.stringify({ n: 1, of, listed: true, id: 'text' })
    return providerOf(file).screen()
  }
  const { shares, blacklist, reference } = await answer({ mixer: 0, scam: 0.25, ransom: 0.75 })
  assert.deepEqual(
    [shares, blacklist, reference],
    [
      [
        { category: 'scam', share: 0.25 },
        { category: 'ransom', share: 0.75 },
      ],
      true,
      'text',
    ],
  )
  assert.equal((await answer({ mixer: 1.001 })).shares[0]?.share, 1)
  await assert.rejects(answer({ mixer: 1.0011 }), /no shares of a whole/)
})

test('a file may say a billion, a part of one, and its question in the body', (t) => {
  const given = { ...DESCRIBED, url: 'https://api.example.com/', body: ['{address}'] }
  const read = readCustomProvider(fileOf(t, { ...given, score_max: 1e9, factors_whole: 0.5 }))
  assert.deepEqual([read.score_max, read.factors_whole, read.networks], [1e9, 0.5, ['TRX']])
  const by_default = readCustomProvider(fileOf(t, { ...given, levels: undefined }))
  assert.deepEqual(by_default.levels, { low: 'low', medium: 'medium', high: 'high' })
  const text = JSON.stringify(given)
  assert.ok(readCustomProvider(fileOf(t, text.padEnd(100_000))))
  assert.throws(() => readCustomProvider(fileOf(t, text.padEnd(100_001))), /more than 100000 bytes/)
})

test('of what is sent, texts from eight letters on are in no failure', async (t) => {
  const url = 'https://api.example.com/{address}?of={address}'
  const headers = { a: 'eight-on', b: 'sevenup' }
  const file = fileOf(t, { url, score: '/score', headers, body: { deep: ['{network}'], n: 5 } })
  const http = () => Promise.reject(new Error('eight-on sevenup {address} {network} mist-key'))
  const providers = providersOf(file, http, 'mist-key')
  assert.deepEqual(
    providers.map(({ name }) => name),
    ['misttrack', 'custom'],
  )
  for (const provider of providers)
    await assert.rejects(
      provider.screen(QUESTION as never, new AbortController().signal),
      /: \.\.\. sevenup \{address\} \{network\} \.\.\.$/,
    )
})
