// Whom an address has dealt with, where that is kept.

import { type Address, isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  address,
  ListOf,
  NOTHING,
  OrNull,
  optional,
  Text,
  text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { counterpartiesOf, forgetPairs, keepPairs } from '../../screening/cases/counterparties.ts'
import { isService } from '../../screening/engine/counterparty.ts'
import { namedLabels } from '../../screening/labels/label_sets.ts'
import { newestSet } from '../../screening/labels/list_versions.ts'
import { readAssets } from '../../screening/tracing/flow_log.ts'
import { change, LIMIT, limit, look } from '../table/operation.ts'

const NOT_KEPT = 'It is not kept who dealt with whom: `aml keep-counterparties` begins.'
const Kept = Type.Object({ kept: Type.Boolean() })

/** Where a page ends: the address and the number of the asset of its last row. */
function placeOf(after: string | undefined) {
  if (after === undefined) return undefined
  const [other = '', asset = ''] = after.split(':')
  if (!isAddress(other) || !/^\d{1,3}$/.test(asset))
    throw misuse(`aml counterparties: --after is ${after}, and no \`next\` of a page.`)
  return { other: other as Address, asset: Number(asset) }
}

/** The entries of the newest lists, by address. */
async function labelsOf(sql: Sql, addresses: readonly Address[]) {
  const named = await namedLabels(sql, await newestSet(sql), addresses)
  return new Map(named.map((label) => [label.address as string, label]))
}

export const counterpartyOperations = [
  look({
    path: '/operator/aml/counterparties',
    summary: 'whom an address has dealt with, how much went each way, and who that is by the lists',
    description:
      'Ordered by address, an asset at a time; `next` is where the next page begins. It is known ' +
      'between the blocks that are named, where `aml keep-counterparties` has begun to keep it, ' +
      'or where the archive has their transfers.',
    body: Type.Object({
      address: address('whose'),
      after: optional(text('NEXT', '`next` of the page before')),
      limit,
    }),
    reply: Type.Object({
      first_block: OrNull(Whole),
      last_block: OrNull(Whole),
      counterparties: ListOf({
        address: Text,
        kind: Text,
        name: OrNull(Text),
        category: OrNull(Text),
        asset: Text,
        received: Whole,
        sent: Whole,
        transfers: Whole,
        first_block: Whole,
        last_block: Whole,
      }),
      next: OrNull(Text),
    }),
    cli: { operands: ['address'] },
    async handle({ sql, body, archive }) {
      const most = body.limit ?? LIMIT
      const page = { after: placeOf(body.after), limit: most + 1 }
      const place = { sql, archive: archive() }
      const known = await counterpartiesOf(place, body.address as Address, page)
      if (!known) throw refusal(NOT_KEPT)
      const rows = known.page
      const shown = rows.slice(0, most)
      const assets = new Map((await readAssets(sql)).map((one) => [one.number, one.symbol]))
      const labels = await labelsOf(
        sql,
        shown.map(({ other }) => other),
      )
      const last = rows.length > most ? shown.at(-1) : undefined
      const counterparties = shown.map(({ other, asset, first_number, last_number, ...one }) => {
        const { entity: name = null, category = null } = labels.get(other) ?? {}
        return {
          address: other,
          kind: category !== null && isService(category) ? 'service' : 'unknown',
          name,
          category,
          asset: assets.get(asset) ?? String(asset),
          ...one,
          first_block: first_number,
          last_block: last_number,
        }
      })
      return {
        value: {
          first_block: known.first_number,
          last_block: known.last_number,
          counterparties,
          next: last ? `${last.other}:${last.asset}` : null,
        },
      }
    },
  }),
  change({
    path: '/operator/aml/keep-counterparties',
    role: 'admin',
    summary: 'keep from now on whom each address has dealt with, with all that the log has',
    description: 'Two rows of the database for each pair of addresses and asset.',
    body: NOTHING,
    reply: Kept,
    async handle({ tx, at, by }) {
      const made = await keepPairs(tx, { at, by })
      const note = made ? 'The running service reads the log.' : 'It is kept already.'
      const actions = made
        ? [{ subject: 'counterparties', before: { kept: false }, after: { kept: true } }]
        : []
      return { result: { value: { kept: true }, note }, actions }
    },
  }),
  change({
    path: '/operator/aml/forget-counterparties',
    role: 'admin',
    summary: 'delete what is kept of whom each address has dealt with, and keep it no more',
    description: 'The log has it still: `aml keep-counterparties` reads it again.',
    body: NOTHING,
    reply: Kept,
    async handle({ tx }) {
      const gone = await forgetPairs(tx)
      const actions = gone
        ? [{ subject: 'counterparties', before: { kept: true }, after: { kept: false } }]
        : []
      return { result: { value: { kept: false } }, actions }
    },
  }),
]
