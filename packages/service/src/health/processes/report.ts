// What processes say of themselves, in their rows: what only each of them knows. Read by whoever
// wants to know of all of them; a process of another version may say less.

import { transferLog } from '../../chain/transfers/postgres_log.ts'
import type { SigningTerms } from '../../chain/wallets/signing_terms.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { IndexMemory } from '../../screening/kept/index_memory.ts'
import type { GuardedProvider } from '../../screening/providers/guard.ts'
import { GONE_SECONDS } from '../monitoring/processes.ts'
import type { NodeCounts, NodeTally } from './node_tally.ts'

export type ProcessReport = {
  nodes: NodeCounts[]
  /** Those that it can ask. */
  providers: { name: string; left_alone: boolean }[]
  /** The screening index in its memory; a second one while that is computed anew. Left out where it
   *  is left to other processes. */
  indexes?: IndexMemory[]
  /** For how many days it keeps events and evidence; null where it deletes nothing. */
  kept_days: { events: number; evidence: number; sign_ins: number } | null
  /** What it signs with, and how much; null where it signs nothing. */
  signing: SigningTerms | null
}

/** What of a process its report is made of. */
export type ReportSources = {
  providers: readonly GuardedProvider[]
  /** Left out where the index is left to others. */
  indexMemory?: () => IndexMemory[]
  kept_days: ProcessReport['kept_days']
  signingTerms: () => SigningTerms | null
}

/** More nodes than anybody has. */
const NODES_MAX = 50

/** The report of this process at this moment, as it is kept. */
export function writeReport(
  nodes: NodeTally,
  { providers, indexMemory, kept_days, signingTerms }: ReportSources,
): string {
  const report: ProcessReport = {
    nodes: nodes.counts().slice(0, NODES_MAX),
    providers: providers.map(({ name, state }) => ({ name, left_alone: state() === 'open' })),
    ...(indexMemory && { indexes: indexMemory() }),
    kept_days,
    signing: signingTerms(),
  }
  return JSON.stringify(report)
}

/** A process that is there, with its report. */
export type ReportingProcess = {
  process_id: string
  role: string
  host: string
  duties: string[]
  report: Partial<ProcessReport>
}

/** The processes that are there, the oldest first, with what they last said of themselves. */
export const runningReports = (sql: Sql): Promise<ReportingProcess[]> => sql<ReportingProcess>`
  select id as process_id, role, host, report, array(
    select name from duty where process_id = process.id and until > clock_timestamp() order by name
  ) as duties
  from process where seen_at > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
  order by started_at, id`

type InProcess<Part> = Pick<ReportingProcess, 'process_id' | 'role' | 'host'> & Part

/** What each process has asked of each node, and how that went. */
export async function nodeRequests(sql: Sql): Promise<InProcess<NodeCounts>[]> {
  const processes = await runningReports(sql)
  return processes.flatMap(({ process_id, role, host, report }) =>
    (report.nodes ?? []).map(({ answered_at, failed_at, ...counts }) => ({
      process_id,
      role,
      host,
      ...counts,
      answered_at: answered_at && new Date(answered_at),
      failed_at: failed_at && new Date(failed_at),
    })),
  )
}

/** What the screening index takes, in the memory of each process and in the database. */
export async function indexSizes(sql: Sql): Promise<{
  memory: InProcess<IndexMemory>[]
  checkpoints: { generation: number; block_number: bigint; made_at: Date; bytes: bigint }[]
  log_bytes: bigint
  carried_bytes: bigint
}> {
  const processes = await runningReports(sql)
  const memory = processes.flatMap(({ process_id, role, host, report }) =>
    (report.indexes ?? []).map((index) => ({ process_id, role, host, ...index })),
  )
  const checkpoints = await sql<{
    generation: number
    block_number: bigint
    made_at: Date
    bytes: bigint
  }>`
    select c.generation, c.number as block_number, c.made_at, (
      select coalesce(sum(octet_length(bytes)), 0)::bigint from flow_checkpoint_part as p
      where p.generation = c.generation and p.number = c.number) as bytes
    from flow_checkpoint as c order by c.generation desc, c.number desc`
  const [sizes] = await sql<{ carried_bytes: bigint }>`
    select pg_total_relation_size('flow_carried') as carried_bytes`
  return { memory, checkpoints, log_bytes: await transferLog(sql).bytes(), ...sizes! }
}
