import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScreeningWorld, TRX } from '../../test/screening_world.ts'
import { readEvidence, sha256Of } from './evidence.ts'
import { reportJson, reportPage } from './report.ts'

test('the report shows score, shares, the drawn way, sources and the hash, and carries no script', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: '<script>alert(1)</script>', reference: '"quoted"' },
  ])
  const first = world.send(mixer, middle, 30_000n * TRX)
  const second = world.send(middle, end, 20_000n * TRX)
  await world.settle()
  const { id } = await world.ask({ customer_id, address: end.address })
  const evidence = (await readEvidence(world.sql, id))!
  const page = reportPage(evidence)
  for (const part of [
    end.address,
    '100.0',
    first,
    second,
    evidence.sha256,
    'Mixer',
    '100.00 %',
    '&lt;script&gt;alert(1)',
    '&quot;quoted&quot;',
  ])
    assert.ok(page.includes(part), part)
  assert.ok(!page.includes('<script'))
  assert.doesNotMatch(page, /(src|href)=|https?:\/\//)
  assert.equal(page.match(/<svg/g)!.length, page.match(/<\/svg>/g)!.length)
  const { check_id, evidence_sha256, evidence: facts } = JSON.parse(reportJson(evidence))
  assert.deepEqual([check_id, evidence_sha256], [id, evidence.sha256])
  assert.equal(sha256Of(JSON.stringify(facts)), evidence.sha256)
})

test('the report of an address without history says that nothing is known', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const { id } = await world.ask({ customer_id, address: world.person().address })
  const page = reportPage((await readEvidence(world.sql, id))!)
  assert.match(page, /Nothing is known here of where money/)
  assert.match(page, /No list is loaded/)
  assert.match(page, /25\.0/)
})
