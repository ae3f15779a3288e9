// What the page of a case has, by what is known of it; and how amounts and names are printed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { casePage } from './case_page.ts'
import { amountText, shortAmount } from './text.ts'
import { wordsOf } from './words.ts'

const AT = new Date('2026-11-21T12:00:00Z')

const CASE: Parameters<typeof casePage>[0] = {
  id: 'c1',
  customer_id: null,
  address: 'there',
  state: 'open',
  priority: 'normal',
  risk_level: null,
  owner: null,
  escalated_by: null,
  due_at: AT,
  reminded_at: null,
  report_reference: null,
  opened_at: AT,
  opened_by: 'olga',
  closed_at: null,
  closed_by: null,
  code: null,
  is_late: false,
  subjects: [],
  reviews: [],
  entries: [],
  earlier: [],
}

const factsOf = (page: string) =>
  [...page.matchAll(/<li>([^<]*)<\/li>/g)].map(([, fact]) => fact!.replace(/^Opened .*/, 'Opened'))
const cellsOf = (page: string) =>
  [...page.matchAll(/<td>([^<]*)<\/td>/g)].map(([, text]) => text).join(' | ')
const titlesOf = (page: string) => [...page.matchAll(/<h2>(\w+)<\/h2>/g)].map(([, title]) => title)

test('a case says how it ended and what it was reported as, where it was', () => {
  assert.deepEqual(factsOf(casePage(CASE, [])), [
    'State: open',
    'Opened',
    'Customer: none',
    'Priority: normal, risk: not known',
  ])
  const closed = {
    ...CASE,
    customer_id: 'anna',
    risk_level: 'high',
    state: 'closed',
    code: 'reported',
    closed_by: 'bea',
    report_reference: 'FIU <7>',
  } as const
  assert.deepEqual(factsOf(casePage(closed, ['gone'])), [
    'State: closed, reported by bea',
    'Opened',
    'Customer: anna',
    'Priority: normal, risk: high',
    'Reported as FIU &lt;7&gt;',
    'No evidence is kept of check gone',
  ])
})

test('a case has a table of what it has, and none of what it has not', () => {
  const plain = casePage(CASE, [])
  assert.deepEqual([titlesOf(plain), plain.includes('<table')], [[], false])
  const review = { check_id: 'k', state: 'open', risk_score: '75', decision: null }
  const reviews = [{ ...review, decided_by: null }]
  const subjects = [{ kind: 'check', subject: 'k', added_at: AT, added_by: 'olga' }] as const
  const answered = casePage({ ...CASE, reviews }, [])
  assert.deepEqual([titlesOf(answered), cellsOf(answered)], [['Answers'], 'k | 75 | waits | '])
  const decided = [{ ...review, decision: 'deny', decided_by: 'bea' }]
  assert.equal(cellsOf(casePage({ ...CASE, reviews: decided }, [])), 'k | 75 | deny | bea')
  const about = casePage({ ...CASE, subjects: [...subjects] }, [])
  assert.deepEqual([titlesOf(about), cellsOf(about)], [['Subjects'], 'check | k | olga'])
  const entry = { number: 1, at: AT, made_by: 'olga' }
  const entries = [
    { ...entry, kind: 'note', text: 'seen', name: null, sha256: null },
    { ...entry, kind: 'file', text: '', name: 'a.txt', sha256: 'ff' },
  ]
  const told = casePage({ ...CASE, entries }, [])
  assert.deepEqual(titlesOf(told), ['History'])
  assert.match(cellsOf(told), /note \| seen \| .* \| file \| a\.txt, SHA-256 ff$/)
})

test('an amount is in whole coins where it is a number of an asset that is known', () => {
  const decimals = new Map([
    ['TRX', 6],
    ['LONGSYMBOL', 2],
  ])
  const edition = { words: wordsOf('en'), decimals }
  for (const [units, asset, long, brief] of [
    ['5000000', 'TRX', '5 TRX', '5 TRX'],
    ['999999', 'TRX', '0.999999 TRX', '0.999999 TRX'],
    ['1000001', 'TRX', '1.000001 TRX', '1 TRX'],
    ['1009000', 'TRX', '1.009 TRX', '1 TRX'],
    ['1100000', 'TRX', '1.1 TRX', '1.1 TRX'],
    ['100000', 'TRX', '0.1 TRX', '0.1 TRX'],
    ['0', 'TRX', '0 TRX', '0 TRX'],
    ['', 'TRX', ' smallest units of TRX', 'TRX'],
    ['-5', 'TRX', '-5 smallest units of TRX', 'TRX'],
    ['<1>', 'TRX', '&lt;1&gt; smallest units of TRX', 'TRX'],
    ['7', 'OTHER', '7 smallest units of OTHER', 'OTHER'],
    ['150', 'LONGSYMBOL', '1.5 LONGSYMBOL', '1.5 LONGSYMB'],
  ] as const)
    assert.deepEqual(
      [amountText(units, asset, edition), shortAmount(units, asset, edition)],
      [long, brief],
      `${units} ${asset}`,
    )
  const russian = { words: wordsOf('ru'), decimals }
  assert.equal(shortAmount('1234000000', 'TRX', edition), '1,234 TRX')
  assert.equal(shortAmount('1234000000', 'TRX', russian), '1\u2009234 TRX')
})
