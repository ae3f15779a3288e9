// Votes of wallets and the withdrawals of what they have earned.
//
//   vote          casting  -> cast | failed         the attempt is solid, or dead
//   reward_claim  claiming -> claimed | failed      likewise; claimed with what its receipt says
//
// A wallet has one of each under way, and one vote for each maintenance: the database is the judge.
// A reward is booked once, by the id of its claim, when it is solid and its receipt was read.

import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { contract } from 'penstock-tron/transaction.ts'
import { type EnqueueNeeds, enqueueAttempt } from '../../chain/follow/attempts.ts'
import { move } from '../../ledger/accounts/ledger.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { WitnessVotes } from './plan.ts'

/** TRX that wallets of the house got on the chain. */
export const WALLETS = 'treasury:wallets'
/** The income of votes. */
export const INCOME_VOTES = 'income:votes'

/** A wallet with the permission of a key that may vote and claim. */
export type Voter = { address: Address; permission_id: number }

export type NewVote = { votes: readonly WitnessVotes[]; power: bigint; period_ends_at: Date }

/** -> casting, with its attempt. False: one is under way, or was cast before this maintenance. */
export async function castVote(
  tx: Tx,
  needs: EnqueueNeeds,
  { address, permission_id }: Voter,
  { votes, power, period_ends_at }: NewVote,
): Promise<boolean> {
  const [other] = await tx`
    select 1 from vote where wallet = ${address}
      and (state = 'casting' or state = 'cast' and period_ends_at = ${period_ends_at})`
  if (other) return false
  const id = needs.new_id()
  const value = {
    owner_address: addressToHex(address),
    votes: votes.map(({ witness, count }) => ({
      vote_address: addressToHex(witness),
      vote_count: count,
    })),
  }
  const attempt_id = enqueueAttempt(tx, needs, {
    subject: `vote:${id}`,
    contract: contract('VoteWitnessContract', value, permission_id),
  })
  tx.send`
    insert into vote (id, wallet, votes, power, period_ends_at, attempt_id, made_at)
    values (${id}, ${address}, ${votesText(votes)}::jsonb, ${power}, ${period_ends_at},
      ${attempt_id}, ${needs.clock.now()})`
  return true
}

/** A vote or a withdrawal that a block has and the rows did not know, with the attempt that was
 *  made of it. */
type FoundRow = { id: string; wallet: Address; attempt_id: string; made_at: Date }
export type FoundVote = FoundRow & { votes: readonly WitnessVotes[]; period_ends_at: Date }
export type FoundClaim = FoundRow & { reward_sun: bigint }

const votesText = (votes: readonly WitnessVotes[]) =>
  JSON.stringify(votes.map(({ witness, count }) => ({ witness, count: `${count}` })))

/** (found) -> casting */
export function insertFoundVotes(tx: Tx, found: readonly FoundVote[]): void {
  for (const { id, wallet, attempt_id, votes, period_ends_at, made_at } of found) {
    const power = votes.reduce((sum, { count }) => sum + count, 0n)
    tx.send`
      insert into vote (id, wallet, votes, power, period_ends_at, attempt_id, made_at, found)
      values (${id}, ${wallet}, ${votesText(votes)}::jsonb, ${power}, ${period_ends_at},
        ${attempt_id}, ${made_at}, true)`
  }
}

/** (found) -> claiming */
export function insertFoundClaims(tx: Tx, found: readonly FoundClaim[]): void {
  for (const { id, wallet, attempt_id, reward_sun, made_at } of found)
    tx.send`
      insert into reward_claim (id, wallet, expected_sun, attempt_id, made_at, found)
      values (${id}, ${wallet}, ${reward_sun}, ${attempt_id}, ${made_at}, true)`
}

/** casting -> cast | failed. True when any was moved. */
export async function endVotes(sql: Sql, now: Date): Promise<boolean> {
  const ended = await sql`
    update vote set state = case a.state when 'solid' then 'cast' else 'failed' end,
      ended_at = ${now}
    from attempt as a
    where a.id = vote.attempt_id and vote.state = 'casting' and a.state in ('solid', 'dead')
    returning 1`
  return ended.length > 0
}

/** -> claiming, with its attempt. False: one is under way. */
export async function claimReward(
  tx: Tx,
  needs: EnqueueNeeds,
  { address, permission_id }: Voter,
  expected_sun: bigint,
): Promise<boolean> {
  const [other] = await tx`
    select 1 from reward_claim where wallet = ${address} and state = 'claiming'`
  if (other) return false
  const id = needs.new_id()
  const value = { owner_address: addressToHex(address) }
  const attempt_id = enqueueAttempt(tx, needs, {
    subject: `claim:${id}`,
    contract: contract('WithdrawBalanceContract', value, permission_id),
  })
  tx.send`
    insert into reward_claim (id, wallet, expected_sun, attempt_id, made_at)
    values (${id}, ${address}, ${expected_sun}, ${attempt_id}, ${needs.clock.now()})`
  return true
}

export type SolidClaim = { id: string; tx_id: string }

/** Claims whose attempt is solid: their receipts are to be read. */
export const solidClaims = (sql: Sql, limit: number): Promise<SolidClaim[]> =>
  sql<SolidClaim>`
    select c.id, a.tx_id from reward_claim as c join attempt as a on a.id = c.attempt_id
    where c.state = 'claiming' and a.state = 'solid' order by c.id limit ${limit}`

/** claiming -> claimed, and booked. */
export async function completeClaim(
  tx: Tx,
  id: string,
  reward_sun: bigint,
  now: Date,
): Promise<boolean> {
  const [claimed] = await tx`
    update reward_claim set state = 'claimed', reward_sun = ${reward_sun}, ended_at = ${now}
    where id = ${id} and state = 'claiming' returning 1`
  if (!claimed) return false
  const entry = { id: `reward:${id}`, debit: WALLETS, credit: INCOME_VOTES }
  await move(tx, { ...entry, amount_sun: reward_sun, made_at: now })
  return true
}

/** claiming -> failed: the attempt is dead. True when any was moved. */
export async function failClaims(sql: Sql, now: Date): Promise<boolean> {
  const failed = await sql`
    update reward_claim set state = 'failed', ended_at = ${now}
    from attempt as a
    where a.id = reward_claim.attempt_id and reward_claim.state = 'claiming' and a.state = 'dead'
    returning 1`
  return failed.length > 0
}

/** When a wallet last voted, as its row says; undefined: never. */
export async function lastVoteAt(sql: Sql, wallet: Address): Promise<Date | undefined> {
  const [last] = await sql<{ made_at: Date }>`
    select made_at from vote where wallet = ${wallet} and state <> 'failed'
    order by made_at desc limit 1`
  return last?.made_at
}

export type VoterFigures = {
  wallet: string
  power: bigint | null
  votes: { witness: string; count: string }[] | null
  voted_at: Date | null
  claims: bigint
  claimed_sun: bigint
  claimed_at: Date | null
}

/** The last vote of each wallet, and its income. */
export const voterFigures = (sql: Sql): Promise<VoterFigures[]> =>
  sql<VoterFigures>`
    with last as (
      select distinct on (wallet) wallet, power, votes, ended_at from vote where state = 'cast'
      order by wallet, made_at desc
    ), earned as (
      select wallet, count(*) as claims, sum(reward_sun) as sun, max(ended_at) as at
      from reward_claim where state = 'claimed' group by wallet
    )
    select wallet, last.power, last.votes, last.ended_at as voted_at,
      coalesce(earned.claims, 0) as claims, coalesce(earned.sun, 0)::bigint as claimed_sun,
      earned.at as claimed_at
    from last full join earned using (wallet) order by wallet`
