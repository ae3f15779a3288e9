// A case as an archive: any program opens it, our command says that it is right, and of one in
// which a byte was changed, which file that is in.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { unzip, zipOf } from 'penstock-service/screening/cases/zip.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

test('a case is one archive, verified to the byte', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-bundle-'))
  t.after(() => rm(folder, { recursive: true }))
  const world = await makeWorld(t)
  const { json, type } = await worldOperator(world)
  const anna = await world.customer({ trx: 100 })
  const eve = world.person('eve', 1_000_000).address
  const at = (name: string) => join(folder, name)
  await writeFile(at('labels.csv'), `address,category,entity,confidence\n${eve},scam,Eve,90\n`)
  await json('lists', 'import', 'operator', at('labels.csv'))
  await world.drain()
  const asked = { type: 'address', network: 'TRX', address: eve }
  const { id: check } = await anna.get<{ id: string }>('/v1/aml-checks/new', asked)
  await world.drain()
  const told = await anna.get<{ counterparty: unknown }>('/v1/aml-check/report', { id: check })
  assert.deepEqual(told.counterparty, {
    address: eve,
    kind: 'unknown',
    name: 'Eve',
    category: 'scam',
  })
  const [found] = await json<{ id: string }[]>('aml', 'cases', 'list')
  await writeFile(at('letter.txt'), 'Nous avons vendu un vélo.\n')
  await json('aml', 'cases', 'attach', found!.id, at('letter.txt'))
  await json('aml', 'reviews', 'decide', check, 'deny', '--reason', 'a test')
  const keys = await world.api.inject({ method: 'GET', url: '/.well-known/jwks.json' })
  await writeFile(at('jwks.json'), keys.body)
  await json('aml', 'reports', 'bundle', found!.id, '--out', at('case.zip'))
  const verify = (name: string) =>
    type('aml', 'reports', 'verify', at(name), '--keys-file', at('jwks.json'))
  const right = await verify('case.zip')
  assert.deepEqual([right.code, right.err], [0, right.err])

  const archive = await readFile(at('case.zip'))
  const files = unzip(archive)!
  const names = files.map(({ name }) => name)
  for (const name of [
    'case.html',
    'case.json',
    'decisions.json',
    'history.json',
    'lists.json',
    `checks/${check}.html`,
    `checks/${check}.evidence.json`,
    'manifest.json',
    'manifest.jws',
  ])
    assert.ok(names.includes(name), name)
  const text = (name: string) =>
    Buffer.from(files.find((one) => one.name === name)!.bytes).toString('utf8')
  const [decision] = JSON.parse(text('decisions.json'))
  assert.deepEqual([decision.check_id, decision.decision], [check, 'deny'])
  const [list] = JSON.parse(text('lists.json'))
  assert.match(list.sha256, /^[0-9a-f]{64}$/)
  assert.equal(
    text(names.find((name) => name.endsWith('letter.txt'))!),
    'Nous avons vendu un vélo.\n',
  )
  // Another's program reads it, too.
  const others = spawnSync('python3', ['-m', 'zipfile', '-t', at('case.zip')], { encoding: 'utf8' })
  if (!others.error) assert.match(others.stdout, /Done testing/, others.stderr)

  // A byte in the middle of each file is found in that file, or breaks the seal.
  for (const { name, bytes } of files) {
    const changed = Buffer.from(archive)
    const place = bytes.byteOffset - archive.byteOffset + (bytes.length >> 1)
    changed[place] = changed[place] === 0x61 ? 0x62 : 0x61
    await writeFile(at('changed.zip'), changed)
    const said = await verify('changed.zip')
    assert.equal(said.code, 1, name)
    const what = name === 'manifest.jws' ? 'The seal is wrong' : name
    assert.ok((said.out + said.err).includes(what), `${name}: ${said.out}${said.err}`)
  }
  for (const [other, what] of [
    [zipOf(files.slice(1)), 'it is missing'],
    [zipOf([...files, { name: 'more.txt', bytes: Buffer.from('x') }]), 'it was added'],
    [Buffer.from(archive).fill(1, 10, 11), 'something around the files was changed'],
  ] as const) {
    await writeFile(at('changed.zip'), other)
    const said = await verify('changed.zip')
    assert.equal(said.code, 1, what)
    assert.ok((said.out + said.err).includes(what), `${what}: ${said.out}${said.err}`)
  }
})
