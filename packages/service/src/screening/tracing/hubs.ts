// Hubs: addresses without a label that deal with so many others that they must be a service. If
// they were not told from people, everybody's money would mix in them and be carried on. A
// generation takes as terminals what the one before has found; they are written down with it, so
// that it can be computed again.

import type { Sql, Tx } from '../../platform/database/sql.ts'
import { categoryNumber } from '../flow/categories.ts'
import { addressOfSlot } from '../flow/checkpoint.ts'
import { type Label, TERMINAL_CONFIDENCE } from '../flow/labels.ts'
import type { FlowState } from '../kept/flow_state.ts'

/** `address`: 40 hexadecimal characters. */
export type Hub = { address: string; counterparties: number }

/** Those that are hubs already, and those that an index shows: no label in force, and dealings with
 *  more than so many. The index has counted them as it applied their transfers. */
export async function findHubs(
  sql: Sql,
  { number, state }: { number: number; state: FlowState },
): Promise<Hub[]> {
  const found = new Map((await hubsOf(sql, number)).map((hub) => [hub.address, hub]))
  for (const [address, counterparties] of await busyAddresses(state))
    if (!found.has(address)) found.set(address, { address, counterparties })
  return [...found.values()].sort((a, b) => (a.address < b.address ? -1 : 1))
}

/** Addresses without a label that have dealt with too many, whatever assets they did it in. */
async function busyAddresses(state: FlowState): Promise<Map<string, number>> {
  const { max } = state.index.counterparties
  const partners = new Map<string, Set<bigint> | undefined>()
  const counted = state.all(
    (index, slot) => ({
      address: addressOfSlot(index, slot).toString('hex'),
      others: index.counterparties.of(slot)?.others,
    }),
    { counted: true },
  )
  for await (const portion of counted)
    for (const { address, others } of portion) {
      if (state.index.labelOf(address)) continue
      const known = partners.has(address) ? partners.get(address) : new Set<bigint>()
      for (let at = 0; known && others && at < others.length; at += 2)
        known.add((BigInt(others[at]!) << 32n) | BigInt(others[at + 1]!))
      partners.set(address, others === undefined ? undefined : known)
    }
  const busy = [...partners].map(([address, set]) => [address, set?.size ?? max + 1] as const)
  return new Map(busy.filter(([, count]) => count > max))
}

export async function storeHubs(tx: Tx, generation: number, hubs: readonly Hub[]): Promise<void> {
  if (hubs.length === 0) return
  await tx`
    insert into flow_hub (generation, address, counterparties)
    select ${generation}, *
    from unnest(${hubs.map(({ address }) => address)}::text[],
                ${hubs.map(({ counterparties }) => counterparties)}::integer[])`
}

export async function hubsOf(sql: Sql | Tx, generation: number): Promise<Hub[]> {
  return sql<Hub>`
    select address, counterparties from flow_hub where generation = ${generation} order by address`
}

/** As labels, of the kind that any list's word goes before. By the first rules they are terminals.
 *  Whoever has paid some thousand others is a hub, which costs some hundred dollars: so since the
 *  third half of what leaves one keeps its origin. */
export function hubLabels(hubs: readonly Hub[], rules: number): Label[] {
  const confidence = rules >= 3 ? TERMINAL_CONFIDENCE - 1 : TERMINAL_CONFIDENCE
  const category = categoryNumber('unidentified_service')!
  return hubs.map(({ address }) => ({
    address,
    category,
    confidence,
    kind: 'heuristic',
    from_ms: Number.NEGATIVE_INFINITY,
    to_ms: Number.POSITIVE_INFINITY,
  }))
}
