// Whom the stake of the pool votes for: witnesses with weights, which every wallet follows. The
// plan is an operator's, and the signer reads it, too: what is in no plan gets no vote.

import type { Address } from 'penstock-tron/address.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'

export type PlanLine = { witness: Address; weight: number }
export type WitnessVotes = { witness: Address; count: bigint }

/** As many as one transaction may have. */
export const WITNESSES_MAX = 30

export const readPlan = (sql: Sql | Tx): Promise<(PlanLine & { set_at: Date; set_by: string })[]> =>
  sql<PlanLine & { set_at: Date; set_by: string }>`
    select witness, weight, set_at, set_by from vote_plan order by weight desc, witness`

/** Sets the whole plan; an empty one ends voting, and what was voted for stays. */
export async function setPlan(
  tx: Tx,
  plan: readonly PlanLine[],
  { at, by }: { at: Date; by: string },
): Promise<Change<readonly PlanLine[]>> {
  const lines = (rows: readonly PlanLine[]) =>
    Object.fromEntries(rows.map(({ witness, weight }) => [witness, weight]))
  const before = lines(await readPlan(tx))
  await tx`delete from vote_plan`
  await tx`
    insert into vote_plan (witness, weight, set_at, set_by)
    select witness, weight, ${at}, ${by}
    from unnest(${plan.map(({ witness }) => witness)}::text[],
                ${plan.map(({ weight }) => weight)}::integer[]) as t (witness, weight)`
  const after = lines(plan)
  return { result: plan, actions: [{ subject: 'votes', before, after }] }
}

/** A wallet's votes by the plan: whole ones, each witness its share of the power rounded down, and
 *  the rest to the first. Witnesses that would get none are left out. */
export function votesByPlan(plan: readonly PlanLine[], power: bigint): WitnessVotes[] {
  const weights = plan.reduce((sum, { weight }) => sum + BigInt(weight), 0n)
  if (weights === 0n || power <= 0n) return []
  const votes = plan.map(({ witness, weight }) => ({
    witness,
    count: (power * BigInt(weight)) / weights,
  }))
  const cast = votes.reduce((sum, { count }) => sum + count, 0n)
  votes[0]!.count += power - cast
  return votes.filter(({ count }) => count > 0n)
}

/** How many votes lie elsewhere than they should. */
export function votesApart(now: readonly WitnessVotes[], wanted: readonly WitnessVotes[]): bigint {
  const apart = new Map<Address, bigint>()
  for (const { witness, count } of now) apart.set(witness, count)
  for (const { witness, count } of wanted) apart.set(witness, (apart.get(witness) ?? 0n) - count)
  return [...apart.values()].reduce((sum, one) => sum + (one < 0n ? -one : one), 0n)
}
