// The first page: to whom it is shown, and what it says of the amounts that are asked for.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { makeWorld } from 'penstock-test/harness/world.ts'
import { priceReader } from '../../market/prices/prices.ts'
import { brandReader } from '../../web/brand.ts'
import { frontPage } from './front.ts'
import { statusReader } from './report.ts'

const BURNING = { energy_sun: 100_000n, bandwidth_sun: 1_000_000n, activation_sun: 1_100_000n }

/** The page on a database of its own, and what it answers. */
async function makeFront(t: TestContext) {
  const { sql, now } = await makeWorld(t)
  const needs = { sql, clock: { now: () => now }, wait: () => new Promise<void>(() => {}) }
  const prices = priceReader(needs)
  const page = frontPage({
    read: statusReader({
      ...needs,
      prices,
      network: async () => 'private',
      burnPrice: async () => BURNING.energy_sun,
    }),
    prices,
    burnPrices: async () => BURNING,
    brand: brandReader(needs),
    styleLinks: async () => '',
    is_https: true,
  })
  const ask = (query: string, accept?: string) =>
    page.handle({
      params: {},
      query: new URLSearchParams(query),
      headers: { 'accept-language': 'en', ...(accept !== undefined && { accept }) },
      request_id: 'r',
    })
  /** What stands in the rows of the table, in words. */
  const rows = async (query = ''): Promise<string[][]> => {
    const { body } = await ask(query, 'text/html,*/*;q=0.8')
    return String(body)
      .split('<tr>')
      .slice(2)
      .map((row) => row.split('</tr>')[0]!)
      .map((row) => row.split('</td>').map((cell) => cell.replace(/<[^>]*>/g, '').trim()))
  }
  return { prices, ask, rows }
}

test('the first page is for browsers; a program is told that nothing is there', async (t) => {
  const { ask } = await makeFront(t)
  assert.equal((await ask('', 'text/html,*/*;q=0.8')).status, 200)
  for (const accept of ['application/json', '*/*', undefined])
    assert.equal((await ask('', accept)).status, 404, accept)
})

test('what several amounts cost together is said, and of one alone it is not', async (t) => {
  const { rows } = await makeFront(t)
  const usual = await rows()
  assert.equal(usual.length, 4)
  const one = await rows('energy=70000')
  assert.deepEqual(
    one.slice(4).map(([what]) => what),
    ['70,000 energy'],
  )
  const both = await rows('energy=70000&bandwidth=400')
  assert.deepEqual(
    both.slice(4).map(([what]) => what),
    ['70,000 energy', '400 bandwidth', 'Together'],
  )
  const trx = (row: number) => both[row]!.slice(1, 3).map((cell) => Number.parseFloat(cell))
  const [energy, bandwidth] = [trx(4), trx(5)]
  assert.deepEqual(
    trx(6),
    energy.map((one, i) => (one * 1e6 + bandwidth[i]! * 1e6) / 1e6),
  )
})

test('more than the largest order has no price, and neither has a sum with it', async (t) => {
  const { prices, rows } = await makeFront(t)
  const { tiers } = await prices()
  const energy = tiers.filter(({ resource }) => resource === 'energy')
  const largest = Math.max(...energy.map(({ max_amount }) => max_amount))
  const [sold] = (await rows(`energy=${largest}`)).slice(4)
  assert.match(sold![1]!, /^[\d.]+ TRX$/)
  const [more, , together] = (await rows(`energy=${largest + 1}&bandwidth=400`)).slice(4)
  assert.deepEqual([more![1], together![1]], ['not sold at once', 'not sold at once'])
  assert.match(together![2]!, /^[\d.]+ TRX$/)
})
