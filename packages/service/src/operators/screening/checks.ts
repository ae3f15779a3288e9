// Screening checks, by the operator's hand: what became of one, doing it again, its report, what
// checks rest on, and whose level has changed.

import { Type } from 'typebox'
import {
  Anything,
  Count,
  Flag,
  ListOf,
  Moment,
  moment,
  NOTHING,
  OrNull,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { checksByDay, requireEvidence, showCheck } from '../../screening/checks/history.ts'
import { replayCheck, stateAt } from '../../screening/checks/replay.ts'
import { screeningState } from '../../screening/engine/state.ts'
import { readReportContext } from '../../screening/reports/context.ts'
import { reportJson, reportPage } from '../../screening/reports/report.ts'
import { levelChanges } from '../../screening/reports/watch_routes.ts'
import { ScreeningState } from '../health/status.ts'
import { look, momentOf } from '../table/operation.ts'
import { tellBlocks } from '../table/progress.ts'

const check = text('CHECK', 'the id of the check')

const CheckShown = Type.Object({
  id: Text,
  customer_id: Text,
  idempotency_key: OrNull(Text),
  type: Text,
  network: Text,
  address: Text,
  hash: OrNull(Text),
  direction: OrNull(Text),
  state: Text,
  price_sun: Sun,
  key_id: OrNull(Text),
  solid_number: Whole,
  due_at: Moment,
  tries: Count,
  created_at: Moment,
  ended_at: OrNull(Moment),
  risk_score: OrNull(Text),
  risk_level: OrNull(Text),
  blacklist: Flag,
  risk_factors: Anything,
  sent_factors: Anything,
  error: OrNull(Text),
  provider: OrNull(Text),
  policy: OrNull(Count),
  label_set: OrNull(Count),
  generation: OrNull(Count),
  index_number: OrNull(Whole),
  evidence_sha256: OrNull(Text),
  supersedes: OrNull(Text),
  answers: ListOf({
    provider: Text,
    outcome: Text,
    sha256: Text,
    received_at: Moment,
    bytes: Count,
  }),
})

export const checkOperations = [
  look({
    path: '/operator/aml/status',
    summary: 'what screenings rest on: lists, index, policy',
    body: NOTHING,
    reply: ScreeningState,
    handle: async ({ sql }) => ({ value: await screeningState(sql) }),
  }),
  look({
    path: '/operator/aml/show',
    summary: 'one check: its answer, and what that rests on',
    body: Type.Object({ check }),
    reply: CheckShown,
    cli: { operands: ['check'] },
    handle: async ({ sql, body }) => ({ value: await showCheck(sql, body.check) }),
  }),
  look({
    path: '/operator/aml/replay',
    summary:
      'do a check again from the chain and the labels of then: it must come out the same, byte ' +
      'for byte',
    description: 'The exit code is 1 when it does not.',
    body: Type.Object({ check }),
    reply: Type.Object({
      check_id: Text,
      same: Flag,
      evidence_sha256: Text,
      replayed_sha256: Text,
    }),
    cli: { operands: ['check'] },
    async handle({ sql, body, ...needs }) {
      const again = await tellBlocks(needs, (tell) =>
        replayCheck({ sql, archive: needs.archive() }, body.check, tell),
      )
      const { canonical: _, ...value } = again
      const note = value.same ? 'It came out the same.' : 'It came out differently.'
      return { value, ok: value.same, note }
    },
  }),
  look({
    path: '/operator/aml/report',
    summary:
      'the report of a check, as a page of HTML to look at and to print; with --json its evidence',
    description: 'The SHA-256 of the file that --evidence writes is the one that the report names.',
    body: Type.Object({ check }),
    reply: Type.Object({ check_id: Text, evidence_sha256: Text, evidence: Anything }),
    cli: {
      operands: ['check'],
      extras: Type.Object({
        out: optional(text('FILE', 'write the page to this file')),
        evidence: optional(
          text('FILE', 'write the evidence to this file, byte for byte as it was hashed'),
        ),
      }),
      async after(answer, { out, evidence }, { writeFile }) {
        const { page, canonical } = answer.documents!
        if (out !== undefined) await writeFile(out, page!())
        if (evidence !== undefined) await writeFile(evidence, canonical!())
        const written = [
          ...(out === undefined ? [] : [`The report is in ${out}.\n`]),
          ...(evidence === undefined ? [] : [`The evidence is in ${evidence}.\n`]),
        ]
        return { ...answer, text: written.length === 0 ? page!() : written.join('') }
      },
    },
    async handle({ sql, body }) {
      const evidence = await requireEvidence(sql, body.check)
      const context = await readReportContext(sql, evidence)
      return {
        value: JSON.parse(reportJson(evidence)),
        documents: {
          page: () => reportPage(evidence, context),
          canonical: () => evidence.canonical,
        },
      }
    },
  }),
  look({
    path: '/operator/aml/state',
    summary:
      "the hash of the index's state at a block: equal on every service with the same labels " +
      'and first block',
    body: Type.Object({ block: optional(whole('HEIGHT', 'at this block (the newest)')) }),
    reply: Type.Object({
      label_set: Count,
      first_block: Count,
      hubs: Count,
      block: Count,
      block_id: OrNull(Text),
      state_sha256: Text,
    }),
    handle: async ({ sql, body: { block }, ...needs }) => ({
      value: await tellBlocks(needs, (tell) =>
        stateAt({ sql, archive: needs.archive() }, block, tell),
      ),
    }),
  }),
  look({
    path: '/operator/aml/days',
    summary: 'the checks of each day (UTC) by their level, the newest first',
    body: Type.Object({
      days: optional(whole('DAYS', 'so many, today included (14)', { min: 1, max: 90 })),
    }),
    reply: ListOf({
      day: Text,
      low: Whole,
      medium: Whole,
      high: Whole,
      failed: Whole,
      open: Whole,
    }),
    handle: async ({ sql, clock, body: { days = 14 } }) => ({
      value: await checksByDay(sql, clock.now(), days),
    }),
  }),
  look({
    path: '/operator/aml/changes',
    summary: 'watched addresses whose level has changed, oldest first',
    body: Type.Object({ since: moment('from then on') }),
    reply: ListOf({
      customer_id: Text,
      address: Text,
      check_id: Text,
      from_level: Text,
      to_level: Text,
      ended_at: Moment,
    }),
    handle: async ({ sql, body }) => ({ value: await levelChanges(sql, momentOf(body.since)!) }),
  }),
]
