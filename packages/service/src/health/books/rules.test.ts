// Rows that are just inside and just outside of the rules about what was delivered, taken back and
// reserved, and about the sums of accounts: each wrong one is named, and none that is right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BareRows, bareTables } from 'penstock-test/harness/bare_tables.ts'
import { FIRST_ID, foundIn, OLD_ID, SINCE, scopeFrom } from 'penstock-test/harness/books_rows.ts'
import type { AccountSum } from '../../ledger/accounts/books.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { ROW_RULES } from './rules.ts'
import type { Scope } from './scope.ts'

/** The rule of this name, the first or a later one, with these sums of accounts. */
const ruleOf = (name: string, place = 0, sums: readonly AccountSum[] = []) => {
  const { find } = ROW_RULES.filter(({ rule }) => rule === name)[place]!
  return (tx: Tx, scope: Scope) => find(tx, sums, [], scope)
}

type OrderRow = {
  id: string
  state?: string
  service?: string
  energy?: number
  bandwidth?: number
  to_delegate?: boolean
  tx_id?: string
  activation_id?: string
  fee?: number
  sun?: number
}

/** Orders of 100 energy to T1 that were delivered, unless they say something else. */
const orders = (rows: readonly OrderRow[]): BareRows => ({
  table: 'orders',
  columns:
    'id address state service energy bandwidth to_delegate tx_id activation_id fee_sun amount_sun',
  rows: rows.map(({ id, state = 'success', service = 'energy', energy = 100, ...rest }) => [
    ...[id, 'T1', state, service, energy, rest.bandwidth ?? 0, rest.to_delegate ?? false],
    ...[rest.tx_id ?? null, rest.activation_id ?? null, rest.fee ?? 0, rest.sun ?? 5],
  ]),
})

type DelegationRow = {
  id: string
  of?: string
  amount?: number
  resource?: string
  state?: string
  attempt?: string
  to?: string
}

/** Delegations of 100 energy to T1 that are active, by a transaction that is solid. */
const delegations = (rows: readonly DelegationRow[]): BareRows => ({
  table: 'delegation',
  columns: 'id order_id resource amount state attempt_id receiver',
  rows: rows.map(({ id, of = id, amount = 100, resource = 'energy', ...rest }) => [
    ...[id, of, resource, amount, rest.state ?? 'active', rest.attempt ?? `of-${id}`],
    rest.to ?? 'T1',
  ]),
})
const attempts = (rows: BareRows['rows']): BareRows => ({
  table: 'attempt',
  columns: 'id state tx_id subject',
  rows: rows.map(([id = null, state = 'solid', tx_id = id, subject = '']) => [
    id,
    state,
    tx_id,
    subject,
  ]),
})
const activations = (rows: BareRows['rows']): BareRows => ({
  table: 'activation',
  columns: 'id state attempt_id',
  rows,
})

test('an order gets what it is for, in full, before it has succeeded', async (t) => {
  const both = { service: 'resource_bundle', energy: 100, bandwidth: 10 }
  const given: DelegationRow[] = [
    { id: 'right' },
    { id: 'right-failed', of: 'right', state: 'failed' },
    { id: 'bundle-e', of: 'bundle' },
    { id: 'bundle-b', of: 'bundle', resource: 'bandwidth', amount: 10 },
    { id: 'bundle-f', of: 'bundle', resource: 'bandwidth', amount: 10, state: 'failed' },
    { id: 'less-1', of: 'less', amount: 50 },
    { id: 'less-2', of: 'less', amount: 49 },
    { id: 'lb-e', of: 'less-bandwidth' },
    { id: 'lb-b', of: 'less-bandwidth', resource: 'bandwidth', amount: 9 },
    { id: 'le-e', of: 'less-energy', amount: 99 },
    { id: 'le-b', of: 'less-energy', resource: 'bandwidth', amount: 10 },
    { id: 'more', amount: 101 },
    { id: 'more-b', of: 'more-bandwidth', resource: 'bandwidth', amount: 11 },
    { id: 'unsent', state: 'failed' },
    { id: 'sw-e', of: 'swapped', resource: 'bandwidth', amount: 100 },
    { id: 'sw-b', of: 'swapped', amount: 10 },
  ]
  const sql = await bareTables(t, [
    activations([]),
    attempts(given.map(({ id, state }) => [`of-${id}`, state === 'failed' ? 'dead' : 'solid'])),
    orders([
      { id: 'right', tx_id: 'of-right' },
      { id: 'bundle', ...both },
      { id: 'waiting', state: 'pending', to_delegate: true },
      { id: 'new', state: 'new' },
      { id: 'failed', state: 'failed' },
      { id: 'activation', service: 'activate_address', energy: 5 },
      { id: 'less', state: 'pending' },
      { id: 'less-bandwidth', ...both },
      { id: 'less-energy', ...both },
      { id: 'more', to_delegate: true },
      { id: 'more-bandwidth', ...both, state: 'new' },
      { id: 'unsent', state: 'success' },
      { id: 'swapped', ...both },
    ]),
    delegations(given),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C5')), [
    'activation: its transaction  is none of its own',
    'less: 99 of 100 energy, 0 of 0 bandwidth',
    'less-bandwidth: 100 of 100 energy, 9 of 10 bandwidth',
    'less-energy: 99 of 100 energy, 10 of 10 bandwidth',
    'more: 101 of 100 energy, 0 of 0 bandwidth',
    'more-bandwidth: 0 of 100 energy, 11 of 10 bandwidth',
    'swapped: 10 of 100 energy, 100 of 10 bandwidth',
    'unsent: 0 of 100 energy, 0 of 0 bandwidth',
  ])
})

test('the transaction of an order is its own and of no other', async (t) => {
  const sql = await bareTables(t, [
    activations([]),
    attempts([
      ['of-right'],
      ['of-twice', 'solid', 'twice'],
      ['of-again', 'solid', 'again'],
      ['of-other', 'solid', 'others'],
      ['by-activation', 'solid', 'of-activation', 'activate:v1'],
      ['by-another', 'solid', 'of-another', 'activate:v2'],
      ['of-stranger', 'solid', 'stranger-own'],
    ]),
    orders([
      { id: 'right', tx_id: 'of-right' },
      { id: 'again', tx_id: 'twice' },
      { id: 'twice', tx_id: 'twice' },
      { id: 'other', tx_id: 'of-right-not' },
      { id: 'pending', tx_id: 'unknown', state: 'pending', to_delegate: true },
      { id: 'activated', tx_id: 'of-activation', activation_id: 'v1', service: 'activate_address' },
      { id: 'another', tx_id: 'of-another', activation_id: 'v1', service: 'activate_address' },
      { id: 'unknown', tx_id: 'nowhere', service: 'activate_address' },
      { id: 'none-1', state: 'new' },
      { id: 'none-2', state: 'new' },
    ]),
    delegations([{ id: 'right' }, { id: 'twice' }, { id: 'again' }, { id: 'other' }]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C5')), [
    'again: its transaction twice is none of its own',
    'another: its transaction of-another is none of its own',
    'other: its transaction of-right-not is none of its own',
    'twice: 2 orders',
    'unknown: its transaction nowhere is none of its own',
  ])
})

test('a delegation is where its transaction is, at the address that was bought for', async (t) => {
  const states = ['delegating', 'active', 'reclaiming', 'ended', 'failed']
  const ends = ['signed', 'included', 'solid', 'dead']
  const all = states.flatMap((state) => ends.map((end) => ({ id: `${state}-${end}`, state, end })))
  const sql = await bareTables(t, [
    activations([]),
    attempts([...all.map(({ id, end }) => [`of-${id}`, end]), ['of-away']]),
    orders([
      ...all.map(({ id }) => ({ id, state: 'new' })),
      { id: 'away' },
      { id: 'no-order', state: 'new' },
    ]),
    delegations([...all.map(({ id, state }) => ({ id, state })), { id: 'away', to: 'T2' }]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C5')), [
    'active-dead: active while its transaction is dead',
    'active-signed: active while its transaction is signed',
    'away: bought for T1, delegated to T2',
    'delegating-dead: delegating while its transaction is dead',
    'delegating-solid: delegating while its transaction is solid',
    'ended-dead: ended while its transaction is dead',
    'ended-included: ended while its transaction is included',
    'ended-signed: ended while its transaction is signed',
    'failed-included: failed while its transaction is included',
    'failed-signed: failed while its transaction is signed',
    'failed-solid: failed while its transaction is solid',
    'reclaiming-dead: reclaiming while its transaction is dead',
    'reclaiming-included: reclaiming while its transaction is included',
    'reclaiming-signed: reclaiming while its transaction is signed',
  ])
})

test('an activation that was paid for is in a block', async (t) => {
  const of = (activation_id: string, fee = 0) => ({
    id: `${activation_id}${fee > 0 ? '-fee' : ''}`,
    activation_id,
    fee,
    energy: 0,
  })
  const sql = await bareTables(t, [
    delegations([]),
    attempts([['solid'], ['included', 'included'], ['dead', 'dead'], ['signed', 'signed']]),
    activations([
      ['failed', 'failed', 'dead'],
      ['active', 'active', 'solid'],
      ['included', 'active', 'included'],
      ['dead', 'active', 'dead'],
      ['signed', 'active', 'signed'],
      ['found', 'active', null],
      ['activating', 'activating', 'dead'],
    ]),
    orders([
      ...['failed', 'active', 'included', 'dead', 'signed', 'found', 'activating'].map((id) => ({
        ...of(id),
        service: 'activate_address',
      })),
      of('failed', 1),
      { ...of('dead'), id: 'dead-unpaid' },
      { ...of('failed', 1), id: 'not-yet', state: 'pending' },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C5')), [
    'activating: its transaction  is none of its own',
    'active: its transaction  is none of its own',
    'dead: its activation is active, by a transaction that is dead',
    'dead: its transaction  is none of its own',
    'dead-unpaid: its transaction  is none of its own',
    'failed: its activation is failed, by a transaction that is dead',
    'failed: its transaction  is none of its own',
    'failed-fee: its activation is failed, by a transaction that is dead',
    'failed-fee: its transaction  is none of its own',
    'found: its transaction  is none of its own',
    'included: its transaction  is none of its own',
    'signed: its activation is active, by a transaction that is signed',
    'signed: its transaction  is none of its own',
  ])
})

test('a check that goes on looks at orders that were made since', async (t) => {
  const [first, old] = [(tail: string) => FIRST_ID + tail, (tail: string) => OLD_ID + tail]
  const sql = await bareTables(t, [
    activations([['failed', 'failed', null]]),
    attempts([
      ['of-old', 'dead'],
      ['of-first', 'dead'],
      ['of-late', 'solid'],
    ]),
    orders([
      { id: FIRST_ID, state: 'success' },
      { id: old('less'), state: 'success' },
      { id: old('twice'), tx_id: 'one', energy: 0 },
      { id: old('again'), tx_id: 'one', energy: 0 },
      { id: old('failed'), activation_id: 'failed', fee: 1, energy: 0 },
      { id: old('away') },
      { id: first('away') },
    ]),
    delegations([
      { id: 'old', of: old('away'), attempt: 'of-old', to: 'T2' },
      { id: 'first', of: first('away'), attempt: 'of-first', to: 'T2' },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C5'), scopeFrom(20n)), [
    '01m4ccyj000000000000000000: 0 of 100 energy, 0 of 0 bandwidth',
    '01m4ccyj000000000000000000: its transaction  is none of its own',
    'first: active while its transaction is dead',
    'first: bought for T1, delegated to T2',
  ])
})

type TimeRow = {
  id: string
  state?: string
  from?: string
  until?: string
  back?: string | null
  by?: string
  back_by?: string | null
  amount?: number
  stake?: number
  limit?: number | null
  weight?: number | null
  resource?: string
}
const HOUR_LATER = '2026-10-08T01:00:00.000Z'
const MINUTE_LESS = '2026-10-08T00:59:00.000Z'

/** Delegations that were active for their hour from the block of their transaction on. */
const hours = (rows: readonly TimeRow[]): BareRows => ({
  table: 'delegation',
  columns:
    'id order_id resource amount stake_sun total_limit total_weight state delegated_at ' +
    'expires_at reclaimed_at attempt_id reclaim_id',
  rows: rows.map(({ id, resource = 'energy', amount = 100, stake = 102e6, ...rest }) => [
    ...[id, id, resource, amount, stake, rest.limit ?? null, rest.weight ?? null],
    ...[rest.state ?? 'active', rest.from ?? SINCE, rest.until ?? HOUR_LATER],
    ...[rest.back ?? null, rest.by ?? `of-${id}`, rest.back_by ?? null],
  ]),
})
/** The transaction that delegates, or takes back, in a block at this time. */
const blocks = (
  rows: readonly (readonly [id: string, state?: string, at?: string, uncovered?: boolean])[],
  { type = 'DelegateResourceContract', sun = 102e6, resource = 'ENERGY' } = {},
): BareRows => ({
  table: 'attempt',
  columns: 'id tx_id subject state block_time uncovered contract',
  rows: rows.map(([id, state = 'solid', at = SINCE, uncovered = false]) => [
    ...[id, id, '', state, at, uncovered],
    { type, parameter: { value: { balance: { int64: String(sun) }, resource } } },
  ]),
})
const TAKEN_BACK = { type: 'UnDelegateResourceContract' }

test('what was sold for an hour is delegated for an hour, from its block on', async (t) => {
  const [early, other] = ['2026-10-08T00:00:03.000Z', '2026-10-08T00:30:00.000Z']
  const ended = { state: 'ended', back: HOUR_LATER }
  const sql = await bareTables(t, [
    orders([
      ...['right', 'short', 'block', 'block-later', 'back', 'uncovered'].map((id) => ({ id })),
      ...['early', 'away', 'dead', 'back-later', 'back-found', 'included'].map((id) => ({ id })),
      { id: 'free', sun: 0 },
      { id: 'failed', state: 'failed' },
      { id: 'one-sun', sun: 1 },
      { id: 'short-reclaiming' },
    ]),
    blocks([
      ...['right', 'short', 'early', 'away', 'dead', 'back-later'].map(
        (id) => [`of-${id}`] as const,
      ),
      ...['back-found', 'included', 'free', 'failed', 'one-sun'].map((id) => [`of-${id}`] as const),
      ['of-block', 'solid', early],
      ['of-block-later', 'solid', early, true],
      ['of-back', 'solid', early, true],
      ['of-uncovered', 'solid', early, true],
      ['of-short-reclaiming', 'solid', early, true],
    ]),
    blocks(
      [
        ['b-back', 'solid', HOUR_LATER],
        ['b-early', 'solid', MINUTE_LESS],
        ['b-away', 'sent', HOUR_LATER],
        ['b-dead', 'dead', HOUR_LATER],
        ['b-back-later', 'solid', other],
        ['b-back-found', 'solid', other, true],
        ['b-included', 'included', HOUR_LATER],
        ['b-short-reclaiming', 'sent', other],
      ],
      TAKEN_BACK,
    ),
    hours([
      { id: 'right' },
      { id: 'short', until: MINUTE_LESS },
      { id: 'free', until: MINUTE_LESS },
      { id: 'failed', until: MINUTE_LESS },
      { id: 'one-sun', until: MINUTE_LESS },
      { id: 'block' },
      { id: 'block-later' },
      { id: 'uncovered' },
      { id: 'back', ...ended, back_by: 'b-back' },
      { id: 'early', state: 'ended', back: MINUTE_LESS, back_by: 'b-early' },
      { id: 'away', ...ended, back_by: 'b-away' },
      { id: 'dead', ...ended, back_by: 'b-dead' },
      { id: 'back-later', ...ended, back_by: 'b-back-later' },
      { id: 'back-found', ...ended, back_by: 'b-back-found' },
      { id: 'included', ...ended, back_by: 'b-included' },
      { id: 'short-reclaiming', state: 'reclaiming', back_by: 'b-short-reclaiming' },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C9')), [
    'away: ended at 2026-10-08 01:00:00+00 by a transaction that is sent, of ' +
      '2026-10-08 01:00:00+00',
    'back: its hour is counted from 2026-10-08 00:00:00+00, its block is of 2026-10-08 ' +
      '00:00:03+00',
    'back-later: ended at 2026-10-08 01:00:00+00 by a transaction that is solid, of ' +
      '2026-10-08 00:30:00+00',
    'block: its hour is counted from 2026-10-08 00:00:00+00, its block is of ' +
      '2026-10-08 00:00:03+00',
    'dead: ended at 2026-10-08 01:00:00+00 by a transaction that is dead, of ' +
      '2026-10-08 01:00:00+00',
    'early: taken back at 2026-10-08 00:59:00+00, due at 2026-10-08 01:00:00+00',
    'one-sun: paid for an hour, and its time was 00:59:00',
    'short: paid for an hour, and its time was 00:59:00',
    'short-reclaiming: its hour is counted from 2026-10-08 00:00:00+00, its block is ' +
      'of 2026-10-08 00:00:03+00',
  ])
})

test('a stake gives what was sold by the ratio of its time, and little more', async (t) => {
  const of = (id: string, stake: number, rest: Partial<TimeRow> = {}) => ({
    id,
    stake,
    limit: 100,
    weight: 100,
    ...rest,
  })
  const rows = [
    // Of 100 sold 101 are wanted; one less is let pass, and so are two more.
    of('right', 101e6),
    of('one-less', 100e6),
    of('less', 99e6),
    of('two-more', 103e6),
    of('more', 104e6),
    of('least', 1e6, { limit: 1000, weight: 1, amount: 1 }),
    of('no-weight', 101e6, { weight: 0 }),
    of('no-ratio', 1e6, { limit: null }),
    of('half-ratio', 1e6, { weight: null }),
  ]
  const sql = await bareTables(t, [
    orders(rows.map(({ id }) => ({ id }))),
    ...rows.map(({ id, stake }) => blocks([[`of-${id}`]], { sun: stake })),
    hours(rows),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C9')), [
    'less: 99000000 sun of stake give 99 by the ratio that it says, and 100 is delegated',
    'more: 104000000 sun of stake give 104 by the ratio that it says, and 100 is ' + 'delegated',
    'no-weight: 101000000 sun of stake give  by the ratio that it says, and 100 is ' + 'delegated',
  ])
})

test('transactions delegate and take back what the delegation says', async (t) => {
  const ids = ['sun', 'resource', 'type', 'back-sun', 'back-type', 'right']
  const ended = { state: 'ended', back: HOUR_LATER }
  const back = (id: string, rest = {}) =>
    blocks([[`b-${id}`, 'solid', HOUR_LATER]], { ...TAKEN_BACK, ...rest })
  const sql = await bareTables(t, [
    orders(ids.map((id) => ({ id }))),
    blocks([['of-right'], ['of-back-sun'], ['of-back-type']]),
    blocks([['of-sun']], { sun: 1 }),
    blocks([['of-resource']], { resource: 'BANDWIDTH' }),
    blocks([['of-type']], { type: 'VoteWitnessContract' }),
    back('right'),
    back('back-sun', { sun: 1 }),
    back('back-type', { type: 'DelegateResourceContract' }),
    hours([
      ...['sun', 'resource', 'type'].map((id) => ({ id })),
      ...['right', 'back-sun', 'back-type'].map((id) => ({ id, ...ended, back_by: `b-${id}` })),
    ]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C9')), [
    'back-sun: the transaction b-back-sun is about 1 sun, the delegation about 102000000',
    'back-type: the transaction b-back-type is about 102000000 sun, the delegation ' +
      'about 102000000',
    'resource: the transaction of-resource is about 102000000 sun, the delegation ' +
      'about 102000000',
    'sun: the transaction of-sun is about 1 sun, the delegation about 102000000',
    'type: the transaction of-type is about 102000000 sun, the delegation about 102000000',
  ])
})

test('what runs out is taken back within ten minutes of the chain', async (t) => {
  const sql = await bareTables(t, [
    { table: 'chain', columns: 'one head_time', rows: [[true, '2026-10-08T01:10:00.000Z']] },
    hours([
      { id: 'in-time' },
      { id: 'late', until: '2026-10-08T00:59:59.999Z' },
      { id: 'late-back', until: MINUTE_LESS, state: 'reclaiming' },
      { id: 'ended', until: MINUTE_LESS, state: 'ended' },
    ]),
  ])
  assert.deepEqual(await foundIn(sql, ruleOf('C9', 1)), [
    'late: over since 2026-10-08 00:59:59.999+00 and still active',
    'late-back: over since 2026-10-08 00:59:00+00 and still reclaiming',
  ])
})

test('what open orders still need is reserved, of each resource by itself', async (t) => {
  const both = { service: 'resource_bundle', energy: 100, bandwidth: 10 }
  const rows = (energy: number, bandwidth: number) =>
    bareTables(t, [
      {
        table: 'pool',
        columns: 'resource reserved',
        rows: [
          ['energy', energy],
          ['bandwidth', bandwidth],
        ],
      },
      orders([
        { id: 'open', ...both, to_delegate: true },
        { id: 'over', ...both },
        { id: 'part', to_delegate: true },
      ]),
      delegations([
        { id: 'a', of: 'part', amount: 30 },
        { id: 'b', of: 'part', amount: 50, state: 'failed' },
        { id: 'c', of: 'open', amount: 4, resource: 'bandwidth' },
      ]),
    ])
  assert.deepEqual(await foundIn(await rows(170, 6), ruleOf('C11')), [])
  assert.deepEqual(await foundIn(await rows(171, 5), ruleOf('C11')), [
    'energy: 171 are reserved, 170 are needed',
    'bandwidth: 5 are reserved, 6 are needed',
  ])
})

test('accounts add up to nothing, and only ours may be overdrawn', async (t) => {
  const sql = await bareTables(t, [])
  const sum = (id: string, posted: number, more: Partial<AccountSum> = {}): AccountSum => ({
    id,
    exists: true,
    keeps_sum: false,
    posted_sun: BigInt(posted),
    held_sun: 0n,
    kept_posted_sun: BigInt(posted),
    kept_held_sun: 0n,
    ...more,
  })
  const customer = (id: string, posted: number, held = 0) =>
    sum(`customer:${id}`, posted, { keeps_sum: true, held_sun: BigInt(held) })
  const even = [sum('world', -9), customer('anna', 9, 9), sum('gone', 5, { exists: false })]
  assert.deepEqual(await foundIn(sql, ruleOf('C1', 0, even)), [])
  assert.deepEqual(await foundIn(sql, ruleOf('C1', 0, [...even, sum('revenue', 1)])), [
    'all accounts: together they have 1 sun',
  ])
  const over = [customer('bea', 8, 9), sum('mallory', -1), sum('world', -1)]
  assert.deepEqual(await foundIn(sql, ruleOf('C3', 0, [...even, ...over])), [
    'customer:bea: -1 sun',
    'mallory: it may be overdrawn',
  ])
})

test('what came and stayed is what customers have and we earned', async (t) => {
  const sent = { parameter: { value: { amount: { int64: '4' } } } }
  const sql = await bareTables(t, [
    {
      table: 'attempt',
      columns: 'id contract',
      rows: [
        ['back', sent],
        ['other', sent],
      ],
    },
    {
      table: 'deposit',
      columns: 'tx_id position amount_sun solid_at state refund_id',
      rows: [
        ['a', 0, 1000, SINCE, 'credited', null],
        ['b', 0, 5, SINCE, 'refunded', 'back'],
        ['c', 0, 300, SINCE, 'resolved', null],
        ['seen', 0, 50, null, 'seen', null],
        ['refunding', 0, 7, SINCE, 'refunding', 'other'],
        ['token', 0, null, SINCE, 'resolved', null],
      ],
    },
    {
      table: 'deposit_resolution',
      columns: 'tx_id position sent_amount',
      rows: [
        ['c', 0, 200],
        ['token', 0, 30],
      ],
    },
    { table: 'reward_claim', columns: 'id reward_sun', rows: [['claim', 11]] },
  ])
  // 1312 of deposits and 11 of rewards came; 4 and 200 went back.
  const sum = (id: string, posted: number, kept: number, keeps_sum: boolean): AccountSum => ({
    id,
    exists: true,
    keeps_sum,
    posted_sun: BigInt(posted),
    held_sun: 0n,
    kept_posted_sun: BigInt(kept),
    kept_held_sun: 0n,
  })
  const ours = [sum('world', -5, 0, false), sum('treasury:wallets', -6, 0, false)]
  const gone = { ...sum('gone', 9, 0, false), exists: false }
  const sums = [...ours, gone, sum('customer:anna', 1, 1100, true), sum('revenue', 19, 0, false)]
  assert.deepEqual(await foundIn(sql, ruleOf('C7', 0, sums)), [])
  const more = [...sums, sum('income:votes', 1, 0, false)]
  assert.deepEqual(await foundIn(sql, ruleOf('C7', 0, more)), [
    'all deposits: customers have and we earned 1 sun more than came and stayed',
  ])
})
