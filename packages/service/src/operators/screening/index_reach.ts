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
  Text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { screeningState } from '../../screening/engine/state.ts'
import { backfill, setReach } from '../../screening/tracing/backfill.ts'
import { look, undertaking } from '../table/operation.ts'
import { tellBlocks } from '../table/progress.ts'

const FOLLOWS =
  'The running service computes the next generation of the index beside the one in use.'
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
    summary: 'what the flow index takes, in the memory of each worker and in the database',
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
      const wanted = { from_number: body.from, made_by: by, made_at: clock.now() }
      const made = await tellBlocks(needs, (tell) =>
        backfill({ sql, node, tokens: new Set([USDT]) }, wanted, (block, last) => {
          began ??= block
          tell(began - block, began - last)
        }),
      )
      await record(reached(made))
      return { value: made, note: FOLLOWS }
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
