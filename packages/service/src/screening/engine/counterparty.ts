// Who the other side is, as far as lists and the index tell: what a sender of crypto-assets has to
// find out for the Travel Rule before it asks. It is read from the evidence, and a hint: an address
// that no list names can be a service's all the same.

import { categoryNumber } from '../flow/categories.ts'

/** `service`: somebody who holds the assets of others, by lists or by how it deals; `self_hosted`:
 *  an address that sends by itself and is neither on a list nor deals like a service. */
export const COUNTERPARTIES = ['service', 'self_hosted', 'unknown'] as const

export type Counterparty = {
  address: string
  kind: (typeof COUNTERPARTIES)[number]
  /** Who it is by the label in force; null where no list has a name for it. */
  name: string | null
  category: string | null
}

/** Categories of those who hold or move the assets of others. */
const SERVICES = new Set([
  'exchange_licensed',
  'exchange_unlicensed',
  'p2p_exchange_licensed',
  'p2p_exchange_unlicensed',
  'atm',
  'payment',
  'wallet',
  'gambling',
  'liquidity_pools',
  'bridge',
  'mixer',
  'marketplace',
  'unidentified_service',
])
for (const name of SERVICES)
  if (categoryNumber(name) === undefined) throw new Error(`there is no category ${name}`)

export const isService = (category: string): boolean => SERVICES.has(category)

type Facts = {
  lists?: unknown[]
  screened?: {
    address: string
    labels: { category: string; entity: string }[]
    in_force: { category: string; terminal: boolean } | null
    holdings: { transfers_out: string }[]
  }
}

/** The other side of a check; undefined where our own engine has not looked. */
export function counterpartyIn(evidence: string): Counterparty | undefined {
  const given = JSON.parse(evidence) as Facts & { answers?: { name: string; facts: Facts }[] }
  const facts = given.screened
    ? given
    : given.answers?.find(({ name }) => name === 'embedded')?.facts
  if (!facts?.screened) return undefined
  const { address, labels, in_force, holdings } = facts.screened
  const category = in_force?.category ?? null
  const name = labels.find((label) => label.category === category)?.entity ?? null
  return { address, kind: kindOf(facts, { category, holdings }), name, category }
}

function kindOf(
  { lists = [] }: Facts,
  { category, holdings }: { category: string | null; holdings: { transfers_out: string }[] },
): Counterparty['kind'] {
  if (category !== null) return isService(category) ? 'service' : 'unknown'
  const sends = holdings.some(({ transfers_out }) => transfers_out !== '0')
  // Without a list no two callers are distinguished.
  return sends && lists.length > 0 ? 'self_hosted' : 'unknown'
}
