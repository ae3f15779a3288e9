// Why a vote or the withdrawal of what votes have earned may be signed, worked out from the rows as
// signing_reasons.ts does for all else: the plan is an operator's, the votes are those of the row,
// and no more than the stake gives.

import type { Address } from 'penstock-tron/address.ts'
import type { Sql } from '../../platform/database/sql.ts'

export type WitnessVotes = { witness: Address; count: bigint }

/** The rows of votes and claims about an attempt. Null where there is nothing. */
export type VoteReason = {
  attempt: string
  purpose: 'vote' | 'claim'
  of: string
  of_state: string
  wallet: Address
  /** Votes: as the row has them, whether each witness is in the plan, and whether another vote of
   *  the wallet is for the same maintenance. */
  votes: { witness: Address; count: string }[] | null
  planned: boolean | null
  voted: boolean | null
  /** Claims: whether another one of the wallet is a day old at least, if there is one. */
  rested: boolean | null
}

export const voteReasonsOf = (sql: Sql, attempts: readonly string[]): Promise<VoteReason[]> =>
  sql<VoteReason>`
    select v.attempt_id as attempt, 'vote' as purpose, v.id as of, v.state as of_state, v.wallet,
      v.votes,
      (select bool_and(exists (select 1 from vote_plan where witness = one.value ->> 'witness'))
        from jsonb_array_elements(v.votes) as one) as planned,
      exists (select 1 from vote as other where other.wallet = v.wallet and other.id <> v.id
        and other.period_ends_at = v.period_ends_at and other.state <> 'failed') as voted,
      null::boolean as rested
    from vote as v where v.attempt_id = any(${attempts})
    union all
    select w.attempt_id, 'claim', w.id, w.state, w.wallet, null, null, null,
      not exists (select 1 from reward_claim as other where other.wallet = w.wallet
        and other.id <> w.id and other.state <> 'failed'
        and other.made_at > w.made_at - interval '23 hours')
    from reward_claim as w where w.attempt_id = any(${attempts})`

/** Why a vote or a claim may not be signed; undefined when it may. `power`: the votes that the
 *  wallet has. */
export function objectionToVote(
  { purpose, votes, planned, voted, rested }: VoteReason,
  wanted: readonly WitnessVotes[],
  power: bigint,
): string | undefined {
  if (purpose === 'claim')
    return rested ? undefined : 'what its votes have earned was withdrawn less than a day ago'
  const text = (list: readonly { witness: Address; count: bigint | string }[]) =>
    list.map(({ witness, count }) => `${witness} ${count}`).join(', ')
  if (text(wanted) !== text(votes ?? [])) return 'its votes are not those of the row'
  if (!planned) return 'it votes for a witness that is not in the plan'
  if (voted) return 'the wallet has voted before this maintenance'
  const sum = wanted.reduce((total, { count }) => total + count, 0n)
  return sum > power ? `${sum} votes are more than the ${power} that its stake gives` : undefined
}
