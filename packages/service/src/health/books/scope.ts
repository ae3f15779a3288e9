// How far back a check of the books goes. A whole one looks at everything. One that goes on from
// the seal at which a whole one held looks at the rows of the last days, and at whatever an entry
// after that seal is about: rows that were over before, and right, do not change.

import type { SumsSeal } from '../../ledger/accounts/sealed_sums.ts'
import { firstIdAt } from '../../lib/ids.ts'
import type { Tx } from '../../platform/database/sql.ts'

export type Scope = {
  /** At which a whole check held; undefined: everything is looked at. */
  seal: SumsSeal | undefined
  /** Its last entry: what came after is looked at, whatever it is about. */
  sealed_entry: bigint
  /** Rows of a time are looked at from then on: the beginning of a day. */
  since: Date
  /** The least id of an order, a check or a subscription that was made since. */
  first_id: string
  /** The entries of such rows come after it. */
  before_entry: bigint
}

/** Orders take no longer than this from the purchase to the end of their hour, however late. */
const ORDER_MS_MAX = 2 * 86_400_000
/** Machines' clocks, and the chain's, are not that far apart. */
const CLOCKS_MS_MAX = 3_600_000

/** Before every number that an entry can have, also one that the database has not given. */
const BEFORE_ALL = -(2n ** 63n)

/** Of a whole check. */
export const WHOLE: Scope = {
  seal: undefined,
  sealed_entry: BEFORE_ALL,
  since: new Date(0),
  first_id: '',
  before_entry: BEFORE_ALL,
}

export async function scopeOf(tx: Tx, seal: SumsSeal | undefined): Promise<Scope> {
  if (!seal) return WHOLE
  const since = new Date(seal.made_at.getTime() - ORDER_MS_MAX)
  since.setUTCHours(0, 0, 0, 0)
  const [before] = await tx<{ last_entry: bigint }>`
    select last_entry from journal
    where sealed_at <= ${new Date(since.getTime() - CLOCKS_MS_MAX)}
    order by number desc limit 1`
  return {
    seal,
    sealed_entry: seal.last_entry,
    since,
    first_id: firstIdAt(since),
    before_entry: before?.last_entry ?? BEFORE_ALL,
  }
}
