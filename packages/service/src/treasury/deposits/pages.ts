// Where anyone who has sent TRX to the published address looks that up by the transaction: what the
// chain shows of it, and what became of it. Of customers' deposits nothing is said, not even that
// an address is one of ours: anyone who walks through the chain's transactions could learn all our
// customers' addresses here.

import { Type } from 'typebox'
import { printJson } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Page } from '../../platform/http/pages.ts'
import { pageRefusal, success } from '../../platform/wire/replies.ts'
import { findRecharges } from './deposits.ts'
import { DepositForm, printDeposit } from './forms.ts'

const Found = Type.Object({
  tx_id: Type.String(),
  deposits: Type.Array(DepositForm),
})

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
