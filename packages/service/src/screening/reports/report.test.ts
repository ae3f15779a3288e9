import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScreeningWorld, TRX } from 'penstock-test/harness/screening_world.ts'
import { readEvidence, sha256Of } from '../engine/evidence.ts'
import { makeEntry } from '../labels/entries.ts'
import { forCustomers, readReportContext } from './context.ts'
import { reportJson, reportPage } from './report.ts'
import { amountText, shortAmount } from './text.ts'
import { wordsOf } from './words.ts'

test('the report shows score, shares, drawn way, sources and hash, and no script', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    {
      address: mixer.address,
      category: 'mixer',
      entity: '<script>alert(1)</script>',
      reference: '"quoted"',
    },
  ])
  const first = world.send(mixer, middle, 30_000n * TRX)
  const second = world.send(middle, end, 20_000n * TRX)
  await world.settle()
  const { id } = await world.ask({ customer_id, address: end.address })
  const evidence = (await readEvidence(world.sql, id))!
  const page = reportPage(evidence, await readReportContext(world.sql, evidence))
  for (const part of [
    end.address,
    '100.0',
    '>20,000 TRX</text>',
    '>30,000 TRX</text>',
    '>Screened address</text>',
    '<path class="high" d="M',
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
  const evidence = (await readEvidence(world.sql, id))!
  const page = reportPage(evidence, await readReportContext(world.sql, evidence))
  assert.match(page, /Nothing is known here of where money/)
  assert.match(page, /No list is loaded/)
  assert.match(page, /No source of its money is known\./)
  assert.match(page, /25\.0/)
})

test("an allowed address's report says what was decided, and that no rule applied", async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, exchange, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Spinner', reference: '' },
    { address: exchange.address, category: 'exchange_licensed' },
  ])
  world.send(mixer, end, 1_000n * TRX)
  world.send(exchange, end, 99_000n * TRX)
  await world.settle()
  type CheckInput = { address: string; type?: 'hash'; hash?: string; direction?: 'withdrawal' }
  const pageOf = async (wanted: CheckInput) => {
    const { id } = await world.ask({ customer_id, ...wanted })
    const evidence = (await readEvidence(world.sql, id))!
    return reportPage(evidence, await readReportContext(world.sql, evidence))
  }
  const raised = await pageOf({ address: end.address })
  assert.match(raised, /Weighted mean 10\.9, raised by the rules below/)
  assert.match(raised, /Mixer: Spinner \(operator\)/)
  assert.match(raised, /Raised to 75\.0: money came straight from one severe category \(Mixer\)\./)
  assert.doesNotMatch(raised, /has been decided|were judged|label of its own/)
  const entry = {
    customer_id,
    address: end.address,
    kind: 'allow',
    reason: 'a <known> shop',
    made_by: 'me',
  } as const
  await world.sql.begin((tx) =>
    makeEntry(tx, world.new_id, { ...entry, made_at: world.clock.now(), expires_at: null }),
  )
  const allowed = await pageOf({ address: end.address })
  assert.match(allowed, /Weighted mean 10\.9, not raised to 75\.0 because the address is allowed/)
  assert.match(allowed, /allow: a &lt;known&gt; shop/)
  assert.match(allowed, /The address is allowed: without that the score would be 75\.0\./)

  const hash = world.send(end, mixer, 10_000n * TRX)
  const paid = world.send(mixer, end, 500n * TRX)
  await world.settle()
  const withdrawn = await pageOf({
    address: end.address,
    type: 'hash',
    hash: paid,
    direction: 'withdrawal',
  })
  assert.match(withdrawn, /were judged.*>500 TRX/s)
  assert.match(withdrawn, /Where it sends to.*Mixer: 3000\.00 USD/s)
  const own = await pageOf({ address: mixer.address, type: 'hash', hash, direction: 'withdrawal' })
  assert.match(own, /label of its own \(Mixer\), which counts instead of what it received/)
  assert.doesNotMatch(own, /raised by/)
})

test('amounts are whole coins, and smallest units only where the decimals are not known', () => {
  const decimals = new Map([
    ['TRX', 6],
    ['WHOLE', 0],
  ])
  const cases: [units: string, asset: string, text: string][] = [
    ['16177957533', 'TRX', '16,177.957533 TRX'],
    ['1', 'TRX', '0.000001 TRX'],
    ['1500000', 'TRX', '1.5 TRX'],
    ['1000000000000', 'TRX', '1,000,000 TRX'],
    ['0', 'TRX', '0 TRX'],
    ['1234567', 'WHOLE', '1,234,567 WHOLE'],
    ['12', '<b>', '12 smallest units of &lt;b&gt;'],
  ]
  const edition = { words: wordsOf('en'), decimals }
  for (const [units, asset, text] of cases) assert.equal(amountText(units, asset, edition), text)
  // A comma would be a decimal one.
  const in_russian = { words: wordsOf('ru'), decimals }
  assert.equal(amountText('16177957533', 'TRX', in_russian), '16\u2009177.957533 TRX')
  for (const [units, text] of [
    ['16177957533', '16,177.95 TRX'],
    ['1', '0.000001 TRX'],
  ] as const)
    assert.equal(shortAmount(units, 'TRX', edition), text)
  assert.equal(shortAmount('12', '<b>', edition), '&lt;b&gt;')
})

test('a report says who asked, what share of a category its way explains, the rules', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, end] = [world.person(), world.person()]
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Spinner', reference: '' },
  ])
  world.send(mixer, end, 300n * TRX)
  world.send(mixer, end, 100n * TRX)
  await world.settle()
  const { id } = await world.ask({ customer_id, address: end.address })
  const evidence = (await readEvidence(world.sql, id))!
  const page = reportPage(evidence, await readReportContext(world.sql, evidence))
  const parts = [
    `(${customer_id})`,
    '300 TRX of the 400 TRX of Mixer, which is 75.00 % of it in TRX',
    '300 TRX (100.00 %)',
    'At least 75 points: at least 0.50 % and 100 USD of the money came straight',
    'What was not looked at',
    '--evidence FILE',
  ]
  for (const part of parts) assert.ok(page.includes(part), part)
})

test('a report is read in the language of who asks, the names of categories too', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const [mixer, middle, end] = [world.person(), world.person(), world.person()]
  await world.publish('operator', [
    { address: mixer.address, category: 'mixer', entity: 'Spinner', reference: '' },
  ])
  world.send(mixer, middle, 30_000n * TRX)
  world.send(middle, end, 20_000n * TRX)
  await world.settle()
  const { id } = await world.ask({ customer_id, address: end.address })
  const evidence = (await readEvidence(world.sql, id))!
  const context = await readReportContext(world.sql, evidence)
  for (const [language, parts] of [
    ['zh', ['<html lang="zh">', '混币器', '高风险', '被筛查地址', '未涵盖的内容']],
    ['ru', ['<html lang="ru">', 'Миксер', 'высокий риск', 'Проверенный адрес', 'Блок']],
  ] as const) {
    const page = reportPage(evidence, context, language)
    for (const part of parts) assert.ok(page.includes(part), `${language} ${part}`)
    // Every text that a reader sees is of the language: a few names are the same in all.
    assert.doesNotMatch(page, />(Where|What|Raised|Money|Share|Category|Amount)\b/)
    assert.ok(page.includes(evidence.sha256))
  }
})

test('customers see where the levels begin, and no other threshold', async (t) => {
  const world = await makeScreeningWorld(t)
  const customer_id = await world.customer()
  const { id } = await world.ask({ customer_id, address: world.person().address })
  const evidence = (await readEvidence(world.sql, id))!
  const context = forCustomers(await readReportContext(world.sql, evidence))
  assert.deepEqual(context.levels, { medium_from: 30, high_from: 70 })
  const page = reportPage(evidence, context)
  assert.match(page, /class="tick"[^>]*>30<.*class="tick"[^>]*>70</s)
  assert.doesNotMatch(page, /What the rules are/)
  const lost = reportPage(evidence, { ...context, levels: undefined })
  assert.doesNotMatch(lost, /class="tick"/)
})
