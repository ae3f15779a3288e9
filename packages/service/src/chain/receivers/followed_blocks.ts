// What a process that answers customers knows of the blocks that are followed, by whichever
// process: which one is the newest, and who has signed what is in those that are confirmed. It
// looks only when it is asked, and seldom.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import { recently } from '../../lib/recent.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { FollowedBlocks } from '../reads/followed.ts'
import { BoundedMap } from './bounded_map.ts'

/** From one look to the next. */
const LOOK_MS = 250
/** Who has signed is read from so many of the newest blocks at a time: what is older was missed
 *  because nobody asked. */
const BLOCKS_AT_ONCE = 5
/** Some hours of the network. */
const SIGNERS_MAX = 200_000

export function followedBlocks({ sql, clock }: { sql: Sql; clock: Clock }): FollowedBlocks {
  const signers = new BoundedMap<Address, true>(SIGNERS_MAX)
  let read_to = Number.NEGATIVE_INFINITY
  const look = async () => {
    const [chain] = await sql<{ id: string; confirmed: bigint; confirmed_at: Date | null }>`
      select head_id as id, confirmed_number as confirmed,
        (select time from block where number = confirmed_number) as confirmed_at
      from chain`
    const confirmed = Number(chain?.confirmed ?? 0)
    if (chain && confirmed > read_to) {
      const from = Math.max(read_to, confirmed - BLOCKS_AT_ONCE) + 1
      for (const address of await signersOf(sql, from, confirmed)) signers.set(address, true)
      read_to = confirmed
    }
    return chain
  }
  return {
    newest: recently(LOOK_MS, { clock, read: look }),
    hasSigned: (address) => signers.get(address) === true,
  }
}

/** Whose transactions are in the blocks, as far as is kept of them: transfers, calls of contracts,
 *  and what cost a fee. */
async function signersOf(sql: Sql, from: number, to: number): Promise<Address[]> {
  const rows = await sql<{ address: Address }>`
    select distinct address from block, lateral (
      select one ->> 1 as address from json_array_elements(contents -> 'e') as one
      union all select one ->> 1 from json_array_elements(contents -> 'p') as one
      union all select one ->> 4 from json_array_elements(contents -> 'm') as one
        where one ->> 1 in ('transfer', 'call_value')) as signed
    where number between ${from} and ${to}`
  return rows.map(({ address }) => address)
}
