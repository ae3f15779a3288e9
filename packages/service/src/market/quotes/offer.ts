// What the operator offers beside the market itself: for how long a quote may bind us, and whether
// customers see what room the pool will have.

import type { Change } from '../../ledger/accounts/actions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

/** `quote_seconds_max`: 0 when there are no quotes. */
export type Offer = { quote_seconds_max: number; forecast_shown: boolean }

export async function readOffer(sql: Sql | Tx): Promise<Offer> {
  const [offer] = await sql<Offer>`select quote_seconds_max, forecast_shown from offer`
  return offer!
}

/** Changes what is given. In force at once. */
export async function changeOffer(
  tx: Tx,
  given: { [Field in keyof Offer]?: Offer[Field] | undefined },
): Promise<Change<Offer>> {
  const [before] = await tx<Offer>`
    select quote_seconds_max, forecast_shown from offer for update`
  const { quote_seconds_max = before!.quote_seconds_max } = given
  const { forecast_shown = before!.forecast_shown } = given
  const after = { quote_seconds_max, forecast_shown }
  const same = JSON.stringify(before) === JSON.stringify(after)
  if (same) return { result: after, actions: [] }
  await tx`
    update offer set quote_seconds_max = ${quote_seconds_max}, forecast_shown = ${forecast_shown}`
  return { result: after, actions: [{ subject: 'offer', before: before!, after }] }
}
