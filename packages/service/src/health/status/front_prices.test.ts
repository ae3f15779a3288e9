// The table of prices on the first page: what is sold for how much, beside what burning costs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Prices } from '../../market/prices/prices.ts'
import { pricesHtml } from './front_prices.ts'
import { wordsOf } from './words.ts'

const tier = { duration_hours: 1, price_sun: 40_000n }
const PRICES: Prices = {
  tiers: [
    { ...tier, resource: 'energy', min_amount: 1, max_amount: 200_000 },
    { ...tier, resource: 'bandwidth', min_amount: 300, max_amount: 900_000, price_sun: 200_000n },
  ],
  activation_sun: 1_000_000n,
  on_sale: new Set(['energy', 'bandwidth', 'activate_address']),
}
const BURNING = { energy_sun: 100_000n, bandwidth_sun: 1_000_000n, activation_sun: 1_100_000n }

type MoreOfQuestion = Partial<Parameters<typeof pricesHtml>[0]>

const page = (query = '', more: MoreOfQuestion = {}) =>
  pricesHtml({
    prices: PRICES,
    burning: BURNING,
    query: new URLSearchParams(query),
    words: wordsOf('en'),
    ...more,
  })

/** The rows of the table, in words; the four usual ones left out. */
const asked = (query: string, more: MoreOfQuestion = {}) => rows(query, more).slice(4)

const rows = (query = '', more: MoreOfQuestion = {}) =>
  page(query, more)
    .split('<tbody>')[1]!
    .split('</tbody>')[0]!
    .split('</tr>')
    .slice(0, -1)
    .map((row) => row.split('</td>').slice(0, -1))
    .map((cells) => cells.map((cell) => cell.replace(/<[^>]*>/g, '').trim()).join(' | '))

const USUAL = [
  '65,000 energy a USDT transfer | 2.6 TRX | 6.5 TRX (60 % saved)',
  '131,000 energy USDT to a new wallet | 5.24 TRX | 13.1 TRX (60 % saved)',
  '345 bandwidth the bytes of a transfer | 0.07 TRX | 0.345 TRX (79 % saved)',
  'Activate an address one that nobody has used yet | 1 TRX | 1.1 TRX (9 % saved)',
]

test('usual amounts are there whatever is asked for, and each of them once', () => {
  assert.deepEqual(rows(), USUAL)
  for (const query of ['energy=65000', 'bandwidth=345', 'activate=on', 'energy=131.000'])
    assert.deepEqual(rows(query), USUAL, query)
})

test('what was typed is read with its separators, and nothing else is an amount', () => {
  for (const typed of ['70000', '70,000', '70 000', "70'000", '70.000'])
    assert.deepEqual(
      asked(`energy=${typed}`),
      ['70,000 energy | 2.8 TRX | 7 TRX (60 % saved)'],
      typed,
    )
  for (const typed of ['', 'x', '-1', '1e3', '1000000000', '7x'])
    assert.deepEqual(asked(`energy=${typed}`), [], typed)
  assert.deepEqual(asked('activate=off&bandwidth=x'), [])
})

test('energy has a price from one unit to the largest order', () => {
  const shown = (energy: number, more = {}) => asked(`energy=${energy}`, more)[0]!.split(' | ')[1]
  assert.equal(shown(0), 'not sold at once')
  assert.equal(shown(1), '0.01 TRX')
  assert.equal(shown(200_000), '8 TRX')
  assert.equal(shown(200_001), 'not sold at once', 'that of bandwidth is larger')
})

test('bandwidth and activations have a price while they are on sale and in a tier', () => {
  const without = (name: string) => {
    const on_sale = new Set([...PRICES.on_sale].filter((one) => one !== name))
    return rows('', { prices: { ...PRICES, on_sale } }).map((row) => row.split(' | ')[1])
  }
  assert.deepEqual(without('bandwidth'), ['2.6 TRX', '5.24 TRX', 'not sold at once', '1 TRX'])
  assert.deepEqual(without('activate_address'), [
    ...['2.6 TRX', '5.24 TRX', '0.07 TRX', 'not sold at once'],
  ])
  assert.match(asked('bandwidth=299')[0]!, /^299 bandwidth \| not sold at once \| 0.299 TRX$/)
})

test('what burning costs is said as far as the chain says it, and what that saves', () => {
  const unknown = { energy_sun: undefined, bandwidth_sun: undefined, activation_sun: undefined }
  const burnt = (burning: typeof BURNING | typeof unknown) =>
    rows('', { burning }).map((row) => row.split(' | ')[2])
  assert.deepEqual(burnt(unknown), ['–', '–', '–', '–'])
  assert.deepEqual(burnt({ ...BURNING, energy_sun: 40_000n, activation_sun: 1_000_001n }), [
    ...['2.6 TRX', '5.24 TRX', '0.345 TRX (79 % saved)', '1.000001 TRX (0 % saved)'],
  ])
})

test('together is the sum of what was asked for, where each of it is known', () => {
  assert.deepEqual(asked('energy=70000&activate=on'), [
    '70,000 energy | 2.8 TRX | 7 TRX (60 % saved)',
    'Together | 3.8 TRX | 8.1 TRX (53 % saved)',
  ])
  const three = asked('energy=70000&bandwidth=400&activate=on')
  assert.equal(three.at(-1), 'Together | 3.88 TRX | 8.5 TRX (54 % saved)')
  for (const query of ['energy=300000&bandwidth=400', 'energy=70000&bandwidth=1'])
    assert.match(asked(query).at(-1)!, /^Together \| not sold at once \| [\d.]+ TRX$/)
  const burning = { ...BURNING, energy_sun: undefined }
  const unburnt = asked('energy=70000&bandwidth=400', { burning })
  assert.equal(unburnt.at(-1), 'Together | 2.88 TRX | –')
})

test('the calculator keeps what was typed, and buying goes on with the energy', () => {
  assert.match(page(), /name="energy"[^>]*value="65000"/)
  assert.match(page(), /name="bandwidth"[^>]*value=""/)
  assert.match(page(), /name="activate">/)
  assert.match(page(), /href="\/buy\?energy=65000"/)
  const typed = page('energy=70000&bandwidth=400&activate=on')
  assert.match(typed, /name="energy"[^>]*value="70000"/)
  assert.match(typed, /name="bandwidth"[^>]*value="400"/)
  assert.match(typed, /name="activate" checked>/)
  assert.match(typed, /href="\/buy\?energy=70000"/)
})
