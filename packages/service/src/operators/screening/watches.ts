// Who is screened again whenever what is known of them changes, for which customer.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import {
  address,
  Count,
  ListOf,
  Moment,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
} from '../../platform/wire/schemas.ts'
import { LEVELS } from '../../screening/checks/forms.ts'
import { unwatch, WATCHES_MAX, watch, watchWithin } from '../../screening/checks/watches.ts'
import { listWatches } from '../../screening/reports/watch_routes.ts'
import { change, LIMIT, limit, look, undertaking } from '../table/operation.ts'
import { readWatchTable } from './watch_table.ts'

const WatchBody = Type.Object({
  customer: text('CUSTOMER', 'the id of the customer'),
  address: address('the address'),
})
const Watch = Type.Object({ customer_id: Text, address: Text })

export const watchOperations = [
  change({
    path: '/operator/aml/watch',
    summary: 'screen an address again whenever what is known changes, for a customer, at no price',
    body: WatchBody,
    reply: Watch,
    cli: { operands: ['customer', 'address'] },
    async handle({ tx, at, body }) {
      const { id: customer_id } = await requireCustomer(tx, body.customer)
      const after = { customer_id, address: body.address as Address }
      const { address } = after
      await watch(tx, { customer_id, made_at: at, watches: [{ address }] })
      return {
        result: { value: after },
        actions: [{ subject: `watch:${after.address}`, before: null, after }],
      }
    },
  }),
  change({
    path: '/operator/aml/unwatch',
    summary: 'watch an address no longer',
    body: WatchBody,
    reply: Watch,
    cli: { operands: ['customer', 'address'] },
    async handle({ tx, body: { customer: customer_id, address } }) {
      const before = { customer_id, address: address as Address }
      if (!(await unwatch(tx, before)))
        throw refusal(`${address} is not watched for ${customer_id}.`)
      return {
        result: { value: before },
        actions: [{ subject: `watch:${address}`, before, after: null }],
      }
    },
  }),
  undertaking({
    path: '/operator/aml/import-watches',
    summary: 'watch the addresses of a CSV file for a customer',
    description:
      'Columns: address, and if wanted reference, any_incoming_usd, severe_share_bp, severe_usd ' +
      'and sent_to. A file with a mistake changes nothing. What was watched already stays so, by ' +
      'the rules of the file.',
    takes: 'upload',
    body: Type.Object({ customer: text('CUSTOMER', 'the id of the customer') }),
    reply: Type.Object({ customer_id: Text, in_file: Count, added: Count }),
    cli: {
      operands: ['customer', 'file'],
      extras: Type.Object({ file: text('FILE', 'the addresses, with a header') }),
    },
    async handle({ body: { customer }, upload, record }) {
      if (!upload) throw refusal('No file came along.')
      const watches = await readWatchTable(upload.bytes)
      const value = await record(async (tx, made_at) => {
        const { id: customer_id } = await requireCustomer(tx, customer)
        const added = await watchWithin(tx, { customer_id, made_at, watches })
        if (added === undefined)
          throw refusal(`More than ${WATCHES_MAX} addresses cannot be watched for a customer.`)
        const after = { customer_id, in_file: watches.length, added }
        return {
          result: after,
          actions: [{ subject: `customer:${customer_id}`, before: null, after }],
        }
      })
      return { value }
    },
  }),
  look({
    path: '/operator/aml/watches',
    summary: 'the addresses that are watched, with their newest answers',
    body: Type.Object({
      limit,
      address: optional(address('only this one, for whomever it is watched')),
      customer: optional(text('CUSTOMER', 'only those of this one')),
      level: optional(oneOf(LEVELS, 'only those whose newest answer has this level')),
    }),
    reply: ListOf({
      customer_id: Text,
      address: Text,
      made_at: Moment,
      label_set: OrNull(Count),
      check_id: OrNull(Text),
      state: OrNull(Text),
      risk_score: OrNull(Text),
      risk_level: OrNull(Text),
    }),
    handle: async ({ sql, body: { limit = LIMIT, ...filter } }) => ({
      value: await listWatches(sql, { limit, ...filter }),
    }),
  }),
]
