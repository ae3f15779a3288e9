// How a subscription is told: why it has ended or rests, and what is still held for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Address } from 'penstock-tron/address.ts'
import {
  hasEnded,
  hasLimit,
  isStartHeld,
  printStarted,
  reasonOf,
  type Subscription,
} from './forms.ts'

const now = new Date('2026-10-08T15:26:32Z')

/** One that is active, whose start costs 100 sun and a transaction 7. */
const ONE: Subscription = {
  id: 'one',
  customer_id: 'anna',
  external_id: null,
  key_id: null,
  plan_id: 1,
  plan_key: 'plain',
  plan_transactions_limit: 0,
  price_sun: 70_000n,
  address: 'bob' as Address,
  duration: 0,
  transactions_limit: 0,
  activate_address: false,
  state: 'active',
  reason: null,
  transactions_used: 0,
  energy_used: 0n,
  total_sun: 1_000_000n,
  supplies: 0,
  order_id: null,
  resting: null,
  idle_since: now,
  holds_made: 0,
  holds_ended: 0,
  created_at: now,
  started_at: null,
  renewed_at: null,
  stopped_at: null,
  expire_at: null,
}

test('the reason of an end or a rest is told where there is one', () => {
  assert.deepEqual(reasonOf(ONE), {})
  assert.deepEqual(reasonOf({ ...ONE, reason: 'a test' }), { reason: 'a test' })
  assert.deepEqual(reasonOf({ ...ONE, resting: 'idle' }), { resting: 'idle' })
})

test('a limit of its own or of its plan is a limit, from one transaction on', () => {
  const limits = (transactions_limit: number, plan_transactions_limit: number) =>
    hasLimit({ transactions_limit, plan_transactions_limit })
  assert.deepEqual([limits(0, 0), limits(1, 0), limits(0, 1)], [false, true, true])
})

test('the start of one that was stopped before it began is held, from one sun on', () => {
  const stopped = { ...ONE, state: 'stopped' as const }
  assert.deepEqual([isStartHeld(stopped), isStartHeld({ ...stopped, total_sun: 1n })], [true, true])
  assert.deepEqual(
    [
      isStartHeld({ ...stopped, total_sun: 0n }),
      isStartHeld({ ...stopped, started_at: now }),
      isStartHeld({ ...ONE, state: 'expired' }),
      isStartHeld({ ...ONE, state: 'new' }),
    ],
    [false, false, false, false],
  )
})

test('what is held is told after the end: the start, if it is, and each open hold', () => {
  const held = (row: Partial<Subscription>) => JSON.stringify(printStarted({ ...ONE, ...row }).held)
  const begun = { started_at: now, holds_made: 3, holds_ended: 1 }
  assert.equal(held(begun), undefined, 'it runs')
  assert.equal(held({ ...begun, state: 'stopped' }), '0.14')
  assert.equal(held({ ...begun, state: 'expired' }), '0.14')
  assert.equal(held({ state: 'stopped' }), '1')
  assert.equal(held({ ...begun, state: 'stopped', started_at: null }), '1.14')
  assert.equal(held({ ...begun, state: 'stopped', holds_ended: 3 }), undefined)
  assert.equal(held({ state: 'stopped', total_sun: 1n }), '0.000001')
  const states = ['new', 'pending', 'active', 'stopped', 'expired', 'error'] as const
  assert.deepEqual(
    states.filter((state) => hasEnded({ state })),
    ['stopped', 'expired', 'error'],
  )
})
