// docs/customers/api.md does what it says: its programs run, its calls are answered as it says, and
// its tables are complete. And what any page or comment names is there: files, links, npm's
// scripts.

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import { CODES } from 'penstock-service/platform/http/refusal_codes.ts'
import { buildServer, DEFAULT_RATE_LIMIT } from 'penstock-service/platform/http/server.ts'
import { printConfiguration } from '../../tools/print.ts'
import { ROOT } from '../../tools/source.ts'
import { type Customer, makeWorld, type World } from '../harness/world.ts'

const page = await readFile(new URL('../../docs/customers/api.md', import.meta.url), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text]) => text!)

/** Runs a program on this Node and returns what it prints. */
function runProgram(program: string, variables: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env: variables })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve) => child.once('close', () => resolve(output)))
}

/** A server on a socket; its clock is the real one, as that of the programs is. */
async function listening(world: World): Promise<{ API: string; close: () => Promise<void> }> {
  const { app, sql } = world
  const needs = {
    sql,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    authenticate: app.authenticate,
  }
  const server = await buildServer(needs, { endpoints: app.endpoints })
  return { API: await server.listen({ port: 0, host: '127.0.0.1' }), close: () => server.close() }
}

test('the programs of the page run', async (t) => {
  const world = await makeWorld(t)
  world.wait(Date.now() / 1_000 - world.now.getTime() / 1_000)
  const anna = await world.customer({ require_v2: true })
  const ben = await world.customer()
  const { API, close } = await listening(world)
  const [first, second, ...more] = blocks('js')
  assert.equal(more.length, 0)
  const run = (program: string, { token, secret }: Customer) =>
    runProgram(program, { API, TOKEN: token, SECRET: secret })
  assert.match(await run(first!, ben), /balance: 0,/)
  assert.match(await run(second!, ben), /balance: 0,/)
  assert.match(await run(second!, anna), /balance: 0,/)
  assert.match(await run(first!, anna), /This key needs X-Signature-V2 as well/)
  await close()
})

test('the calls of the page are answered as it says, by a key that takes either signature', (t) =>
  callsAreAnswered(t, false))

test('the same calls by a key that requires the second signature', (t) => callsAreAnswered(t, true))

test('the functions of the page for the shell sign as it says', async (t) => {
  const world = await makeWorld(t)
  world.wait(Date.now() / 1_000 - world.now.getTime() / 1_000)
  const [either, strict] = [await world.customer(), await world.customer({ require_v2: true })]
  const { API, close } = await listening(world)
  const [first, second, ...more] = blocks('sh').filter((block) => block.includes('\ncall() {'))
  assert.equal(more.length, 0)
  const folder = mkdtempSync(join(tmpdir(), 'penstock-docs-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const run = async (block: string, { token: TOKEN, secret: SECRET }: Customer) => {
    const env = { PATH: process.env.PATH ?? '', API, TOKEN, SECRET }
    // The first also shows a call.
    const line = block.includes("call /v1/balance '{}'") ? '' : "call /v1/balance '{}'"
    const options = { env, cwd: folder }
    const { stdout } = await promisify(execFile)('sh', ['-c', `${block}\n${line}`], options)
    const { code, key } = JSON.parse(stdout) as { code: number; key?: string }
    return key ?? code
  }
  assert.equal(await run(first!, either), 0)
  assert.equal(await run(first!, strict), 'auth.second_signature')
  for (const key of [either, strict]) assert.equal(await run(second!, key), 0)
  await close()
})

async function callsAreAnswered(t: TestContext, require_v2: boolean) {
  const world = await makeWorld(t)
  const anna = await world.customer({ trx: 100, require_v2 })
  const address = world.person('bob', 1).address
  const lines = blocks('sh').flatMap((block) => block.replace(/\n +/g, '').split('\n'))
  const calls = lines.flatMap((line) => {
    const [, path, body, comment] = /^call (\S+) '(.*)'(?: # (.*))?$/.exec(line) ?? []
    return path === undefined
      ? []
      : [{ path, body: body!.replaceAll(`'$ADDRESS'`, address), comment: comment ?? '0' }]
  })
  assert.equal(calls.length, lines.filter((line) => line.startsWith('call /')).length)
  for (const { path, body, comment } of calls) {
    const headers = require_v2 ? anna.stamp(path, Buffer.from(body)) : {}
    const { code } = await anna.call(path, body, headers)
    assert.ok(comment.split(' or ').includes(String(code)), `${path} ${body} is answered ${code}`)
    await world.settle()
  }
}

test('the signatures, the codes and the limits of the page are those of the service', async (t) => {
  const vectors = [...page.matchAll(/^\| (.+) \| `([0-9a-f]{64})` \|$/gm)]
  assert.equal(vectors.length, 4)
  for (const [, body, digest] of vectors) {
    assert.equal(
      hash('sha256', `${body === '(empty)' ? '' : body!.replaceAll('`', '')}secret`),
      digest,
      body,
    )
  }
  const world = await makeWorld(t)
  const rows = [...page.matchAll(/^### <a id="code-(\d+)"><\/a>\1 `(\w+)`$/gm)].map(
    ([, code, key]) => `${code} ${key}`,
  )
  const given = world.app.endpoints.flatMap(({ faults }) =>
    faults.map(({ code, key }) => `${code} ${key.split('.')[0]}`),
  )
  assert.deepEqual(
    [...new Set(given)].filter((line) => !rows.includes(line)),
    [],
  )
  const text = page.replace(/\s+/g, ' ')
  for (const { code, key, means, usually } of CODES) {
    assert.ok(rows.includes(`${code} ${key}`), `${code} ${key}`)
    for (const one of [means, ...usually]) assert.ok(text.includes(one), one)
  }
  assert.deepEqual(
    rows,
    CODES.map(({ code, key }) => `${code} ${key}`),
  )
  const { per_second, burst } = DEFAULT_RATE_LIMIT
  assert.ok(page.includes(`${per_second} a second for a key, ${burst} at once`))
})

const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
const paths = new Set(tracked)
/** Pages name a file by its end where that says enough: `market/orders/orders.ts`. */
const isThere = (path: string) => paths.has(path) || tracked.some((one) => one.endsWith(`/${path}`))
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const pages = tracked.filter((path) => path.endsWith('.md'))

test('every file that a page or the head of a file names is there', () => {
  const missing: string[] = []
  const named = /(?<![\w$@}.*])(?:[\w.-]+\/)*\w[\w-]*(?:\.test)?\.(?:ts|sql|md)\b/g
  for (const path of tracked.filter((one) => /\.(md|ts|sql)$|^deploy\//.test(one))) {
    if (path.startsWith('packages/service/db/')) continue
    const text = textOf(path)
    const head = path.endsWith('.ts') ? /^(#!.*\n)?(\/\/.*\n)*/.exec(text)![0] : text
    for (const [name] of head.matchAll(named))
      if (!isThere(normalize(name).replace(/^(\.\.\/)+/, '')) && !name.includes('NNNN'))
        missing.push(`${path}: ${name}`)
  }
  assert.deepEqual(missing, [])
})

test('every link of a page leads to a file, and to a heading of it', () => {
  const dead: string[] = []
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
  for (const path of pages) {
    for (const [, link] of textOf(path).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)) {
      const [file, anchor] = link!.split('#')
      const target = file ? join(dirname(path), file) : path
      const headings = () => [...textOf(target).matchAll(/^#+ (.*)$/gm)].map(([, one]) => one!)
      const leads =
        existsSync(join(ROOT, target)) && (!anchor || headings().map(anchorOf).includes(anchor))
      if (!leads) dead.push(`${path}: ${link}`)
    }
  }
  assert.deepEqual(dead, [])
})

test('docs/README.md has a line for each page', () => {
  const index = textOf('docs/README.md')
  const listed = [...index.matchAll(/^- \[[^\]]+\]\(([^)]+\.md)\): /gm)].map(([, page]) => page!)
  const there = pages
    .filter((path) => /^docs\/[a-z]+\//.test(path) && !path.startsWith('docs/decisions/'))
    .map((path) => path.slice('docs/'.length))
  assert.deepEqual(listed.toSorted(), there.toSorted())
})

test('configuration.md is what the table prints now (if not: npm run print)', async () => {
  const [file, text] = await printConfiguration()
  assert.ok(text === (await readFile(file, 'utf8')), 'it is not fresh')
})

test('every script that a page runs is one', () => {
  const scriptsOf = (path: string): object => JSON.parse(textOf(path)).scripts ?? {}
  const scripts = new Set(
    tracked
      .filter((path) => /(^|\/)package\.json$/.test(path))
      .flatMap((path) => Object.keys(scriptsOf(path))),
  )
  const unknown = pages.flatMap((path) =>
    [...textOf(path).matchAll(/npm run (?:-s )?([a-z][\w:]*)/g)]
      .filter(([, script]) => !scripts.has(script!))
      .map(([line]) => `${path}: ${line}`),
  )
  assert.deepEqual(unknown, [])
})

const foldersIn = (root: string): string[] => {
  const inside = tracked.filter((path) => path.startsWith(root))
  const steps = inside.map((path) => path.slice(root.length).split('/'))
  return [...new Set(steps.filter(({ length }) => length > 1).map(([folder]) => folder!))]
}

test('ARCHITECTURE draws every wing of the service and of the pages', () => {
  const drawn = textOf('ARCHITECTURE.md')
  const missing = ['packages/service/src/', 'packages/web/'].flatMap((root) => {
    const [, block = ''] = drawn.split(`\n${root}\n`)
    const named = [...block.split('```')[0]!.matchAll(/(?<=[ \n])([a-z_]+)\//g)]
    const names = named.map(([, name]) => name!)
    return foldersIn(root).filter((wing) => !names.includes(wing))
  })
  assert.deepEqual(missing, [])
})

test('the README of a wing names each of its rooms, and none that is not there', () => {
  const wings = ['packages/service/src/', 'packages/web/'].flatMap((root) =>
    foldersIn(root).map((wing) => `${root}${wing}/`),
  )
  const wrong = wings.flatMap((wing) => {
    const rooms = foldersIn(wing).sort()
    if (rooms.length === 0) return []
    const named = [...textOf(`${wing}README.md`).matchAll(/^- `([a-z_]+)\/`:/gm)]
    const names = named.map(([, name]) => name!).sort()
    return names.join() === rooms.join() ? [] : [`${wing}: ${names.join(' ')}`]
  })
  assert.deepEqual(wrong, [])
})
