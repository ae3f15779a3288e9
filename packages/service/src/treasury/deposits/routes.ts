// A customer's deposits on the wire: what arrived at its address, and what became of it.

import { type Static, Type } from 'typebox'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  NotFound,
  refuses,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  noPlace,
  page,
  rowsFor,
  STATE_REFUSAL,
  stateField,
} from '../../platform/wire/lists.ts'
import { timeField, timeOf } from '../../platform/wire/reading.ts'
import type { Deposit, Place } from './deposits.ts'
import { DEPOSIT_COLUMNS, DepositForm, printDeposit } from './forms.ts'

export type Needs = { sql: Sql }

const OwnDeposit = Type.Object({
  tx_id: Type.String(),
  ...DepositForm.properties,
  solid_in_blocks: Type.Integer({ description: '0 when its block is irreversible' }),
})

type OwnRow = Deposit & { solid_in_blocks: number }

const printOwn = (deposit: OwnRow): Static<typeof OwnDeposit> => ({
  tx_id: deposit.tx_id,
  ...printDeposit(deposit),
  solid_in_blocks: deposit.solid_in_blocks,
})

/** Where a page ends: newer blocks first. */
type ListPlace = Place & { block_number: bigint }

const placeText = ({ block_number, tx_id, position }: ListPlace): string =>
  `${block_number}.${tx_id}.${position}`

/** Throws 2 when it is no place that a page ended with. */
function readListPlace(before: string | undefined): ListPlace | undefined {
  if (before === undefined) return undefined
  const [, block = '', tx_id = '', position = ''] =
    /^(\d{1,15})\.([0-9a-f]{64})\.(-?\d{1,9})$/.exec(before) ?? []
  if (tx_id === '') throw noPlace()
  return { block_number: BigInt(block), tx_id, position: Number(position) }
}

/** The states of what arrives at a customer's address. */
const OWN_STATES = [
  'seen',
  'unproven',
  'credited',
  'held',
  'ignored',
  'resolved',
  'gone',
] as const satisfies readonly Deposit['state'][]

const PLACE_LENGTH_MAX = 100
/** Before the newest. */
const FIRST: ListPlace = { block_number: 2n ** 62n, tx_id: '', position: 0 }

const list = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/deposits/list',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What arrived at your address, newest first',
    body: Type.Object({
      state: stateField(OWN_STATES),
      since: timeField('since', 'Of blocks from then on'),
      until: timeField('until', 'Of blocks before'),
      ...listFields(undefined, PLACE_LENGTH_MAX),
    }),
    reply: listOf(OwnDeposit),
    faults: [
      STATE_REFUSAL,
      refuses(InvalidParams, '`since` is no time', 'since'),
      refuses(InvalidParams, '`until` is no time', 'until'),
      ...LIST_REFUSALS,
    ],
    examples: [{ summary: 'Those that were credited', body: { state: 'credited' } }],
    async handle({ body, customer: { customer_id } }) {
      const { state = null, before, limit } = body
      const { since = '-infinity', until = 'infinity' } = {
        since: timeOf(body.since),
        until: timeOf(body.until),
      }
      const place = readListPlace(before)
      const { block_number, tx_id, position } = place ?? FIRST
      const rows = await sql<OwnRow>`
        select d.${DEPOSIT_COLUMNS}, greatest(0, case when solid_at is null
          then block_number - (select confirmed_number from chain) end)::integer as solid_in_blocks
        from deposit as d
        where customer_id = ${customer_id} and (${state}::text is null or state = ${state})
          and block_time >= ${since} and block_time < ${until}
          and block_number <= ${block_number}
          and (block_number, tx_id, position)
            < (${block_number}, ${tx_id}::text, ${position}::integer)
        order by block_number desc, tx_id desc, position desc limit ${rowsFor(limit)}`
      return page(rows, limit, { print: printOwn, placeOf: placeText })
    },
  })

const check = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/deposit/check',
    keeps_body: true,
    auth: 'signature',
    scope: 'read',
    summary: 'What a transaction on the chain brought to your address',
    body: Type.Object({
      tx_id: Type.String({
        pattern: '^[0-9a-fA-F]{64}$',
        fault: () => InvalidParams('tx_id', 'Invalid tx_id'),
      }),
    }),
    reply: Type.Object({
      tx_id: Type.String(),
      deposits: Type.Array(OwnDeposit, { description: 'Mostly one' }),
    }),
    faults: [
      refuses(InvalidParams, '`tx_id` is not the id of a transaction', 'tx_id'),
      refuses(NotFound, 'It brought nothing to your address, as far as is known', 'deposit'),
    ],
    examples: [{ summary: 'One that nobody knows', body: { tx_id: '3f7a'.repeat(16) } }],
    async handle({ body, customer: { customer_id } }) {
      const tx_id = body.tx_id.toLowerCase()
      const rows = await sql<OwnRow>`
        select d.${DEPOSIT_COLUMNS}, greatest(0, case when solid_at is null
          then block_number - (select confirmed_number from chain) end)::integer as solid_in_blocks
        from deposit as d where tx_id = ${tx_id} and customer_id = ${customer_id}
        order by position`
      if (rows.length === 0)
        throw NotFound('deposit', 'There is no such deposit').absent('tx_id', 'deposit of yours')
      return { tx_id, deposits: rows.map(printOwn) }
    },
  })

export const routes = (needs: Needs): Endpoint[] => [list(needs), check(needs)]
