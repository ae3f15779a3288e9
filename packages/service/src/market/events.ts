// What is told of orders.

import type { Tx } from '../database/sql.ts'
import { type EventKind, eventKind, type Subject } from '../events/kinds.ts'
import { printJson } from '../lib/json.ts'
import type { Delegation } from '../pool/delegations.ts'
import { EXAMPLE } from '../wire/examples.ts'
import { CheckedTransaction, printDelegation, printOrder, Transaction } from './forms.ts'
import type { Order } from './orders.ts'

const SAMPLE = {
  id: '01m7xps0ca8ksnnfg71x89vdp6',
  external_id: 'order-42',
  service: 'energy',
  params: {
    address: EXAMPLE.address,
    amounts: { energy: 65_000 },
    duration: 1,
    activate_address: false,
  },
  status: 'new',
  amount: 2.93,
  created_at: '2026-11-21T00:05:57Z',
}
const HASH = '9f2c'.repeat(16)
const DELIVERED = {
  ...SAMPLE,
  status: 'success',
  hash: HASH,
  delegations: [
    { resource: 'energy', amount: 65_000, hash: HASH, expires_at: '2026-11-21T01:06:00Z' },
  ],
}

/** The state that an order is in when this is told of it. */
const STATES: Readonly<Record<string, Order['state']>> = {
  'order.created': 'new',
  'order.succeeded': 'success',
  'order.failed': 'failed',
  'order.reverted': 'pending',
  'order.ended': 'success',
}

export const orderKinds: readonly EventKind[] = [
  eventKind('order.created', {
    data: Transaction,
    when: 'it is placed and its price is held',
    sample: SAMPLE,
  }),
  eventKind('order.succeeded', {
    data: CheckedTransaction,
    when: 'all of it is in blocks; its price is charged',
    sample: DELIVERED,
  }),
  eventKind('order.failed', {
    data: CheckedTransaction,
    when: 'it cannot be delivered; the whole price is given back',
    sample: { ...SAMPLE, status: 'failed', delegations: [] },
  }),
  eventKind('order.reverted', {
    data: CheckedTransaction,
    when: 'a fork of the chain took a delivered part back; it is delivered again at our cost',
    sample: { ...SAMPLE, status: 'pending', delegations: [] },
  }),
  eventKind('order.ended', {
    data: CheckedTransaction,
    when: 'the hour is over and the last part of it was taken back',
    sample: {
      ...DELIVERED,
      delegations: DELIVERED.delegations.map((one) => ({
        ...one,
        reclaim_hash: 'ab'.repeat(32),
        reclaimed_at: '2026-11-21T01:06:03Z',
      })),
    },
  }),
]

type Part = Delegation & { tx_id: string; reclaim_tx_id: string | null }

/** Prints what is told of orders. */
export async function printOrders(tx: Tx, notes: readonly Subject[]): Promise<string[]> {
  const ids = notes.map(({ subject }) => subject.slice('order:'.length))
  const [orders, parts] = await Promise.all([
    tx<Order>`select * from orders where id = any(${ids})`,
    tx<Part>`
      select d.*, a.tx_id, r.tx_id as reclaim_tx_id from delegation as d
      join attempt as a on a.id = d.attempt_id left join attempt as r on r.id = d.reclaim_id
      where order_id = any(${ids}) and d.state in ('active', 'reclaiming', 'ended')
      order by resource desc, d.id`,
  ])
  const order_of = new Map(orders.map((order) => [order.id, order]))
  const parts_of = Map.groupBy(parts, ({ order_id }) => order_id)
  return notes.map(({ type }, i) => {
    const order = order_of.get(ids[i]!)!
    const form = printOrder({ ...order, state: STATES[type] ?? order.state })
    if (type === 'order.created') return printJson(form)
    return printJson({ ...form, delegations: (parts_of.get(order.id) ?? []).map(printDelegation) })
  })
}
