// What one look at a subscription does, on rows written by hand and by what a node is made to say:
// at the exact limits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  at,
  DAY_MS,
  HOUR_MS,
  IDLE_MS,
  type Look,
  type Row,
  SupplyBook,
} from 'penstock-test/harness/supply_book.ts'
import { InvalidParams, ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { InvalidAddress } from '../../platform/wire/reading.ts'

const QUIET = {
  due: true,
  moved: false,
  asked: [],
  state: 'active',
  look_ms: 60_000,
  resting: null,
}
const SUPPLIED = { due: true, moved: true, asked: [1_000] }

test('a look is due when its time has come, or what it waits for is there', async (t) => {
  const book = await SupplyBook.of(t)
  const never = (row: Row): [Row, Look] => {
    const { state = 'active', look_ms = 0 } = row
    return [row, { due: false, moved: false, asked: [], state, look_ms }]
  }
  await book.subscription('other', { look_ms: DAY_MS })
  await book.expect([
    [{}, QUIET],
    never({ look_ms: 1 }),
    never({ state: 'stopped' }),
    never({ state: 'expired' }),
    never({ state: 'error' }),
    never({ look_ms: 1, order: 'failed' }),
    never({ look_ms: 1, state: 'pending', order: 'pending' }),
    [
      { look_ms: 1, state: 'pending', order: 'success' },
      { due: true, state: 'active' },
    ],
    [
      { state: 'pending', order: 'success' },
      { moved: true, state: 'active' },
    ],
    [
      { look_ms: 1, state: 'pending', order: 'failed' },
      { due: true, state: 'error' },
    ],
    [
      { look_ms: 1, expire_ms: 0 },
      { due: true, moved: true, state: 'expired' },
    ],
    never({ look_ms: 1, expire_ms: 1 }),
    never({ look_ms: 1, state: 'new', expire_ms: 0 }),
  ])
  const [other] = await book.sql`select state, look_at, own_energy, supplies
    from subscription where id = 'other'`
  assert.deepEqual(
    other,
    { state: 'active', look_at: at(DAY_MS), own_energy: 0n, supplies: 1 },
    'one that is not due is left as it is',
  )
})

test('a start is supplied until ten minutes are over, and then an error', async (t) => {
  const book = await SupplyBook.of(t)
  const fresh = { state: 'new', energy: 0 }
  await book.expect([
    [{ ...fresh, made_ms: -600_000 }, SUPPLIED],
    [
      { ...fresh, made_ms: -600_001 },
      { moved: true, asked: [], state: 'error' },
    ],
    [
      { state: 'pending', order: 'failed' },
      { moved: true, asked: [], state: 'error' },
    ],
    [{ made_ms: -DAY_MS, order: 'failed' }, QUIET],
    // What holds an active one back does not hold back a start.
    [{ ...fresh, expire_ms: 0 }, SUPPLIED],
    [{ ...fresh, unread: 21 }, SUPPLIED],
    [{ ...fresh, suspended: true }, SUPPLIED],
    [{ ...fresh, idle_ms: -IDLE_MS }, SUPPLIED],
    [{ ...fresh, left: 0n }, SUPPLIED],
  ])
})

test('an active one waits for what is on its way, unread or not allowed', async (t) => {
  const book = await SupplyBook.of(t)
  const soon = { ends_ms: 0 }
  const waits = { due: true, moved: false, asked: [], state: 'active' }
  await book.expect([
    [{ ...soon }, SUPPLIED],
    [
      { ...soon, order: 'new' },
      { ...waits, look_ms: 500 },
    ],
    [
      { ...soon, order: 'pending' },
      { ...waits, look_ms: 500 },
    ],
    [
      { state: 'pending', order: 'new' },
      { ...waits, state: 'pending', look_ms: 500 },
    ],
    [{ ...soon, unread: 20 }, SUPPLIED],
    [
      { ...soon, unread: 21 },
      { ...waits, look_ms: 15_000 },
    ],
    [
      { ...soon, suspended: true },
      { ...waits, look_ms: 60_000 },
    ],
    [
      { ...soon, expire_ms: 0 },
      { asked: [], state: 'expired' },
    ],
    [{ ...soon, expire_ms: 1 }, SUPPLIED],
  ])
})

test('what ends within five minutes is renewed, and what is missing ordered', async (t) => {
  const book = await SupplyBook.of(t)
  await book.expect([
    [{ ends_ms: 300_000 }, SUPPLIED],
    [{ ends_ms: 300_001 }, QUIET],
    [{ left: 999n }, { moved: true, asked: [1] }],
    [{ left: 1_001n }, QUIET],
    [{ left: 0n }, SUPPLIED],
  ])
})

test('one that is idle rests when it would be renewed, and not before', async (t) => {
  const book = await SupplyBook.of(t)
  const soon = { ends_ms: 0 }
  const rests = { moved: true, asked: [], state: 'active', resting: 'idle' }
  await book.expect([
    [
      { ...soon, idle_ms: -IDLE_MS },
      { ...rests, look_ms: DAY_MS },
    ],
    [{ ...soon, idle_ms: -IDLE_MS + 1 }, SUPPLIED],
    [{ ...soon, idle_ms: -DAY_MS, idle_hours: 0 }, SUPPLIED],
    [{ ...soon, idle_ms: -HOUR_MS, idle_hours: 1 }, rests],
    [{ idle_ms: -IDLE_MS }, QUIET],
    [
      { ...soon, idle_ms: -IDLE_MS, expire_ms: HOUR_MS },
      { ...rests, look_ms: HOUR_MS },
    ],
    [
      { ...soon, idle_ms: -IDLE_MS, expire_ms: 2 * DAY_MS },
      { ...rests, look_ms: DAY_MS },
    ],
    [
      { ...soon, resting: 'idle' },
      { ...rests, moved: false, look_ms: DAY_MS },
    ],
    [{ resting: 'daily_cap' }, QUIET],
    [{ ...soon, resting: 'daily_cap', idle_ms: -IDLE_MS }, SUPPLIED],
  ])
})

test('the price of each transaction that its energy is for is held, or it ends', async (t) => {
  const book = await SupplyBook.of(t)
  const priced = { price_sun: 100 }
  const ends = { moved: true, asked: [], state: 'stopped', holds: 0 }
  await book.expect([
    [priced, { ...QUIET, holds: 1 }],
    [
      { ...priced, left: 999n },
      { asked: [1], holds: 1 },
    ],
    [
      { ...priced, ends_ms: 0 },
      { asked: [1_000], holds: 2 },
    ],
    [
      { ...priced, energy: 1_100, left: 1_100n, limit: 1_100n },
      { ...QUIET, holds: 1 },
    ],
    [
      { ...priced, energy: 1_101, left: 1_101n, limit: 1_101n },
      { ...QUIET, holds: 2 },
    ],
    [
      { ...priced, balance_sun: 100n },
      { ...QUIET, holds: 1 },
    ],
    [{ ...priced, balance_sun: 99n }, ends],
    [{ ...priced, left: 999n, balance_sun: 99n }, ends],
    [{ ...priced, left: 100n, balance_sun: 99n }, ends],
    // Enough for what is there, until that ends.
    [
      { ...priced, ends_ms: 0, balance_sun: 199n },
      { ...QUIET, holds: 1 },
    ],
    [
      { ...priced, ends_ms: 0, balance_sun: 200n },
      { asked: [1_000], holds: 2 },
    ],
  ])
})

test('an address never has energy for more transactions than are left of its limit', async (t) => {
  const book = await SupplyBook.of(t)
  const soon = { ends_ms: 0, price_sun: 100 }
  await book.expect([
    [{ ...soon, uses_max: 9, used: 7 }, SUPPLIED],
    // By the margin of its stake it has a little more than that of one, which is none of another.
    [{ ...soon, uses_max: 9, used: 7, energy: 1_010, left: 1_010n, limit: 1_010n }, SUPPLIED],
    // Looked at sooner, so that the next energy comes when this is back.
    [
      { ...soon, uses_max: 9, used: 8 },
      { moved: false, asked: [], look_ms: 3_000, holds: 1 },
    ],
    [
      { ...soon, uses_max: 9, used: 8, left: 400n },
      { moved: true, asked: [600], holds: 1 },
    ],
    [{ ...soon, uses_max: 9, used: 8, left: 0n }, SUPPLIED],
    // The plan's own limit may let it go on.
    [{ ...soon, uses_max: 9, used: 10, left: 0n }, SUPPLIED],
    [
      { ...soon, uses_max: 9, used: 8, idle_ms: -IDLE_MS },
      { moved: true, asked: [], resting: 'idle' },
    ],
    [{ price_sun: 100, uses_max: 9, used: 8 }, QUIET],
    [{ state: 'new', uses_max: 1 }, SUPPLIED],
  ])
})

test('what was ordered for its next supply and not noted is its supply', async (t) => {
  const book = await SupplyBook.of(t)
  await book.expect([
    [{ lost: '2' }, { moved: true, asked: [], supplies: 2, look_ms: 0 }],
    [{ lost: '3' }, { ...QUIET, supplies: 1 }],
    [
      { lost: '2', lost_of: 'anna' },
      { ...QUIET, supplies: 1 },
    ],
  ])
})

test('a refused supply is tried again, and the address given up if that is why', async (t) => {
  const book = await SupplyBook.of(t)
  const soon = { ends_ms: 0 }
  const again = { moved: false, asked: [1_000], state: 'active', look_ms: 3_000 }
  await book.expect([
    [{ ...soon, refusal: () => ServiceUnavailable() }, again],
    [{ ...soon, refusal: () => InvalidParams() }, again],
    [
      { ...soon, refusal: () => InvalidAddress(undefined, 'It is a contract') },
      { moved: true, asked: [1_000], state: 'stopped' },
    ],
  ])
})

test("energy beside ours is the address's own from a hundredth of one on", async (t) => {
  const book = await SupplyBook.of(t)
  await book.subscription('other', { look_ms: DAY_MS })
  const back = { left: 0n, limit: 1_000n }
  await book.expect([
    [{ limit: 1_009n }, { own: 0n }],
    [{ limit: 1_010n }, { own: 10n }],
    [{ energy: 0 }, { own: 1_000n }],
    // Given back so shortly before that a node may still show it.
    [
      { ...back, ended_ms: -59_999 },
      { own: 0n, asked: [1_000] },
    ],
    [
      { ...back, ended_ms: -60_000 },
      { own: 1_000n, asked: [1_000] },
    ],
    // What it still shows is no energy of ours, and none that ends.
    [
      { left: 1_000n, ended_ms: -59_999, price_sun: 100 },
      { ...QUIET, holds: 0 },
    ],
    [{ left: 1_000n, ended_ms: -59_999, ends_ms: 0 }, QUIET],
    [{ limit: 2_000n, bandwidth: 1_000 }, { own: 1_000n }],
  ])
  const [other] = await book.sql`select own_energy from subscription where id = 'other'`
  assert.deepEqual(other, { own_energy: 0n })
})
