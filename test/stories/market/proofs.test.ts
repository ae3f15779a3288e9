// The proof of an order: one document that is checked without a database, and in which nothing can
// be altered unseen.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readRoots } from 'penstock-service/ledger/accounts/roots.ts'
import { Refused } from 'penstock-service/lib/fault.ts'
import { checkProof, readProof } from 'penstock-service/market/receipts/proof_checking.ts'
import type { Proof } from 'penstock-service/market/receipts/proofs.ts'
import { ROOT } from '../../../tools/source.ts'
import { worldOperator } from '../../harness/operator.ts'
import { START, sender, wanted } from '../../harness/subscribers.ts'
import { withoutTriggers } from '../../harness/without_triggers.ts'
import { makeWorld } from '../../harness/world.ts'

type Verdict = { state: string; noted_root: boolean; findings: { part: string }[] }

test('an order is proven, and whatever is altered of its proof shows', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-proofs-'))
  t.after(() => rm(folder, { recursive: true }))
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const anna = await world.customer({ trx: 500 })
  const bert = await world.customer({ trx: 500 })
  const order = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  assert.match((await type('orders', 'prove', order.id)).err, /is not delivered/)
  await world.settle()
  const eve = world.person('eve').address
  const activating = await bert.buyEnergy(eve, 65_000, { activate_address: true })
  await world.settle()
  await world.advance(3_600)
  await world.solidify()
  await world.settle()
  await world.solidify()
  await world.advance(86_400)
  const proof = await json<Proof>('orders', 'prove', order.id)
  const of_bert = proof.seals.flatMap(({ entries }) => entries).length
  assert.ok(of_bert > proof.receipt.entries.length, 'seals cover what others bought too')
  assert.equal(proof.transactions.length, 2, 'the delegation and its reclaim')

  const [file, roots_file] = [join(folder, 'proof.json'), join(folder, 'roots')]
  const keys_file = join(folder, 'keys.json')
  await writeFile(file, JSON.stringify(proof))
  await json('books', 'roots', '--export', roots_file)
  const published = await world.api.inject({ method: 'GET', url: '/.well-known/jwks.json' })
  await writeFile(keys_file, published.body)
  const elsewhere = ['--roots-file', roots_file, '--keys-file', keys_file]
  const verdict = await json<Verdict>('orders', 'verify', file, ...elsewhere)
  assert.deepEqual([verdict.state, verdict.noted_root, verdict.findings], ['ended', true, []])

  const roots = readRoots(`${JSON.stringify(proof.root)}\n`)
  const other = readRoots(JSON.stringify([{ ...proof.root, sha256: '0'.repeat(64) }]))
  assert.deepEqual(await checkProof(proof, { roots }), [])
  const noted = await checkProof(proof, { roots: other })
  assert.deepEqual(
    noted.map(({ part }) => part),
    ['root'],
  )
  const unseen: string[] = []
  let altered = 0
  for (const path of leavesOf(proof)) {
    const forged = structuredClone(proof)
    alter(forged, path)
    altered += 1
    if (!(await isRefused(forged))) unseen.push(path.join('.'))
  }
  assert.ok(altered > 80, `${altered} parts were altered`)
  assert.deepEqual(unseen, [])
  for (const [what, forge] of Object.entries(FORGERIES)) {
    const forged = structuredClone(proof)
    forge(forged)
    assert.equal(await isRefused(forged), true, what)
  }

  await checkWithPython(t, folder, proof, await json<Proof>('orders', 'prove', activating.id))

  const lie = structuredClone(proof)
  lie.seals[0]!.entries[0]!.amount_sun += 1
  await writeFile(file, JSON.stringify(lie))
  const { code, out } = await type('orders', 'verify', file, ...elsewhere)
  assert.equal(code, 1)
  assert.match(out, /its sum is not that of its entries/)
  const whole = JSON.stringify(proof)
  const { amount } = proof.receipt.order
  for (const other of [
    whole.replace('{"proof":1,', '{"proof":1,"order_id":"another",'),
    whole.replace(`"amount":${amount}`, `"amount":${amount}00000000000000000001`),
  ]) {
    assert.notEqual(other, whole)
    await assert.rejects(readProof(other), /a field twice, or a number/)
  }
  await writeFile(file, '{"proof":2}')
  assert.match((await type('orders', 'verify', file)).err, /no proof of a form/)
})

test('an order of a subscription says why it has no proof, rather than to wait', async (t) => {
  const world = await makeWorld(t)
  const { type } = await worldOperator(world)
  const anna = await world.customer({ trx: 500 })
  await anna.call(START, wanted(sender(world).address))
  await world.settle()
  await world.solidify()
  const [order] = await world.sql<{ id: string }>`select id from orders where state = 'success'`
  const { err } = await type('orders', 'prove', order!.id)
  assert.match(err, /A subscription placed it and pays for it/)
})

test('all that is wrong with a proof is told at once, and one too large is not made', async (t) => {
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const anna = await world.customer({ trx: 500 })
  const { id } = await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.settle()
  await world.advance(60)
  const forged = await json<Proof>('orders', 'prove', id)
  forged.jws = forged.jws.replace(/\.[^.]+$/, `.${'A'.repeat(86)}`)
  forged.root.number += 1
  assert.deepEqual(await checkProof(forged, {}), [
    {
      part: 'receipt',
      found: 'This is no receipt of the service: signature verification failed.',
    },
    { part: 'root', found: 'the last seal is another' },
  ])
  // More would make a document of many megabytes.
  type Range = { number: bigint; first_entry: bigint; entries: bigint; last_entry: bigint }
  const [seal] = await world.sql<Range>`
    select number, first_entry, entries, last_entry from journal order by number desc limit 1`
  const { number, first_entry, ...covered } = seal!
  const cover = (of: typeof covered) =>
    withoutTriggers(
      world.sql,
      (tx) => tx`
        update journal set entries = ${of.entries}, last_entry = ${of.last_entry}
        where number = ${number}`,
    )
  await cover({ entries: 100_001n, last_entry: first_entry + 100_000n })
  assert.match((await type('orders', 'prove', id)).err, /entries, more than 100000: books check/)
  await cover(covered)
})

/** What docs/customers/verify_proof.py says of the proof, and of all that can be made of it: in one
 *  run. */
async function checkWithPython(
  t: TestContext,
  folder: string,
  proof: Proof,
  activating: Proof,
): Promise<void> {
  const verifier = (...words: string[]) =>
    spawnSync('python3', [`${ROOT}docs/customers/verify_proof.py`, ...words], { encoding: 'utf8' })
  if (verifier('--help').status !== 0) {
    t.diagnostic('docs/customers/verify_proof.py is not run: python3 is not here')
    return
  }
  const file = join(folder, 'whole.json')
  await writeFile(file, JSON.stringify(proof))
  const known = ['--root', proof.root.sha256, '--key', proof.keys[0]!.x]
  const whole = verifier(file, ...known)
  assert.equal(whole.status, 0, whole.stdout)
  assert.match(whole.stdout, /right: order .* is ended/)
  assert.match(whole.stdout, /Not looked at: .* ask a node\.\n$/)
  assert.equal(activating.transactions.length, 3, 'an activation too')
  const other = join(folder, 'activating.json')
  await writeFile(other, JSON.stringify(activating))
  assert.match(verifier(other).stdout, /activating\.json: right/)
  assert.match(verifier(file).stdout, /--root.*--key/)
  assert.match(verifier(file, '--root', '0'.repeat(64)).stdout, /not the one that was noted/)
  assert.match(verifier(file, '--key', 'A'.repeat(43)).stdout, /another key than yours/)

  const forged: { what: string; forge(proof: Proof): unknown }[] = [
    ...leavesOf(proof).map((path) => ({ what: path.join('.'), forge: alterAt(path) })),
    ...Object.entries(FORGERIES).map(([what, forge]) => ({ what, forge })),
  ]
  for (const [what, text] of Object.entries(writtenOtherwise(proof)))
    forged.push({ what, forge: () => text })
  const files = forged.map((_, i) => join(folder, `forged-${i}.json`))
  for (const [i, { forge }] of forged.entries()) {
    const copy = structuredClone(proof)
    const text = forge(copy)
    await writeFile(files[i]!, text instanceof Buffer ? text : JSON.stringify(copy))
  }
  const said = verifier(...files).stdout.split('\n')
  const is_wrong = (one: string) => said.some((line) => line.startsWith(`${one}: WRONG: `))
  const unseen = forged.filter((_, i) => !is_wrong(files[i]!)).map(({ what }) => what)
  assert.deepEqual(unseen, [])
}

const alterAt = (path: Path) => (proof: Proof) => alter(proof, path)

/** What reads like the proof, for those who do not look closely. */
function writtenOtherwise(proof: Proof): Record<string, Buffer> {
  const text = JSON.stringify(proof)
  const [head, payload, signature] = proof.jws.split('.')
  const longer = Buffer.concat([Buffer.from(signature!, 'base64url'), Buffer.from([0])])
  const { amount } = proof.receipt.order
  const { made_at } = proof.seals[0]!.entries[0]!
  const texts: Record<string, string> = {
    'a field twice': text.replace('{"proof":1,', '{"proof":1,"order_id":"another",'),
    'a field twice, deep inside': text.replace('"state":', '"state":"ended","state":'),
    'a signature with a byte more': text.replace(
      proof.jws,
      `${head}.${payload}.${longer.toString('base64url')}`,
    ),
    'an amount as a text': text.replace(`"amount":${amount}`, `"amount":"Decimal('${amount}')"`),
    'a fraction of nothing': text.replace(made_at, made_at.replace('+00', '.0+00')),
    'digits of another script': text.replace(made_at, made_at.replace('+00', '.\u0660+00')),
    'a whole number with a point': text.replace(
      `"last_entry":${proof.root.last_entry},"sha256"`,
      `"last_entry":${proof.root.last_entry}.0,"sha256"`,
    ),
    'more in the key': text.replace('"keys":[{', '"keys":[{"d":"x",'),
    'too deep': '['.repeat(100_000),
  }
  for (const [what, one] of Object.entries(texts)) assert.notEqual(one, text, what)
  const bytes = Object.entries(texts).map(([what, one]) => [what, Buffer.from(one)] as const)
  return { ...Object.fromEntries(bytes), 'UTF-16': Buffer.from(`\ufeff${text}`, 'utf16le') }
}

/** What is taken out, or put elsewhere. */
const FORGERIES: Record<string, (proof: Proof) => unknown> = {
  'no entries': ({ seals }) => seals[0]!.entries.splice(0),
  'an entry less': ({ seals }) => seals[0]!.entries.pop(),
  'a seal less': ({ seals }) => seals.pop(),
  'the first seal less': (proof) => {
    const [first] = proof.seals.splice(0, 1)
    proof.previous_sha256 = first!.sha256
  },
  'no seals': ({ seals }) => seals.splice(0),
  'a transaction less': ({ transactions }) => transactions.pop(),
  'a transaction twice': ({ transactions }) => transactions.push(transactions[0]!),
  'no keys': ({ keys }) => keys.splice(0),
}

async function isRefused(forged: Proof): Promise<boolean> {
  try {
    return (await checkProof(await readProof(JSON.stringify(forged)), {})).length > 0
  } catch (thrown) {
    if (thrown instanceof Refused) return true
    throw thrown
  }
}

type Path = readonly (string | number)[]

/** The ways to all values that hold no others. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
}

function alter(root: object, path: Path): void {
  const parent = path.slice(0, -1).reduce((at, key) => at[key] as Tree, root as Tree)
  const key = path.at(-1)!
  const value = parent[key]
  if (typeof value === 'number') parent[key] = value + 1
  else if (typeof value === 'string')
    parent[key] = value.slice(0, -1) + (value.endsWith('0') ? '1' : '0')
  else parent[key] = 'x'
}

type Tree = Record<string | number, unknown>
