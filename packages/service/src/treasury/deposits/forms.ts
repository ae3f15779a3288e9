// What a deposit is, the form in which it goes over the wire, and what is told of it.

import type { Address } from 'penstock-tron/address.ts'
import { type Static, Type } from 'typebox'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { wireTime } from '../../lib/clock.ts'
import { money } from '../../lib/json.ts'
import { columnsOf } from '../../platform/database/columns.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { Money } from '../../platform/wire/endpoint.ts'
import { EXAMPLE } from '../../platform/wire/examples.ts'
import { word } from '../../platform/wire/schemas.ts'

export const DEPOSIT_STATES = [
  'seen',
  'unproven',
  'credited',
  'received',
  'delivering',
  'delivered',
  'returning',
  'refunding',
  'refunded',
  'held',
  'ignored',
  'resolved',
  'gone',
] as const

export type Deposit = {
  tx_id: string
  position: number
  from_address: Address
  to_address: Address
  amount_sun: bigint | null
  /** The contract of a token, or the number of a TRC-10 asset. */
  token: string | null
  token_amount: bigint | null
  block_number: bigint
  block_time: Date
  customer_id: string | null
  state: (typeof DEPOSIT_STATES)[number]
  reason: string | null
  energy: bigint | null
  order_id: string | null
  refund_id: string | null
  /** How many other transfers of worthless tokens the same transaction told of, that are no
   *  rows. */
  left_out: number
  solid_at: Date | null
  seen_at: Date
}

export const DEPOSIT_COLUMNS = columnsOf<Deposit>()([
  'tx_id',
  'position',
  'from_address',
  'to_address',
  'amount_sun',
  'token',
  'token_amount',
  'block_number',
  'block_time',
  'customer_id',
  'state',
  'reason',
  'energy',
  'order_id',
  'refund_id',
  'left_out',
  'solid_at',
  'seen_at',
])

/** What names a deposit. */
export type Place = Pick<Deposit, 'tx_id' | 'position'>

/** How the ledger names it: its transaction, and its position there unless it is the transaction's
 *  own transfer. */
export const placeOf = ({ tx_id, position }: Place): string =>
  position === 0 ? tx_id : `${tx_id}/${position}`

export const DepositForm = Type.Object({
  state: word(DEPOSIT_STATES, {
    description:
      'seen: in a block that is not irreversible yet; then received, delivering, delivered; or ' +
      'returning, refunding, refunded; or held, for the operator to decide, and then resolved; ' +
      'or ignored: a token that nobody follows, or too little to send back; ' +
      'or gone: a fork of the chain took it back',
  }),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'Why it is in this state, where that is a question',
  }),
  from_address: Type.String(),
  to_address: Type.String(),
  amount: Type.Optional(Money({ description: 'TRX' })),
  token: Type.Optional(
    Type.String({
      description: 'When it is not TRX: the contract of the token, or the number of a TRC-10 asset',
    }),
  ),
  token_amount: Type.Optional(
    Type.String({ description: "An integer, in the token's smallest unit" }),
  ),
  energy: Type.Optional(Type.Integer({ description: 'What a direct recharge buys' })),
  block_number: Type.Integer(),
  block_time: Type.String(),
  solid: Type.Boolean({ description: 'Whether the block is irreversible' }),
})

export function printDeposit(deposit: Deposit): Static<typeof DepositForm> {
  const { state, reason, from_address, to_address, amount_sun, token, token_amount, energy } =
    deposit
  return {
    state,
    reason,
    from_address,
    to_address,
    ...(amount_sun !== null && { amount: money(amount_sun) }),
    ...(token !== null && { token }),
    ...(token_amount !== null && { token_amount: String(token_amount) }),
    ...(energy !== null && { energy: Number(energy) }),
    block_number: Number(deposit.block_number),
    block_time: wireTime(deposit.block_time),
    solid: deposit.solid_at !== null,
  }
}

const ToldDeposit = Type.Object({ tx_id: Type.String(), ...DepositForm.properties })

const SAMPLE = {
  tx_id: '3f7a'.repeat(16),
  state: 'credited',
  reason: null,
  from_address: EXAMPLE.address,
  to_address: EXAMPLE.address,
  amount: 12.5,
  block_number: 78_123_456,
  block_time: '2026-11-21T00:05:57Z',
  solid: true,
}

const kind = (state: string, when: string, solid = true): EventKind =>
  eventKind(`deposit.${state}`, {
    data: ToldDeposit,
    when,
    sample: { ...SAMPLE, state, solid, ...(state === 'held' && { reason: 'unknown_token' }) },
  })

export const depositKinds: readonly EventKind[] = [
  kind('seen', 'a block has it that is not irreversible yet', false),
  kind('credited', 'it was added to the balance'),
  kind('held', 'it cannot be credited without the operator'),
  kind('resolved', 'the operator has decided about one that was held'),
  kind('gone', 'a fork of the chain took it back', false),
]

/** Deposits as they are told of, by their places. */
export async function depositForms(
  tx: Tx,
  places: readonly Place[],
): Promise<ReadonlyMap<string, Static<typeof ToldDeposit>>> {
  const deposits = await tx<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit where tx_id = any(${places.map(({ tx_id }) => tx_id)})`
  return new Map(
    deposits.map((deposit) => [
      placeOf(deposit),
      { tx_id: deposit.tx_id, ...printDeposit(deposit) },
    ]),
  )
}
