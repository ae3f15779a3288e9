// A policy tried before it is published: answers that are kept are scored again from their
// evidence, and what would have been otherwise is counted. Each is scored under its own policy too:
// how many come out as they were says how far the rest can be relied on.

import { firstIdAt } from '../../lib/ids.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { EMBEDDED, type Group, type Policy, readPolicy } from '../engine/policy.ts'
import { scoreOf } from '../engine/scoring.ts'
import { type Asset, readAssets } from '../tracing/flow_log.ts'
import { type EvidenceGap, type KeptFacts, keptSubject } from './kept_subject.ts'

/** How many of a customer's answers went from a level to another. */
export type LevelChange = { customer_id: string; from: Group; to: Group; answers: number }

export type Trial = {
  /** Answers of our own engine whose evidence is kept. */
  answers: number
  /** Of those, the ones that come out as they were under the policy that they were made under. */
  reproduced: number
  /** Answers of providers, or whose evidence is not kept: they are left out. */
  left_out: number
  /** By level, of those answers: as they were, and as they would have been. */
  before: Record<Group, number>
  after: Record<Group, number>
  changes: LevelChange[]
  /** Addresses of customers that wait for a decision: as it was, and as it would have been. */
  queue: { before: number; after: number }
  /** Answers whose evidence does not have what the policy looks at, by what that is. */
  lacking: Record<EvidenceGap, number>
}

type Row = {
  id: string
  customer_id: string
  risk_score: string | null
  risk_level: Group | null
  policy: number | null
  provider: string | null
  canonical: string | null
}

type AnsweredRow = Row & { risk_level: Group }

/** A check that failed, or waits, has no level. */
const isAnswered = (row: Row): row is AnsweredRow => row.risk_level !== null

/** Answers that are read at once. */
const PORTION = 500

/** Scores the answers since a moment under a policy. `progress` is called with the count done. */
export async function tryPolicy(
  sql: Sql,
  { policy, since }: { policy: Policy; since: Date },
  progress: (done: number) => void = () => {},
): Promise<Trial> {
  const tally = new Tally(policy, await readAssets(sql))
  for (let place = firstIdAt(since); ; ) {
    const rows = await sql<Row>`
      select c.id, c.customer_id, c.risk_score, c.risk_level, c.policy, c.provider, e.canonical
      from (select * from aml_check where id > ${place} order by id limit ${PORTION}) as c
      left join aml_evidence as e on e.check_id = c.id
      order by c.id`
    const last = rows.at(-1)
    if (!last) return tally.trial()
    for (const row of rows) if (isAnswered(row)) await tally.note(sql, row)
    place = last.id
    progress(tally.seen)
  }
}

class Tally {
  seen = 0
  private readonly policy: Policy
  private readonly assets: readonly Asset[]
  private readonly policies = new Map<number, Policy>()
  private readonly changes = new Map<string, LevelChange>()
  private readonly waiting = { before: new Set<string>(), after: new Set<string>() }
  private readonly counts = {
    answers: 0,
    reproduced: 0,
    left_out: 0,
    before: { low: 0, medium: 0, high: 0 },
    after: { low: 0, medium: 0, high: 0 },
    lacking: { net_new: 0, recent: 0, sent: 0, index_rules: 0 },
  }

  constructor(policy: Policy, assets: readonly Asset[]) {
    this.policy = policy
    this.assets = assets
  }

  private async policyThen(sql: Sql, version: number): Promise<Policy> {
    const known = this.policies.get(version) ?? (await readPolicy(sql, version))
    this.policies.set(version, known)
    return known
  }

  async note(sql: Sql, row: AnsweredRow): Promise<void> {
    const { counts, policy, assets } = this
    this.seen += 1
    if (row.provider !== EMBEDDED || row.canonical === null || row.policy === null) {
      counts.left_out += 1
      return
    }
    const facts = JSON.parse(row.canonical) as KeptFacts
    const before = await this.policyThen(sql, row.policy)
    const own = { before, policy: before, assets }
    const again = scoreOf(before, keptSubject(facts, own).subject)
    const { subject, lacking } = keptSubject(facts, { before, policy, assets })
    const { level } = scoreOf(policy, subject)
    counts.answers += 1
    if (again.score === row.risk_score && again.level === row.risk_level) counts.reproduced += 1
    counts.before[row.risk_level] += 1
    counts.after[level] += 1
    for (const what of lacking) counts.lacking[what] += 1
    this.noteChange(row, level)
    const party = `${row.customer_id} ${facts.screened.address}`
    if (before.review_high_answers && row.risk_level === 'high') this.waiting.before.add(party)
    if (policy.review_high_answers && level === 'high') this.waiting.after.add(party)
  }

  private noteChange({ customer_id, risk_level: from }: AnsweredRow, to: Group): void {
    if (from === to) return
    const key = `${customer_id} ${from} ${to}`
    const known = this.changes.get(key)
    if (known) known.answers += 1
    else this.changes.set(key, { customer_id, from, to, answers: 1 })
  }

  trial(): Trial {
    const { before, after } = this.waiting
    return {
      ...this.counts,
      changes: [...this.changes.values()].sort((a, b) => b.answers - a.answers),
      queue: { before: before.size, after: after.size },
    }
  }
}
