// Deposit addresses: a service gives one to each of its customers, and empties it into its own. Who
// pays there pays the service, and what the address holds is the service's; but no list names it.
// They are told by what they do, written down with the generation that takes them as labels, and an
// operator can revoke any: then it is none for good.

import { countTransfers, transferAt } from '../../chain/transfers/packed.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { CATEGORIES, categoryNumber } from '../flow/categories.ts'
import { addressOfSlot } from '../flow/checkpoint.ts'
import type { FlowIndex } from '../flow/flow_index.ts'
import { type Holding, readSlot } from '../flow/holdings.ts'
import { type Label, TERMINAL_CONFIDENCE } from '../flow/labels.ts'
import { ASSET, COUNT_OUT, SLOT } from '../flow/memory.ts'

/** `address` and `service`: 40 hexadecimal characters. */
export type Deposit = {
  address: string
  service: string
  entity: string
  category: string
  sweeps: number
}

/** Whoever sends so much of an asset to one service, in percent, */
const TO_SERVICE_PERCENT = 90n
/** in so many transfers or more, */
const SWEEPS_MIN = 2
/** and got no more of that back from it, in percent. */
const BACK_PERCENT_MAX = 15n

/** Services whose customers each have an address of their own. */
const WITH_DEPOSITS = new Set(
  [
    'exchange_licensed',
    'exchange_unlicensed',
    'exchange_fraudulent',
    'p2p_exchange_licensed',
    'p2p_exchange_unlicensed',
    'payment',
    'wallet',
    'gambling',
    'mixer',
    'dark_market',
    'dark_service',
  ].map((name) => categoryNumber(name)!),
)

/** What moved between an address and the services it dealt with, of one asset. */
type Dealings = { sent: bigint; to: Map<string, { units: bigint; sweeps: number; back: bigint }> }

/** `address`: 40 hexadecimal characters. */
export type Sweeper = { asset: number; address: string }

type LabelReader = { labelOf(address: string): Label | undefined }

/** Whose a slot is that sends nearly all to one kind of service; undefined: it does not. */
export function sweeper(index: FlowIndex, slot: number): Sweeper | undefined {
  const { slots } = index.memory
  const base = slot * SLOT
  if (slots[base + COUNT_OUT]! < SWEEPS_MIN || !sendsToServices(readSlot(index, slot)))
    return undefined
  const address = addressOfSlot(index, slot).toString('hex')
  return { asset: slots[base + ASSET]! & 255, address }
}

/** Collects sweeps from the log, about addresses that may be deposit addresses. */
export class SweepTally {
  /** By asset and address. */
  private readonly dealings = new Map<string, Dealings>()
  /** Labelled addresses of services, and their categories. */
  private readonly services = new Map<string, number>()
  /** Addresses with dealings, and those of them that sent something else, of which no verdict is:
   *  two sweeps of dust would make a thief's address a service's. */
  private readonly candidates = new Set<string>()
  private readonly elsewhere = new Set<string>()
  /** Deposit addresses that the generation has as labels already: they are judged again each time,
   *  or the next generation would have them no more. */
  private readonly known: ReadonlySet<string>

  constructor(known: readonly string[] = []) {
    this.known = new Set(known)
  }

  addLabel({ address, kind, category, confidence }: Label): void {
    if (kind !== 'heuristic' && confidence >= TERMINAL_CONFIDENCE && WITH_DEPOSITS.has(category))
      this.services.set(address, category)
  }

  /** Adds addresses that send nearly all of an asset to one kind of service, of slots that
   *  `sweeper` found to do so. */
  addCandidates(sweepers: readonly (Sweeper | undefined)[], labels: LabelReader): void {
    for (const sweeper of sweepers) {
      if (!sweeper) continue
      const { asset, address } = sweeper
      if (labels.labelOf(address) && !this.known.has(address)) continue
      this.candidates.add(address)
      this.dealings.set(`${asset} ${address}`, { sent: 0n, to: new Map() })
    }
  }

  note(transfers: Uint8Array): void {
    if (this.dealings.size === 0) return
    for (let i = 0; i < countTransfers(transfers); i++) {
      const { asset, from, to, amount } = transferAt(transfers, i)
      const [sender, receiver] = [from, to].map((bytes) => Buffer.from(bytes).toString('hex')) as [
        string,
        string,
      ]
      const sent = this.dealings.get(`${asset} ${sender}`)
      if (sent) {
        sent.sent += amount
        if (this.services.has(receiver)) {
          const with_service = dealingsWith(sent, receiver)
          with_service.units += amount
          with_service.sweeps += 1
        }
      } else if (this.candidates.has(sender)) this.elsewhere.add(sender)
      const got = this.services.has(sender) && this.dealings.get(`${asset} ${receiver}`)
      if (got) dealingsWith(got, sender).back += amount
    }
  }

  /** The services that any of them dealt with. */
  servicesMet(): string[] {
    return [...new Set([...this.dealings.values()].flatMap(({ to }) => [...to.keys()]))]
  }

  /** Those that are deposit addresses, by whom the services' addresses belong to. All of what an
   *  address sends, of every asset, has to go to one. */
  found(entity_of: ReadonlyMap<string, string>): Deposit[] {
    const verdicts = new Map<string, Deposit | undefined>()
    for (const [key, dealings] of this.dealings) {
      const address = key.split(' ')[1]!
      if (this.elsewhere.has(address)) continue
      const deposit = this.judge(address, dealings, entity_of)
      const other = verdicts.get(address)
      const agrees = !verdicts.has(address) || other?.entity === deposit?.entity
      verdicts.set(address, agrees ? deposit : undefined)
    }
    return [...verdicts.values()]
      .flatMap((one) => one ?? [])
      .sort((a, b) => (a.address < b.address ? -1 : 1))
  }

  private judge(
    address: string,
    { sent, to }: Dealings,
    entity_of: ReadonlyMap<string, string>,
  ): Deposit | undefined {
    const by_entity = new Map<
      string,
      { service: string; units: bigint; sweeps: number; back: bigint }
    >()
    for (const [service, { units, sweeps, back }] of to) {
      const entity = entity_of.get(service) ?? service
      const known = by_entity.get(entity) ?? { service, units: 0n, sweeps: 0, back: 0n }
      known.units += units
      known.sweeps += sweeps
      known.back += back
      by_entity.set(entity, known)
    }
    for (const [entity, { service, units, sweeps, back }] of by_entity) {
      if (sweeps < SWEEPS_MIN || units * 100n < sent * TO_SERVICE_PERCENT) continue
      if (back * 100n > units * BACK_PERCENT_MAX) continue
      const category = CATEGORIES[this.services.get(service)!]!.name
      return { address, service, entity, category, sweeps }
    }
    return undefined
  }
}

function dealingsWith({ to }: Dealings, service: string) {
  const known = to.get(service) ?? { units: 0n, sweeps: 0, back: 0n }
  to.set(service, known)
  return known
}

const sendsToServices = ({ sent, portions }: Holding): boolean =>
  portions.some(
    ({ category, destination }) =>
      WITH_DEPOSITS.has(category) && destination * 100n >= sent * TO_SERVICE_PERCENT,
  )

/** Writes down what a reading of the log up to a block has found, in place of what was. */
export async function storeFound(tx: Tx, deposits: readonly Deposit[], height: number) {
  await tx`delete from flow_deposit_found where height < ${height}`
  const column = (name: keyof Deposit) => deposits.map((one) => one[name])
  await tx`
    insert into flow_deposit_found (address, service, entity, category, sweeps, height)
    select f.*, ${height} from unnest(${column('address')}::text[], ${column('service')}::text[],
      ${column('entity')}::text[], ${column('category')}::text[], ${column('sweeps')}::integer[])
      as f (address, service, entity, category, sweeps)
    on conflict do nothing`
}

/** Gives a new generation those that were found and not revoked. */
export async function takeOverDeposits(tx: Tx, generation: number): Promise<void> {
  await tx`
    insert into flow_deposit (generation, address, service, entity, category, sweeps)
    select ${generation}, address, service, entity, category, sweeps from flow_deposit_found as f
    where not exists (select from flow_deposit_revoked as r where r.address = f.address)`
}

/** The deposit addresses that the index in use has as labels, and those revoked since or before. */
export async function listDeposits(sql: Sql | Tx, limit: number) {
  return sql<Deposit & { revoked_at: Date | null }>`
    select d.address, d.service, d.entity, d.category, d.sweeps, r.revoked_at
    from flow_deposit as d left join flow_deposit_revoked as r using (address)
    where d.generation = (
      select max(number) from flow_generation where active_at is not null)
    order by d.entity, d.address limit ${limit}`
}

/** Says that an address is no deposit address, whatever it does. False: that was said before. */
export async function revokeDeposit(
  tx: Tx,
  said: { address: string; reason: string; by: string; at: Date },
): Promise<boolean> {
  const { address, reason, by, at } = said
  const made = await tx`
    insert into flow_deposit_revoked (address, reason, revoked_by, revoked_at)
    values (${address}, ${reason}, ${by}, ${at}) on conflict do nothing returning 1`
  return made.length > 0
}

export async function depositsOf(sql: Sql | Tx, generation: number): Promise<Deposit[]> {
  return sql<Deposit>`
    select address, service, entity, category, sweeps from flow_deposit
    where generation = ${generation} order by address`
}

/** As labels: sure enough to be terminals, and of the kind that any list's word goes before. */
export const depositLabels = (deposits: readonly Deposit[]): Label[] =>
  deposits.map(({ address, category }) => ({
    address,
    category: categoryNumber(category)!,
    confidence: 50,
    kind: 'heuristic',
    from_ms: Number.NEGATIVE_INFINITY,
    to_ms: Number.POSITIVE_INFINITY,
  }))
