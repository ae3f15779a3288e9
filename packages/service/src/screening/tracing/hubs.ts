// Hubs: addresses without a label that deal with so many others that they must be a service. If
// they were not told from people, everybody's money would mix in them and be carried on. A
// generation takes as terminals what the one before has found; they are written down with it, so
// that it can be computed again.

import type { Sql, Tx } from '../../platform/database/sql.ts'
import { categoryNumber } from '../flow/categories.ts'
import type { FlowIndex } from '../flow/flow_index.ts'
import type { Label } from '../flow/labels.ts'
import { countTransfers, transferAt } from '../flow/log.ts'
import { ASSET, COUNT_IN, COUNT_OUT, LABEL_ASSET, SLOT, writeAddress } from '../flow/memory.ts'
import { blocksAfter } from './flow_log.ts'

/** `address`: 40 hexadecimal characters. */
export type Hub = { address: string; counterparties: number }

export const HUB_COUNTERPARTIES = 5_000

const PORTION = 500

/** Those that are hubs already, and those that an index shows: no label in force, and dealings with
 *  more than so many. */
export async function findHubs(
  sql: Sql,
  used: { number: number; index: FlowIndex; first_block: number; base: bigint },
  counterparties_min: number,
): Promise<Hub[]> {
  const { number, index, first_block, base } = used
  const known = await hubsOf(sql, number)
  const partners = new Map(
    busyAddresses(index, counterparties_min).map((address) => [address, new Set<string>()]),
  )
  const until = index.block_number
  for (let after = first_block - 1; partners.size > 0; ) {
    const blocks = await blocksAfter(sql, after, { limit: PORTION, until, base })
    if (blocks.length === 0) break
    for (const { transfers } of blocks) notePartners(partners, transfers)
    after = blocks.at(-1)!.number
  }
  const found = [...partners]
    .filter(([, others]) => others.size > counterparties_min)
    .map(([address, others]) => ({ address, counterparties: others.size }))
  return [...known, ...found].sort((a, b) => (a.address < b.address ? -1 : 1))
}

/** Addresses without a label that took part in more transfers than that: only they can have so many
 *  counterparties. */
function busyAddresses({ memory }: FlowIndex, transfers_min: number): string[] {
  const { slots, slot_count } = memory
  const counts = new Map<string, number>()
  // An address can be busy in several assets, a little in each.
  const worth_adding = transfers_min / 256
  for (let slot = 0; slot < slot_count; slot++) {
    const base = slot * SLOT
    const count = slots[base + COUNT_IN]! + slots[base + COUNT_OUT]!
    if ((slots[base + ASSET]! & 255) === LABEL_ASSET || slots[base + ASSET]! >>> 16 !== 0) continue
    if (count <= worth_adding) continue
    const bytes = Buffer.alloc(20)
    writeAddress(slots, slot, bytes, 0)
    const address = bytes.toString('hex')
    counts.set(address, (counts.get(address) ?? 0) + count)
  }
  return [...counts].filter(([, count]) => count > transfers_min).map(([address]) => address)
}

function notePartners(partners: ReadonlyMap<string, Set<string>>, transfers: Uint8Array): void {
  for (let i = 0; i < countTransfers(transfers); i++) {
    const { from, to } = transferAt(transfers, i)
    const [sender, receiver] = [Buffer.from(from).toString('hex'), Buffer.from(to).toString('hex')]
    partners.get(sender)?.add(receiver)
    partners.get(receiver)?.add(sender)
  }
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

/** As labels: sure enough to be terminals, and of the kind that any list's word goes before. */
export function hubLabels(hubs: readonly Hub[]): Label[] {
  const category = categoryNumber('unidentified_service')!
  return hubs.map(({ address }) => ({
    address,
    category,
    confidence: 50,
    kind: 'heuristic',
    from_ms: Number.NEGATIVE_INFINITY,
    to_ms: Number.POSITIVE_INFINITY,
  }))
}
