// Deposit addresses that the index has told by what they do.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { addressOfBare, bareHex } from '../../chain/transfers/bare_addresses.ts'
import { address, Count, ListOf, Moment, OrNull, Text, text } from '../../platform/wire/schemas.ts'
import { listDeposits, revokeDeposit } from '../../screening/tracing/deposit_addresses.ts'
import { change, LIMIT, limit, look } from '../table/operation.ts'

const addressOf = (bare: string): string => addressOfBare(Buffer.from(bare, 'hex'))

export const depositAddressOperations = [
  look({
    path: '/operator/aml/deposits',
    summary: 'addresses that only forward to a service, and count as its deposit addresses',
    body: Type.Object({ limit }),
    reply: ListOf({
      address: Text,
      label: Text,
      category: Text,
      service: Text,
      sweeps: Count,
      revoked_at: OrNull(Moment),
    }),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: (await listDeposits(sql, limit)).map((one) => ({
        address: addressOf(one.address),
        label: `deposit of ${one.entity}`,
        category: one.category,
        service: addressOf(one.service),
        sweeps: one.sweeps,
        revoked_at: one.revoked_at,
      })),
    }),
  }),
  change({
    path: '/operator/aml/revoke-deposit',
    careful: true,
    summary: 'say that an address is no deposit address of a service, whatever it does',
    body: Type.Object({ address: address('the address'), why: text('WHY', 'why') }),
    reply: Type.Object({ address: Text, revoked_at: Moment }),
    cli: { operands: ['address', 'why'] },
    async handle({ tx, at, by, body }) {
      const said = { address: bareHex(body.address as Address), reason: body.why, by, at }
      const made = await revokeDeposit(tx, said)
      const value = { address: body.address, revoked_at: at }
      const note = made
        ? 'The next generation of the index has it no more: `aml rebuild` begins one.'
        : 'That was said already.'
      const actions = made
        ? [{ subject: `deposit_address:${body.address}`, before: null, after: { why: body.why } }]
        : []
      return { result: { value, note }, actions }
    },
  }),
]
