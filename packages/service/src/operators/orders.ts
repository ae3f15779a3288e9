// What was sold: orders and what they were delivered with, for looking things up.

import {
  DELEGATION_STATES,
  listDelegations,
  listOrders,
  ORDER_STATES,
  showOrder,
} from '../market/order_lookup.ts'
import { address, command, flag, LIMIT, needed, oneOf, paging, text, time } from './command.ts'

/** A part of a list by time. */
export const period = {
  since: time('only from this moment on'),
  until: time('only before this moment'),
}

export const orderCommands = [
  command({
    words: 'orders list',
    summary: 'orders, newest first',
    options: {
      customer: text('CUSTOMER', 'only of this customer'),
      state: oneOf(ORDER_STATES, 'only in this state'),
      open: flag('only those that are neither a success nor failed'),
      address: address('only for this receiver'),
      ...period,
      ...paging,
    },
    run: async ({ sql }, wanted) => ({
      value: await listOrders(sql, { ...wanted, limit: wanted.limit ?? LIMIT }),
    }),
  }),
  command({
    words: 'orders show',
    summary: 'one order: its delegations, their transactions, its entries in the ledger',
    operands: { order: needed(text('ORDER', "its id, or the customer's own id for it")) },
    run: async ({ sql }, { order }) => ({ value: await showOrder(sql, order) }),
  }),
  command({
    words: 'delegations list',
    summary: 'what was delegated for orders, newest first',
    options: {
      order: text('ORDER', 'only of this order'),
      state: oneOf(DELEGATION_STATES, 'only in this state'),
      wallet: address('only from this pool wallet'),
      receiver: address('only to this receiver'),
      overdue: flag('only what should have been taken back by now'),
      ...paging,
    },
    run: async ({ sql }, wanted) => ({
      value: await listDelegations(sql, { ...wanted, limit: wanted.limit ?? LIMIT }),
    }),
  }),
]
