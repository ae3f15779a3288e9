// The form in which deposits go over the wire, and what is told of them.

import { type Static, Type } from 'typebox'
import type { Tx } from '../database/sql.ts'
import { type EventKind, eventKind, type Subject } from '../events/kinds.ts'
import { wireTime } from '../lib/clock.ts'
import { money, printJson } from '../lib/json.ts'
import { Money } from '../wire/endpoint.ts'
import { EXAMPLE } from '../wire/examples.ts'
import type { Deposit } from './deposits.ts'

export const DepositForm = Type.Object({
  state: Type.String({
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

/** Prints what is told of deposits: `deposit:TX_ID`, and `deposit:TX_ID/POSITION` where one
 *  transaction brought several. */
export async function printDeposits(tx: Tx, notes: readonly Subject[]): Promise<string[]> {
  const wanted = notes.map(({ subject }) => {
    const [tx_id = '', position = '0'] = subject.slice('deposit:'.length).split('/')
    return { tx_id, position: Number(position) }
  })
  const deposits = await tx<Deposit>`
    select * from deposit where tx_id = any(${wanted.map(({ tx_id }) => tx_id)})`
  const key = ({ tx_id, position }: { tx_id: string; position: number }) => `${tx_id}/${position}`
  const deposit_of = new Map(deposits.map((deposit) => [key(deposit), deposit]))
  return notes.map(({ type }, i) => {
    const deposit = deposit_of.get(key(wanted[i]!))!
    const state = type.slice('deposit.'.length)
    return printJson({ tx_id: deposit.tx_id, ...printDeposit(deposit), state })
  })
}
