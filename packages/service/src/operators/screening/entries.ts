// What the house has decided about addresses: `aml allow`, `aml deny` and their end.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import {
  address,
  ListOf,
  Moment,
  moment,
  optional,
  Text,
  text,
} from '../../platform/wire/schemas.ts'
import {
  ALLOWED_DAYS,
  allowedUntil,
  Entry,
  findEntry,
  listEntries,
  makeEntry,
  withdrawEntry,
} from '../../screening/labels/entries.ts'
import { change, LIMIT, limit, look, momentOf } from '../table/operation.ts'

/** Of one that is made: it has no end yet but its own. */
const MadeEntry = Type.Object({
  ...Entry.pick('id', 'customer_id', 'address', 'kind', 'reason', 'made_by', 'made_at'),
  ...Entry.pick('expires_at'),
})

/** `aml allow` and `aml deny`. */
const deciding = (kind: 'allow' | 'deny', summary: string) =>
  change({
    path: `/operator/aml/${kind}`,
    careful: kind === 'allow',
    summary,
    body: Type.Object({
      address: address('the address'),
      why: text('WHY', 'why, for the evidence'),
      customer: optional(text('CUSTOMER', 'for this customer alone; without it, for all')),
      expires: optional(
        moment(kind === 'allow' ? `until then, and not for ${ALLOWED_DAYS} days` : 'until then'),
      ),
    }),
    reply: MadeEntry,
    cli: { operands: ['address', 'why'] },
    second: () => kind === 'allow',
    async handle({ tx, new_id, body, by, at }) {
      const expires_at = momentOf(body.expires) ?? (kind === 'allow' ? allowedUntil(at) : null)
      if (expires_at !== null && expires_at <= at) throw misuse('--expires is in the past.')
      const { customer } = body
      const entry = {
        customer_id: customer === undefined ? null : (await requireCustomer(tx, customer)).id,
        address: body.address as Address,
        kind,
        reason: body.why,
        made_by: by,
        made_at: at,
        expires_at,
      }
      const { id } = await makeEntry(tx, new_id, entry)
      return {
        result: { value: { id, ...entry } },
        actions: [{ subject: `entry:${id}`, before: null, after: entry }],
      }
    },
  })

export const entryOperations = [
  deciding(
    'allow',
    'let the weighted mean stand for an address: floors do not act; what an authority says does',
  ),
  deciding('deny', 'count an address as blacklisted'),
  change({
    path: '/operator/aml/withdraw',
    careful: true,
    summary: 'end an entry of `aml allow` or `aml deny`',
    body: Type.Object({ entry: text('ENTRY', 'its id') }),
    reply: Type.Object({ id: Text, withdrawn_at: Moment }),
    cli: { operands: ['entry'] },
    async handle({ tx, at, body: { entry: id } }) {
      const entry = await findEntry(tx, id)
      if (!entry) throw refusal(`There is no entry ${id}.`)
      const ended = await withdrawEntry(tx, { id, customer_id: entry.customer_id, at })
      const after = { withdrawn_at: entry.withdrawn_at ?? at }
      const note = ended ? undefined : 'It had ended already.'
      const actions = ended ? [{ subject: `entry:${id}`, before: entry, after }] : []
      return { result: { value: { id, ...after }, note }, actions }
    },
  }),
  look({
    path: '/operator/aml/entries',
    summary: 'what has been decided about addresses, newest first',
    body: Type.Object({ address: optional(address('only this one')), limit }),
    reply: ListOf(Entry.fields),
    cli: { operands: ['address'] },
    handle: async ({ sql, body: { address, limit = LIMIT } }) => ({
      value: await listEntries(sql, { address, limit }),
    }),
  }),
]
