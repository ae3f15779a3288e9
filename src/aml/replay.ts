// Doing a check again: the index is computed anew from the log and the labels of then, up to the block that the answer
// knew, and the screening is made once more. The evidence must come out the same, byte for byte; if it does not, either
// something was tampered with or this program computes differently than the one that answered.

import { FlowIndex } from '../flow/flow_index.ts'
import { applyBlock, CarriedWriter, countTransfers } from '../flow/log.ts'
import type { Sql } from '../lib/sql.ts'
import type { Check } from './checks.ts'
import { readEvidence, sha256Of } from './evidence.ts'
import { blocksAfter, logSpan, readAssets } from './flow_log.ts'
import { type Generation, labelsOfSet } from './generations.ts'
import { listsOfSet } from './label_sets.ts'
import { storedCarried, transferReader } from './paths.ts'
import { readPolicy } from './policy.ts'
import { type Bench, ENGINE, screenAddress, screenTransfers } from './screening.ts'

export type Replayed = {
  check_id: string
  same: boolean
  evidence_sha256: string
  replayed_sha256: string
  /** The evidence as it came out now. */
  canonical: string
}

/** What of the evidence is needed to do it again. */
type Then = { engine: string; index: { carried_since: string }; transfers: { block: string }[] }

/** In a log of up to so many transfers, what each carried is computed anew too; beyond, it is read as it was noted. */
const CARRIED_ANEW_MAX = 5_000_000
const PORTION = 500

/** Does a completed check again. `progress` is told the block reached and the last one. Throws a sentence when there is
 *  no such check, it was not answered by the embedded engine, its evidence is gone, or the engine was another. */
export async function replayCheck(
  sql: Sql,
  check_id: string,
  progress: (block: number, last: number) => void = () => {},
): Promise<Replayed> {
  const [check] = await sql<Check>`select * from aml_check where id = ${check_id}`
  if (!check) throw new Error(`There is no check ${check_id}.`)
  if (check.state !== 'completed' || check.provider !== 'embedded')
    throw new Error(`Check ${check_id} was not answered by the embedded engine.`)
  const evidence = await readEvidence(sql, check_id)
  if (!evidence) throw new Error(`The evidence of check ${check_id} is not kept any more.`)
  const then = JSON.parse(evidence.canonical) as Then
  if (then.engine !== ENGINE) throw new Error(`Check ${check_id} was answered by ${then.engine}; this is ${ENGINE}.`)
  const bench = await benchOf(sql, check, { since: Number(then.index.carried_since), progress })
  const screened =
    check.hash === null
      ? await screenAddress(bench, check)
      : await screenTransfers(
          bench,
          check,
          await bench.reader.ofTransaction(Number(then.transfers[0]!.block), check.hash),
        )
  const replayed_sha256 = sha256Of(screened.evidence)
  const same =
    replayed_sha256 === evidence.sha256 && evidence.sha256 === check.evidence_sha256 && agrees(check, screened.outcome)
  return { check_id, same, evidence_sha256: evidence.sha256, replayed_sha256, canonical: screened.evidence }
}

function agrees(check: Check, outcome: { score: string; level: string; blacklist: boolean }): boolean {
  return (
    check.risk_score === outcome.score && check.risk_level === outcome.level && check.blacklist === outcome.blacklist
  )
}

async function benchOf(
  sql: Sql,
  check: Check,
  how: { since: number; progress: (block: number, last: number) => void },
): Promise<Bench> {
  const label_set = check.label_set!
  const last = Number(check.index_number)
  const labels = await labelsOfSet(sql, label_set)
  const index = new FlowIndex(labels)
  const anew = await isShort(sql)
  const carried = new Map<number, Uint8Array>()
  let block_id: string | undefined
  for (;;) {
    const blocks = await blocksAfter(sql, index.block_number, { limit: PORTION, until: last })
    const newest = blocks.at(-1)
    if (!newest) break
    for (const block of blocks) {
      const writer = anew && block.transfers.length > 0 ? new CarriedWriter(countTransfers(block.transfers)) : undefined
      applyBlock(index, block, writer)
      if (writer) carried.set(block.number, writer.written())
    }
    block_id = newest.id
    how.progress(newest.number, last)
  }
  const generation: Generation = {
    ...{ number: check.generation!, label_set, index, labels, block_id },
    first_block: (await logSpan(sql))?.first,
    assets: await readAssets(sql),
  }
  const carriedOf = anew
    ? async (numbers: readonly number[]) =>
        new Map(numbers.flatMap((number) => (carried.has(number) ? [[number, carried.get(number)!]] : [])))
    : storedCarried(sql, generation.number)
  return {
    ...{ sql, generation },
    policy: await readPolicy(sql, check.policy!),
    lists: await listsOfSet(sql, label_set),
    reader: transferReader(sql, carriedOf),
    carried_blocks: last - how.since,
  }
}

async function isShort(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ first_sequence: bigint }>`
    select first_sequence from flow_block order by number desc limit 1`
  return Number(row?.first_sequence ?? 0n) <= CARRIED_ANEW_MAX
}
