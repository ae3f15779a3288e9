// The package as its users get it: it installs without a registry, its README is true, its types
// need nothing else.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { installPackage, ROOT } from 'penstock-test/harness/packages.ts'

const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text!)

/** The output that an example's comments promise. */
const promised = (example: string) =>
  [...example.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => `${text}\n`).join('')

test('in an empty folder every example of the README prints what it says', async (t) => {
  const { folder, run, compile, textOf } = await installPackage(t, 'tron')
  const modules = Object.keys(JSON.parse(textOf('package.json')).exports as object)
  for (const module of modules) {
    const name = module.replace('.', 'penstock-tron')
    assert.ok(
      examples.some((example) => example.includes(`'${name}'`)),
      `${name} has no example`,
    )
  }
  for (const example of examples) {
    assert.equal(example.match(/console\.log/g)?.length, promised(example).split('\n').length - 1)
    assert.equal(await run(example), promised(example))
  }
  for (const [, name, limit] of readme.matchAll(/^\| `(penstock-tron\/\w+)` .*\| (\d+) kB \|$/gm)) {
    const bytes = await sizeOf(folder, name!)
    const told = Number(limit) * 1_000
    assert.ok(bytes <= told && bytes > told / 2, `${name} has ${bytes} bytes, not ${limit} kB`)
  }
  await compile(`
    import { type Address, isAddress } from 'penstock-tron/address'
    import { addressOf, sign } from 'penstock-tron/keys'
    import { ContractType } from 'penstock-tron/contracts'
    import { readOperation } from 'penstock-tron/operation'
    import { transferOf } from 'penstock-tron/tokens'
    import { contract, encodeRawData, transactionId } from 'penstock-tron/transaction'
    const given: unknown = addressOf('01')
    const owner: Address = isAddress(given) ? given : ''
    const transfer: number = ContractType.values.TransferContract
    const amount: bigint = readOperation(new Uint8Array(0)).amount
    const event = { contract: owner, topics: [], data: '' }
    const moved: bigint | undefined = transferOf(event)?.amount
    // @ts-expect-error: a key is text
    sign('', 5)
    // @ts-expect-error: raw data needs an expiration
    encodeRawData({ ref_block_bytes: '', ref_block_hash: '', contract: [contract('', {})] })
    transactionId(new Uint8Array(0))
  `)
  const code = readdirSync(join(folder, 'node_modules/penstock-tron')).filter((file) =>
    file.endsWith('.js'),
  )
  for (const file of code) assert.doesNotMatch(textOf(file), /node:|\bBuffer\b|\bfetch\(|require\(/)
})

/** The size of a module with everything that it imports, as a browser loads it. */
async function sizeOf(folder: string, module: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${module}'`, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length
}

test('packing the workspace itself is refused: its sources would not run', async () => {
  const options = ['pack', '-w', 'penstock-tron', '--dry-run']
  const packed = promisify(execFile)('npm', options, { cwd: ROOT })
  await assert.rejects(packed, /must have name and version/)
})
