import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type NameAnswer, startNameServer } from 'penstock-test/harness/name_server.ts'
import { lastGood, nameServers, readHosts, readNameServers, useOwnNames } from './names.ts'

const at = (...addresses: string[]): NameAnswer => ({ addresses: [addresses] })

async function serverOf(t: TestContext, answers: Record<string, NameAnswer>) {
  const server = await startNameServer((name) => answers[name] ?? 'missing')
  t.after(() => server.close())
  return { ...server, answers }
}

test('names are asked of the servers that are named, as often as one asks', async (t) => {
  const { address, asked } = await serverOf(t, {
    'a.example': at('192.0.2.1', '192.0.2.2'),
    'slow.example': { addresses: [['192.0.2.3']], delay_ms: 300 },
    'big.example': at(...Array.from({ length: 200 }, (_, i) => `192.0.2.${i}`)),
  })
  const look = nameServers([address])
  const found = async (name: string) => (await look(name)).map((one) => one.address)
  assert.deepEqual(await found('a.example'), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(await found('a.example'), ['192.0.2.1', '192.0.2.2'])
  assert.equal(asked.get('a.example'), 2)
  assert.deepEqual(await found('slow.example'), ['192.0.2.3'])
  // More than a datagram takes, and more than anybody needs.
  assert.equal((await found('big.example')).length, 32)
  assert.deepEqual(await found('localhost'), ['127.0.0.1', '::1'])
  assert.equal(asked.get('localhost'), undefined)
})

test('a name without an answer is an error in the words of the system', async (t) => {
  const { address } = await serverOf(t, { 'fails.example': 'fails', 'silent.example': 'silent' })
  const look = nameServers([address])
  await assert.rejects(look('gone.example'), { code: 'ENOTFOUND', hostname: 'gone.example' })
  await assert.rejects(look('fails.example'), { code: 'EAI_AGAIN' })
  // It ends by itself: nobody else would end it.
  await assert.rejects(look('silent.example'), { code: 'EAI_AGAIN' })
})

test('the last good address is used when a look-up fails, and while it takes long', async () => {
  const good: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }]
  let answer: () => Promise<LookupAddress[]> = async () => good
  let looks = 0
  const look = lastGood(
    () => {
      looks += 1
      return answer()
    },
    20,
    0,
  )
  answer = () => Promise.reject(new Error('no server'))
  await assert.rejects(look('node.example'), /no server/)
  answer = async () => good
  assert.deepEqual(await look('node.example'), good)
  answer = () => Promise.reject(new Error('no server'))
  assert.deepEqual(await look('node.example'), good)
  answer = async () => good
  assert.deepEqual(await look('node.example'), good)
  await new Promise(setImmediate)
  let tell: (addresses: LookupAddress[]) => void = () => {}
  answer = () =>
    new Promise((resolve) => {
      tell = resolve
    })
  looks = 0
  const waiting = [look('node.example'), look('node.example'), look('node.example')]
  assert.deepEqual(await Promise.all(waiting), [good, good, good])
  assert.equal(looks, 1, 'one look-up of a name at a time')
  const at_once = look('node.example').then(() => 'at once')
  const later = new Promise((resolve) => setImmediate(resolve, 'later'))
  assert.equal(await Promise.race([at_once, later]), 'at once', 'nobody waits for it again')
  const moved: LookupAddress[] = [{ address: '192.0.2.9', family: 4 }]
  tell(moved)
  answer = () => Promise.reject(new Error('no server'))
  await new Promise(setImmediate)
  assert.deepEqual(await look('node.example'), moved)
})

test('whatever library connects, its names are looked up with patience', async (t) => {
  const { address, answers } = await serverOf(t, { 'node.example': at('127.0.0.1') })
  const web = createServer((_request, response) => response.end('here'))
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  const { port } = web.address() as AddressInfo
  const restore = useOwnNames([address], 50)
  t.after(() => {
    restore()
    web.closeAllConnections()
    web.close()
  })
  const read = async () => {
    const answer = await fetch(`http://node.example:${port}/`, { headers: { connection: 'close' } })
    return answer.text()
  }
  const dial = async () => {
    const socket = connect({ port, host: 'node.example' })
    await once(socket, 'connect')
    socket.destroy()
  }
  assert.equal(await read(), 'here')
  for (const wrong of ['silent', 'fails', 'missing'] as const) {
    answers['node.example'] = wrong
    assert.equal(await read(), 'here', wrong)
    await dial()
  }
  await assert.rejects(fetch(`http://other.example:${port}/`), ({ cause }: Error) => {
    assert.equal((cause as NodeJS.ErrnoException).code, 'ENOTFOUND')
    return true
  })
})

test('a hosts file and a list of servers are read as they are written', () => {
  const text = '127.0.0.1 localhost\n10.0.0.7  Node.House node # ours\n# x\n::1 node\nno address\n'
  assert.deepEqual(
    [...readHosts(text)],
    [
      ['localhost', [{ address: '127.0.0.1', family: 4 }]],
      ['node.house', [{ address: '10.0.0.7', family: 4 }]],
      [
        'node',
        [
          { address: '10.0.0.7', family: 4 },
          { address: '::1', family: 6 },
        ],
      ],
    ],
  )
  assert.deepEqual(readNameServers('192.0.2.1, 127.0.0.1:5353'), ['192.0.2.1', '127.0.0.1:5353'])
  assert.equal(readNameServers('dns.example'), undefined)
})

test('addresses that were good lately are used at once, and looked up meanwhile', async () => {
  const first: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }]
  const moved: LookupAddress[] = [{ address: '192.0.2.9', family: 4 }]
  const answers: ((addresses: LookupAddress[]) => void)[] = []
  const look = lastGood(() => new Promise((resolve) => answers.push(resolve)), 60_000)
  const asked = look('db.example')
  answers[0]!(first)
  assert.deepEqual(await asked, first)
  await new Promise(setImmediate)
  // Its server is silent, and no caller waits for it.
  assert.deepEqual(await Promise.all([look('db.example'), look('db.example')]), [first, first])
  assert.equal(answers.length, 2)
  answers[1]!(moved)
  await new Promise(setImmediate)
  assert.deepEqual(await look('db.example'), moved)
})
