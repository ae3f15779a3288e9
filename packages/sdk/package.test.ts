// The package as it is published: built, packed, installed in an empty folder and used there from
// an ES module, from CommonJS and from TypeScript; what is in it; and how large it is.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { installBuilt } from 'penstock-test/harness/packages.ts'
import { buildPackage } from './build.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** Bytes of what a page loads of each entry, minified and with gzip. */
const BYTES_MAX = {
  'penstock-sdk': 9_000,
  'penstock-sdk/webhooks': 1_200,
  'penstock-sdk/receipts': 1_500,
}

const FILES = [
  'LICENSE',
  'README.md',
  'package.json',
  'penstock.cjs',
  'penstock.d.cts',
  'penstock.d.ts',
  'penstock.js',
  'receipts.cjs',
  'receipts.d.cts',
  'receipts.d.ts',
  'receipts.js',
  'webhooks.cjs',
  'webhooks.d.cts',
  'webhooks.d.ts',
  'webhooks.js',
]

let folder = ''
let packed: string[] = []
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-sdk-'))
  const built = join(folder, 'built')
  await buildPackage(built)
  packed = await installBuilt(built, folder)
})
after(() => rm(folder, { recursive: true }))

const inFolder = (...args: string[]) => run(process.execPath, args, { cwd: folder })

test('the package holds what it should, and needs nothing', async () => {
  assert.deepEqual(packed, FILES)
  const text = await readFile(join(folder, 'node_modules/penstock-sdk/package.json'), 'utf8')
  const said = JSON.parse(text) as Record<string, unknown>
  const unwanted = Object.keys(said).filter((name) => /dependencies|scripts|private/i.test(name))
  assert.deepEqual([unwanted, said.sideEffects], [[], false])
  for (const file of FILES.filter((name) => /js$/.test(name))) {
    const code = await readFile(join(folder, 'node_modules/penstock-sdk', file), 'utf8')
    assert.doesNotMatch(code, /\bfrom ["']|require\(/, `${file} loads something`)
  }
})

const USE = `
  const vector = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  }
  const when = { now_ms: 1614265330000 }
  verifyWebhook('{"test": 2432232314}', vector.headers, vector.secret, when).then((event) =>
    console.log(event.test, String(toSun(2.93)), new UnknownOutcome('a').name,
      typeof new Penstock({ url: 'https://api.example' }).orders.create, typeof verifyReceipt))`
const NAMES: [string, string][] = [
  ['{ Penstock, toSun, UnknownOutcome }', 'penstock-sdk'],
  ['{ verifyWebhook }', 'penstock-sdk/webhooks'],
  ['{ verifyReceipt }', 'penstock-sdk/receipts'],
]
const USED = '2432232314 2930000 UnknownOutcome function function\n'

test('it is used from an ES module and from CommonJS', async () => {
  const imports = NAMES.map(([names, from]) => `import ${names} from '${from}'`).join('\n')
  const requires = NAMES.map(([names, from]) => `const ${names} = require('${from}')`).join('\n')
  assert.equal((await inFolder('--input-type=module', '-e', imports + USE)).stdout, USED)
  assert.equal((await inFolder('--input-type=commonjs', '-e', requires + USE)).stdout, USED)
})

const PROGRAM = `
import { Penstock, UnknownOutcome, type Order } from 'penstock-sdk'
import { verifyReceipt } from 'penstock-sdk/receipts'
import { verifyWebhook } from 'penstock-sdk/webhooks'
const penstock = Penstock.fromEnv()
const order = await penstock.orders.create({ service: 'energy', params: { address: 'T' } })
const done: Order = await penstock.orders.waitFor(order.id, { until: 'ended' })
const { balance } = await penstock.call('/v1/balance', {})
const told: [number, number, boolean] = [balance, done.amount, order.lastResponse.replayed]
for await (const { risk_score } of penstock.aml.list({ status: 'completed' })) risk_score?.length
const id = (thrown: unknown) => (thrown instanceof UnknownOutcome ? thrown.external_id : undefined)
const number: number = (await verifyWebhook('', new Headers(), '')).number
const state: 'delivered' | 'solid' | 'ended' = (await verifyReceipt('', { keys: [] })).state
export { told, id, number, state }
// @ts-expect-error there is no such service
penstock.orders.create({ service: 'gold', params: { address: 'T' } })
// @ts-expect-error there is no such endpoint
penstock.call('/v1/nothing', {})
// @ts-expect-error there is no such state
penstock.subscriptions.list({ status: 'gone' })
`

test('its types say what may be sent and what comes back, to modules of both kinds', async () => {
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
  }
  const place = { module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom'], types: [] }
  const settings = { compilerOptions: { ...strict, ...place }, files: ['used.mts', 'used.cts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  await writeFile(join(folder, 'used.mts'), PROGRAM)
  const [imports, rest] = PROGRAM.split(/(?=^const penstock)/m)
  const inside = rest!.replace(
    'export { told, id, number, state }',
    'return [told, id, number, state]',
  )
  const script = `${imports}async function all() {\n${inside}}\nvoid all\n`
  await writeFile(join(folder, 'used.cts'), script)
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const failed = await inFolder(compiler, '-p', '.').catch(
    ({ stdout }: { stdout: string }) => stdout,
  )
  assert.equal(typeof failed === 'string' ? failed : failed.stdout, '')
})

test('it is small', async () => {
  for (const [from, bytes_max] of Object.entries(BYTES_MAX)) {
    const { outputFiles } = await build({
      stdin: { contents: `export * from '${from}'`, resolveDir: folder },
      bundle: true,
      minify: true,
      format: 'esm',
      target: 'es2022',
      write: false,
    })
    const bytes = gzipSync(outputFiles[0]!.contents, { level: 9 }).length
    assert.ok(bytes > 300 && bytes <= bytes_max, `${from} has ${bytes} bytes`)
  }
})
