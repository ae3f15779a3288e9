// What bars an address itself, or lifts that: official lists, tokens' freeze lists, and entries of
// the customer and the house. Read from the newest published rows, whatever labels the index is
// computed with: a listed address counts as listed at once. What was read is named so that it can
// be read again: the label set, the blocks of the log, and the instant.

import { isDeepStrictEqual } from 'node:util'
import type { Address } from 'penstock-tron/address.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { type Entry, entriesFor } from '../labels/entries.ts'
import type { LabelEntry } from '../labels/label_sets.ts'
import type { Fact } from './evidence.ts'
import { type IssuerWord, onThisNetwork } from './issuers.ts'

/** Whom it is asked about, and for whom. */
export type Party = { address: Address; customer_id: string }

export type Freeze = { token: string; block: bigint }

/** What a token's contract said when it was asked, or that it was not. */
export type AskedIssuer = { token: string; said: IssuerWord; at: Date | null }

/** Why an address is barred, in the words of evidence. */
export type BarReason = 'list' | 'issuer_freeze' | 'denied'

export type Bars = {
  address: Address
  at: Date
  label_set: number
  label_set_sha256: string
  /** The blocks whose freezes are known; null: none is recorded. */
  first_block: bigint | null
  last_block: bigint | null
  /** What official lists say that is valid. */
  labels: readonly LabelEntry[]
  frozen: readonly Freeze[]
  /** Of tokens whose freeze list the log says nothing of this address; undefined in answers of
   *  engines that asked nobody. */
  issuers: readonly AskedIssuer[] | undefined
  /** Allow and deny entries in force. */
  entries: readonly Entry[]
}

/** What of a past answer says which rows it read. */
export type BarsPlace = Pick<Bars, 'at' | 'label_set' | 'first_block' | 'last_block' | 'issuers'>

/** What bars each of these addresses now. */
export async function readBars(
  sql: Sql | Tx,
  parties: readonly Party[],
  at: Date,
): Promise<Bars[]> {
  const addresses = parties.map(({ address }) => address)
  const [lists, freezes, issuers, entries] = await Promise.all([
    readListed(sql, addresses, { at, label_set: null }),
    readFrozen(sql, addresses),
    readIssuers(sql, addresses),
    entriesFor(sql, parties, at),
  ])
  return parties.map(({ address }, i) => ({
    address,
    at,
    ...lists,
    labels: lists.labels.filter((label) => label.address === address),
    first_block: freezes.first_block,
    last_block: freezes.last_block,
    frozen: freezes.frozen.get(address) ?? [],
    issuers: issuers.get(address) ?? [],
    entries: entries[i]!,
  }))
}

/** What barred an address then. */
export async function readBarsThen(sql: Sql, party: Party, then: BarsPlace): Promise<Bars> {
  const { address } = party
  const [lists, frozen, issuers, [entries = []]] = await Promise.all([
    readListed(sql, [address], then),
    frozenThen(sql, address, then),
    then.issuers && issuersThen(sql, address, then.issuers),
    entriesFor(sql, [party], then.at),
  ])
  return { ...then, ...lists, address, frozen, issuers, entries }
}

type ListReading = Pick<Bars, 'label_set' | 'label_set_sha256' | 'labels'>

/** What official lists say, in a set or in the newest. */
async function readListed(
  sql: Sql | Tx,
  addresses: readonly Address[],
  { at, label_set }: { at: Date; label_set: number | null },
): Promise<ListReading> {
  const rows = await sql<
    Omit<LabelEntry, 'address'> & { number: number; sha256: string; address: Address | null }
  >`
    select s.number, s.sha256, e.list, e.address, e.category, e.entity, e.kind, e.confidence,
      e.reference, e.valid_from, e.valid_to
    from label_set as s left join lateral (
      select e.list, e.entry_version, e.n, e.address, e.category, e.entity, e.kind, e.confidence,
        e.reference, e.valid_from, e.valid_to
      from version_entry as e join label_set_version as m using (version_id)
      where m.label_set = s.number and e.address = any(${addresses}) and e.kind = 'authority'
        and (e.valid_from is null or e.valid_from <= ${at})
        and (e.valid_to is null or e.valid_to > ${at})) as e on true
    where s.number = coalesce(${label_set}::integer, (select max(number) from label_set))
    order by e.address, e.list, e.entry_version, e.n`
  const { number, sha256 } = rows[0]!
  const labels = rows.flatMap(({ number: _set, sha256: _hash, address, ...label }) =>
    address === null ? [] : { ...label, address },
  )
  return { label_set: number, label_set_sha256: sha256, labels }
}

type FreezeReading = Pick<Bars, 'first_block' | 'last_block'> & { frozen: Map<Address, Freeze[]> }

/** What tokens' freeze lists say of addresses, as far as the log goes. */
async function readFrozen(sql: Sql | Tx, addresses: readonly Address[]): Promise<FreezeReading> {
  const rows = await sql<{
    first_block: bigint | null
    last_block: bigint | null
    address: Address | null
    token: string
    block: bigint
  }>`
    select log.first_number as first_block, log.last_number as last_block, f.address, f.token,
      f.number as block
    from flow_log_ends as log
    left join flow_freeze as f on f.address = any(${addresses}) and f.frozen
    order by f.address, f.token`
  const { first_block, last_block } = rows[0]!
  const frozen = new Map<Address, Freeze[]>()
  for (const { address, token, block } of rows)
    if (address !== null) frozen.set(address, [...(frozen.get(address) ?? []), { token, block }])
  return { first_block, last_block, frozen }
}

/** The same, from the blocks themselves: flow_freeze has only the last word. */
async function frozenThen(
  sql: Sql,
  address: Address,
  { first_block, last_block }: Pick<Bars, 'first_block' | 'last_block'>,
): Promise<Freeze[]> {
  if (first_block === null || last_block === null) return []
  const range = { first: first_block, last: last_block }
  const words = await transferLog(sql).freezeWords(address, range)
  return words.flatMap(({ frozen, ...freeze }) => (frozen ? freeze : []))
}

type AskedRow = AskedIssuer & { address: Address }

/** What contracts said last of addresses of which the log has no word: that goes before. */
async function readIssuers(
  sql: Sql | Tx,
  addresses: readonly Address[],
): Promise<Map<Address, AskedIssuer[]>> {
  const rows = await sql<AskedRow>`
    select a.address, t.contract as token, coalesce(w.said, 'not_asked') as said, w.asked_at as at
    from unnest(${onThisNetwork(addresses)}::text[]) as a (address) cross join flow_asset as t
    left join lateral (
      select said, asked_at from issuer_word
      where address = a.address and token = t.contract and said <> 'not_asked'
      order by asked_at desc limit 1) as w on true
    where t.number > 0 and not exists (
      select 1 from flow_freeze as f where f.address = a.address and f.token = t.contract)
    order by 1, 2`
  return Map.groupBy(rows, ({ address }) => address)
}

/** The same, of the rows that were read then. */
async function issuersThen(
  sql: Sql,
  address: Address,
  then: readonly AskedIssuer[],
): Promise<AskedIssuer[]> {
  const rows = await sql<AskedIssuer>`
    select token, said, asked_at as at from issuer_word where address = ${address}
      and asked_at = any(${then.flatMap(({ at }) => at ?? [])}::timestamptz[])`
  return then.flatMap(({ token, at, said }) =>
    at === null
      ? { token, at, said }
      : (rows.find((row) => row.token === token && row.at?.getTime() === at.getTime()) ?? []),
  )
}

/** Why the address is barred; empty: it is not. */
export function barReasons({ labels, frozen, issuers = [], entries }: Bars): BarReason[] {
  const reasons: BarReason[] = []
  if (entries.some(({ kind }) => kind === 'deny')) reasons.push('denied')
  if (frozen.length > 0 || issuers.some(({ said }) => said === 'frozen'))
    reasons.push('issuer_freeze')
  if (labels.length > 0) reasons.push('list')
  return reasons
}

/** The tokens whose issuers were not asked about the address. */
export const notAsked = ({ issuers = [] }: Pick<Bars, 'issuers'>): string[] =>
  issuers.flatMap(({ token, said }) => (said === 'not_asked' ? token : []))

/** Whether two readings say the same of an address, whatever rows they read. */
export function barsAgree(a: Bars, b: Bars): boolean {
  const said = ({ labels, frozen, issuers = [], entries }: Bars) => [
    labels,
    frozen,
    issuers.map((one) => [one.token, one.said]),
    entries.map(({ id }) => id),
  ]
  return isDeepStrictEqual(said(a), said(b))
}

/** What was read, for evidence. */
export const barsFact = (bars: Bars): Fact => ({
  address: bars.address,
  at: bars.at.toISOString(),
  label_set: String(bars.label_set),
  label_set_sha256: bars.label_set_sha256,
  first_block: bars.first_block === null ? null : String(bars.first_block),
  last_block: bars.last_block === null ? null : String(bars.last_block),
  labels: bars.labels.map(listedFact),
  frozen: bars.frozen.map(({ token, block }) => ({ token, block: String(block) })),
  ...(bars.issuers && {
    issuers: bars.issuers.map(({ token, said, at }) => ({
      token,
      said,
      at: at?.toISOString() ?? null,
    })),
  }),
})

const listedFact = ({
  category,
  entity,
  list,
  reference,
  valid_from,
  valid_to,
}: LabelEntry): Fact => ({
  category,
  entity,
  list,
  reference,
  valid_from: valid_from?.toISOString() ?? null,
  valid_to: valid_to?.toISOString() ?? null,
})

/** What evidence says of the rows that were read. */
export type BarsRecord = {
  at: string
  label_set: string
  first_block: string | null
  last_block: string | null
  /** Of answers of this engine. */
  issuers?: { token: string; said: IssuerWord; at: string | null }[]
}

export const barsPlaceOf = ({
  at,
  label_set,
  first_block,
  last_block,
  issuers,
}: BarsRecord): BarsPlace => ({
  at: new Date(at),
  label_set: Number(label_set),
  first_block: first_block === null ? null : BigInt(first_block),
  last_block: last_block === null ? null : BigInt(last_block),
  issuers: issuers?.map(({ token, said, at }) => ({
    token,
    said,
    at: at === null ? null : new Date(at),
  })),
})
