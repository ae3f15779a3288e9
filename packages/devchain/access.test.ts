import assert from 'node:assert/strict'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { after, test } from 'node:test'
import { type Access, isControl, refusalOf } from './access.ts'
import { type RunningDevchain, type ServeOptions, startDevchain } from './serve.ts'

const started: RunningDevchain[] = []
after(() => Promise.all(started.map((served) => served.close())))

async function start(options: ServeOptions = {}): Promise<RunningDevchain> {
  const served = await startDevchain({ block_time_seconds: 0, ...options })
  started.push(served)
  return served
}

type TestRequest = { method?: string; path: string; headers?: { [name: string]: string } }

/** A server's answer; `Origin` and `Host` are set as a browser would set them. */
function ask({ url }: { url: string }, { method = 'POST', path, headers = {} }: TestRequest) {
  type TestAnswer = { status: number; headers: { [name: string]: unknown }; body: string }
  return new Promise<TestAnswer>((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => {
        resolve({ status: response.statusCode!, headers: response.headers, body })
      })
    })
    asked.on('error', reject)
    asked.end(method === 'POST' ? '{}' : '')
  })
}

const evil = 'https://evil.example'
const controls = [
  { path: '/devchain/mine' },
  { path: '/devchain/state' },
  { path: '/tre' },
  { path: '/tre?x' },
  { path: '/admin/accounts-json', method: 'GET' },
  { path: '/admin/temporary-accounts-generation', method: 'GET' },
]

test('a page of another origin uses the node, and none of its controls', async () => {
  const served = await start()
  const { number } = served.chain.head.header
  for (const control of controls) {
    const got = await ask(served, { ...control, headers: { origin: evil } })
    assert.equal(got.status, 403, control.path)
    assert.equal(got.headers['access-control-allow-origin'], undefined, control.path)
    assert.match(got.body, /not for pages of https:\/\/evil\.example/)
    assert.equal((await ask(served, { ...control, headers: { origin: 'null' } })).status, 403)
  }
  assert.equal(served.chain.head.header.number, number)
  for (const path of [
    '/wallet/getnowblock',
    '/walletsolidity/getnowblock',
    '/v1/blocks/latest/events',
  ]) {
    const got = await ask(served, { path, method: 'GET', headers: { origin: evil } })
    assert.deepEqual([got.status, got.headers['access-control-allow-origin']], [200, '*'], path)
  }
})

test('a browser that asks first is told so', async () => {
  const served = await start()
  const preflight = (path: string, asked = 'content-type,tron-pro-api-key') =>
    ask(served, {
      path,
      method: 'OPTIONS',
      headers: { origin: evil, 'access-control-request-headers': asked },
    })
  const node = await preflight('/wallet/broadcasttransaction')
  assert.equal(node.status, 204)
  assert.equal(node.headers['access-control-allow-origin'], '*')
  assert.equal(node.headers['access-control-allow-headers'], 'content-type,tron-pro-api-key')
  const odd = await preflight('/wallet/getnowblock', 'x: y')
  assert.equal(odd.headers['access-control-allow-headers'], 'content-type')
  const control = await preflight('/devchain/fund')
  assert.equal(control.status, 403)
  assert.equal(control.headers['access-control-allow-origin'], undefined)
})

test('a name that some domain points here is refused, and scripts are not', async () => {
  const served = await start()
  const rebound = { host: 'evil.example:8090' }
  const keys = { path: '/admin/accounts-json', method: 'GET' }
  assert.equal((await ask(served, { ...keys, headers: rebound })).status, 403)
  const same = { ...rebound, origin: 'http://evil.example:8090' }
  assert.equal((await ask(served, { path: '/devchain/mine', headers: same })).status, 403)
  for (const host of ['localhost:8090', '127.0.0.1', '[::1]:8090', 'devchain:8090']) {
    assert.equal((await ask(served, { ...keys, headers: { host } })).status, 200, host)
    const own = { host, origin: `http://${host}` }
    assert.equal((await ask(served, { path: '/devchain/mine', headers: own })).status, 200, host)
  }
  const cluster = { host: 'chain.test.svc' }
  assert.equal((await ask(served, { path: '/devchain/mine', headers: cluster })).status, 200)
})

test('an origin that is named may use the controls from its pages', async () => {
  const served = await start({ control_origins: ['http://localhost:5173'] })
  const headers = { origin: 'http://localhost:5173' }
  const mined = await ask(served, { path: '/devchain/mine', headers })
  assert.deepEqual(
    [mined.status, mined.headers['access-control-allow-origin']],
    [200, 'http://localhost:5173'],
  )
  assert.equal(
    (await ask(served, { path: '/devchain/mine', headers: { origin: evil } })).status,
    403,
  )
})

test('where others reach the chain its controls are off, unless they are asked for', async () => {
  const served = await start({ host: '0.0.0.0' })
  const { port } = new URL(served.url)
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address
  for (const host of ['127.0.0.1', outside ?? '127.0.0.1']) {
    const url = `http://${host}:${port}`
    for (const control of controls) {
      const got = await ask({ url }, control)
      assert.equal(got.status, 403)
      assert.match(got.body, /--allow-control/)
    }
    assert.equal((await ask({ url }, { path: '/wallet/getnowblock' })).status, 200)
  }
  const open = await start({ host: '0.0.0.0', allow_control: true })
  const url = `http://127.0.0.1:${new URL(open.url).port}`
  assert.equal((await ask({ url }, { path: '/devchain/mine' })).status, 200)
  assert.equal(
    (await ask({ url }, { path: '/devchain/mine', headers: { origin: evil } })).status,
    403,
  )
})

test('what counts as this machine, and what as a control', () => {
  const refused = (access: Partial<Access>) => {
    const all = { host: '127.0.0.1', allow_control: false, control_origins: [], ...access }
    return refusalOf(all, { method: 'POST', url: '/devchain/mine', headers: {} }) !== undefined
  }
  for (const host of ['127.0.0.1', '127.8.0.1', 'localhost', '::1'])
    assert.equal(refused({ host }), false, host)
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '127.evil.example', 'example.org']) {
    assert.equal(refused({ host }), true, host)
    assert.equal(refused({ host, allow_control: true }), false, host)
  }
  assert.ok(!isControl('/wallet/getnowblock') && !isControl('/trex'))
})

test('an idle connection is kept for longer than clients keep it', async () => {
  const served = await start()
  const response = await fetch(`${served.url}/wallet/getnowblock`)
  assert.match(response.headers.get('keep-alive')!, /timeout=72/)
})
