// Doing a check again: the index is computed anew from the log and the labels of then, up to the
// block that the answer knew, and the screening is made once more. The evidence must come out the
// same, byte for byte; if it does not, either something was tampered with or this program computes
// differently than the one that answered.

import { isDeepStrictEqual } from 'node:util'
import { countTransfers } from '../../chain/transfers/packed.ts'
import { transferLog } from '../../chain/transfers/postgres_log.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { type BarsRecord, barsPlaceOf, readBarsThen } from '../engine/bars.ts'
import { readEvidence, sha256Of } from '../engine/evidence.ts'
import type { Basis } from '../engine/findings.ts'
import { EMBEDDED, readPolicy } from '../engine/policy.ts'
import type { Outcome } from '../engine/scoring.ts'
import { ENGINE, ENGINES_BEFORE, screenAddress, screenTransaction } from '../engine/screening.ts'
import { stateHash } from '../flow/checkpoint.ts'
import { CarriedWriter } from '../flow/log.ts'
import { restoreNewest } from '../kept/positions.ts'
import { describeGeneration, type Generation, type LogPlace } from '../tracing/generations.ts'
import { readSentThen, type SentIndex } from '../tracing/sent.ts'
import type { Check } from './checks.ts'
import { CHECK_COLUMNS } from './forms.ts'

export type Replay = {
  check_id: string
  same: boolean
  evidence_sha256: string
  replayed_sha256: string
  /** The evidence as it came out now. */
  canonical: string
}

/** What of the evidence is needed to do it again. */
type EvidenceFacts = {
  engine: string
  index: { carried_since: string }
  transfers: { block: string }[]
  /** Of answers since the third engine. */
  bars?: BarsRecord
  /** Of those since the fifth, where it was known. */
  sent?: { generation: string; last_block: string } | null
}

/** When the answer looked back over up to so many transfers, what each carried is computed anew
 *  too; beyond, it is read as it was noted, as long as that is kept. */
const CARRIED_ANEW_MAX = 5_000_000n
const PORTION = 500

/** Does a completed check again. `progress` is told the block reached and the last one. Throws a
 *  sentence when there is no such check, it was not answered by the embedded engine, its evidence
 *  or what it rests on is gone, or the engine was another. */
export async function replayCheck(
  place: LogPlace,
  check_id: string,
  progress: (block: number, last: number) => void = () => {},
): Promise<Replay> {
  const { sql } = place
  const [check] = await sql<Check>`select ${CHECK_COLUMNS} from aml_check where id = ${check_id}`
  if (!check) throw refusal(`There is no check ${check_id}.`)
  if (check.state !== 'completed')
    throw refusal(`Check ${check_id} is ${check.state}: there is no answer to do again.`)
  if (check.provider !== EMBEDDED)
    throw refusal(`Check ${check_id} was not answered by the embedded engine.`)
  const evidence = await readEvidence(sql, check_id)
  if (!evidence) throw refusal(`The evidence of check ${check_id} is not kept any more.`)
  const then = JSON.parse(evidence.canonical) as EvidenceFacts
  if (then.engine !== ENGINE && !ENGINES_BEFORE.some((one) => one === then.engine))
    throw refusal(`Check ${check_id} was answered by ${then.engine}; this is ${ENGINE}.`)
  const record = then.bars
  const basis = await basisOf(place, check, { since: Number(then.index.carried_since), progress })
  if (then.sent) basis.sent = await sentThen(place, basis.generation, then.sent)
  if (record) basis.bars = (party) => readBarsThen(sql, party, barsPlaceOf(record))
  const { hash } = check
  const screened =
    hash === null
      ? await screenAddress(basis, check)
      : await screenTransaction(basis, { ...check, hash }, Number(then.transfers[0]!.block))
  if (screened === 'no_transfer')
    throw refusal(`The transfers of check ${check_id} are not kept any more.`)
  if (screened === 'not_in_transaction')
    throw refusal(`The transaction of check ${check_id} does not name its address.`)
  const replayed_sha256 = sha256Of(screened.evidence)
  const same =
    replayed_sha256 === evidence.sha256 &&
    evidence.sha256 === check.evidence_sha256 &&
    agrees(check, screened.outcome)
  return {
    check_id,
    same,
    evidence_sha256: evidence.sha256,
    replayed_sha256,
    canonical: screened.evidence,
  }
}

/** Whether the check says, in what its customer reads, what came out now. */
function agrees(check: Check, outcome: Outcome): boolean {
  return (
    check.risk_score === outcome.score &&
    check.risk_level === outcome.level &&
    check.blacklist === outcome.blacklist &&
    isDeepStrictEqual(check.risk_factors, outcome.factors) &&
    isDeepStrictEqual(check.sent_factors, outcome.sent_factors ?? [])
  )
}

/** What the check was answered from, computed anew. */
async function basisOf(
  place: LogPlace,
  check: Check,
  how: { since: number; progress: (block: number, last: number) => void },
): Promise<Basis> {
  const { sql } = place
  const last = Number(check.index_number)
  const generation = await describeGeneration(place, check.generation!)
  const window = { first: Math.max(how.since, generation.first_block), last }
  const anew = await isShort(sql, window)
  if (!anew && !(await transferLog(sql).isNoted(generation.carried, window)))
    throw refusal(
      `It is not kept any more what transfers carried under the labels of check ${check.id}.`,
    )
  // What is not saved is what transfers are read with: so it replaces what was noted of them.
  const carried = anew ? generation.unsaved : undefined
  await applyUntil(place, generation, { ...window, progress: how.progress, carried })
  const policy = await readPolicy(sql, check.policy!)
  return { sql, generation, policy, carried_blocks: last - how.since, bars: undefined }
}

/** The nightly reading that an answer named, which can be by the labels of another generation. */
async function sentThen(
  place: LogPlace,
  answering: Generation,
  then: { generation: string; last_block: string },
): Promise<SentIndex | undefined> {
  const { sql } = place
  const [number, last] = [Number(then.generation), Number(then.last_block)]
  if (number === answering.number) return readSentThen(sql, answering, last)
  const generation = await describeGeneration(place, number)
  const nothing = { first: last, progress: () => {}, carried: undefined }
  await applyUntil(place, generation, { ...nothing, last })
  return readSentThen(sql, generation, last)
}

/** Applies the log up to a block; into `carried`, if there is one, goes what transfers from `first`
 *  on carried. */
async function applyUntil(
  { sql, archive }: LogPlace,
  generation: Generation,
  how: {
    first: number
    last: number
    progress: (block: number, last: number) => void
    carried: Map<number, Uint8Array> | undefined
  },
): Promise<void> {
  const { state, index, first_block, base } = generation
  const { first, last, progress, carried } = how
  for (;;) {
    const after = Math.max(index.block_number, first_block - 1)
    const blocks = await transferLog(sql, archive).after(after, {
      limit: PORTION,
      until: last,
      base,
    })
    const newest = blocks.at(-1)
    if (!newest) return
    await state.apply(blocks, (block) => {
      const writer =
        carried && block.number >= first && block.transfers.length > 0
          ? new CarriedWriter(countTransfers(block.transfers))
          : undefined
      // A copy: the writer's buffer is as large as transfers can make it.
      const done = () => writer && carried?.set(block.number, writer.written().slice())
      return { writer, done }
    })
    generation.block_id = newest.id
    progress(newest.number, last)
  }
}

export type State = {
  label_set: number
  first_block: number
  hubs: number
  block: number
  block_id: string | null
  state_sha256: string
}

/** The hash of the index's state at a block, computed in this process from the newest checkpoint
 *  and the log: two services with the same labels, first block and hubs must have the same. Throws
 *  a sentence when there is no index yet, or the block is not in it. */
export async function stateAt(
  place: LogPlace,
  wanted_block: number | undefined,
  progress: (block: number, last: number) => void = () => {},
): Promise<State> {
  const { sql } = place
  const [used] = await sql<{ number: number; newest: bigint | null }>`
    select number, (select last_number from flow_log_ends) as newest
    from flow_generation where active_at is not null order by number desc limit 1`
  if (used?.newest == null) throw refusal('There is no index yet: start the service first.')
  const newest = Number(used.newest)
  const last = wanted_block ?? newest
  const begun = await describeGeneration(place, used.number)
  if (last < begun.first_block || last > newest)
    throw refusal(`Block ${last} is not in the index: it has ${begun.first_block} to ${newest}.`)
  const { labels, index: fresh } = begun
  const saved = await restoreNewest({ sql, log: transferLog(sql) }, used.number, {
    labels,
    rules: fresh.rules,
    before: last + 1,
  })
  const generation = saved ? { ...begun, ...saved, index: saved.state.index } : begun
  await applyUntil(place, generation, { first: last, last, progress, carried: undefined })
  const { label_set, first_block, hubs, index, block_id = null } = generation
  return {
    label_set,
    first_block,
    hubs,
    block: index.block_number,
    block_id,
    state_sha256: stateHash(index),
  }
}

type Window = { first: number; last: number }

const isShort = async (sql: Sql, { first, last }: Window): Promise<boolean> =>
  (await transferLog(sql).between(first, last)) <= CARRIED_ANEW_MAX
