// Money that has arrived at an address of the house, by what it carried: the same shares, floors
// and level as a check of the transfer with the direction `deposit` has, of one transfer alone.
// Nothing is asked of a provider, and nothing is looked up that the index does not have.

import type { Address } from 'penstock-tron/address.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { CATEGORIES, categoryNumber } from '../flow/categories.ts'
import { type Entry, entriesFor } from '../labels/entries.ts'
import type { Generations } from '../tracing/generations.ts'
import { pathsBack, type Transfer } from '../tracing/paths.ts'
import { type AssetHolding, readHoldings } from './asset_holdings.ts'
import { assetOf, type Basis, moneyOf, mostImportant, type Source } from './findings.ts'
import type { Policy } from './policy.ts'
import { noExposure, type Outcome, printUsd, publishedShares, readUsd, scoreOf } from './scoring.ts'

/** A transfer to an address of the house. `asset`: TRX, or the contract of a token. */
export type Money = {
  tx_id: string
  block_number: number
  from: Address
  to: Address
  asset: string
  amount: bigint
  customer_id: string
}

/** A category of money: its share, its worth in dollars, and how much of that came directly. */
export type MoneyFactor = { category: string; share: string; usd: string; direct_usd: string }

/** One transfer of the way that most of a category came, and how much of that it carried. */
export type MoneyStep = {
  tx_id: string
  from: string
  to: string
  block: string
  asset: string
  amount: string
  carried: string | null
}

export type MoneyWay = { category: string; steps: MoneyStep[] }

/** The findings about money, and by which generation, label set and policy. The severe part is of
 *  all severe categories together. */
export type MoneyReading = {
  generation: number
  label_set: number
  policy: number
  risk_score: string
  risk_level: Outcome['level']
  severe_share: string
  severe_usd: string
  factors: MoneyFactor[]
  /** The floors that acted, with their categories. */
  floors: string[]
}

export type MoneyReader = {
  /** The last block of which it is known here what its transfers carried; undefined: of none. */
  height(): number | undefined
  /** Reads what each was; undefined for what is not in the log. Of blocks beyond `height` nothing
   *  is in it yet. */
  read(
    sql: Sql | Tx,
    policy: Policy,
    money: readonly Money[],
  ): Promise<(MoneyReading | undefined)[]>
  /** The ways that the largest categories of each came. */
  ways(policy: Policy, money: readonly Money[]): Promise<MoneyWay[][]>
}

type Needs = {
  sql: Sql
  clock: Clock
  generations: Pick<Generations, 'current'>
  carried_blocks: number
}

export function moneyReader(needs: Needs): MoneyReader {
  const { sql, clock, generations, carried_blocks } = needs
  const height = () => {
    const generation = generations.current()
    return generation?.block_id === undefined ? undefined : generation.index.block_number
  }
  const basisOf = (policy: Policy): Basis | undefined => {
    const generation = generations.current()
    return generation && { sql, generation, policy, carried_blocks, bars: undefined }
  }
  return {
    height,
    async read(reading, policy, money) {
      const basis = basisOf(policy)
      if (!basis || money.length === 0) return money.map(() => undefined)
      const parties = money.map(({ from, customer_id }) => ({ address: from, customer_id }))
      const [transfers, entries] = await Promise.all([
        transfersOf(reading, basis, money),
        entriesFor(reading, parties, clock.now()),
      ])
      const senders = transfers.flatMap((one) => one?.from ?? [])
      return readHoldings(basis.generation, senders, (holdingsOf) =>
        transfers.map(
          (one, i) =>
            one && readingOf(basis, one, { holdings: holdingsOf(one.from), entries: entries[i]! }),
        ),
      )
    },
    async ways(policy, money) {
      const basis = basisOf(policy)
      if (!basis) return money.map(() => [])
      const transfers = await transfersOf(sql, basis, money)
      return Promise.all(transfers.map((one) => (one ? waysOf(basis, one) : [])))
    },
  }
}

const keyOf = ({ tx_id, from, to, asset, amount }: Omit<Money, 'block_number' | 'customer_id'>) =>
  [tx_id, from, to, asset, amount].join(' ')

/** The transfers of the log that the money is: of several that are alike in one transaction, in
 *  their order. */
async function transfersOf(
  sql: Sql | Tx,
  { generation }: Basis,
  money: readonly Money[],
): Promise<(Transfer | undefined)[]> {
  const of_transaction = await generation.transfers.ofTransactions(sql, money)
  const contract_of = new Map(generation.assets.map((one) => [one.number, one.contract]))
  const alike = new Map<string, Transfer[]>()
  for (const transfer of [...of_transaction.values()].flat()) {
    const key = keyOf({ ...transfer, asset: contract_of.get(transfer.asset)! })
    alike.set(key, [...(alike.get(key) ?? []), transfer])
  }
  return money.map((one) => alike.get(keyOf(one))?.shift())
}

function readingOf(
  basis: Basis,
  transfer: Transfer,
  { holdings, entries }: { holdings: AssetHolding[]; entries: readonly Entry[] },
): MoneyReading {
  const { policy, generation } = basis
  const sender = { from: transfer.from, holdings }
  const { screened, source, by_transfer } = moneyOf(basis, [transfer], sender)
  const { amounts } = source.exposure
  const outcome = scoreOf(policy, {
    exposure: source.exposure,
    net_new: source.net_new,
    recent: source.recent,
    own: screened.in_force,
    by_transfer,
    destinations: undefined,
    blacklisted_by: entries.some(({ kind }) => kind === 'deny') ? ['denied'] : [],
    allowed: entries.some(({ kind }) => kind === 'allow'),
  })
  const severe = sum(policy.severe.map((name) => amounts[categoryNumber(name)!]!))
  const total = sum(amounts)
  return {
    generation: generation.number,
    label_set: generation.label_set,
    policy: policy.version,
    risk_score: outcome.score,
    risk_level: outcome.level,
    severe_share: printShare(total === 0n ? 0n : (severe * 10_000n) / total),
    severe_usd: printUsd(severe),
    factors: factorsOf(source),
    floors: outcome.floors.map(({ rule, category }) =>
      category === null ? rule : `${rule} ${category}`,
    ),
  }
}

/** The level that money has under another policy than the one it was read under, from what the
 *  reading says: in cents, and its sender's own label as if it were beyond doubt. */
export function levelOfReading(
  policy: Policy,
  { factors, floors }: Pick<MoneyReading, 'factors' | 'floors'>,
): Outcome['level'] {
  const exposure = noExposure()
  for (const { category, usd, direct_usd } of factors) {
    const k = categoryNumber(category)!
    exposure.amounts[k] = readUsd(usd)
    exposure.direct[k] = readUsd(direct_usd)
  }
  const own = floors.find((floor) => floor.startsWith('own_label '))?.split(' ')[1]
  return scoreOf(policy, {
    exposure,
    own: own ? { category: categoryNumber(own)!, confidence: policy.full_confidence } : undefined,
    by_transfer: true,
    destinations: undefined,
    blacklisted_by: [],
    allowed: false,
  }).level
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((a, b) => a + b, 0n)
const printShare = (share: number | bigint) => (Number(share) / 10_000).toFixed(4)

function factorsOf({ exposure: { amounts, direct } }: Source): MoneyFactor[] {
  if (sum(amounts) === 0n) return []
  const shares = publishedShares(amounts)
  return CATEGORIES.flatMap(({ name }, k) =>
    amounts[k] === 0n
      ? []
      : {
          category: name,
          share: printShare(shares[k]!),
          usd: printUsd(amounts[k]!),
          direct_usd: printUsd(direct[k]!),
        },
  )
}

async function waysOf(basis: Basis, transfer: Transfer): Promise<MoneyWay[]> {
  const { generation, carried_blocks } = basis
  const { from } = transfer
  const { starts, since } = await readHoldings(generation, [from], (holdingsOf) => {
    const { source } = moneyOf(basis, [transfer], { from, holdings: holdingsOf(from) })
    return {
      starts: mostImportant(source.exposure.amounts, source.starts),
      since: generation.index.block_number - carried_blocks,
    }
  })
  const ways = await pathsBack(generation.transfers, starts, since)
  return ways.map((steps, i) => ({
    category: CATEGORIES[starts[i]!.category]!.name,
    steps: steps.map(({ transfer: { tx_id, from, to, block_number, asset, amount }, carried }) => ({
      tx_id,
      from,
      to,
      block: String(block_number),
      asset: assetOf(basis, asset).symbol,
      amount: String(amount),
      carried: carried === undefined ? null : String(carried),
    })),
  }))
}
