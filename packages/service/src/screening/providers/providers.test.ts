// The adapters against servers on this machine that answer in the shapes the services document.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { amlbot } from './amlbot.ts'
import { chainalysis } from './chainalysis.ts'
import { guarded, httpExchange } from './guard.ts'
import { misttrack } from './misttrack.ts'
import {
  type FailureKind,
  type Outside,
  type Provider,
  ProviderFailure,
  type ProviderQuestion,
  pauseOf,
} from './provider.ts'

type ProviderRequest = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: string
}
type ProviderReply = {
  status?: number
  type?: string
  headers?: Record<string, string>
  body: unknown
}

/** A server that gives the answers in turn, the last one again and again. */
async function service(
  t: TestContext,
  answers: ProviderReply[],
): Promise<{ url: string; asked: ProviderRequest[] }> {
  const asked: ProviderRequest[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const {
        status = 200,
        type = 'application/json',
        headers = {},
        body: said,
      } = answers[Math.min(asked.length, answers.length - 1)]!
      asked.push({ method: request.method!, path: request.url!, headers: request.headers, body })
      response.writeHead(status, { 'content-type': type, ...headers })
      response.end(typeof said === 'string' ? said : JSON.stringify(said))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** Waiting takes no time and is noted; it ends with the signal, if that is given already. */
function outside(waited: number[] = []): Outside {
  return {
    http: httpExchange,
    wait: async (ms, signal) => {
      waited.push(ms)
      signal.throwIfAborted()
    },
  }
}

const ADDRESS = 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8'
const question = (more: Partial<ProviderQuestion> = {}): ProviderQuestion => ({
  type: 'address',
  network: 'TRX',
  address: ADDRESS,
  hash: null,
  direction: null,
  ...more,
})
const screen = (provider: Provider, asked = question()) =>
  provider.screen(asked, new AbortController().signal)
const failsAs = (kind: FailureKind) => (thrown: unknown) =>
  thrown instanceof ProviderFailure && thrown.kind === kind
const md5 = (text: string) => createHash('md5').update(text).digest('hex')

const AMLBOT_DONE = {
  result: true,
  balance: 99,
  data: {
    riskscore: 0.364,
    status: 'success',
    uid: 'u-1',
    address: ADDRESS,
    asset: 'TRX',
    network: 'TRX',
    blackListsConnections: false,
    hasBlackListFlag: false,
    signals: { exchange_licensed: 0.6, mixer: 0.25, child_abuse: 0, unnamed_thing: 0.05 },
  },
}

test('AMLBot is asked with a signature, polled by uid, its score a fraction', async (t) => {
  const pending = { result: true, data: { status: 'pending', uid: 'u-1' } }
  const { url, asked } = await service(t, [
    { body: pending },
    { body: pending },
    { body: AMLBOT_DONE },
  ])
  const waited: number[] = []
  const provider = amlbot(outside(waited), {
    access_id: 'id',
    access_key: 'key',
    url,
    poll_ms: 700,
  })
  const answer = await screen(provider)
  assert.deepEqual([answer.score, answer.blacklist, answer.reference], [36.4, false, 'u-1'])
  assert.deepEqual(answer.shares, [
    { category: 'exchange_licensed', share: 0.6 },
    { category: 'mixer', share: 0.25 },
    { category: 'unidentified', share: 0.05 },
  ])
  assert.deepEqual(waited, [700, 700])
  const first = Object.fromEntries(new URLSearchParams(asked[0]!.body))
  assert.deepEqual(first, {
    hash: ADDRESS,
    asset: 'TRX',
    accessId: 'id',
    locale: 'en_US',
    token: md5(`${ADDRESS}:key:id`),
  })
  assert.equal(asked[1]!.path, '/recheck')
  const again = Object.fromEntries(new URLSearchParams(asked[1]!.body))
  assert.deepEqual(again, { uid: 'u-1', accessId: 'id', token: md5('u-1:key:id') })
  assert.deepEqual(JSON.parse(Buffer.from(answer.body).toString()), AMLBOT_DONE)
})

test('AMLBot is asked about a transaction by hash, address and direction', async (t) => {
  const { url, asked } = await service(t, [{ body: AMLBOT_DONE }])
  const hash = 'ab'.repeat(32)
  await screen(
    amlbot(outside(), { access_id: 'id', access_key: 'key', url }),
    question({ type: 'hash', hash, direction: 'withdrawal' }),
  )
  const form = Object.fromEntries(new URLSearchParams(asked[0]!.body))
  assert.deepEqual(
    [form.hash, form.address, form.direction, form.token],
    [hash, ADDRESS, 'withdrawal', md5(`${hash}:key:id`)],
  )
})

test('what AMLBot says instead of a score is a failure of the kind that fits', async (t) => {
  const of = async (said: ProviderReply) =>
    amlbot(outside(), { access_id: 'id', access_key: 'key', url: (await service(t, [said])).url })
  for (const riskscore of [null, undefined, '', 'high', 36, -1])
    await assert.rejects(
      screen(await of({ body: { result: true, data: { status: 'success', riskscore } } })),
      failsAs('permanent'),
      String(riskscore),
    )
  await assert.rejects(
    screen(await of({ body: { result: false, description: 'Invalid token' } })),
    failsAs('auth'),
  )
  await assert.rejects(
    screen(await of({ body: { result: false, description: 'Insufficient balance' } })),
    failsAs('quota'),
  )
  await assert.rejects(
    screen(await of({ status: 403, type: 'text/html', body: '<html>Attention</html>' })),
    failsAs('auth'),
  )
  await assert.rejects(
    screen(await of({ type: 'text/html', body: '<html>Attention</html>' })),
    failsAs('transient'),
  )
  await assert.rejects(screen(await of({ status: 502, body: 'Bad gateway' })), failsAs('transient'))
  await assert.rejects(screen(await of({ body: '{"result":tru' })), failsAs('transient'))
})

test('MistTrack makes a task, waits while it runs, and its rest is unidentified', async (t) => {
  const { url, asked } = await service(t, [
    {
      body: { success: true, msg: '', data: { has_result: false, scanned_ts: 1, task_id: 't-1' } },
    },
    { body: { success: true, msg: 'TaskUnderRunning' } },
    {
      body: {
        success: true,
        msg: '',
        data: {
          score: 62,
          risk_level: 'Moderate',
          risk_detail: [
            {
              entity: 'x',
              risk_type: 'mixer',
              exposure_type: 'indirect',
              hop_num: 2,
              volume: 1,
              percent: 12.5,
            },
            {
              entity: 'y',
              risk_type: 'sanctioned_entity',
              exposure_type: 'indirect',
              hop_num: 3,
              volume: 1,
              percent: 0.5,
            },
          ],
        },
      },
    },
  ])
  const waited: number[] = []
  const answer = await screen(misttrack(outside(waited), { api_key: 'k', url }))
  assert.deepEqual([answer.score, answer.level, answer.blacklist], [62, 'medium', false])
  assert.deepEqual(answer.shares, [
    { category: 'mixer', share: 0.125 },
    { category: 'sanctions', share: 0.005 },
  ])
  assert.deepEqual(JSON.parse(asked[0]!.body), {
    coin: 'USDT-TRC20',
    address: ADDRESS,
    api_key: 'k',
  })
  assert.equal(asked[1]!.path, '/v3/risk_score_query_task?task_id=t-1&api_key=k')
  assert.equal(waited.length, 2)
})

test('MistTrack says limits and refusals in its messages', async (t) => {
  const of = async (said: ProviderReply) =>
    misttrack(outside(), { api_key: 'k', url: (await service(t, [said])).url })
  const refused = (msg: string, more: object = {}) => of({ body: { success: false, msg, ...more } })
  await assert.rejects(screen(await refused('InvalidApiKey')), failsAs('auth'))
  await assert.rejects(screen(await refused('UnsupportedAddressType')), failsAs('unsupported'))
  await assert.rejects(screen(await refused('ExceededDailyRateLimit')), failsAs('quota'))
  await assert.rejects(screen(await refused('ExceededRateLimit', { retry_after: 2 })), (thrown) => {
    return (
      thrown instanceof ProviderFailure &&
      thrown.kind === 'transient' &&
      thrown.retry_after_ms === 2_000
    )
  })
  await assert.rejects(
    screen(await of({ status: 402, body: { success: false } })),
    failsAs('quota'),
  )
})

test("Chainalysis' list of identifications bars; an empty one is no score", async (t) => {
  const { url, asked } = await service(t, [
    {
      body: {
        identifications: [{ category: 'sanctions', name: 'SDN', description: 'x', url: 'y' }],
      },
    },
    { body: { identifications: [] } },
  ])
  const provider = chainalysis(outside(), { api_key: 'k', url })
  const barred = await screen(provider)
  assert.deepEqual([barred.score, barred.level, barred.blacklist], [100, 'high', true])
  const nothing = await screen(provider)
  assert.deepEqual([nothing.score, nothing.blacklist, nothing.shares], [undefined, false, []])
  assert.equal(asked[0]!.headers['x-api-key'], 'k')
  assert.equal(asked[0]!.path, `/api/v1/address/${ADDRESS}`)
  assert.ok(!provider.covers({ type: 'hash', network: 'TRX' }))
})

test('Chainalysis without a key, or with a wrong one, is a failure of ours', async (t) => {
  const of = async (said: ProviderReply) =>
    chainalysis(outside(), { api_key: '', url: (await service(t, [said])).url })
  await assert.rejects(
    screen(await of({ status: 403, type: 'text/html', body: '<html>Forbidden' })),
    failsAs('auth'),
  )
  await assert.rejects(
    screen(await of({ status: 401, body: { message: 'Invalid API Key' } })),
    failsAs('auth'),
  )
  await assert.rejects(screen(await of({ body: { message: 'ok' } })), failsAs('permanent'))
})

const never = (_ms: number, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason)),
  )

function guardedService(screenOnce: Provider['screen'], now = { ms: 0 }) {
  const waited: number[] = []
  const provider: Provider = { name: 'tested', covers: () => true, screen: screenOnce }
  const guard = guarded(provider, {
    clock: { now: () => new Date(now.ms) },
    // The budget's own wait never ends by itself here; pauses end at once.
    wait: (ms, signal) =>
      ms === 25_000 ? never(ms, signal) : Promise.resolve(void waited.push(ms)),
    chance: () => 0.5,
  })
  return { guard, waited, now }
}

test('an outage is tried again with growing pauses, or when the provider says', async () => {
  let asked = 0
  const { guard, waited } = guardedService(async () => {
    asked += 1
    if (asked === 1) throw new ProviderFailure('transient', 'busy')
    if (asked === 2) throw new ProviderFailure('transient', 'busy', { retry_after_ms: 3_000 })
    return {
      score: 1,
      level: undefined,
      blacklist: false,
      shares: [],
      reference: '',
      body: new Uint8Array(),
    }
  })
  assert.equal((await screen(guard)).score, 1)
  assert.deepEqual(waited, [500, 3_000])
})

test('what cannot be mended is not tried again', async () => {
  let asked = 0
  const { guard } = guardedService(async () => {
    asked += 1
    throw new ProviderFailure('auth', 'no')
  })
  await assert.rejects(screen(guard), failsAs('auth'))
  assert.equal(asked, 1)
})

test('after five failures in a row nothing is asked for half a minute', async () => {
  let asked = 0
  const { guard, now } = guardedService(async () => {
    asked += 1
    throw new ProviderFailure('auth', 'no')
  })
  for (let i = 0; i < 5; i++) await assert.rejects(screen(guard), failsAs('auth'))
  assert.equal(guard.state(), 'open')
  await assert.rejects(screen(guard), failsAs('transient'))
  assert.equal(asked, 5)
  now.ms += 30_001
  await assert.rejects(screen(guard), failsAs('auth'))
  assert.equal(asked, 6)
})

test('a provider that does not answer is given up when the budget is over', async () => {
  let end: () => void = () => {}
  const guard = guarded(
    {
      name: 'slow',
      covers: () => true,
      screen: (_question, signal) => never(0, signal) as Promise<never>,
    },
    {
      clock: { now: () => new Date(0) },
      wait: (_ms, signal) =>
        new Promise<void>((resolve, reject) => {
          end = resolve
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
      chance: () => 0,
    },
  )
  const asked = screen(guard)
  end()
  await assert.rejects(asked, failsAs('transient'))
})

test("MistTrack's unknown words are no level, no category and no match", async (t) => {
  const of = async (more: object) => {
    const data = { score: 50, risk_level: 'High', risk_detail: [], ...more }
    const made = { body: { success: true, data: { has_result: true, task_id: 't' } } }
    const { url } = await service(t, [made, { body: { success: true, msg: '', data } }])
    return misttrack(outside(), { api_key: 'k', url })
  }
  await assert.rejects(screen(await of({ risk_level: 'constructor' })), failsAs('permanent'))
  const detail = (more: object) => ({
    risk_type: 'sanctioned_entity',
    exposure_type: 'direct',
    percent: 5,
    ...more,
  })
  const match = async (hop_num: unknown) =>
    (await screen(await of({ risk_detail: [detail({ hop_num })] }))).blacklist
  assert.deepEqual(await Promise.all([0, '0', null, '', [], 1].map(match)), [
    true,
    true,
    false,
    false,
    false,
    false,
  ])
  const risk_detail = [
    detail({ percent: 1e308 }),
    detail({ risk_type: 'constructor' }),
    detail({ percent: 'much' }),
  ]
  assert.deepEqual((await screen(await of({ risk_detail }))).shares, [
    { category: 'sanctions', share: 1 },
    { category: 'unidentified', share: 0.05 },
  ])
})

test('an answer that is too long is none, and is not read to its end', async (t) => {
  let sent = 0
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const part = Buffer.alloc(1_000_000, ' ')
    const more = () => {
      while (!response.destroyed && sent < 500_000_000) {
        sent += part.length
        if (!response.write(part)) return response.once('drain', more)
      }
      return response.end('{}')
    }
    more()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await assert.rejects(screen(chainalysis(outside(), { api_key: 'k', url })), failsAs('transient'))
  assert.ok(sent < 100_000_000, `${sent} bytes`)
})

test('a pause is taken as it is asked for, and otherwise chosen', () => {
  assert.deepEqual([5, '5', '0.5', 0].map(pauseOf), [5_000, 5_000, 500, 0])
  const senseless = [
    null,
    undefined,
    '',
    ' ',
    '-5',
    -5,
    'soon',
    'Wed, 21 Oct 2026 07:28:00 GMT',
    Infinity,
    [],
    {},
  ]
  assert.ok(senseless.every((one) => pauseOf(one) === undefined))
})

test('a service is tried three times, unless a pause takes all its time', async () => {
  const triedWith = async (retry_after_ms?: number) => {
    let asked = 0
    const { guard, waited } = guardedService(async () => {
      asked += 1
      throw new ProviderFailure('transient', 'busy', { retry_after_ms })
    })
    await assert.rejects(screen(guard), /busy/)
    return [asked, ...waited]
  }
  assert.deepEqual(await triedWith(), [3, 500, 1_000])
  assert.deepEqual(await triedWith(24_999), [3, 24_999, 24_999])
  assert.deepEqual(await triedWith(25_000), [1])
})

test('a service is not tried again for one who has gone', async () => {
  let asked = 0
  const gone = new AbortController()
  const { guard, waited } = guardedService(async () => {
    asked += 1
    gone.abort()
    throw new ProviderFailure('transient', 'busy')
  })
  await assert.rejects(guard.screen(question(), gone.signal), /busy/)
  assert.deepEqual([asked, waited], [1, []])
})

test('the half minute is over at its last instant, and begins with the fifth failure', async () => {
  let asked = 0
  const { guard, now } = guardedService(async () => {
    asked += 1
    throw new ProviderFailure('quota', 'used up')
  })
  const fails = () => assert.rejects(screen(guard), ProviderFailure)
  for (let i = 0; i < 4; i++) await fails()
  assert.equal(guard.state(), 'closed')
  await fails()
  now.ms = 29_999
  assert.equal(guard.state(), 'open')
  await fails()
  assert.equal(asked, 5)
  now.ms = 30_000
  assert.equal(guard.state(), 'closed')
  await fails()
  assert.equal(asked, 6)
})

test('questions without an answer do not make a service one that fails', async () => {
  for (const kind of ['permanent', 'unsupported'] as const) {
    const { guard } = guardedService(async () => {
      throw new ProviderFailure(kind, 'no')
    })
    for (let i = 0; i < 6; i++) await assert.rejects(screen(guard), failsAs(kind))
    assert.equal(guard.state(), 'closed', kind)
  }
})

test('an answer that breaks its reader is none, and is not asked for again', async (t) => {
  // As JSON has it, no text can be made of it.
  const uid = { toString: 1, valueOf: 1 }
  const { url, asked } = await service(t, [{ body: { result: true, data: { riskscore: 0, uid } } }])
  const { screen: ask } = amlbot(outside(), { access_id: 'i', access_key: 'k', url })
  const { guard } = guardedService(ask)
  await assert.rejects(screen(guard), failsAs('permanent'))
  assert.equal(asked.length, 1)
})

test('an answer of two million bytes is read, and of one more is none', async (t) => {
  const answer = (length: number) => '{"identifications":[]}'.padEnd(length)
  const of = async (length: number) => {
    const { url } = await service(t, [{ body: answer(length) }])
    return screen(chainalysis(outside(), { api_key: 'k', url }))
  }
  assert.equal((await of(2_000_000)).body.length, 2_000_000)
  await assert.rejects(of(2_000_001), /longer than 2000000 bytes/)
})
