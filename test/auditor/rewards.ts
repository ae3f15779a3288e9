// Votes and what they have earned, held against the chain: only wallets that are ours vote, for
// whom the plan names or did, and each withdrawal of the solid chain is booked once, as its receipt
// has it.

import type { Books } from './rules.ts'

const ACCOUNTS = ['treasury:wallets', 'income:votes']

/** C19: what is booked as the income of votes is on the solid chain, to the sun, and once. */
export function rewardsAreExact({ rows, branch }: Books): string[] {
  const claims = new Map(rows.claims.map((one) => [`reward:${one.id}`, one]))
  const findings: string[] = []
  const seen = new Set<string>()
  for (const { id, kind, debit, credit, amount_sun } of rows.transfers) {
    if (!id.includes('reward:') && !ACCOUNTS.includes(debit) && !ACCOUNTS.includes(credit)) continue
    const claim = claims.get(id)
    const found = branch.transactions.get(claim?.tx_id ?? '')
    const is_solid = found !== undefined && found.block_number <= branch.solid_number
    const fits =
      kind === 'move' &&
      debit === 'treasury:wallets' &&
      credit === 'income:votes' &&
      found?.type === 'WithdrawBalanceContract' &&
      found.owner === claim?.wallet &&
      found.reward_sun === amount_sun
    if (!is_solid || !fits || seen.has(claim?.tx_id ?? ''))
      findings.push(`C19 ${id} books ${amount_sun}, on the chain ${found?.reward_sun ?? 'nothing'}`)
    seen.add(claim?.tx_id ?? '')
  }
  // Those that a restored database has found were done by the one that was lost, one by one.
  const asked = rows.claims.filter(({ state, found }) => state === 'claiming' && !found)
  for (const { wallet, id } of asked) {
    if (asked.filter((one) => one.wallet === wallet).length > 1)
      findings.push(`C19 ${wallet} withdraws twice at once, by ${id}`)
  }
  return findings
}

/** C19, at rest: every reward that the solid chain has paid to a wallet of ours is booked. */
export function rewardsAreBooked({ rows, branch, wallets }: Books): string[] {
  const booked = new Map(rows.transfers.map((one) => [one.id, one.amount_sun]))
  const by_transaction = new Map(rows.claims.map((one) => [one.tx_id, one]))
  return [...branch.transactions.values()].flatMap(({ type, owner, tx_id, reward_sun }) => {
    if (type !== 'WithdrawBalanceContract' || !wallets.includes(owner)) return []
    const claim = by_transaction.get(tx_id)
    return booked.get(`reward:${claim?.id}`) === reward_sun
      ? []
      : [`C19 ${tx_id} has withdrawn ${reward_sun}, and ${claim?.id} booked nothing like it`]
  })
}
