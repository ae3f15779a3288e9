// A signed report stands alone: a script that is not ours says that it is right, and of a file in
// which one byte was changed, which part that is in. So does our own command.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../../tools/source.ts'
import { worldOperator } from '../../harness/operator.ts'
import { makeWorld } from '../../harness/world.ts'

const SCRIPT = `${ROOT}docs/customers/verify_report.mjs`

test('anybody verifies the report of a check and of a case, to the byte', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-reports-'))
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
  const [found] = await json<{ id: string }[]>('aml', 'cases', 'list')
  const why = ['--reason', 'a test']
  await writeFile(at('letter.txt'), 'Nous avons vendu un vélo.\n')
  await json('aml', 'cases', 'attach', found!.id, at('letter.txt'))
  await json('aml', 'reviews', 'decide', check, 'deny', ...why)
  await json('aml', 'cases', 'assign', found!.id, 'ops', ...why)
  await json('aml', 'cases', 'close', found!.id, 'barred', ...why)

  const keys = await world.api.inject({ method: 'GET', url: '/.well-known/jwks.json' })
  await writeFile(at('jwks.json'), keys.body)
  await json('aml', 'reports', 'check', check, '--out', at('check.html'))
  await json('aml', 'reports', 'case', found!.id, '--out', at('case.html'))
  const script = (file: string, ...more: string[]) => {
    const args = [SCRIPT, file, at('jwks.json'), ...more]
    return spawnSync(process.execPath, args, { encoding: 'utf8' })
  }
  const verify = (file: string) =>
    type('aml', 'reports', 'verify', file, '--keys-file', at('jwks.json'))

  for (const [file, kind, id] of [
    ['check.html', 'check', check],
    ['case.html', 'case', found!.id],
  ] as const) {
    const said = script(at(file), folder)
    assert.match(said.stdout, new RegExp(`right: ${kind} ${id}`), said.stderr)
    assert.equal(said.status, 0)
    const ours = await verify(at(file))
    assert.deepEqual([ours.code, ours.err], [0, ours.err])
  }
  const { evidence_sha256 } = await json<{ evidence_sha256: string }>('aml', 'show', check)
  const evidence = await readFile(at(`evidence-${check}`))
  assert.equal(createHash('sha256').update(evidence).digest('hex'), evidence_sha256)
  const closed = JSON.parse(await readFile(at('case'), 'utf8'))
  assert.deepEqual([closed.code, closed.closed_by], ['barred', 'ops'])
  assert.equal(await readFile(at('file-2'), 'utf8'), 'Nous avons vendu un vélo.\n')

  // One byte in the middle of each part, in its line, in the seal, and one more at the end.
  const whole = await readFile(at('case.html'))
  const text = whole.toString('latin1')
  const starts = [...text.matchAll(/<!--(?:part ([\w-]+?)-->|seal)/g)]
  assert.equal(starts.length, 5, 'page, case, evidence, file, seal')
  const changed = async (place: number) => {
    const bytes = Buffer.from(whole)
    bytes[place] = bytes[place] === 0x61 ? 0x62 : 0x61
    await writeFile(at('changed.html'), bytes)
    const said = script(at('changed.html'))
    const ours = await verify(at('changed.html'))
    assert.deepEqual([said.status, ours.code], [1, 1], said.stdout)
    return [said.stdout, ours.out + ours.err] as const
  }
  for (const [i, { index, 1: name }] of starts.entries()) {
    const end = starts[i + 1]?.index ?? text.length
    const part = name === undefined ? 'seal' : name
    for (const place of [Math.floor((index + end) / 2), index + 2, end - 1]) {
      const [theirs, ours] = await changed(place)
      assert.match(theirs, new RegExp(`WRONG: .*\\b${part}\\b`), `${place}: ${theirs}`)
      assert.match(ours, new RegExp(`\\b${part}\\b`), `${place}: ${ours}`)
    }
  }
  await writeFile(at('changed.html'), Buffer.concat([Buffer.from('a'), whole]))
  assert.match(script(at('changed.html')).stdout, /WRONG: the part page was changed/)
  assert.equal((await verify(at('changed.html'))).code, 1)

  // Another service's keys, no keys, and a receipt's name for the signature are no proof.
  await writeFile(at('jwks.json'), JSON.stringify({ keys: [] }))
  assert.match(script(at('case.html')).stdout, /which is not in the set/)
  assert.match((await verify(at('case.html'))).err, /The seal is wrong/)
  await writeFile(at('jwks.json'), 'keys')
  assert.match((await verify(at('case.html'))).err, /not JSON/)
  const none = ['aml', 'reports', 'check', 'none', '--out', at('none.html')]
  assert.match((await type(...none)).err, /There is no check none/)
  assert.match((await type('aml', 'reports', 'check', check)).err, /--out/)
})
