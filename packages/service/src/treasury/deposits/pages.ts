// Where anyone who has sent TRX to the published address looks that up, by the transaction or by
// the address that it came from: what the chain shows of it, and what became of it. Of customers'
// deposits nothing is said, not even that an address is one of ours: anyone who walks through the
// chain's transactions could learn all our customers' addresses here.

import { isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { type Clock, later } from '../../lib/clock.ts'
import { printJson } from '../../lib/json.ts'
import { BARRED } from '../../people/customers/purse.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Page } from '../../platform/http/pages.ts'
import { pageRefusal, success } from '../../platform/wire/replies.ts'
import { BLOCKED, type Deposit, findRecharges, HIGH_RISK, rechargesFrom } from './deposits.ts'
import { DepositForm, printDeposit } from './forms.ts'

const Found = Type.Object({
  tx_id: Type.String(),
  deposits: Type.Array(DepositForm),
})

/** Who buys without an account waits for minutes, and looks again within the day. */
const LATELY_MS = 24 * 3_600_000
const LATELY_MAX = 10

const FromAddress = Type.Object({
  address: Type.String(),
  deposits: Type.Array(Type.Object({ tx_id: Type.String(), ...DepositForm.properties }), {
    description: `Of the last 24 hours, the newest first, ${LATELY_MAX} at most`,
  }),
})

/** Strangers do not learn what screening has found about a sender, by the house's own list too: the
 *  payment is held, or goes back, as others do. Why it cannot go back may stand behind it. */
const OF_SCREENING = [BLOCKED, HIGH_RISK, BARRED]

const printPublic = (deposit: Deposit) => {
  const of_screening = OF_SCREENING.some((reason) => deposit.reason?.startsWith(reason))
  return printDeposit(of_screening ? { ...deposit, reason: null } : deposit)
}

export function pages({ sql, clock }: { sql: Sql; clock: Clock }): Page[] {
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
        const result = printJson({ tx_id, deposits: deposits.map(printPublic) })
        return success(request_id, result, { 'cache-control': 'no-store' })
      },
    },
    {
      path: '/deposits/from/:address',
      summary: 'What an address has sent to the published address lately, and what became of it',
      reply: FromAddress,
      async handle({ params, request_id }) {
        const address = params.address ?? ''
        if (!isAddress(address)) return pageRefusal(request_id, 400, 'Not an address')
        const since = later(clock, -LATELY_MS)
        const found = await rechargesFrom(sql, { from: address, since, limit: LATELY_MAX })
        const deposits = found.map((one) => ({ tx_id: one.tx_id, ...printPublic(one) }))
        const result = printJson({ address, deposits })
        return success(request_id, result, { 'cache-control': 'no-store' })
      },
    },
  ]
}
