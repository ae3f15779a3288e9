// Purchases: bought with the price shown before, looked at, and waited for.

import { NotFound, type Order, OrderFailed, type Penstock, type Until } from 'penstock-sdk'
import { type Command, field, type Invocation, type Outcome } from '../line/command.ts'
import { EndNotSeen, Misuse, Refusal } from '../line/errors.ts'
import { valueText } from '../line/printing.ts'
import { firstOf, listing } from './plain.ts'

const ORDER_COLUMNS = ['id', 'status', 'service', 'params.address', 'amount', 'created_at', 'hash']
const LIST = '/v1/transactions/list'
const LIMIT_USUAL = 25
const ADDRESS = /^T[1-9A-HJ-NP-Za-km-z]{33}$/

const UNTIL = ['success', 'solid', 'ended'] as const

const SERVICES = {
  energy: 'energy',
  bandwidth: 'bandwidth',
  bundle: 'resource_bundle',
  activation: 'activate_address',
} as const
type Word = keyof typeof SERVICES

type Purchase = {
  service: Word
  address: string
  amount?: number
  bandwidth?: number
  external_id?: string
  max?: number
  activate?: boolean
  wait?: Until
  yes?: boolean
}

const buy: Command = {
  words: 'buy',
  summary: 'Buy energy, bandwidth, a bundle of both, or the activation of an address',
  path: '/v1/transaction/new',
  filled: ['service', 'params.address', 'params.duration', 'params.amount', 'external_id'].concat([
    'params.amounts.energy',
    'params.amounts.bandwidth',
    'params.activate_address',
  ]),
  operands: ['service', 'address', 'amount', 'bandwidth'],
  also: ['/v1/calculate', '/v1/services', '/v1/transaction/check'],
  own: [
    field('service', '', { words: Object.keys(SERVICES), needed: true }),
    field('address', 'who receives it', { needed: true }),
    field('amount', 'how much; of a bundle the energy', { type: 'whole' }),
    field('bandwidth', 'of a bundle', { type: 'whole' }),
    field('external_id', 'an id of yours: the same again buys nothing more'),
    field('max', 'TRX that it may cost; needs no question then', { type: 'number' }),
    field('activate', 'activate the address too, if it is not active', { type: 'yes' }),
    field('wait', 'until it is so; success when nothing is said', { words: UNTIL, bare: UNTIL[0] }),
    field('yes', 'buy without a question', { type: 'yes' }),
  ],
  repeat_by: '--external-id',
  async run(invocation): Promise<Outcome> {
    const { penstock, own, io, note } = invocation
    const wanted = own as Purchase
    const { external_id, wait } = wanted
    const { signal } = io
    requireAmounts(wanted)
    const made = external_id && (await findOrder(penstock, { external_id }, signal))
    const order = made || (await placeOrder(invocation, wanted))
    if (made) {
      requireSame(made, wanted)
      note(`Nothing is bought: ${external_id} is the order ${made.id}.`)
    }
    if (!wait) return { value: order, ok: order.status !== 'failed' }
    try {
      return { value: await penstock.orders.waitFor(order.id, { until: wait, signal }) }
    } catch (thrown) {
      const { id, external_id } = order
      if (thrown instanceof OrderFailed || external_id === null) throw thrown
      throw new EndNotSeen(`The order ${id}`, external_id, thrown)
    }
  },
}

/** The id is that of another purchase: this one is not made, and must not seem to be. Throws
 *  Refusal. */
function requireSame({ id, service, params }: Order, wanted: Purchase): void {
  const { amount, bandwidth } = wanted
  const amounts: Record<Word, readonly unknown[]> = {
    energy: [amount, undefined],
    bandwidth: [undefined, amount],
    bundle: [amount, bandwidth],
    activation: [undefined, undefined],
  }
  const bought = [service, params.address, params.amounts?.energy, params.amounts?.bandwidth]
  const asked = [SERVICES[wanted.service], wanted.address, ...amounts[wanted.service]]
  const activates = wanted.service !== 'activation' && wanted.activate === true
  const same = bought.every((one, i) => one === asked[i])
  if (!same || (activates && !params.activate_address))
    throw new Refusal(`${wanted.external_id} is another purchase, the order ${id}.`)
}

function requireAmounts({ service, amount, bandwidth }: Purchase): void {
  if (service === 'bundle' ? !amount || !bandwidth : bandwidth !== undefined)
    throw new Misuse('buy bundle ADDRESS ENERGY BANDWIDTH: only a bundle has two amounts.')
  if ((service === 'activation') !== (amount === undefined))
    throw new Misuse(
      service === 'activation' ? 'An activation has no amount.' : 'AMOUNT is missing: how much.',
    )
}

async function findOrder(
  penstock: Penstock,
  reference: { id: string } | { external_id: string },
  signal: AbortSignal,
): Promise<Order | undefined> {
  return penstock.orders.check(reference, { signal }).catch((thrown: unknown) => {
    if (thrown instanceof NotFound) return undefined
    throw thrown
  })
}

async function placeOrder({ penstock, io, note }: Invocation, wanted: Purchase) {
  const { service, address, amount, bandwidth, external_id, max, activate = false } = wanted
  const price = await priceOf(penstock, wanted, io.signal)
  const what = [amount, bandwidth && `and ${bandwidth}`, service].filter(Boolean).join(' ')
  note(`${what} for ${address}: ${price} TRX`)
  if (max !== undefined && price > max) throw new Refusal(`It costs ${price} TRX, more than --max.`)
  if (max === undefined && wanted.yes !== true) {
    if (!io.ask) throw new Misuse('Nobody is here to ask: --yes, or --max TRX.')
    const answer = await io.ask('Buy it? [y/N] ')
    if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('Nothing is bought.')
    // Nobody knows how long the question has stood there.
    const price_now = await priceOf(penstock, wanted, io.signal)
    if (price_now > price) throw new Refusal(`Nothing is bought: it costs ${price_now} TRX by now.`)
  }
  const amounts = service === 'bundle' ? { energy: amount, bandwidth } : undefined
  const params = {
    address,
    ...(service === 'activation' ? {} : { duration: 1, activate_address: activate }),
    ...(amounts ? { amounts } : amount === undefined ? {} : { amount }),
  }
  const body = { service: SERVICES[service], params, external_id }
  return penstock.orders.create(body, { signal: io.signal })
}

/** What it costs now, in TRX. */
async function priceOf(penstock: Penstock, wanted: Purchase, signal: AbortSignal): Promise<number> {
  const { service, address, amount, bandwidth, activate } = wanted
  const { activate_address } = await penstock.services.list({ signal })
  if (service === 'activation') return activate_address.price
  const parts = [
    ...(service === 'bandwidth' ? [] : [{ type: 'energy' as const, amount }]),
    ...(service === 'energy' ? [] : [{ type: 'bandwidth' as const, amount: bandwidth ?? amount }]),
  ]
  const prices = await Promise.all(
    parts.map((part) => penstock.prices.calculate({ ...part, address, duration: 1 }, { signal })),
  )
  const fee = activate === true ? prices[0]!.activation_fee : 0
  const sun = prices.reduce((sum, { price }) => sum + Math.round(price * 1e6), fee * 1e6)
  return Math.round(sun) / 1e6
}

const show: Command = {
  words: 'orders show',
  summary: 'An order by its id, your id or its transaction; the orders of an address',
  operands: ['order'],
  also: ['/v1/transaction/check', LIST],
  own: [
    field('order', 'its id, external id, transaction on the chain, or an address', {
      needed: true,
    }),
    field('since', 'of a transaction: looks no further back; a day, or 2026-11-01T12:00:00Z'),
    field('until', 'of a transaction: begins to look before then'),
  ],
  async run(invocation): Promise<Outcome> {
    const { penstock, own, io } = invocation
    const { signal } = io
    const order = String(own.order)
    if (ADDRESS.test(order)) {
      const wanted = { body: { address: order }, most: LIMIT_USUAL, signal }
      return { rows: firstOf(penstock, LIST, wanted), columns: ORDER_COLUMNS }
    }
    const found =
      (await findOrder(penstock, { id: order }, signal)) ??
      (await findOrder(penstock, { external_id: order }, signal)) ??
      (await findByHash(invocation, order))
    if (!found) throw new Refusal(`There is no order ${order}.`)
    return { value: found }
  },
}

const LOOKED_AT_SAID = 1_000

/** An order whose transaction on the chain has this id. The list is all that knows, so it is gone
 *  through, the newest first. */
async function findByHash({ penstock, own, io, note }: Invocation, hash: string) {
  if (!/^[0-9a-f]{64}$/i.test(hash)) return undefined
  const { signal } = io
  const { since, until } = own as { since?: string; until?: string }
  let looked_at = 0
  for await (const { id, hash: mine, created_at } of penstock.orders.list(
    { since, until },
    { signal },
  )) {
    if (mine === hash.toLowerCase()) return findOrder(penstock, { id }, signal)
    looked_at += 1
    if (looked_at % LOOKED_AT_SAID === 0)
      note(`Not among ${looked_at} orders, the last of ${created_at}; --since and --until help.`)
  }
}

/** What the steps of a timeline are called. */
const STEP: Readonly<Record<string, string>> = {
  held: 'price set aside',
  activating: 'activation requested',
  activated: 'address active',
  planned: 'wallet chosen',
  included: 'in a block',
  solid: 'irreversible',
  reverted: 'taken back by a fork',
  dead: 'did not reach the chain',
  refunded: 'given back',
  over: 'hour is over',
  reclaiming: 'being taken back',
  ended: 'taken back',
}

/** A timeline for reading: the order, where it is, and its steps with those to come. */
function timelineText(value: Awaited<ReturnType<Penstock['orders']['timeline']>>, width: number) {
  const { transaction, sentence, steps, chain_ahead_seconds } = value
  const { id, external_id, service, status, amount, params } = transaction
  const ahead = chain_ahead_seconds > 0 ? { chain_ahead_seconds } : {}
  const facts = { id, external_id, service, address: params.address, status, price: amount }
  const shown = steps.map(
    ({ what, at, expected, amount: energy, tx_id, block_number, detail }) => ({
      at: at ?? expected,
      step: `${STEP[what] ?? what}${at === null ? ' (expected)' : ''}`,
      amount: energy,
      block: block_number,
      transaction: tx_id,
      detail,
    }),
  )
  return valueText({ ...facts, ...ahead, now: sentence, steps: shown }, width)
}

export const ORDERS: readonly Command[] = [
  buy,
  listing('orders list', LIST, { columns: ORDER_COLUMNS }),
  show,
  {
    words: 'orders timeline',
    summary: 'What became of an order, step by step, and what it waits for',
    operands: ['order'],
    also: ['/v1/transaction/timeline'],
    own: [field('order', 'its id, or external id', { needed: true })],
    async run({ penstock, own, io, width }): Promise<Outcome> {
      const { signal } = io
      const order = String(own.order)
      const value = await penstock.orders
        .timeline({ id: order }, { signal })
        .catch((thrown: unknown) => {
          if (!(thrown instanceof NotFound)) throw thrown
          return penstock.orders.timeline({ external_id: order }, { signal })
        })
      return { value, text: timelineText(value, width) }
    },
  },
]
