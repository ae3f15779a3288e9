// The flow index: what it takes, and how far back it reaches, which is reading the past of the
// chain into its log, and computing it anew.

import { USDT } from 'penstock-tron/tokens.ts'
import { Type } from 'typebox'
import { indexSizes } from '../../health/processes/report.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import {
  Count,
  Flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { screeningState } from '../../screening/engine/state.ts'
import { backfill, setReach } from '../../screening/tracing/backfill.ts'
import { importLog } from '../../screening/tracing/import_log.ts'
import { look, undertaking } from '../table/operation.ts'
import { tellBlocks } from '../table/progress.ts'
import { paceText } from './pace.ts'

const FOLLOWS =
  'The running service computes the next generation of the index beside the one in use.'
const NOT_THERE =
  'The index begins where it did: the log does not reach down further than it, or not to --from.'
const Reach = { first_number: Count, reach: Count }
type Reach = { first_number: number; reach: number }

/** The record of a reach that was made. */
const reached = (made: Reach) => async () => ({
  result: undefined,
  actions: [{ subject: 'index', before: null, after: made }],
})

export const indexOperations = [
  look({
    path: '/operator/aml/index',
    summary: 'what the screening index takes, in the memory of each process and in the database',
    description:
      'A slot is a pair of an address and an asset. While an index is computed anew, a worker ' +
      'has two. What is kept of it in the database: the log it is computed from, what transfers ' +
      'carried, and its checkpoints, from which a worker goes on after a start.',
    body: NOTHING,
    reply: Type.Object({
      memory: ListOf({
        process_id: Text,
        role: Text,
        host: Text,
        generation: Count,
        label_set: Count,
        in_use: Flag,
        block_number: Count,
        slots: Count,
        memory_bytes: Count,
      }),
      checkpoints: ListOf({
        generation: Count,
        block_number: Whole,
        made_at: Moment,
        bytes: Whole,
      }),
      log_bytes: Whole,
      carried_bytes: Whole,
    }),
    handle: async ({ sql }) => ({ value: await indexSizes(sql) }),
  }),
  undertaking({
    path: '/operator/aml/backfill',
    role: 'admin',
    summary:
      'read the past of the chain from a node into the log, and have the index computed from there',
    description:
      'It can be broken off and goes on where it stopped; the index changes when all of it is ' +
      'there.',
    body: Type.Object({ from: whole('HEIGHT', 'the first block to read') }),
    reply: Type.Object({ ...Reach, blocks: Count }),
    cli: { node: 'solid' },
    async handle({ sql, clock, by, body, record, ...needs }) {
      const node = needs.chain()?.node
      if (!node) throw misuse('aml backfill: --node-url is missing.')
      let began: number | undefined
      const made_at = clock.now()
      const wanted = { from_number: body.from, made_by: by, made_at }
      const made = await tellBlocks(needs, (tell) =>
        backfill({ sql, node, tokens: new Set([USDT]) }, wanted, (block, last) => {
          began ??= block
          const [done, whole] = [began - block, began - last]
          const seconds = (clock.now().getTime() - made_at.getTime()) / 1_000
          tell(done, whole, paceText({ done, whole, seconds }))
        }),
      )
      await record(reached(made))
      return { value: made, note: FOLLOWS }
    },
  }),
  undertaking({
    path: '/operator/aml/import-log',
    role: 'admin',
    summary: 'bring the past of the chain from files into the log, checked against a node',
    description:
      'Files are Parquet (.parquet), CSV or JSON by lines (.csv, .ndjson, .jsonl, also .gz), one ' +
      'row for each transfer in the order of the chain, without gaps: block, time, tx, index, ' +
      'asset, from, to, amount. All are read before anything is written, and whatever is odd is ' +
      'refused with file and row; some blocks are compared with the node. What was broken off ' +
      'goes on where it stopped. docs/customers/aml.md has the columns.',
    body: Type.Object({
      source: text('NAME', 'where the files are from: the evidence of answers names it'),
      from: optional(
        whole('HEIGHT', 'have the index computed from here on, once the log reaches down to it'),
      ),
      files: Type.Array(text('FILE', 'the files, in any order'), { minItems: 1 }),
    }),
    reply: Type.Object({
      files: Count,
      known: Count,
      blocks: Count,
      transfers: Count,
      passed_over: Count,
      compared: Count,
      first_number: Count,
      reach: OrNull(Count),
    }),
    cli: { operands: ['files'], node: 'solid' },
    async handle({ sql, clock, by, body, record, random, progress, ...needs }) {
      const node = needs.chain()?.node
      if (!node) throw misuse('aml import-log: --node-url is missing.')
      const { files, source, from: from_number } = body
      const wanted = { files, source, from_number, made_by: by, made_at: clock.now() }
      const tell = (what: string, done: number, all: number | undefined) =>
        progress({ what, done, whole: all, unit: 'blocks' })
      const importing = { sql, node, tokens: new Set([USDT]), random }
      const made = await importLog(importing, wanted, tell).finally(() => progress())
      await record(async () => ({
        result: undefined,
        actions: [{ subject: 'index', before: null, after: { source, ...made } }],
      }))
      return { value: made, note: made.reach === null ? NOT_THERE : FOLLOWS }
    },
  }),
  undertaking({
    path: '/operator/aml/rebuild',
    role: 'admin',
    summary: 'compute the index anew, with the services without a label that have been found since',
    body: NOTHING,
    reply: Type.Object(Reach),
    async handle({ sql, clock, by, reason, record }) {
      const { first_block } = await screeningState(sql)
      if (first_block === null) throw refusal('There is no index yet: start the service first.')
      const made = await setReach(sql, {
        from_number: Number(first_block),
        made_by: by,
        made_at: clock.now(),
        reason: reason ?? 'an operator asked for it',
      })
      await record(reached(made))
      return { value: made, note: FOLLOWS }
    },
  }),
]
