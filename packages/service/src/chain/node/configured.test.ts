import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readConfig } from '../../config.ts'
import { chainView } from '../../health/books/chain.ts'
import { Misuse } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'
import { nodesOf } from './configured.ts'
import { tronNode } from './node.ts'
import { isDatabasePrivate } from './plaintext.ts'

const named = (...urls: string[]) => urls.flatMap((url) => ['--node-url', url])
const keyOf = (key: string) => ({ headers: { 'TRON-PRO-API-KEY': key } })

async function nodesFile(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-nodes-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'nodes.json')
  await writeFile(file, text, { mode: 0o600 })
  return file
}

test('a key goes to the first node and to others on its host, and to no other operator', () => {
  const args = named('https://a.example', 'https://b.example', 'https://a.example/two')
  const { nodes } = readConfig(args, { PENSTOCK_NODE_API_KEY: 'k' })
  assert.deepEqual(nodes, [
    { url: 'https://a.example', ...keyOf('k') },
    { url: 'https://b.example' },
    { url: 'https://a.example/two', ...keyOf('k') },
  ])
})

test('an address with what no request would carry is refused, and not repeated', async (t) => {
  const odd = [
    'https://u:secret@a.example',
    'https://:secret@a.example',
    'https://a.example?secret',
    'https://a.example/#secret',
  ]
  for (const url of odd) {
    const file = await nodesFile(t, JSON.stringify([{ url: 'https://b.example', solid_url: url }]))
    for (const read of [
      () => readConfig(named(url), {}),
      () => readConfig([], { PENSTOCK_NODES: file }),
    ])
      assert.throws(read, (thrown: Misuse) => {
        assert.match(thrown.message, /^The address of node a\.example has a user name/)
        return !thrown.message.includes('secret')
      })
  }
})

test('each node has an address of its solid side, or none has', () => {
  const [a, b] = ['https://a.example', 'https://b.example']
  const read = (solid_urls: string[]) => nodesOf({ node_urls: [a, b], solid_urls, prefix: 'read-' })
  assert.deepEqual(read([]), [{ url: a }, { url: b }])
  assert.deepEqual(read([b, a]), [
    { url: a, solid_url: b },
    { url: b, solid_url: a },
  ])
  for (const solid_urls of [[a], [a, b, a]])
    assert.throws(
      () => read(solid_urls),
      (thrown) =>
        thrown instanceof Misuse && /^--read-solid-node-url is given once/.test(thrown.message),
    )
})

test('a list of keys gives each node its own, or none', () => {
  const args = named('https://a.example', 'https://b.example', 'https://c.example')
  const { nodes } = readConfig(args, { PENSTOCK_NODE_API_KEYS: 'one, ,three' })
  assert.deepEqual(
    nodes?.map(({ headers }) => headers?.['TRON-PRO-API-KEY']),
    ['one', undefined, 'three'],
  )
  assert.throws(
    () => readConfig(args, { PENSTOCK_NODE_API_KEYS: 'one,two' }),
    /one key for each --node-url/,
  )
  assert.throws(
    () => readConfig(args, { PENSTOCK_NODE_API_KEYS: 'a,b,c', PENSTOCK_NODE_API_KEY: 'a' }),
    /set one/,
  )
})

test('a list of keys is for nodes that are named: those of a file have their own', async (t) => {
  const file = await nodesFile(t, JSON.stringify([{ url: 'https://a.example', api_key: 'own' }]))
  const keys = { PENSTOCK_NODE_API_KEYS: 'one,two' }
  const { nodes } = readConfig([], { ...keys, PENSTOCK_NODES: file })
  assert.deepEqual(nodes, [{ url: 'https://a.example', ...keyOf('own') }])
})

test('nodes may be in a file only its owner can read, so that no key is an argument', async (t) => {
  const list = [
    { url: 'https://a.example/KEY', api_key: 'k' },
    { url: 'https://b.example', solid_url: 'https://c.example' },
  ]
  const file = await nodesFile(t, JSON.stringify(list))
  const read = () => readConfig([], { PENSTOCK_NODES: file }).nodes
  assert.deepEqual(read(), [{ url: 'https://a.example/KEY', ...keyOf('k') }, list[1]])
  assert.deepEqual(readConfig(named('https://d.example'), { PENSTOCK_NODES: file }).nodes, [
    { url: 'https://d.example' },
  ])
  await chmod(file, 0o640)
  assert.throws(read, /chmod 600/)
})

test('what is wrong with a file of nodes is one sentence that shows no address', async (t) => {
  const wrong = [
    '',
    '{}',
    '[]',
    '[1]',
    '[{"url":"ftp://KEY"}]',
    '[{"url":"https://a","api_key":5}]',
    '[{"uri":"KEY"}]',
  ]
  for (const text of [...wrong, '[{"url":"https://a.example","solid_url":"KEY"}]']) {
    const file = await nodesFile(t, text)
    assert.throws(
      () => readConfig([], { PENSTOCK_NODES: file }),
      (thrown) =>
        thrown instanceof Misuse &&
        /^[^\n]+\.$/.test(thrown.message) &&
        !thrown.message.includes('KEY'),
      text,
    )
  }
  assert.throws(() => readConfig([], { PENSTOCK_NODES: '/nothing/there' }), /cannot be read/)
})

test('a node on another machine is asked over TLS, or that is allowed and told', () => {
  const clear = named('https://a.example', 'http://10.0.0.5:8090')
  assert.throws(() => readConfig(clear, {}), /10\.0\.0\.5:8090.*PENSTOCK_ALLOW_HTTP_NODES=yes/)
  const allowed = readConfig(clear, { PENSTOCK_ALLOW_HTTP_NODES: 'yes' })
  assert.deepEqual(allowed.loosened, ['PENSTOCK_ALLOW_HTTP_NODES'])
  const solid = [...named('https://a.example'), '--solid-node-url', 'http://a.example:8091']
  assert.throws(() => readConfig(solid, {}), Misuse)
  for (const url of [
    'http://127.0.0.1:8090',
    'http://localhost:8090',
    'http://[::1]:8090',
    'https://a.example',
  ])
    assert.deepEqual(readConfig(named(url), { PENSTOCK_ALLOW_HTTP_NODES: 'yes' }).loosened, [], url)
})

test('this machine is known by its names and addresses, and not by what looks like them', () => {
  for (const host of [
    'localhost',
    'LOCALHOST',
    'x.localhost',
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '[::1]',
  ])
    assert.ok(isLoopback(host), host)
  for (const host of [
    '127.0.0.1.example',
    'localhost.example',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '128.0.0.1',
    '',
  ])
    assert.ok(!isLoopback(host), host)
})

const PRIVATE: [url: string, env?: NodeJS.ProcessEnv][] = [
  ['postgres://u:p@127.0.0.1/x'],
  ['postgres://u:p@localhost:5433/x?sslmode=disable'],
  ['postgres:///x?host=/var/run/postgresql'],
  ['postgres://u:p@/x'],
  ['postgres://u:p@db.example/x?sslmode=verify-full'],
  ['postgres://u:p@db.example/x?sslmode=verify-ca&sslrootcert=/ca.pem'],
  ['postgres://u:p@db.example/x', { PGSSLMODE: 'verify-full' }],
]
const OPEN: [url: string, env?: NodeJS.ProcessEnv][] = [
  ['postgres://u:p@db.example/x'],
  ['postgres://u:p@10.0.0.1/x'],
  ['postgres://u:p@db.example/x?sslmode=require'],
  ['postgres://u:p@db.example/x?sslmode=no-verify'],
  ['postgres://u:p@db.example/x?sslmode=verify-ca'],
  ['postgres://u:p@db.example/x?uselibpqcompat=true&sslmode=require'],
  ['postgres://u:p@localhost/x?host=db.example'],
  ['postgres://u:p@/x', { PGHOST: 'db.example' }],
  ['postgres://u:p@/x?host=db.example'],
  ['postgres://u:p@db.example/x?host='],
  ['postgres://u:p@localhost/x?host=localhost&host=db.example'],
  ['postgres://u:p@db.example/x?sslmode=verify-full&sslmode=disable'],
  ['postgres://u:p@db.example/x?sslmode=verify-full', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }],
]

test('a database on another machine has its certificate checked, or is allowed by name', () => {
  for (const [url, env = {}] of PRIVATE) assert.ok(isDatabasePrivate(url, env), url)
  for (const [DATABASE_URL, more = {}] of OPEN) {
    const env = { DATABASE_URL, ...more }
    assert.ok(!isDatabasePrivate(DATABASE_URL, env), DATABASE_URL)
    assert.throws(
      () => readConfig([], env),
      (thrown) =>
        thrown instanceof Misuse &&
        /verify-full/.test(thrown.message) &&
        !thrown.message.includes('u:p'),
      DATABASE_URL,
    )
    const allowed = readConfig([], { ...env, PENSTOCK_ALLOW_UNVERIFIED_DATABASE: 'yes' })
    assert.deepEqual(allowed.loosened, ['PENSTOCK_ALLOW_UNVERIFIED_DATABASE'])
  }
})

test('a failing node is named by its host: its key is in no sentence', async () => {
  const nodes = [{ url: 'https://user:KEY@a.example/KEY', solid_url: 'https://b.example/KEY/' }]
  for (const answer of [
    undefined,
    { status: 500, body: '' },
    { status: 200, body: '{"Error":"no"}' },
  ]) {
    const transport = async () => answer ?? Promise.reject(new Error('connection refused'))
    const node = tronNode({ nodes, transport })
    const view = chainView(nodes, transport)
    const sentences = [
      ...(
        await Promise.allSettled([node.head(), node.solidHead(), view.ask('/wallet/getblock', {})])
      ).map((one) => (one.status === 'rejected' ? String(one.reason.message) : 'it answered')),
      ...(await node.broadcast(new Uint8Array([1]))).map(({ said }) => said),
    ]
    for (const sentence of sentences) assert.match(sentence, /^(no answer: )?node [ab]\.example/)
    assert.ok(!sentences.join().includes('KEY'), sentences.join())
  }
})
