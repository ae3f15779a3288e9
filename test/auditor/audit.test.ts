// The auditor finds what is wrong: a service is led through most of what it sells, and
// then one thing after another is made wrong in what was read of its rows. A rule that nothing can
// break would prove nothing.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { moveByHand } from '../harness/moving_by_hand.ts'
import { openWorld, TRX, type World } from '../harness/world.ts'
import { ALWAYS, AT_REST, Auditor } from './audit.ts'
import type { Post } from './branch.ts'
import { heldSendersGetNothing } from './by_hand.ts'
import { History } from './history.ts'
import { type Journal, readJournal, sealsHold } from './journal.ts'
import { depositsAreKnown, fundsAreThere, type Place, rechargesAreDone } from './rest.ts'
import { rewardsAreExact } from './rewards.ts'
import type { Account, Attempt, Deposit, Order, RewardClaim, Rows } from './rows.ts'
import type { Books } from './rules.ts'

/** Deposits, energy, a bundle, an activation, a failure, recharges that are delivered and sent
 *  back; all of it at its end. */
async function everything(world: World): Promise<void> {
  const bob = world.person('bob', 1)
  const anna = await world.customer({ trx: 1_000 })
  await anna.buyEnergy(bob.address, 65_000)
  await world.settle()
  const amounts = { energy: 65_000, bandwidth: 1_000 }
  await anna.buy({
    service: 'resource_bundle',
    params: { address: bob.address, amounts, duration: 1 },
  })
  await anna.buyEnergy(world.person('carl').address, 65_000, { activate_address: true })
  await moveByHand(world, anna)
  for (const trx of [3n, 1n]) world.pay(world.recharge.address, trx * TRX)
  await world.settle()
  await world.solidify()
  world.network.loses = (type) => type === 'DelegateResourceContract'
  await anna.buyEnergy(bob.address, 131_000)
  await world.settle()
  world.network.loses = () => false
  for (let i = 0; i < 2; i++) {
    await world.settle()
    await world.solidify()
    await world.advance(3_600)
  }
  await world.settle()
  await world.solidify()
  await world.settle()
}

type Read = { books: Books; journal: Journal; place: Place }

/** What the auditor reads when all of it is done, and how it finds that. */
async function readEverything(t: TestContext): Promise<Read & { found: string[] }> {
  const world = await openWorld()
  const client = new pg.Client({ connectionString: world.database.url })
  t.after(async () => {
    await client.end()
    await world.discard()
  })
  const first_block = world.scene.devchain.chain.head_number
  await everything(world)
  await client.connect()
  const post: Post = async (path, body) =>
    JSON.parse(world.scene.devchain.request('POST', path, JSON.stringify(body)).body) as unknown
  const { pool, activation, refund, recharge_address } = world.wallets
  const wallets = [...pool, activation, refund!].map(({ address }) => address)
  const place: Place = {
    first_block,
    recharge_address,
    refund_address: refund!.address,
    held_senders: [world.person('whale').address],
  }
  const auditor = new Auditor({ client, post, wallets, from_block: 1 })
  const found = await auditor.lookAtRest(place)
  return { books: await auditor.read(), journal: await readJournal(client), place, found }
}

function look({ books, journal, place }: Read): string[] {
  const rules = [...ALWAYS, ...AT_REST].flatMap((rule) => rule(books))
  return [
    ...rules,
    ...depositsAreKnown(books, place),
    ...fundsAreThere(books, place),
    ...heldSendersGetNothing(books, place),
    ...sealsHold(journal),
  ]
}

const first = <Row>(rows: readonly Row[], fits: (row: Row) => boolean): Row => {
  const found = rows.find(fits)
  assert.ok(found, 'there is nothing that could be made wrong')
  return found
}

const without = <Row>(rows: Row[], fits: (row: Row) => boolean) =>
  rows.splice(rows.indexOf(first(rows, fits)), 1)
const sold = ({ state, service }: Order) => state === 'success' && service === 'resource_bundle'
const isCustomers = ({ id }: Account) => /^customer:01/.test(id)

const moved = { kind: 'move' as const, hold_id: null, amount_sun: 5n, made_at: new Date(0) }

/** What is made wrong, how, and what must be said of it. */
const WRONGS: [what: string, spoil: (rows: Rows, read: Read) => unknown, said: RegExp][] = [
  [
    'an entry of an account that is not there',
    ({ transfers }) => {
      first(transfers, ({ kind }) => kind === 'capture').credit = 'nobody'
    },
    /^C1 .* to nobody/,
  ],
  [
    'a collection that is booked and in no block',
    ({ transfers }) => {
      const debit = 'treasury:collected'
      transfers.push({ ...moved, id: 'collected:x', debit, credit: 'world' })
    },
    /^C18 collected:x books 5/,
  ],
  [
    'a reward that is booked and in no block',
    ({ transfers }) => {
      const debit = 'treasury:wallets'
      transfers.push({ ...moved, id: 'reward:x', debit, credit: 'income:votes' })
    },
    /^C19 reward:x books 5/,
  ],
  [
    'a wallet that withdraws its reward twice at once',
    ({ claims }) => {
      for (const id of ['x', 'y'])
        claims.push({
          id,
          wallet: 'w',
          state: 'claiming',
          found: false,
          reward_sun: null,
          tx_id: null,
        })
    },
    /^C19 w withdraws twice at once, by x/,
  ],
  [
    'a capture from another account than the hold was of',
    ({ transfers }) => {
      first(transfers, ({ kind }) => kind === 'capture').debit = 'world'
    },
    /^C1 .* is a capture of the hold/,
  ],
  [
    'a balance that is kept wrongly',
    ({ accounts }) => first(accounts, isCustomers).posted_sun++,
    /^C2 customer/,
  ],
  [
    'money held for nothing',
    ({ accounts }) => first(accounts, isCustomers).held_sun++,
    /^C4 customer.* still holds/,
  ],
  [
    'a customer below nothing',
    ({ accounts }) => {
      first(accounts, isCustomers).posted_sun = -1n
    },
    /^C3 customer/,
  ],
  [
    'an order that was charged more than it cost',
    ({ orders }) => first(orders, sold).amount_sun--,
    /^C4 order .* capture/,
  ],
  [
    'an order that failed and was charged',
    ({ orders }) => {
      first(orders, sold).state = 'failed'
    },
    /^C4 order .* is failed and its hold: capture/,
  ],
  [
    'a success without its capture',
    ({ transfers }) => without(transfers, ({ kind }) => kind === 'capture'),
    /^C4 order/,
  ],
  [
    'an order that is not there',
    ({ orders }) => without(orders, sold),
    /^C4 hold .* is of no order/,
  ],
  [
    'a customer who got for nothing what the rows call a failure',
    ({ orders, transfers }) => {
      const order = first(orders, sold)
      order.state = 'failed'
      const capture = first(transfers, ({ hold_id }) => hold_id === `order:${order.id}`)
      capture.kind = 'release'
    },
    /^C2 customer|^C3 customer/,
  ],
  [
    'two orders of one external id',
    ({ orders }) => {
      const [one, two] = orders.filter(({ service }) => service !== 'activate_address')
      Object.assign(two!, { customer_id: one!.customer_id, external_id: 'same' })
      one!.external_id = 'same'
    },
    /^two orders of/,
  ],
  [
    'a transaction that nobody knows',
    ({ attempts }) => without(attempts, ({ state }) => state === 'solid'),
    /^C5 .* nobody knows/,
  ],
  [
    'a transaction that is dead and on the chain',
    ({ attempts }) => {
      first(attempts, ({ state }) => state === 'solid').state = 'dead'
    },
    /^C5 .* is dead and on the chain/,
  ],
  [
    'two attempts that are alive',
    ({ attempts }) => {
      const { subject } = first(attempts, ({ state }) => state === 'solid')
      Object.assign(
        first(attempts, ({ state }) => state === 'dead'),
        { state: 'sent', subject },
      )
    },
    /^C5 .* has two attempts/,
  ],
  [
    'a solid attempt in another block than it says',
    ({ attempts }) => {
      first(attempts, ({ state }) => state === 'solid').block_number = 1n
    },
    /^C5 .* is solid and not on the chain/,
  ],
  [
    'a part that was never delivered',
    ({ delegations }) => without(delegations, ({ state }) => state === 'ended'),
    /^order .* and has/,
  ],
  [
    'less delegated than was sold',
    ({ delegations, orders }) => {
      const part = first(delegations, ({ state }) => state === 'ended')
      part.amount += 2_000n
      first(orders, ({ id }) => id === part.order_id)[part.resource] += 2_000n
    },
    /^C5 delegation .* sold were/,
  ],
  [
    'a delegation to somebody else',
    ({ delegations }) => {
      first(delegations, ({ state }) => state === 'ended').receiver = 'somebody'
    },
    /^C8 delegation .* is another on the chain/,
  ],
  [
    'another stake than on the chain',
    ({ delegations }) => first(delegations, ({ state }) => state === 'ended').stake_sun++,
    /^C8 delegation .* is another on the chain/,
  ],
  ['room reserved for nothing', ({ pool }) => pool[0]!.reserved++, /^reserved /],
  [
    'a deposit of another amount',
    ({ deposits }) => {
      first(deposits, ({ state }) => state === 'credited').amount_sun! += 1n
    },
    /^C6 deposit .* is not on the chain/,
  ],
  [
    'a deposit that was not booked',
    ({ transfers }) => without(transfers, ({ id }) => id.startsWith('deposit:')),
    /^C6 deposit .* booked undefined/,
  ],
  [
    'a deposit that was booked twice',
    ({ transfers }) =>
      transfers.push({
        ...first(transfers, ({ id }) => id.startsWith('deposit:')),
        id: 'deposit:again',
      }),
    /^C6 deposit:again was booked/,
  ],
  [
    'a deposit that the address does not hold',
    (_rows, { books }) => {
      books.holdings = new Map()
    },
    /^C13 .* has 0 and/,
  ],
  [
    'a deposit that was overlooked',
    ({ deposits }) => without(deposits, ({ state }) => state === 'credited'),
    /^C6 deposit .* not known/,
  ],
  [
    'a deposit that is called gone and is there',
    ({ deposits }) => {
      first(deposits, ({ state }) => state === 'credited').state = 'gone'
    },
    /^deposit .* is gone, on the chain: true/,
  ],
  [
    'money out of nothing',
    ({ transfers, accounts }) => {
      const { id } = first(accounts, isCustomers)
      const gift = {
        id: 'gift',
        kind: 'move',
        hold_id: null,
        debit: 'world',
        credit: id,
        amount_sun: 5n,
      } as const
      transfers.push({ ...gift, made_at: new Date() })
    },
    /^C7 /,
  ],
  [
    'a refund to somebody else',
    ({ deposits }) => {
      first(deposits, ({ state }) => state === 'refunded').from_address = 'somebody'
    },
    /went back as .* to /,
  ],
  [
    'a refund of less than is due',
    (_rows, { books }) => {
      first(
        [...books.branch.transactions.values()],
        ({ type, owner }) => type === 'TransferContract' && owner === books.wallets.at(-1),
      ).sun--
    },
    /went back as /,
  ],
  [
    'a deposit that is resolved, and nobody has decided how',
    ({ resolutions }) => without(resolutions, ({ way }) => way === 'written_off'),
    /^C12 deposit .* is resolved and was not resolved/,
  ],
  [
    'a deposit that is held and was sent back',
    ({ deposits, resolutions }) => {
      const { tx_id } = first(resolutions, ({ way }) => way === 'sent_back')
      first(deposits, (one) => one.tx_id === tx_id).state = 'held'
    },
    /^C12 deposit .* is held and was sent_back/,
  ],
  [
    'a deposit that was credited to another than was decided',
    ({ resolutions }) => {
      first(resolutions, ({ way }) => way === 'credited').customer_id = 'other'
    },
    /^C12 resolution:.* moved/,
  ],
  [
    'a resolution that was not booked',
    ({ transfers }) => without(transfers, ({ credit }) => credit === 'written_off'),
    /^C12 resolution:.* is not booked/,
  ],
  [
    'money that was sent back by a transaction that has sent less',
    ({ resolutions }) => {
      first(resolutions, ({ way }) => way === 'sent_back').sent_amount! += 1n
    },
    /^C12 deposit .* which is not so/,
  ],
  [
    'a transaction that has sent two deposits back',
    ({ resolutions }) => {
      const { sent_by } = first(resolutions, ({ way }) => way === 'sent_back')
      first(resolutions, ({ way }) => way === 'written_off').sent_by = sent_by
    },
    /^C12 a transaction has sent two/,
  ],
  [
    'a correction that nobody has made',
    ({ corrections }) => corrections.pop(),
    /^C12 correction:.* nothing/,
  ],
  [
    'a correction of another amount',
    ({ corrections }) => {
      corrections[0]!.amount_sun += 1n
    },
    /^C3 customer/,
  ],
  [
    'a refund to a sender whose money is held',
    (_rows, { books, place }) => {
      const { transactions } = books.branch
      const refund = first(
        [...transactions.values()],
        ({ owner }) => owner === place.refund_address,
      )
      refund.to = place.held_senders[0]!
    },
    /has sent back to one whose money is held/,
  ],
  [
    'money that is held and was credited',
    ({ deposits }) => {
      first(deposits, ({ state }) => state === 'resolved').state = 'credited'
    },
    /^C6 deposit .* booked/,
  ],
  [
    'an hour that was too short',
    ({ orders, delegations, attempts }, { books }) => {
      const { id } = first(orders, sold)
      const { reclaim_id } = first(delegations, ({ order_id }) => order_id === id)
      const { tx_id } = first(attempts, (one) => one.id === reclaim_id)
      books.branch.transactions.get(tx_id!)!.block_time_ms = 0
    },
    /^C9 .* lasted/,
  ],
  [
    'more taken back than was given',
    (_rows, { books }) => {
      first(
        [...books.branch.transactions.values()],
        ({ type }) => type === 'UnDelegateResourceContract',
      ).sun++
    },
    /^C8 .* takes more/,
  ],
  [
    'a stake that was never taken back',
    (_rows, { books }) => {
      const { transactions } = books.branch
      transactions.delete(
        first([...transactions.values()], ({ type }) => type === 'UnDelegateResourceContract')
          .tx_id,
      )
    },
    /^C8 .* are still delegated/,
  ],
  [
    'a delegation that nobody asked for',
    (_rows, { books }) => {
      const { transactions } = books.branch
      const given = first(
        [...transactions.values()],
        ({ type, tx_id }) => type === 'DelegateResourceContract' && tx_id !== '',
      )
      transactions.set('ff', { ...given, tx_id: 'ff' })
    },
    /^C5 DelegateResourceContract ff is on the chain and nobody knows/,
  ],
  [
    'a delegation that is still live at the end',
    ({ delegations }) => {
      first(delegations, ({ state }) => state === 'ended').state = 'active'
    },
    /^C9 delegation .* is still active/,
  ],
  [
    'an event that is missing',
    ({ events }) => without(events, ({ type }) => type === 'order.succeeded'),
    /^C14 of order:.* was told: created/,
  ],
  [
    'a gap among the numbers of events',
    ({ events }) => without(events, ({ number }) => number === 2n),
    /^C14 events of .* are numbered/,
  ],
  [
    'an event that was told twice',
    ({ events }) => {
      const told = first(events, ({ type }) => type === 'deposit.credited')
      events.push({ ...told, number: null, id: null })
    },
    /^C14 of deposit:.* credited credited/,
  ],
  [
    'an event of what was rolled back',
    ({ events }) => {
      first(events, ({ type }) => type === 'order.created').subject = 'order:nothing'
    },
    /^C14 .* was told order.created of order:nothing/,
  ],
  [
    'an event of somebody else',
    ({ events }) => {
      first(events, ({ type }) => type === 'key.created').customer_id = 'another'
    },
    /^C14 another was told key.created/,
  ],
  [
    'an end that was told before the success',
    ({ events }) => {
      const ended = first(events, ({ type }) => type === 'order.ended')
      const before = first(events, ({ subject }) => subject === ended.subject)
      before.type = ended.type
    },
    /^C14 of order:.* was told: ended/,
  ],
  [
    'a note that has no number at the end',
    ({ events }) => {
      events.at(-1)!.number = null
    },
    /^C14 .* has no number/,
  ],
  [
    'a quote that has bought two orders',
    ({ orders }) => {
      for (const order of orders) order.quote_id = 'quote'
    },
    /^C1 quote quote has bought/,
  ],
  [
    'an invoice over less than was charged',
    ({ invoices, customers, transfers }) => {
      const customer_id = customers[0]!.id
      const month = transfers[0]!.made_at.toISOString().slice(0, 7)
      const less = { number: 1n, month, total_sun: 1n, correction_id: null }
      invoices.push({ ...less, customer_id })
    },
    /^C16 .*: 1 invoiced, \d+ charged$/,
  ],
  [
    'an entry that was changed after it was sealed',
    (_rows, { journal }) => journal.entries[0]!.amount_sun++,
    /^C10 seal 1 /,
  ],
  ['an entry that was taken out', (_rows, { journal }) => journal.entries.shift(), /^C10 seal 1 /],
  [
    'a seal that was taken out',
    (_rows, { journal }) => journal.seals.shift(),
    /^C10 seal 2 does not follow/,
  ],
  [
    "an operator's record under a seal that was changed",
    (_rows, { journal }) => {
      journal.seals[0]!.record = 'another'
    },
    /^C10 seal 1 /,
  ],
]

test('each kind of error is found in the rows, in the chain or in the seals', async (t) => {
  const { found, ...read } = await readEverything(t)
  assert.deepEqual(found, [])
  assert.deepEqual(look(read), [])
  assert.ok(
    read.journal.seals.length >= 2 && read.journal.entries.length >= 10,
    'there is something that was sealed',
  )
  for (const [what, spoil, said] of WRONGS) {
    const copy = structuredClone(read)
    spoil(copy.books.rows, copy)
    const lines = look(copy)
    assert.ok(
      lines.some((line) => said.test(line)),
      `${what}: ${JSON.stringify(lines)}`,
    )
  }
})

test('what went a way that there is not is found by who looks again', () => {
  const rowsWith = (attempt: Partial<Attempt>): Rows => {
    const none = { orders: [], subscriptions: [], checks: [], supplies: [], events: [] }
    return {
      ...none,
      attempts: [
        { id: 'a', subject: 's', state: 'sent', tx_id: '1', block_number: null, ...attempt },
      ],
    } as unknown as Rows
  }
  const seen = (...states: Partial<Attempt>[]) => {
    const history = new History()
    return states.flatMap((state) => history.see(rowsWith(state), 1))
  }
  assert.deepEqual(seen({ state: 'included' }, { state: 'sent' }, { state: 'dead' }), [])
  assert.deepEqual(seen({ state: 'dead' }, { state: 'included' }), [
    'attempts a was dead and is included',
  ])
  assert.deepEqual(seen({}, { tx_id: '2' }), ['C5 attempt a was signed as 1, and again as 2'])
})

test('an event that is told in another way later is found by who looks again', () => {
  const event = { customer_id: 'c', number: 1n, id: 'e', type: 'order.created', subject: 'order:1' }
  const none = { orders: [], subscriptions: [], checks: [], supplies: [], attempts: [] }
  const rowsWith = (data: string) => ({ ...none, events: [{ ...event, data }] }) as unknown as Rows
  const history = new History()
  assert.deepEqual(history.see(rowsWith('{}'), 1), [])
  assert.deepEqual(history.see(rowsWith('{}'), 2), [])
  assert.match(history.see(rowsWith('{"a":1}'), 3).join(), /^C14 event 1 of c was e order\.created/)
})

test('withdrawals that a restored database has found are several of one wallet at once', () => {
  const claim = { wallet: 'w', state: 'claiming', found: false, reward_sun: null, tx_id: null }
  const said = (...claims: Partial<RewardClaim>[]) => {
    const all = claims.map((one, i) => ({ ...claim, id: `${i}`, ...one }))
    const rows = { claims: all, transfers: [] }
    return rewardsAreExact({ rows, branch: {} } as unknown as Books).length
  }
  assert.equal(said({ found: true }, { found: true }, {}), 0)
  assert.equal(said({}, {}), 2)
  assert.equal(said({}, { wallet: 'another' }, { state: 'claimed' }), 0)
})

test('what is gone is not on the chain, whatever else its transaction has done', () => {
  const sent = { type: 'TransferContract', succeeded: true, to: 'anna', sun: 5n, inner: [] }
  const inner = [{ to: 'anna', sun: 7n }]
  const called = { ...sent, type: 'TriggerSmartContract', sun: 0n, inner }
  const transactions = new Map(Object.entries({ sent, called }))
  const gone = { state: 'gone', solid_at: null, to_address: 'anna' }
  const seen = (...deposits: Partial<Deposit>[]) => {
    const all = deposits.map((one) => ({ ...gone, ...one }))
    const rows = { deposits: all, attempts: [], orders: [] }
    return rechargesAreDone({ rows, branch: { transactions } } as unknown as Books).length
  }
  assert.equal(seen({ tx_id: 'sent', position: 0, amount_sun: 5n }), 1)
  assert.equal(seen({ tx_id: 'sent', position: -1, amount_sun: 77n }), 0, 'a lie about a transfer')
  assert.equal(seen({ tx_id: 'called', position: -1, amount_sun: 7n }), 1)
  assert.equal(seen({ tx_id: 'called', position: -1, amount_sun: 77n }), 0, 'a lie about a call')
  assert.equal(seen({ tx_id: 'another', position: 0, amount_sun: 5n }), 0)
  const token = { tx_id: 'called', amount_sun: null }
  assert.equal(seen({ ...token, position: 1 }), 1)
  const elsewhere = { ...token, position: 2, state: 'ignored', solid_at: new Date() }
  assert.equal(seen({ ...token, position: 1 }, elsewhere), 0, 'its event is the second there')
})
