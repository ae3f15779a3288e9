// A log of transfers that a test writes itself, and the index of it by the real steps: for what is
// read from an index, without a chain.

import type { TestContext } from 'node:test'
import { bareAddress } from 'penstock-service/chain/transfers/bare_addresses.ts'
import { packTransfers } from 'penstock-service/chain/transfers/packed.ts'
import { transferLog } from 'penstock-service/chain/transfers/postgres_log.ts'
import type { FreezeWord } from 'penstock-service/chain/transfers/transfer_log.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { flowGenerations, type Needs } from 'penstock-service/screening/tracing/generations.ts'
import { type Address, addressFromBytes } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { freshDatabase } from './database.ts'
import { type BriefEntry, publishLabels } from './labels.ts'

/** So many milliseconds after the first of October. */
export const momentOf = (ms: number) => new Date(Date.UTC(2026, 9, 1) + ms)

/** An address for each number below 256. */
export const addressNumbered = (n: number): Address =>
  addressFromBytes(Uint8Array.of(0x41, n, 7, 7, 7, 7, ...new Uint8Array(14), n))

/** The id of a transaction, by its number. */
export const idNumbered = (n: number) => n.toString(16).padStart(64, '0')

/** `tx`: the number of its transaction; `asset`: 0 is TRX, and 1 the token. */
export type LoggedMove = { tx: number; from: Address; to: Address; asset: number; amount: bigint }

const FIRST = 100
const BLOCK_MS = 3_000

/** Blocks from number 100 on, one for each list of moves. */
export async function writeLog(
  sql: Sql,
  blocks: readonly (readonly LoggedMove[])[],
  { first = FIRST, freezes = [] }: { first?: number; freezes?: readonly FreezeWord[] } = {},
): Promise<void> {
  const rows = blocks.map((moves, i) => ({
    number: first + i,
    id: idNumbered(first + i),
    time: momentOf((first + i - FIRST) * BLOCK_MS),
    freezes: i > 0 ? [] : freezes,
    transfers: packTransfers(
      moves.map(({ from, to, asset, amount }) => ({
        asset,
        amount,
        from: bareAddress(from),
        to: bareAddress(to),
      })),
    ),
    tx_ids: Buffer.from(moves.map(({ tx }) => idNumbered(tx)).join(''), 'hex'),
  }))
  await sql.begin((tx) => transferLog(tx).append(rows))
}

/** A database with labels and a log, and the index of it. */
export async function loggedWorld(
  t: TestContext,
  {
    labels,
    blocks,
    freezes = [],
  }: { labels: readonly BriefEntry[]; blocks: LoggedMove[][]; freezes?: readonly FreezeWord[] },
  options: Partial<Needs> = {},
) {
  const { sql } = await freshDatabase(t)
  await sql`
    insert into flow_asset (number, contract, symbol, decimals) values (1, ${USDT}, 'USDT', 6)`
  const clock = { now: () => momentOf(0) }
  if (labels.length > 0) await publishLabels(sql, labels, { at: momentOf(0) })
  await writeLog(sql, blocks, { freezes })
  const needs = { sql, clock, carried_blocks: 10_000, checkpoint_transfers: 1_000_000, ...options }
  const generations = flowGenerations(needs)
  const index = () => drain([generations.step])
  await index()
  return { sql, clock, needs, generations, index }
}
