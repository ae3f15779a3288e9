// What must hold of checks of addresses: what a customer holds for one is taken when it is
// completed and given back when it failed, once; and how many a customer has in each state is what
// is said.

import type { Books } from './rules.ts'

const SAYS = {
  pending: 'open',
  processing: 'open',
  completed: 'capture',
  failed: 'release',
} as const

/** C4: the price is held, then captured once when the check is completed, or released once when it
 *  failed. */
export function checksArePaidOnce({ rows }: Books): string[] {
  const ends = Map.groupBy(rows.transfers, ({ hold_id }) => hold_id)
  const holds = new Map(
    rows.transfers
      .filter(({ kind, id }) => kind === 'hold' && id.startsWith('aml:'))
      .map((one) => [one.id, one]),
  )
  const findings: string[] = []
  const keys = new Set<string>()
  for (const { id, customer_id, idempotency_key, state, price_sun, evidence } of rows.checks) {
    const key = `${customer_id} ${idempotency_key}`
    if (idempotency_key !== null && keys.has(key)) findings.push(`two checks of ${key}`)
    keys.add(key)
    if ((state === 'completed' ? 1n : 0n) !== evidence)
      findings.push(`check ${id} is ${state} with ${evidence} evidence`)
    const hold = holds.get(`aml:${id}`)
    holds.delete(`aml:${id}`)
    if (price_sun === 0n && !hold) continue
    if (hold?.debit !== `customer:${customer_id}` || hold.amount_sun !== price_sun) {
      findings.push(
        `C4 check ${id} of ${price_sun} sun holds ${hold?.amount_sun} of ${hold?.debit}`,
      )
      continue
    }
    const said =
      (ends.get(hold.id) ?? []).map(({ kind, amount_sun }) => `${kind} ${amount_sun}`).join(', ') ||
      'open'
    const expected = SAYS[state] === 'open' ? 'open' : `${SAYS[state]} ${price_sun}`
    if (said !== expected) findings.push(`C4 check ${id} is ${state} and its price: ${said}`)
  }
  return [...findings, ...[...holds.keys()].map((id) => `C4 hold ${id} is of no check`)]
}

/** How many checks of each state a customer is told to have is how many there are. */
export function checksAreCounted({ rows }: Books): string[] {
  const counts = new Map<string, bigint>()
  for (const { customer_id, state } of rows.checks) {
    const key = `${customer_id} ${state}`
    counts.set(key, (counts.get(key) ?? 0n) + 1n)
  }
  const told = new Map(
    rows.check_counts.map(({ customer_id, state, n }) => [`${customer_id} ${state}`, n]),
  )
  return [...new Set([...counts.keys(), ...told.keys()])]
    .filter((key) => (counts.get(key) ?? 0n) !== (told.get(key) ?? 0n))
    .map((key) => `checks of ${key}: ${counts.get(key) ?? 0n}, told are ${told.get(key) ?? 0n}`)
}

/** At rest no check is open. */
export function checksAreAnswered({ rows }: Books): string[] {
  return rows.checks
    .filter(({ state }) => state === 'pending' || state === 'processing')
    .map(({ id, state }) => `C9 check ${id} is still ${state}`)
}
