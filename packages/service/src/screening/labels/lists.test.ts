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
  answers: Record<string, { location?: string; text?: string }>,
): Promise<string> {
  const server = createServer((request, response) => {
    const { location, text = '' } = answers[request.url ?? ''] ?? {}
    response
      .writeHead(location === undefined ? 200 : 302, location === undefined ? {} : { location })
      .end(text)
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
