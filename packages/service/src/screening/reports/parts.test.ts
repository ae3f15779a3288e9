// Which parts a report has: pages made of evidence that is written by hand, with what it has and
// without.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SHIPPED_POLICY } from '../engine/policy.ts'
import type { ReportContext } from './context.ts'
import { reportPage } from './report.ts'
import { percentOf, said, short } from './text.ts'

const ADDRESS = 'TGVpXaZff9J1CzMfoSheN6swLB1yeRx3p8'
const BASE = {
  engine: 'e1',
  asked: {
    type: 'address',
    network: 'TRX',
    address: ADDRESS,
    hash: null,
    direction: null,
    at: 'a',
  },
  policy: { name: 'standard', version: '1' },
  result: { risk_score: '10.0', risk_level: 'low', blacklist: false, risk_factors: [] },
}
const INDEX = { first_block: '3', last_block: '9', last_block_time: null }
const NOTHING: ReportContext = {
  asked_by: undefined,
  decimals: new Map([['TRX', 6]]),
  lists: undefined,
  policy: undefined,
}

const pageOf = (facts: object, context: Partial<ReportContext> = {}) => {
  const canonical = JSON.stringify({ ...BASE, ...facts })
  const evidence = { check_id: 'c', canonical, sha256: 'f' } as Parameters<typeof reportPage>[0]
  return reportPage(evidence, { ...NOTHING, ...context })
}

/** A page has all of the first, and nothing of the second. */
function requirePage(page: string, has: readonly string[], lacks: readonly string[] = []): void {
  for (const part of has) assert.ok(page.includes(part), part)
  for (const part of lacks) assert.ok(!page.includes(part), `without ${part}`)
}

const transfer = (more: object = {}) => ({
  tx_id: 'tx',
  from: 'from-1',
  to: ADDRESS,
  asset: 'TRX',
  amount: '8000000',
  block: '5',
  ...more,
})
const label = { category: 'mixer', entity: 'Spinner', list: 'operator', reference: 'ref' }
const factor = (more: object = {}) => ({
  category: 'mixer',
  share: '0.5',
  usd: '1.00',
  direct_usd: '2.00',
  mean_hops: null,
  units: { TRX: '8000000' },
  origins: [],
  path: [],
  ...more,
})

test('a report without anything has none of the parts that would say it', () => {
  requirePage(
    pageOf({}),
    ['Nothing is known here', '<h1>'],
    [
      'Blacklist',
      'What has been decided',
      'Label set',
      'What of it is new',
      'Where what it sent',
      'What is said of the address',
      'What this rests on',
      'What was not looked at',
      'label of its own',
      'Data up to block',
      'Weighted mean',
      'What the rules are',
      'blacklisted',
      '(label set',
      'asked by',
    ],
  )
})

test('an answer of a provider says its score or that it has none, and whether it bars', () => {
  const answer = { name: 'amlbot', score: null, level: null, blacklist: false, facts: {} }
  const line = (more: object) =>
    /<li>amlbot: [^<]*<\/li>/.exec(pageOf({ answers: [{ ...answer, ...more }] }))?.[0]
  assert.equal(line({}), '<li>amlbot: no score</li>')
  assert.equal(line({ score: '5', blacklist: true }), '<li>amlbot: 5, blacklisted</li>')
  assert.equal(line({ score: '5', level: 'odd' }), '<li>amlbot: 5, odd</li>')
  const embedded = { ...answer, name: 'embedded', facts: { factors: [factor()] } }
  requirePage(pageOf({ answers: [answer, embedded] }), ['50.00 %'], ['Nothing is known here'])
})

test('a blacklisted address is said to be, with each row that says so', () => {
  const bars = {
    label_set: '7',
    labels: [{ list: 'ofac', entity: 'SDN 1', reference: 'CUBA' }],
    frozen: [{ token: 'USDT', block: '44' }],
    issuers: [
      { token: 'USDC', said: 'frozen', at: null },
      { token: 'USDD', said: 'free', at: null },
    ],
  }
  const result = { ...BASE.result, blacklist: true }
  requirePage(
    pageOf({ blacklisted_by: ['odd_reason'], bars, result }),
    [
      'odd_reason',
      'ofac: SDN 1 CUBA (label set 7)',
      'USDT: frozen since block 44',
      'USDC: its issuer',
      ' &middot; blacklisted',
    ],
    ['USDD'],
  )
  requirePage(pageOf({ blacklisted_by: ['x'], bars: null }), ['<h2>Blacklist</h2>'])
})

test('what is said of the address, and that it is frozen, is a part by itself', () => {
  const screened = { address: ADDRESS, labels: [], frozen_by_issuer: false, in_force: null }
  const heading = 'What is said of the address'
  const labelled = { ...screened, labels: [{ ...label, confidence: '80' }] }
  const frozen = 'Frozen by the issuer of a token'
  requirePage(pageOf({ screened: labelled }), [heading, 'Spinner', 'operator, ref'], [frozen])
  requirePage(pageOf({ screened: { ...screened, frozen_by_issuer: true } }), [heading, frozen])
  requirePage(pageOf({ screened }), [], [heading])
})

test('a label of its own is said where the bars show something else than it', () => {
  const own = 'label of its own (Mixer)'
  const of = (in_force: object | null, factors: object[]) =>
    pageOf({
      factors,
      screened: { address: ADDRESS, labels: [], frozen_by_issuer: false, in_force },
    })
  const mixer = { category: 'mixer', terminal: true }
  requirePage(of(mixer, []), [own])
  requirePage(of(mixer, [factor({ category: 'scam' })]), [own])
  requirePage(of(mixer, [factor(), factor({ category: 'scam' })]), [own])
  requirePage(of(mixer, [factor()]), [], [own])
  requirePage(of({ ...mixer, terminal: false }, []), [], [own])
  requirePage(of(null, []), [], [own])
})

test('what a report rests on names each list, and its source where that is known', () => {
  const list = { list: 'ofac', title: 'SDN', entries: '1234', loaded_at: 'day', sha256: 'aa' }
  const source = { list: 'ofac', sha256: 'aa', origin: 'a-file', licence: 'public' } as never
  const page = (lists: object[], context: Partial<ReportContext> = {}, more: object = {}) =>
    pageOf({ index: INDEX, lists, ...more }, context)
  requirePage(page([]), ['No list was loaded', 'blocks 3 to 9'], ['<h3>Notes</h3>'])
  requirePage(page([list]), ['SDN', '1,234'], ['No list was loaded', 'not kept', 'a-file'])
  requirePage(page([list], { lists: [source] }), ['a-file', 'public'], ['not kept'])
  for (const other of [{ list: 'un' }, { sha256: 'bb' }])
    requirePage(page([{ ...list, ...other }], { lists: [source] }), ['not kept'], ['a-file'])
  requirePage(page([], {}, { notes: ['a <note>'] }), ['<h3>Notes</h3>', 'a &lt;note&gt;'])
  requirePage(page([]), ['Data up to block 9.'])
  const timed = { ...INDEX, last_block_time: 'noon' }
  requirePage(page([], {}, { index: timed }), ['Data up to block 9 (noon).'])
})

test('what was not looked at names the assets that are known, and lost ways', () => {
  const page = (factors: object[], context = {}) => pageOf({ index: INDEX, factors }, context)
  requirePage(page([]), ['Assets other than TRX, and networks other than TRX.'])
  requirePage(page([], { decimals: new Map() }), ['Assets other than those above'])
  const items = (factors: object[]) =>
    /What was not looked at.*?<ul>(.*?)<\/ul>/s.exec(page(factors))![1]!.split('<li>').length - 1
  assert.deepEqual([items([]), items([factor()])], [4, 5])
  assert.equal(items([factor({ path: [{ ...transfer(), carried: null }] })]), 4)
})

test('a way back says what its last transfer brought, where that is kept', () => {
  const way = (carried: string | null, more: object = {}) =>
    pageOf({ factors: [factor({ path: [{ ...transfer(), carried }], ...more })] })
  requirePage(way(null), ['is not kept any more', '<td data-title="of that category">not kept'])
  requirePage(
    way('2000000'),
    ['brought 2 TRX of the 8 TRX of Mixer, which is 25.00 % of it in TRX', '2 TRX (25.00 %)'],
    ['not kept'],
  )
  requirePage(way('2000000', { units: {} }), ['2 TRX of the 0 TRX of Mixer.'])
  const zero = { path: [{ ...transfer({ amount: '0' }), carried: '0' }] }
  requirePage(pageOf({ factors: [factor(zero)] }), ['>0 TRX</td>'], ['0 TRX ('])
  requirePage(way('1'), ['<h3>Mixer</h3>'])
  requirePage(way('1', { origins: [label] }), ['<h3>Mixer: Spinner (operator, ref)</h3>'])
  requirePage(pageOf({ factors: [factor()] }), [], ['<div class="flow"'])
})

test('a box of the drawing has as much of a name as it holds', () => {
  const drawn = (entity: string, category = 'mixer') =>
    pageOf({
      factors: [
        factor({
          category,
          origins: [{ ...label, entity }],
          path: [{ ...transfer(), carried: null }],
        }),
      ],
    })
  requirePage(drawn('n'.repeat(18)), [`>${'n'.repeat(18)}</text>`])
  requirePage(drawn('n'.repeat(19)), [`>${'n'.repeat(17)}…</text>`])
  requirePage(drawn(''), ['>Mixer</text>'])
  requirePage(drawn('', 'odd_code'), ['>odd_code</text>'])
  requirePage(drawn('a'), ['class="node end"', '>Screened address</text>', '>a</text>'])
})

test('the figures of a category have its hops where they are known', () => {
  requirePage(pageOf({ factors: [factor({ mean_hops: '1.5' })] }), ['>1.5</td>'])
  requirePage(pageOf({ factors: [factor()] }), ['"></td>'], ['>null</td>'])
})

test('what is new, and where what was sent has ended, is shown the largest first', () => {
  const net_new = { scam: { share: '0.1', usd: '1' }, mixer: { share: '0.2', usd: '2' } }
  const recent = { mixer: { share: '0.05', usd: '0.5' } }
  const counted = pageOf({ counted: { net_new, recent } })
  requirePage(counted, ['Money that had been here before', '5.00 %'])
  assert.match(counted, /20\.00 %.*10\.00 %/s)
  requirePage(pageOf({ counted: { net_new: { mixer: net_new.mixer } } }), ['20.00 %'])
  requirePage(pageOf({ counted: { net_new: {} } }), [], ['Money that had been here before'])
  const ended = { mixer: { share: '0.3', usd: '3' } }
  const sent = (more: object) =>
    pageOf({ sent: { last_block: '8', ended: {}, direct: {}, ...more } })
  requirePage(sent({}), ['As of block 8', 'Nothing was sent by then'])
  requirePage(sent({ ended }), ['30.00 %'], ['Nothing was sent by then'])
  requirePage(pageOf({ sent: null }), [], ['As of block'])
  const to = (of: object) => pageOf({ destinations: { sent_usd: '9', to: of } })
  requirePage(to({ mixer: '4' }), ['Mixer: 4 USD'])
  requirePage(to({}), [], ['Where it sends to'])
})

test('rules that acted are said with what they count, and the policy with its thresholds', () => {
  const acted = (more: object) =>
    pageOf({ floors: [{ rule: 'direct', category: null, points: '60', ...more }] })
  const words = 'At least 60 points: money came straight from one severe category'
  requirePage(acted({}), [`${words}</li>`], [', of what is'])
  requirePage(acted({ category: 'mixer' }), [`${words} (Mixer)</li>`])
  requirePage(acted({ of: 'net_new' }), [`${words}, of what is new</li>`])
  requirePage(acted({ of: 'recent' }), [`${words}, of what is recent</li>`])
  requirePage(acted({ of: 'received' }), [`${words}</li>`])
  requirePage(acted({ rule: 'odd_rule' }), ['At least 60 points: odd_rule</li>'])
  const floor = (share_bp: number, usd: number) => {
    const policy = { ...SHIPPED_POLICY, direct: [{ share_bp, usd, points: 7 }] } as never
    const page = pageOf({ index: INDEX }, { policy })
    return /At least 7 points: at least ([^<]*?)of the/.exec(page)?.[1]
  }
  assert.deepEqual(
    [floor(1, 0), floor(0, 1), floor(150, 2_000)],
    ['0.01 % ', '1 USD ', '1.50 % and 2,000 USD '],
  )
  requirePage(pageOf({}, { policy: SHIPPED_POLICY as never }), [], ['What the rules are'])
})

test('the mean is said as it is, as it was raised, or as it was kept', () => {
  const of = (base_score: string | undefined, raw_score: string | undefined, blacklist = false) =>
    /<p class="kind">([^<]*?) ?<\/p><\/div>/.exec(
      pageOf({ result: { ...BASE.result, base_score, raw_score, blacklist } }),
    )?.[1]
  assert.equal(of('10.0', '10.0'), 'Weighted mean 10.0.')
  assert.equal(of('5.0', '10.0'), 'Weighted mean 5.0, raised by the rules below.')
  assert.equal(of('5.0', '10.0', true), 'Weighted mean 5.0.')
  assert.match(of('5.0', '70.0')!, /^Weighted mean 5\.0, not raised to 70\.0/)
  assert.equal(of(undefined, '10.0'), '')
  assert.equal(of('10.0', undefined), '')
})

test('a report names its subject: the transaction where one was asked about', () => {
  const asked = (more: object) => pageOf({ asked: { ...BASE.asked, ...more } })
  assert.match(asked({ type: 'hash', hash: 'abc' }), /<title>[^<]*abc[^<]*<\/title>/)
  assert.match(asked({ hash: 'abc' }), new RegExp(`<title>[^<]*${ADDRESS}[^<]*</title>`))
  requirePage(asked({ hash: 'abc' }), ['<p class="hash">abc</p>'])
  requirePage(asked({ direction: 'odd_way' }), ['TRX &middot; odd_way &middot; '])
  requirePage(asked({}), ['TRX &middot; asked a</p>'])
  const by = (customer_name: string | null) =>
    pageOf({}, { asked_by: { customer_id: 'id', customer_name } })
  requirePage(by('Anna'), ['by Anna (id)'])
  requirePage(by(null), ['by customer (id)'])
  requirePage(pageOf({ label_set: '5' }), ['(version 1). Label set 5.'])
  requirePage(pageOf({ entries: [{ kind: 'deny', reason: 'why' }] }), ['<li>deny: why</li>'])
  requirePage(pageOf({ transfers: [transfer()] }), ['>8 TRX</td>', '<span class="hash">from-1'])
})

test('bars show each share with who it is traced to', () => {
  const risk_factors = [{ name: 'mixer', label: 'odd', group: 'high', score: '0.5' }]
  const row = (more: object) =>
    pageOf({ result: { ...BASE.result, risk_factors }, factors: [factor(more)] })
  requirePage(row({ origins: [label] }), ['<div class="from">Spinner</div>', 'width="50.00"'])
  requirePage(row({}), ['<div class="from"></div>'])
})

test('an identifier of up to 16 letters is shown whole, and a part of nothing is none', () => {
  assert.equal(short('x'.repeat(16)), 'x'.repeat(16))
  assert.equal(short('abcdef-----uvwxyz'), 'abcdef…uvwxyz')
  assert.equal(percentOf(1n, 0n), undefined)
  assert.equal(percentOf(1n, 1n), '100.00 %')
  assert.equal(percentOf(1n, 3n), '33.33 %')
  const of = (list: string, reference: string) =>
    said({ ...label, list, reference, confidence: '' })
  assert.deepEqual([of('a', 'b'), of('a', ''), of('', 'b')], ['a, b', 'a', 'b'])
})
