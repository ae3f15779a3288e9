import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, isIP, type Socket } from 'node:net'
import { test } from 'node:test'
import { Fault } from '../../lib/fault.ts'
import type { Resolve } from '../../platform/names/customers_names.ts'
import { webhookCaller } from './caller.ts'
import { mayCall, readTarget } from './targets.ts'

const PUBLIC = ['8.8.8.8', '1.1.1.1', '198.51.99.1', '2606:4700::1111', '2a00:1450:4001:80e::200e']

/** Special-purpose ranges of both families, and ways of hiding IPv4 inside IPv6. */
const SPECIAL = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.254',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1',
  '192.0.0.8',
  '192.0.0.170',
  '192.0.2.1',
  '192.31.196.1',
  '192.52.193.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.254',
  '192.175.48.1',
  '198.18.0.1',
  '198.19.255.254',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::2',
  '::127.0.0.1',
  '::10.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:7f00:1',
  '0:0:0:0:0:ffff:192.168.1.1',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::a00:1',
  '64:ff9b:1::1',
  '64:ff9b:1:ffff::8.8.8.8',
  '100::1',
  '100:0:0:1::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:80ff:fffe',
  '2001:2::1',
  '2001:3::1',
  '2001:4:112::1',
  '2001:10::1',
  '2001:20::1',
  '2001:30::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:a00:1::1',
  '2002:c0a8:101::1',
  '2002:a9fe:a9fe::1',
  '2620:4f:8000::1',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd12:3456:789a::1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff00::1',
  'ff02::1',
  'ff0e::1',
]

test('public addresses may be called, and none of the special ranges', () => {
  for (const address of PUBLIC) assert.equal(mayCall(address, []), true, address)
  for (const address of SPECIAL) assert.equal(mayCall(address, []), false, address)
  for (const text of ['', 'localhost', '127.1', '0x7f000001', '2130706433', '::g', '1.2.3.4.5'])
    assert.equal(mayCall(text, []), false, text)
})

test('an allowance opens its network and no other', () => {
  assert.equal(mayCall('10.1.2.3', ['10.1.0.0/16']), true)
  assert.equal(mayCall('10.2.2.3', ['10.1.0.0/16']), false)
  assert.equal(mayCall('::ffff:10.1.2.3', ['10.1.0.0/16']), true)
  assert.equal(mayCall('127.0.0.1', ['127.0.0.1']), true)
  assert.equal(mayCall('127.0.0.2', ['127.0.0.1']), false)
  assert.equal(mayCall('fd00::1', ['fd00::/8']), true)
  assert.equal(mayCall('fe80::1', ['fd00::/8']), false)
})

/** Every way of writing 127.0.0.1 in a URL that parsers know, and what else a URL can hide. */
const HOSTILE = [
  ...SPECIAL.map((one) => `https://${one.includes(':') ? `[${one}]` : one}/`),
  ...[
    '127.1',
    '127.0.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
  ].map((host) => `https://${host}/`),
  ...['0', '0x0', '00000000', '1', '4294967295', '0x7f.1', '127.0.0.1.', '10.1', '192.168.1'].map(
    (host) => `https://${host}/`,
  ),
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://a.localhost/',
  'https://service/',
  'https://service.local/',
  'https://metadata.internal/',
  'https://printer.lan/',
  'https://x.home.arpa/',
  'https://x.onion/',
  'https://x.test/',
  'https://x.invalid/',
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'ws://example.com/',
  'wss://example.com/',
  '//example.com/',
  'example.com',
  '',
  'https://',
  'https:///path',
  'https://user@example.com/',
  'https://user:password@example.com/',
  'https://example.com@127.0.0.1/',
  'https://example.com#@127.0.0.1/',
  'https://example.com/#fragment',
  'https://example.com\\@127.0.0.1/',
  'https:\\\\127.0.0.1\\',
  ' https://example.com/',
  'https://example.com/ ',
  'https://exa mple.com/',
  'https://exam\tple.com/',
  'https://example.com/\r\nHost: x',
  'https://example.com/\u0000',
  'https://example.com:0/',
  'https://example.com:1/',
  'https://example.com:22/',
  'https://example.com:25/',
  'https://example.com:80/',
  'https://example.com:1023/',
  'https://example.com:65536/',
  'https://[::1]:443/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:127.0.0.1]:8443/',
  'https://[fe80::1%25eth0]/',
  `https://example.com/${'a'.repeat(512)}`,
  'https://us.penstock.example/hook',
]

test('a URL that must never be called is refused when it is given', () => {
  assert.ok(HOSTILE.length >= 140, `${HOSTILE.length}`)
  for (const text of HOSTILE) {
    const rules = { networks: [], own_host: 'us.penstock.example' }
    assert.throws(
      () => readTarget(text, rules),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === 75,
      text,
    )
  }
})

/** Names whose answers must not be called, alone and beside one that may be. */
const ANSWERS = SPECIAL.flatMap((one) => [[one], ['8.8.8.8', one], [one, '2606:4700::1111']])

/** Calls as the service does: a URL that is refused is not called. */
async function callOf(url: string, rules: { networks: string[] }, resolve: Resolve) {
  const caller = webhookCaller(resolve)
  try {
    const headers = { 'content-type': 'application/json' }
    const { networks } = rules
    const call = { url: readTarget(url, rules), body: '{}', headers, networks, customer_id: 'anna' }
    const { error, status } = await caller.call(call)
    return error ?? status
  } catch {
    return 'refused'
  } finally {
    caller.close()
  }
}

test('for none of 300 hostile URLs and names is a connection begun', async (t) => {
  const begun: string[] = []
  const count = (message: unknown) =>
    (message as { socket: Socket }).socket.on('connectionAttempt', (ip) => begun.push(ip))
  subscribe('net.client.socket', count)
  t.after(() => unsubscribe('net.client.socket', count))
  const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const named = (addresses: readonly string[]): Resolve => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }))
    return async () => all
  }
  const anything = named(['127.0.0.1'])
  for (const url of HOSTILE) {
    const outcome = await callOf(url, { networks: [] }, anything)
    assert.ok(outcome === 'refused' || outcome === 'address', `${url} ${outcome}`)
  }
  for (const answers of ANSWERS) {
    // An allowance for another network opens none of them, over https or without.
    for (const url of ['https://hook.example/', `http://hook.example:${port}/`]) {
      const rules = { networks: ['192.0.3.0/24'] }
      assert.equal(await callOf(url, rules, named(answers)), 'address', `${url} ${answers}`)
    }
  }
  // Plain http goes to what was allowed and nowhere else.
  const rules = { networks: ['127.0.0.0/8'] }
  const plain = `http://hook.example:${port}/`
  assert.equal(await callOf(plain, rules, named(['8.8.8.8'])), 'address')
  assert.deepEqual(begun, [])
  assert.ok(HOSTILE.length + ANSWERS.length >= 300, `${HOSTILE.length + ANSWERS.length}`)
  assert.equal(await callOf(plain, rules, anything), 200, 'and one that may be called is')
  assert.deepEqual(begun, ['127.0.0.1'])
})

test('a public URL is taken as it is', () => {
  for (const text of [
    'https://example.com/hook',
    'https://example.com:443/hook?a=b',
    'https://example.com:8443/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]:4433/',
    'https://bücher.example/',
  ])
    assert.ok(readTarget(text, { networks: [] }) instanceof URL, text)
})

test('with an allowance plain http and its addresses may be called, and still no others', () => {
  const rules = { networks: ['127.0.0.0/8'] }
  assert.ok(readTarget('http://127.0.0.1:3000/hook', rules))
  assert.ok(readTarget('http://localhost:3000/hook', rules))
  assert.throws(() => readTarget('http://10.0.0.1/', rules), { code: 75 })
  // No bare name leads to this machine; into a private network one may.
  assert.throws(() => readTarget('http://x/', rules), { code: 75, key: 'url_refused.address' })
  assert.ok(readTarget('http://receiver/', { networks: ['10.1.0.0/16'] }))
  assert.throws(() => readTarget('http://user@127.0.0.1/', rules), { code: 75 })
})
