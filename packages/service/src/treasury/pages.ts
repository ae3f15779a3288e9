// Where whoever has sent TRX to the published address looks that up by the transaction: what the
// chain shows of it, and what became of it. Of customers' deposits nothing is said, not even that
// an address is one of ours: whoever walks through the chain's transactions could learn all our
// customers' addresses here.

import { Type } from 'typebox'
import type { Sql } from '../database/sql.ts'
import type { Page } from '../http/pages.ts'
import { wireTime } from '../lib/clock.ts'
import { money, printJson } from '../lib/json.ts'
import { Money } from '../wire/endpoint.ts'
import { pageRefusal, success } from '../wire/replies.ts'
import { type Deposit, findRecharges } from './deposits.ts'

const Found = Type.Object({
  tx_id: Type.String(),
  deposits: Type.Array(
    Type.Object({
      state: Type.String({
        description:
          'seen: in a block that is not irreversible yet; then received, delivering, ' +
          'delivered; or returning, refunding, refunded; or held, for the operator to ' +
          'decide, and then resolved; or ignored: a token that nobody follows, or too little ' +
          'to send back; or gone: a fork of the chain took it back',
      }),
      reason: Type.Union([Type.String(), Type.Null()], {
        description: 'Why it is in this state, where that is a question',
      }),
      from_address: Type.String(),
      to_address: Type.String(),
      amount: Type.Optional(Money({ description: 'TRX' })),
      token: Type.Optional(
        Type.String({
          description:
            'When it is not TRX: the contract of the token, or the number of a TRC-10 asset',
        }),
      ),
      token_amount: Type.Optional(
        Type.String({ description: "An integer, in the token's smallest unit" }),
      ),
      energy: Type.Optional(Type.Integer({ description: 'What a direct recharge buys' })),
      block_number: Type.Integer(),
      block_time: Type.String(),
      solid: Type.Boolean({ description: 'Whether the block is irreversible' }),
    }),
  ),
})

function printDeposit(deposit: Deposit) {
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

export function pages({ sql }: { sql: Sql }): Page[] {
  return [
    {
      path: '/deposits/:tx_id',
      summary:
        'What a transaction on the chain brought to the published address, and what became of it',
      reply: Found,
      async handle({ params, request_id }) {
        const tx_id = params.tx_id?.toLowerCase() ?? ''
        if (!/^[0-9a-f]{64}$/.test(tx_id))
          return pageRefusal(request_id, 400, 'Not a transaction id')
        const deposits = await findRecharges(sql, tx_id)
        if (deposits.length === 0)
          return pageRefusal(request_id, 404, 'No deposit is known of this transaction')
        const result = printJson({ tx_id, deposits: deposits.map(printDeposit) })
        return success(request_id, result, { 'cache-control': 'no-store' })
      },
    },
  ]
}
