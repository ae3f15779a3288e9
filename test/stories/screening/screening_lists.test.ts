// Lists as their publishers give them: fetched over HTTP at the command line and by schedule, and
// the largest of them in its real size.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { findOperation, readArguments } from 'penstock-service/operators/command_line/arguments.ts'
import { OPERATIONS } from 'penstock-service/operators/operations.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { httpDownload, refreshStep } from 'penstock-service/screening/labels/lists.ts'
import { addressFromBytes } from 'penstock-tron/address.ts'
import { quietOperator } from '../../harness/operator.ts'

const address = (n: number) =>
  addressFromBytes(
    Uint8Array.of(0x41, ...createHash('sha256').update(`listed ${n}`).digest().subarray(0, 20)),
  )

type Page = (request: IncomingMessage, response: ServerResponse) => void

async function publisher(t: TestContext, page: Page): Promise<string> {
  const server = createServer((request, response) => page(request, response))
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type LoadReply = {
  list: string
  label_set: number
  entries: number
  added: number
  removed: number
  changed: boolean
}

test('a list is fetched, kept in every version, compared, and fetched on schedule', async (t) => {
  const operator = await quietOperator(t)
  const { sql, json, type, io } = operator
  let content = `order,address\n1,${address(1)}\n2,${address(2)}\n`
  let status = 200
  let asked = 0
  const url = await publisher(t, (_request, response) => {
    asked += 1
    response.writeHead(status, { 'content-length': Buffer.byteLength(content) }).end(content)
  })
  assert.match((await type('lists', 'update', 'nbctf')).err, /has no address to load it from/)
  assert.match((await type('lists', 'update')).err, /none has been loaded yet/)
  await json('lists', 'schedule', 'nbctf', '--url', `${url}/list.csv`)
  const lines: string[] = []
  io.progress = (line) => lines.push(line)
  const [first] = await json<LoadReply[]>('lists', 'update', 'nbctf')
  assert.deepEqual(
    [first!.entries, first!.added, first!.label_set, first!.changed],
    [2, 2, 1, true],
  )
  assert.ok(
    lines.some((line) => line.startsWith('nbctf [##############################] 100 %')),
    lines.join('\n'),
  )
  assert.equal(lines.at(-1), '', 'the bar is gone in the end')
  assert.match((await type('lists', 'update')).out, /No change/)

  content = `order,address\n2,${address(2)}\n3,${address(3)}\n`
  await json('lists', 'schedule', 'nbctf', '--hours', '24')
  const clock = { now: () => new Date(Date.now() + 25 * 3_600_000) }
  await drain([refreshStep({ sql, clock, download: httpDownload })])
  assert.equal(asked, 3)
  const changes = await json<{ change: string; address: string }[]>('lists', 'diff', '1', '2')
  assert.deepEqual(
    changes.map(({ change, address }) => `${change} ${address}`).sort(),
    [`added ${address(3)}`, `removed ${address(1)}`].sort(),
  )
  assert.deepEqual(await json('lists', 'diff', '2'), [])
  assert.equal(
    (await type('lists', 'diff', '7')).err,
    'There is no label set 7; the newest is 2.\n',
  )
  const versions = await json<{ loaded_by: string; first_set: number; last_set: number }[]>(
    'lists',
    'show',
    'nbctf',
  )
  assert.deepEqual(
    versions.map(({ loaded_by, first_set, last_set }) => [loaded_by, first_set, last_set]),
    [
      ['schedule', 2, 2],
      ['ops', 1, 1],
    ],
  )
  status = 503
  assert.match((await type('lists', 'update', 'nbctf')).err, /does not answer: .*HTTP 503/)
  content = 'not, a list'
  await assert.rejects(
    drain([
      refreshStep({
        sql,
        clock: { now: () => new Date(Date.now() + 99 * 3_600_000) },
        download: httpDownload,
      }),
    ]),
    /503/,
  )
  await json('lists', 'schedule', 'nbctf', '--off')
  const actions = await json<{ action: string }[]>('actions', 'list', '--subject', 'list')
  assert.deepEqual(actions.map(({ action }) => action).reverse(), [
    'lists schedule',
    'lists update',
    'lists schedule',
    'lists schedule',
  ])
})

test('a file that is not the list changes nothing and is told in one sentence', async (t) => {
  const { json, type } = await quietOperator(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-lists-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'list')
  await writeFile(file, '<html>403 Forbidden</html>')
  assert.match(
    (await type('lists', 'import', 'ofac_sdn', file)).err,
    /^ofac_sdn from .* was not loaded: This is not one of OFAC's lists/,
  )
  await writeFile(file, `address,category\n${address(1)},mixer\nnobody,mixer\n`)
  assert.match((await type('lists', 'import', 'operator', file)).err, /was not loaded: line 3/)
  assert.equal(
    (await type('lists', 'import', 'operator', join(folder, 'none'))).err,
    `There is no file ${join(folder, 'none')}.\n`,
  )
  assert.match((await type('lists', 'import', 'gossip', file)).err, /no list gossip; there are/)
  const lists = await json<{ entries: number | null }[]>('lists', 'show')
  assert.ok(lists.length === 5 && lists.every(({ entries }) => entries === null))
  await writeFile(file, 'number,wallets\n1,x\n')
  assert.match(
    (await type('lists', 'import', 'nbctf', file)).err,
    /there is none of the columns address/,
  )
  await writeFile(file, `address,category\n${address(1)},constructor\n`)
  assert.match(
    (await type('lists', 'import', 'operator', file)).err,
    /line 2: there is no category "constructor"/,
  )
  await writeFile(file, `address,category,entity\n${address(1)},mixer,a\0b\n`)
  assert.match((await type('lists', 'import', 'operator', file)).err, /zero byte/)
  for (const nothing of ['', 'address,category\n']) {
    await writeFile(file, nothing)
    for (const list of ['operator', 'nbctf'])
      assert.match(
        (await type('lists', 'import', list, file)).err,
        /no entry/,
        'an empty file is not knowledge',
      )
  }
  assert.equal((await json<{ label_set: number }>('aml', 'show')).label_set, 0)
})

test("a list of one's own is made, loaded, and bars as it was said to", async (t) => {
  const { sql, json, type } = await quietOperator(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-lists-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'list')
  const about = ['--title', 'Court orders', '--licence', 'own']
  const make = (code: string, ...more: string[]) =>
    type('lists', 'make', code, ...about, '--reason', 'ordered', ...more)
  const authority = ['--kind', 'authority', '--reader', 'table', '--category', 'sanctions']
  for (const [code, more, why] of [
    ['Court', authority, /no code of a list/],
    ['ofac_sdn', authority, /There is a list ofac_sdn already/],
    ['court', [...authority.slice(0, 4), '--category', 'evil'], /no category "evil"/],
    ['court', [...authority, '--columns', 'wallet=Address'], /"wallet=Address" maps no field/],
    ['court', [...authority, '--columns', 'address='], /"address=" names no column/],
    ['court', [...authority, '--hours', '24'], /--hours needs --url/],
    ['court', [...authority, '--url', 'ftp://x'], /is not an http:/],
    ['court', ['--kind', 'authority', '--reader', 'tagpack'], /make it --kind curated/],
    ['court', ['--kind', 'curated', '--reader', 'un', '--category', 'scam'], /--reader table/],
  ] as const)
    assert.match((await make(code, ...more)).err, why)
  assert.equal((await sql`select 1 from list`).length, 5, 'nothing was made')
  assert.equal((await make('court', ...authority, '--columns', 'address=Wallet')).code, 0)
  await writeFile(file, `Wallet\n${address(1)}\n`)
  await json('lists', 'import', 'court', file)
  await make('rumours', '--kind', 'curated', '--reader', 'table', '--category', 'scam')
  await writeFile(file, `address\n${address(2)}\n`)
  await json('lists', 'import', 'rumours', file)
  const rows = await sql`
    select list, address, category, kind from version_entry order by list`
  assert.deepEqual(rows, [
    { list: 'court', address: address(1), category: 'sanctions', kind: 'authority' },
    { list: 'rumours', address: address(2), category: 'scam', kind: 'curated' },
  ])
  await json('approvals', 'set', 'name', '--from', '100', '--reason', 'two')
  assert.match((await make('second', ...authority)).err, /wants a second operator/)
  assert.equal((await make('third', '--kind', 'curated', '--reader', 'table')).code, 0)
})

test('an official list that names nobody with an address here is loaded as that', async (t) => {
  const { json, type } = await quietOperator(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-lists-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'list')
  const about = ['--title', 'United Nations', '--licence', 'public', '--reason', 'asked for']
  await json('lists', 'make', 'un_sc', '--kind', 'authority', '--reader', 'un', ...about)
  const list = (remark: string) =>
    '<CONSOLIDATED_LIST><ENTITY><REFERENCE_NUMBER>KPe.900</REFERENCE_NUMBER>' +
    `<COMMENTS1>${remark}</COMMENTS1></ENTITY></CONSOLIDATED_LIST>`
  await writeFile(file, list('nothing is known'))
  const [empty] = await json<LoadReply[]>('lists', 'import', 'un_sc', file)
  assert.deepEqual([empty!.entries, empty!.changed], [0, true])
  await writeFile(file, list(address(1)))
  const [one] = await json<LoadReply[]>('lists', 'import', 'un_sc', file)
  assert.equal(one!.entries, 1)
  await writeFile(file, list('nothing is known'))
  assert.match((await type('lists', 'import', 'un_sc', file)).err, /no entry/)
})

test('a list that its publisher does not give is asked for again soon', async (t) => {
  const { sql, json } = await quietOperator(t)
  let asked = 0
  const url = await publisher(t, (_request, response) => {
    asked += 1
    response.writeHead(asked === 1 ? 503 : 200).end(`order,address\n1,${address(1)}\n`)
  })
  await json('lists', 'schedule', 'nbctf', '--url', url, '--hours', '24')
  let now_ms = Date.parse('2026-11-01T00:00:00Z')
  const step = refreshStep({ sql, clock: { now: () => new Date(now_ms) }, download: httpDownload })
  await assert.rejects(step.run(), /503/)
  assert.equal(await step.run(), false)
  now_ms += 600_000
  assert.deepEqual([await step.run(), await step.run(), asked], [true, false, 2])
})

test('a list that lost more than half its entries is loaded only when told to', async (t) => {
  const { json, type } = await quietOperator(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-lists-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'list.csv')
  const write = (n: number) =>
    writeFile(
      file,
      ['address,category', ...Array.from({ length: n }, (_, i) => `${address(i)},mixer`)].join(
        '\n',
      ),
    )
  await write(10)
  await json('lists', 'import', 'operator', file)
  await write(4)
  assert.deepEqual(await type('lists', 'import', 'operator', file), {
    code: 1,
    out: '',
    err: `operator from ${file} was not loaded: It has 4 entries where it had 10 before.\n`,
  })
  const [loaded] = await json<LoadReply[]>('lists', 'import', 'operator', file, '--shrink')
  assert.equal(loaded!.removed, 6)
})

test('an entry that a file has twice counts once, loaded as well as shown', async (t) => {
  const { json } = await quietOperator(t)
  const folder = await mkdtemp(join(tmpdir(), 'penstock-lists-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'list.csv')
  const row = `${address(1)},mixer\n`
  await writeFile(file, `address,category\n${row}${row}${address(2)},mixer\n`)
  const [loaded] = await json<LoadReply[]>('lists', 'import', 'operator', file)
  const [again] = await json<LoadReply[]>('lists', 'import', 'operator', file)
  const shown = await json<{ list: string; entries: number | null }[]>('lists', 'show')
  assert.deepEqual(
    [loaded!.entries, loaded!.added, again!.entries, again!.changed],
    [2, 2, 2, false],
  )
  assert.equal(shown.find(({ list }) => list === 'operator')!.entries, 2)
})

test('the commands that the guide to screening shows exist', async () => {
  const guide = await readFile(new URL('../../../docs/customers/aml.md', import.meta.url), 'utf8')
  const lines = [...guide.matchAll(/^ {4}penstock-admin (.+?)(?: {2,}.*)?$/gm)].map(
    ([, line]) => line!,
  )
  assert.ok(lines.length >= 10)
  const examples: Record<string, string> = {
    ADDRESS: address(1),
    '[LIST]': 'nbctf',
    HEIGHT: '60000000',
  }
  for (const line of lines) {
    // The shell keeps to itself where the output goes.
    const typed = line.replace(/ > \S+$/, '')
    const words = [...typed.matchAll(/"([^"]*)"|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? examples[word!] ?? word!,
    )
    const { operation, rest } = findOperation(OPERATIONS, words)
    readArguments(operation, rest)
  }
})

const SIZE = 121_000_000

/** A file in the form and of the size of the SDN list: parties with long names, and here and there
 *  an address. */
function* sdnList(listed: number): Generator<Buffer> {
  yield Buffer.from(
    '<?xml version="1.0"?><Sanctions xmlns="urn:example"><ReferenceValueSets><FeatureTypeValues>' +
      '<FeatureType ID="992" FeatureTypeGroupID="1">Digital Currency Address - USDT</FeatureType>' +
      '</FeatureTypeValues></ReferenceValueSets><DistinctParties>',
  )
  const filler = Array.from(
    { length: 12 },
    (_, i) =>
      `<Alias FixedRef="${i}" AliasTypeID="1400"><DocumentedName ` +
      `ID="${i}"><DocumentedNamePart><NamePartValue ScriptID="215">Somebody &amp; Sons of a ` +
      'long way away, number ' +
      `${i}</NamePartValue></DocumentedNamePart></DocumentedName></Alias>`,
  ).join('')
  let bytes = 0
  for (let i = 0; bytes < SIZE; i++) {
    const feature =
      i < listed
        ? `<Feature ID="${i}" FeatureTypeID="992"><FeatureVersion>` +
          `<VersionDetail>${address(i)}</VersionDetail></FeatureVersion></Feature>`
        : ''
    const party = Buffer.from(
      `<DistinctParty FixedRef="${i}"><Profile ID="${i}"><Identity ` +
        `ID="${i}">${filler}</Identity>${feature}</Profile></DistinctParty>`,
    )
    bytes += party.length
    yield party
  }
  yield Buffer.from('</DistinctParties></Sanctions>')
}

test('the SDN list is read as it streams by: 121 MB in a heap of 48', async (t) => {
  const url = await publisher(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/xml' })
    Readable.from(sdnList(300)).pipe(response)
  })
  const program = `
    import { counted } from 'penstock-service/screening/labels/list_entries.ts'
    import { httpDownload } from 'penstock-service/screening/labels/lists.ts'
    import { readOfac } from 'penstock-service/screening/labels/ofac.ts'
    let read = 0
    const { bytes } = await httpDownload('${url}')
    const { entries } = await readOfac(counted(bytes, (passed) => { read = passed }))
    const rss_kb = process.resourceUsage().maxRSS
    console.log(JSON.stringify({ read, entries: entries.length, rss_kb }))`
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=48', '--input-type=module', '-e', program],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let out = ''
  for await (const chunk of child.stdout) out += String(chunk)
  const { read, entries, rss_kb } = JSON.parse(out) as {
    read: number
    entries: number
    rss_kb: number
  }
  assert.ok(read > SIZE)
  assert.equal(entries, 300)
  // The heap is what the reader fills; what the network has brought and nobody has collected yet
  // lies beside it.
  assert.ok(rss_kb < 400_000, `${rss_kb} kB`)
  t.diagnostic(`${Math.round(rss_kb / 1_000)} MB`)
})
