// Whatever an operator has at hand, an id, a name, an address, a hash, and what it belongs to here.

import { Type } from 'typebox'
import type { Sql } from '../../platform/database/sql.ts'
import { ListOf, OrNull, Text, text } from '../../platform/wire/schemas.ts'
import { look } from '../table/operation.ts'

/** What each kind has at most. */
const EACH_MAX = 5

const KINDS = ['customer', 'order', 'deposit', 'wallet'] as const

type Finding = {
  kind: (typeof KINDS)[number]
  id: string
  customer_id: string | null
  name: string | null
  state: string | null
}

/** By id, deposit address, a part of the name, a key, a user's name for signing in, or the e-mail
 *  that signed up. */
const customers = (sql: Sql, wanted: string) => sql<Finding>`
  select 'customer' as kind, id, id as customer_id, name, state from customer
  where id = ${wanted} or deposit_address = ${wanted}
    or strpos(lower(name), lower(${wanted})) > 0
    or id in (select customer_id from api_key where id = ${wanted})
    or id in (select customer_id from service_user
      where customer_id is not null and (id = ${wanted} or sign_in_name = ${wanted}))
    or id in (select customer_id from sign_up where lower(email) = lower(${wanted}))
  order by id = ${wanted} desc, lower(name) = lower(${wanted}) desc, id desc limit ${EACH_MAX}`

/** By id, the customer's own id, the receiver, or a transaction that delivered it or took it back.
 *  Each index of orders begins with the customer: each is asked. */
const orders = (sql: Sql, wanted: string) => sql<Finding>`
  with found as (
    select id from orders where id = ${wanted}
    union select mine.id from customer cross join lateral (
      select id from orders where customer_id = customer.id and external_id = ${wanted}) as mine
    union select mine.id from customer cross join lateral (
      select id from orders where customer_id = customer.id and address = ${wanted}
        order by id desc limit ${EACH_MAX}) as mine
    union select d.order_id from attempt as a join delegation as d
      on d.id = substr(a.subject, strpos(a.subject, ':') + 1)
      where a.tx_id = ${wanted.toLowerCase()}
    union select o.id from attempt as a
      join activation on activation.id = substr(a.subject, strpos(a.subject, ':') + 1)
      join orders as o on o.activation_id = activation.id
      where a.tx_id = ${wanted.toLowerCase()}
  )
  select 'order' as kind, id, customer_id, external_id as name, state
  from orders where id in (select id from found) order by id desc limit ${EACH_MAX}`

/** By the transaction that brought it, or the address that it came to. */
const deposits = (sql: Sql, wanted: string) => sql<Finding>`
  select 'deposit' as kind, tx_id as id, customer_id, null as name, state from deposit
  where tx_id = ${wanted.toLowerCase()} or to_address = ${wanted}
  order by block_number desc, position limit ${EACH_MAX}`

const wallets = (sql: Sql, wanted: string) => sql<Finding>`
  select distinct 'wallet' as kind, address as id, null as customer_id, null as name,
    null as state from pool_wallet where address = ${wanted}`

export const findOperations = [
  look({
    path: '/operator/find',
    summary: 'customers, orders, deposits and wallets by an id, a name, an address or a hash',
    body: Type.Object({
      text: text(
        'TEXT',
        "an id, a customer's own id for an order, a name or a part of it, an address, or a " +
          'transaction on the chain',
      ),
    }),
    reply: ListOf({
      kind: Type.Enum([...KINDS]),
      id: Text,
      customer_id: OrNull(Text),
      name: OrNull(Text),
      state: OrNull(Text),
    }),
    cli: { operands: ['text'] },
    async handle({ sql, body }) {
      const wanted = body.text.trim()
      if (wanted === '') return { value: [] }
      const all = [customers, orders, deposits, wallets].map((find) => find(sql, wanted))
      return { value: (await Promise.all(all)).flat() }
    },
  }),
]
