// The steps that vote with the stake of the pool's wallets and withdraw what that earns. Nodes are
// asked now and then; what they say decides only whether a transaction is asked for.

import type { Node } from '../../chain/node/node.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { Outage } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { SUN_PER_TRX } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { readPlan, votesApart, votesByPlan } from './plan.ts'
import {
  castVote,
  claimReward,
  completeClaim,
  endVotes,
  failClaims,
  lastVoteAt,
  solidClaims,
  type Voter,
} from './votes.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  node: Node
  new_id: NewId
  voters: readonly Voter[]
  /** Less than this is not withdrawn. */
  claim_min_sun: bigint
}

/** How often the nodes are asked whether there is something to do. */
const VOTE_LOOK_MS = 600_000
const CLAIM_LOOK_MS = 1_800_000
/** The network lets an account withdraw once a day. */
const CLAIM_EVERY_MS = 86_400_000
/** Votes that lie elsewhere than the plan wants them, of a hundred, are let be. */
const APART_PERCENT = 1n
const AT_ONCE = 20
export const CLAIM_MIN_SUN = 1_000_000n

/** -> casting: the plan was changed, or the stake by more than a hundredth. */
export function voteStep(needs: Needs): Step {
  const { sql, clock, node, voters } = needs
  let next_look_at = new Date(0)
  return {
    name: 'vote',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from vote_plan
      where ${voters.length > 0 && clock.now() >= next_look_at}::boolean limit 1`,
    duty: 'upkeep',
    before: ['sign'],
    async run() {
      if (voters.length === 0 || clock.now() < next_look_at) return false
      const plan = await readPlan(sql)
      if (plan.length === 0) return false
      next_look_at = later(clock, VOTE_LOOK_MS)
      const period_ends_at = await node.nextMaintenance()
      const set_at = new Date(Math.max(...plan.map((one) => one.set_at.getTime())))
      const vote = async (voter: Voter) => {
        const account = await node.account(voter.address)
        const power = (account.staked_sun.energy + account.staked_sun.bandwidth) / SUN_PER_TRX
        const votes = votesByPlan(plan, power)
        const apart = votesApart(account.votes, votes)
        const last_at = await lastVoteAt(sql, voter.address)
        const is_new = last_at === undefined || last_at < set_at
        if (apart === 0n || (!is_new && 100n * apart <= APART_PERCENT * power)) return false
        return sql.begin((tx) => castVote(tx, needs, voter, { votes, power, period_ends_at }))
      }
      return eachRow(voters, vote, async () => {})
    },
  }
}

/** casting -> cast | failed */
export function votedStep({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Step {
  return {
    name: 'voted',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from vote as v join attempt as a on a.id = v.attempt_id
      where v.state = 'casting' and a.state in ('solid', 'dead')`,
    after: ['follow', 'confirm', 'judge'],
    run: () => endVotes(sql, clock.now()),
  }
}

/** -> claiming: a day after the last one, when it is worth it. */
export function claimStep(needs: Needs): Step {
  const { sql, clock, node, voters, claim_min_sun } = needs
  let next_look_at = new Date(0)
  return {
    name: 'claim',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from vote where ${voters.length > 0 && clock.now() >= next_look_at}::boolean limit 1`,
    duty: 'upkeep',
    before: ['sign'],
    async run() {
      if (voters.length === 0 || clock.now() < next_look_at) return false
      const [voted] = await sql`select 1 from vote limit 1`
      if (!voted) return false
      next_look_at = later(clock, CLAIM_LOOK_MS)
      const { time } = await node.head()
      const claim = async (voter: Voter) => {
        const { withdrew_at } = await node.account(voter.address)
        const since_ms = time.getTime() - (withdrew_at?.getTime() ?? 0)
        if (since_ms < CLAIM_EVERY_MS) return false
        const expected_sun = await node.reward(voter.address)
        if (expected_sun < claim_min_sun || expected_sun === 0n) return false
        return sql.begin((tx) => claimReward(tx, needs, voter, expected_sun))
      }
      return eachRow(voters, claim, async () => {})
    },
  }
}

/** claiming -> claimed | failed */
export function claimedStep({ sql, clock, node }: Pick<Needs, 'sql' | 'clock' | 'node'>): Step {
  return {
    name: 'claimed',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from reward_claim as c join attempt as a on a.id = c.attempt_id
      where c.state = 'claiming' and a.state in ('solid', 'dead')`,
    after: ['follow', 'confirm', 'judge'],
    async run() {
      const failed = await failClaims(sql, clock.now())
      const claimed = await eachRow(
        await solidClaims(sql, AT_ONCE),
        async ({ id, tx_id }) => {
          const reward_sun = await node.rewardOf(tx_id)
          if (reward_sun === undefined || reward_sun === 0n)
            throw new Outage(`no node has the receipt of ${tx_id}`)
          return sql.begin((tx) => completeClaim(tx, id, reward_sun, clock.now()))
        },
        async () => {},
      )
      return failed || claimed
    },
  }
}
