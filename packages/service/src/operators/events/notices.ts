// What was told to webhooks, and what there was to tell, by the operator's hand.

import { Type } from 'typebox'
import { listEvents } from '../../events/log/events.ts'
import { changeOrderCreated, readOrderCreated } from '../../events/log/order_created.ts'
import { listNotices } from '../../events/webhooks/notices.ts'
import {
  Anything,
  Count,
  Flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { change, LIMIT, limit, look } from '../table/operation.ts'
import { customer, requireOwner, webhook } from './webhooks.ts'

export const noticeOperations = [
  look({
    path: '/operator/notices/list',
    summary: 'what the webhooks of a customer were told, or are to be told, newest event first',
    body: Type.Object({
      customer,
      webhook: optional(webhook),
      state: optional(oneOf(['due', 'delivered', 'dead', 'passed'], 'only those in this state')),
      event: optional(whole('NUMBER', 'only those of this event')),
      limit,
    }),
    reply: ListOf({
      webhook_id: Text,
      number: Whole,
      type: Text,
      subject: Text,
      state: Text,
      calls: Count,
      due_at: Moment,
      last_at: OrNull(Moment),
      last_status: OrNull(Count),
      last_error: OrNull(Text),
    }),
    cli: { operands: ['customer'] },
    async handle({ sql, body: { customer, webhook, state, event, limit = LIMIT } }) {
      const customer_id = await requireOwner(sql, customer)
      const number = event === undefined ? undefined : BigInt(event)
      const rows = await listNotices(sql, {
        customer_id,
        webhook_id: webhook,
        state,
        number,
        limit,
      })
      const value = rows.map(
        ({ webhook_id, number, type, subject, state, calls, due_at, last }) => ({
          webhook_id,
          number,
          type,
          subject,
          state,
          calls,
          due_at,
          last_at: last?.at ?? null,
          last_status: last?.status ?? null,
          last_error: last?.error ?? null,
        }),
      )
      return { value }
    },
  }),
]

const OrderCreatedReply = Type.Object({ order_created: Flag, from: OrNull(Moment) })

export const eventOperations = [
  look({
    path: '/operator/events/show',
    summary: 'whether customers are told of orders when they are placed (order.created)',
    body: NOTHING,
    reply: OrderCreatedReply,
    handle: async ({ sql }) => ({ value: await readOrderCreated(sql) }),
  }),
  change({
    path: '/operator/events/set',
    summary: 'tell customers of orders when they are placed, or only of what becomes of them',
    body: Type.Object({
      order_created: oneOf(['told', 'untold'], 'whether order.created is told'),
    }),
    reply: OrderCreatedReply,
    async handle({ tx, clock, body: { order_created } }) {
      const { result, actions } = await changeOrderCreated(
        tx,
        order_created === 'told',
        clock.now(),
      )
      const when = result.from ? 'For orders that are placed ten seconds from now.' : 'At once.'
      const note = actions.length === 0 ? 'No change.' : when
      return { result: { value: result, note }, actions }
    },
  }),
  look({
    path: '/operator/events/list',
    summary: 'what a customer, or the house, was told of, newest first',
    body: Type.Object({
      customer,
      type: optional(Type.Array(Type.String(), { title: 'TYPE', description: 'only this' })),
      subject: optional(text('SUBJECT', 'only about this, like order:01m7…')),
      before: optional(whole('NUMBER', 'only those before this one: the next page')),
      limit,
    }),
    reply: ListOf({
      number: Whole,
      id: Text,
      at: Moment,
      type: Text,
      subject: Text,
      test: Flag,
      data: Anything,
    }),
    cli: { operands: ['customer'] },
    async handle({ sql, body: { customer, type, subject, before, limit = LIMIT } }) {
      const customer_id = await requireOwner(sql, customer)
      const wanted = { customer_id, types: type, subject, limit }
      const events = await listEvents(sql, {
        ...wanted,
        before: before === undefined ? undefined : BigInt(before),
      })
      const value = events.map(({ number, id, at, type, subject, test, data }) => ({
        number,
        id,
        at,
        type,
        subject,
        test,
        data: JSON.parse(data) as unknown,
      }))
      return { value }
    },
  }),
]
