// What is said of an order at each moment: its steps in the order of cause, its sentence, and that
// it is read from its own rows alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { now, OrderBook } from 'penstock-test/harness/order_book.ts'
import type { Order } from '../orders/orders.ts'
import {
  aheadSeconds,
  factsOf,
  type OrderFacts,
  sentenceOf,
  stepsOf,
  type TimelineStep,
} from './timeline.ts'

type Part = OrderFacts['parts'][number]
type Activation = NonNullable<OrderFacts['activation']>

/** So many seconds after the order was accepted. */
const at = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

const ORDER: Order = {
  id: 'one',
  customer_id: 'anna',
  external_id: null,
  service: 'energy',
  address: 'bob',
  energy: 50n,
  bandwidth: 0n,
  activate: false,
  key_id: null,
  quote_id: null,
  activation_id: null,
  state: 'pending',
  to_delegate: false,
  amount_sun: 5_000_000n,
  fee_sun: 0n,
  tx_id: null,
  tries: 0,
  created_at: at(0),
  ended_at: null,
  delayed_at: null,
  ending_at: null,
  solid_at: null,
}

const NEW_ATTEMPT = {
  attempt_state: 'new',
  tx_id: null,
  made_at: at(1),
  sent_at: null,
  block_number: null,
  block_time: null,
  attempt_expires_at: null,
}

/** One that is planned, and nothing else. */
const partOf = (more: Partial<Part>): Part => ({
  ...NEW_ATTEMPT,
  resource: 'energy',
  amount: 50n,
  state: 'delegating',
  expires_at: null,
  reclaim_tx_id: null,
  reclaim_asked_at: null,
  reclaimed_at: null,
  reclaim_block: null,
  ...more,
})

const SIGNED = { attempt_state: 'signed', tx_id: 'tx', attempt_expires_at: at(60) }
const SENT = { ...SIGNED, attempt_state: 'sent', sent_at: at(2) }
const INCLUDED = { ...SENT, attempt_state: 'included', block_number: 7n, block_time: at(3) }
const ACTIVE = { ...INCLUDED, state: 'active', expires_at: at(3_603) }
const DEAD = { ...SENT, attempt_state: 'dead', state: 'failed' }
const RECLAIMING = { ...ACTIVE, state: 'reclaiming', reclaim_asked_at: at(3_610) }
const ENDED = {
  ...RECLAIMING,
  state: 'ended',
  reclaim_tx_id: 'back',
  reclaimed_at: at(3_620),
  reclaim_block: 9n,
}

const activationOf = (more: Partial<Activation>): Activation => ({
  ...NEW_ATTEMPT,
  state: 'activating',
  asked_at: at(1),
  ...more,
})

const entry = (kind: string, seconds: number) => ({
  kind,
  made_at: at(seconds),
  amount_sun: 5_000_000n,
})

function factsWith(more: Partial<OrderFacts>, order: Partial<Order> = {}): OrderFacts {
  return {
    order: { ...ORDER, ...order },
    parts: [],
    activation: undefined,
    entries: [],
    told: [],
    head_time: null,
    ...more,
  }
}

const secondsOf = (time: Date) => (time.getTime() - now.getTime()) / 1_000

/** `~`: it has not happened yet. */
function said({ what, at, expected, ...more }: TimelineStep): string {
  const when = at ? `${secondsOf(at)}` : `~${expected ? secondsOf(expected) : ''}`
  return [what, when, ...Object.values(more)].join(' ')
}

/** Without the acceptance, which always comes first. */
function stepsSaid(facts: OrderFacts): string[] {
  const [first, ...others] = stepsOf(facts).map(said)
  assert.equal(first, 'accepted 0')
  return others
}

test('a part is planned, sent, in a block, over and taken back, as far as it is', () => {
  const planned = 'planned 1 energy 50'
  const sent = [planned, 'sent 2 energy 50 tx']
  const included = [...sent, 'included 3 energy 50 tx 7']
  const to_end = 'ended ~3660 energy 50'
  const over = [...included, 'over 3603 energy 50']
  const cases: [part: Partial<Part>, head: number, steps: string[]][] = [
    [{}, 1, [planned, 'included ~7 energy 50']],
    [SIGNED, 1, [planned, 'included ~7 energy 50 tx']],
    [SENT, 2, [...sent, 'included ~8 energy 50 tx']],
    [DEAD, 70, [...sent, 'dead 60 energy 50 tx']],
    [INCLUDED, 3, included],
    [ACTIVE, 3_602.999, [...included, 'over ~3603 energy 50', to_end]],
    [ACTIVE, 3_603, [...over, to_end]],
    [RECLAIMING, 3_610, [...over, 'reclaiming 3610 energy 50', to_end]],
    [
      { ...RECLAIMING, reclaim_tx_id: 'back' },
      3_610,
      [...over, 'reclaiming 3610 energy 50 back', to_end],
    ],
    [ENDED, 3_620, [...over, 'reclaiming 3610 energy 50 back', 'ended 3620 energy 50 back 9']],
  ]
  for (const [part, head, steps] of cases) {
    const facts = factsWith({ parts: [partOf(part)], head_time: at(head) })
    assert.deepEqual(stepsSaid(facts), steps, `${part.state} ${part.attempt_state} ${head}`)
  }
  const unknown = factsWith({ parts: [partOf(ACTIVE)], head_time: null })
  assert.ok(stepsSaid(unknown).includes('over ~3603 energy 50'), 'no head is known')
})

test('an activation is asked for, and done with its block once it is active', () => {
  const in_block = { block_number: 8n, block_time: at(5) }
  const cases: [activation: Partial<Activation>, steps: string[]][] = [
    [{ state: 'new' }, ['activating 1', 'activated ~']],
    [{ tx_id: 'tx' }, ['activating 1 tx', 'activated ~ tx']],
    [{ tx_id: 'tx', ...in_block }, ['activating 1 tx', 'activated ~ tx']],
    [{ state: 'active', tx_id: 'tx', ...in_block }, ['activating 1 tx', 'activated 5 tx 8']],
    // Somebody else has made it.
    [{ state: 'active' }, ['activating 1']],
    [{ state: 'failed' }, ['activating 1']],
  ]
  for (const [one, steps] of cases)
    assert.deepEqual(stepsSaid(factsWith({ activation: activationOf(one) })), steps)
})

test('money is held, and charged or given back; of what was told two things are steps', () => {
  const entries = [entry('hold', 0), entry('capture', 4)]
  const told = ['created', 'solid', 'reverted', 'ended'].map((type, i) => ({
    type: `order.${type}`,
    at: at(10 + i),
  }))
  assert.deepEqual(stepsSaid(factsWith({ entries, told })), [
    'held 0 5 TRX',
    'charged 4 5 TRX',
    'solid 11',
    'reverted 12',
  ])
  const refunded = factsWith({ entries: [entry('hold', 0), entry('release', 9)] })
  assert.deepEqual(stepsSaid(refunded), ['held 0 5 TRX', 'refunded 9 5 TRX'])
})

test('a success is about to be solid while a part of it that is delivered is not', () => {
  const [failed, again] = [partOf(DEAD), partOf({ ...SENT, made_at: at(1) })]
  const [included, solid] = [partOf(ACTIVE), partOf({ ...ACTIVE, attempt_state: 'solid' })]
  const later = partOf({ ...ACTIVE, block_time: at(6) })
  const success = 'success'
  const cases: [state: Order['state'], parts: Part[], solid: string | undefined][] = [
    [success, [included], 'solid ~60'],
    [success, [included, failed], 'solid ~60'],
    [success, [included, again], 'solid ~60'],
    [success, [solid, later], 'solid ~63'],
    [success, [later, solid], 'solid ~60'],
    [success, [solid], undefined],
    [success, [solid, failed], undefined],
    [success, [solid, again], undefined],
    [success, [], undefined],
    ['pending', [included, again], undefined],
    ['failed', [included], undefined],
  ]
  for (const [i, [state, parts, expected]] of cases.entries()) {
    const steps = stepsSaid(factsWith({ parts }, { state }))
    assert.equal(
      steps.find((one) => one.startsWith('solid')),
      expected,
      `${i}`,
    )
  }
})

/** The steps by name alone. */
const names = (facts: OrderFacts) => stepsSaid(facts).map((one) => one.split(' ')[0])

test('what is delivered again stands behind what died; what was planned with it does not', () => {
  const again = { ...INCLUDED, made_at: at(61), sent_at: at(62), block_time: at(63), tx_id: 'tx2' }
  const delivered = ['planned', 'sent', 'included']
  const after = factsWith({ parts: [partOf(DEAD), partOf(again)] })
  assert.deepEqual(names(after), ['planned', 'sent', 'dead', ...delivered])
  // By the clock of the chain the block came before the other had died.
  const early = { ...again, made_at: at(50), sent_at: at(51), block_time: at(55) }
  const before = factsWith({ parts: [partOf(DEAD), partOf(early)] })
  assert.deepEqual(names(before), ['planned', 'sent', 'dead', ...delivered])
  const twin = factsWith({ parts: [partOf(DEAD), partOf({ ...INCLUDED, tx_id: 'tx2' })] })
  assert.equal(names(twin).at(-1), 'dead', 'the other was there before')
})

test('what led to a step stands before it, however far the chain is ahead', () => {
  const pushed = at(7_200)
  const activated = { state: 'active', tx_id: 'tx', block_number: 8n, block_time: pushed }
  const parts = [partOf({ ...INCLUDED, block_time: pushed })]
  const [held, charged] = [entry('hold', 0), entry('capture', 4)]
  const refunded = entry('release', 4)
  const cases: [facts: Partial<OrderFacts>, steps: string[]][] = [
    [
      { activation: activationOf(activated), parts: [partOf({})] },
      ['activating', 'activated', 'planned', 'included'],
    ],
    [{ parts, entries: [held, charged] }, ['held', 'planned', 'sent', 'included', 'charged']],
    [
      { activation: activationOf(activated), entries: [held, charged] },
      ['held', 'activating', 'activated', 'charged'],
    ],
    [
      { parts: [partOf({ ...DEAD, attempt_expires_at: pushed })], entries: [held, refunded] },
      ['held', 'planned', 'sent', 'dead', 'refunded'],
    ],
    // A part of what has failed is over with its block.
    [
      {
        parts: [partOf({ ...ACTIVE, block_time: pushed, expires_at: pushed })],
        entries: [held, refunded],
        head_time: pushed,
      },
      ['held', 'planned', 'sent', 'included', 'refunded', 'over', 'ended'],
    ],
  ]
  for (const [facts, steps] of cases) assert.deepEqual(names(factsWith(facts)), steps)
  // What has not come yet holds up nothing that has happened.
  const waits = factsWith({ activation: activationOf({}), parts, entries: [held, charged] })
  assert.equal(names(waits).at(-1), 'activated')
  const asked = factsWith({ parts: [partOf(SENT)], entries: [held, refunded] })
  assert.deepEqual(names(asked), ['held', 'planned', 'sent', 'refunded', 'included'])
})

test('the chain is ahead from 15 seconds on, rounded to whole seconds', () => {
  const cases: [seconds: number, ahead: number][] = [
    [14.499, 0],
    [14.5, 15],
    [15, 15],
    [7_200, 7_200],
    [-7_200, 0],
  ]
  for (const [seconds, ahead] of cases)
    assert.equal(aheadSeconds(factsWith({ head_time: at(seconds) }), now), ahead)
  assert.equal(aheadSeconds(factsWith({}), now), 0)
})

test('a success is said to be in use, over, taken back, or delivered again', () => {
  const [active, delegating, failed] = [partOf(ACTIVE), partOf(SENT), partOf(DEAD)]
  const [reclaiming, ended] = [partOf(RECLAIMING), partOf(ENDED)]
  const back = /being taken back/
  const cases: [parts: Part[], sentence: RegExp, owed?: boolean][] = [
    [[], /address is active/],
    [[failed], /address is active/],
    [[active], /can be used/],
    [[active, failed], /can be used/],
    [[ended], /all of it was taken back/],
    [[ended, failed], /all of it was taken back/],
    [[active, ended], back],
    [[active, reclaiming], back],
    [[reclaiming], back],
    [[active, delegating], /fork of the chain/],
    [[active], /fork of the chain/, true],
  ]
  for (const [parts, sentence, to_delegate = false] of cases) {
    const order = { state: 'success', to_delegate } as const
    assert.match(sentenceOf(factsWith({ parts }, order)), sentence)
  }
})

test('an open order says what it waits for, and one that failed that it did', () => {
  const waits = (state: string, more: Partial<Activation> = {}) => ({
    activation: activationOf({ state, ...more }),
  })
  const parts = [partOf(SENT)]
  const room = /wallets to be chosen/
  const cases: [facts: Partial<OrderFacts>, order: Partial<Order>, sentence: RegExp][] = [
    [{ parts }, { state: 'failed' }, /could not be delivered/],
    [waits('activating'), {}, /until the activation/],
    [waits('activating', { block_time: at(5) }), {}, /was just activated/],
    [waits('active'), {}, room],
    [{}, {}, room],
    [{}, { state: 'new' }, room],
    [{ parts: [partOf(DEAD)] }, { tries: 1 }, /did not reach the chain in time/],
    [{ parts: [partOf(ACTIVE)] }, {}, room],
    [{ parts: [partOf({})] }, {}, /until its transaction is signed/],
    [{ parts: [partOf(SIGNED)] }, {}, /signed and waits to be sent/],
    [{ parts }, {}, /was sent and waits for a block/],
    [{ parts: [partOf(ACTIVE), partOf(SENT)] }, {}, /was sent and waits for a block/],
  ]
  for (const [facts, order, sentence] of cases)
    assert.match(sentenceOf(factsWith(facts, order)), sentence)
})

test('an order is told from its own rows, and from nobody else', async (t) => {
  const book = await OrderBook.of(t)
  const { sql } = book
  for (const id of ['one', 'other']) {
    await book.activation(`activation ${id}`, 'active')
    await book.order(id, { state: 'success', activation_id: `activation ${id}` })
    await book.delegation(id, 'active')
    await book.delegation(id, 'ended')
    await sql`
      insert into transfer (id, kind, hold_id, debit, credit, amount_sun, made_at)
      values (${`captured ${id}`}, 'capture', ${`order:${id}`}, 'customer:anna', 'revenue', 1,
        ${at(id === 'one' ? 4 : 5)})`
    for (const customer of ['anna', 'bert'])
      await sql`
        insert into event (customer_id, number, id, type, subject, at, test, data)
        values (${customer}, ${id === 'one' ? 1_001 : 1_002}, ${`${customer} ${id}`},
          ${`order.${id} of ${customer}`}, ${`order:${id}`}, ${now}, false, '{}')`
  }
  const [order] = await book.read('one')
  const facts = await factsOf(sql, order!)
  assert.deepEqual(
    facts.parts.map(({ state, tx_id, reclaim_tx_id }) => [state, tx_id, reclaim_tx_id]),
    [
      ['active', 'tx of one active', null],
      ['ended', 'tx of one ended', 'tx of one ended back'],
    ],
  )
  assert.equal(facts.activation?.tx_id, 'tx of activation one')
  assert.deepEqual(
    facts.entries.map(({ kind, made_at }) => [kind, secondsOf(made_at)]),
    [
      ['hold', -60],
      ['capture', 4],
    ],
  )
  assert.deepEqual(
    facts.told.map(({ type }) => type),
    ['order.one of anna'],
  )
  assert.deepEqual(facts.head_time, now)
  await book.order('without')
  const [without] = await book.read('without')
  assert.equal((await factsOf(sql, without!)).activation, undefined)
})
