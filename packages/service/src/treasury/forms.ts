// The form in which deposits go over the wire.

import { type Static, Type } from 'typebox'
import { wireTime } from '../lib/clock.ts'
import { money } from '../lib/json.ts'
import { Money } from '../wire/endpoint.ts'
import type { Deposit } from './deposits.ts'

export const DepositForm = Type.Object({
  state: Type.String({
    description:
      'seen: in a block that is not irreversible yet; then received, delivering, delivered; or ' +
      'returning, refunding, refunded; or held, for the operator to decide, and then resolved; or ignored: a token ' +
      'that nobody follows, or too little to send back; or gone: a fork of the chain took it back',
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
