import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Outage } from '../../lib/fault.ts'
import { httpDownload, limited } from './lists.ts'
import { readOperatorTable } from './tables.ts'
import { readTagPack } from './tagpacks.ts'

/** A publisher on this machine, which sends on as it is told. */
async function publisher(
  t: TestContext,
  answers: Record<string, { location?: string; text?: string; status?: number; length?: false }>,
): Promise<string> {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''] ?? {}
    const { location, text = '', status = location === undefined ? 200 : 302 } = answer
    response.writeHead(status, {
      ...(location !== undefined && { location }),
      ...(answer.length !== false && { 'content-length': text.length }),
    })
    response.end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function textOf(url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of (await httpDownload(url)).bytes) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test("a publisher's redirects are followed, but not out of https, and not for ever", async (t) => {
  const url = await publisher(t, {
    '/list': { text: 'entries' },
    '/moved': { location: '/list' },
    '/clear': { location: 'http://publisher.example/list?key=SECRET' },
    '/file': { location: 'file:///etc/passwd' },
    '/nothing': { location: 'http://' },
    '/round': { location: '/round' },
  })
  assert.equal(await textOf(`${url}/moved`), 'entries')
  for (const path of ['/clear', '/file', '/nothing', '/round']) {
    await assert.rejects(httpDownload(url + path), (thrown) => {
      assert.ok(thrown instanceof Outage && !thrown.message.includes('SECRET'), String(thrown))
      return true
    })
  }
  await assert.rejects(
    httpDownload('http://publisher.example/list'),
    /publisher\.example is not asked over https/,
  )
})

test('a publisher sends on by a status of 300 to 399, five times', async (t) => {
  const url = await publisher(t, {
    '/list': { text: 'entries' },
    '/299': { status: 299, location: '/list', text: 'itself' },
    '/300': { status: 300, location: '/list' },
    '/399': { status: 399, location: '/list' },
    '/400': { status: 400, location: '/list' },
    '/304': { status: 304 },
    '/404': { status: 404, text: 'entries' },
    ...Object.fromEntries(
      Array.from({ length: 6 }, (_, i) => [
        `/hop${i + 1}`,
        { location: i === 0 ? '/list' : `/hop${i}` },
      ]),
    ),
  })
  const refused = (path: string, why: RegExp) => assert.rejects(textOf(url + path), why)
  assert.equal(await textOf(`${url}/299`), 'itself')
  assert.equal(await textOf(`${url}/300`), 'entries')
  assert.equal(await textOf(`${url}/399`), 'entries')
  await refused('/400', /answers with HTTP 400/)
  await refused('/304', /answers with HTTP 304/)
  await refused('/404', /answers with HTTP 404/)
  assert.equal(await textOf(`${url}/hop5`), 'entries')
  await refused('/hop6', /sends us on more than 5 times/)
})

test('how long a list is, is known when its publisher says so', async (t) => {
  const url = await publisher(t, {
    '/said': { text: 'four' },
    '/not': { text: 'x', length: false },
  })
  assert.equal((await httpDownload(`${url}/said`)).bytes_expected, 4)
  assert.equal((await httpDownload(`${url}/not`)).bytes_expected, undefined)
})

test('a publisher is asked in the clear on this machine alone', async () => {
  for (const url of ['ftp://127.0.0.1/list', 'http://127.0.0.1.example/list'])
    await assert.rejects(httpDownload(url), /is not asked over https/, url)
  await assert.rejects(httpDownload('no address'), /no address/)
})

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}

async function* endless(text: string) {
  for (const chunk = Buffer.from(text.repeat(1_000)); ; ) yield chunk
}

test('no more is read of a list than a list can have', async () => {
  const read = async (max: number) => {
    for await (const _chunk of limited(chunks('abc', 'def'), max, 'it'));
  }
  await read(6)
  await assert.rejects(read(5), /it sends more than 5 bytes/)
  await assert.rejects(
    readTagPack(endless('- tag: some text\n')),
    /more than 32 million characters/,
  )
  await assert.rejects(
    readOperatorTable(endless('one field without an end ')),
    /longer than any record/,
  )
})
