// The processes that run: what each does for all, what it has asked of nodes, and for how long what
// they write is kept.

import { Type } from 'typebox'
import { reportNodes } from '../../chain/follow/node_report.ts'
import { runningProcesses } from '../../health/monitoring/processes.ts'
import { nodeRequests } from '../../health/processes/report.ts'
import { retentions } from '../../health/processes/retention.ts'
import { Count, ListOf, Moment, NOTHING, OrNull, Text, Whole } from '../../platform/wire/schemas.ts'
import { look } from '../table/operation.ts'

export const Processes = ListOf({
  id: Text,
  role: Text,
  host: Text,
  version: Text,
  started_at: Moment,
  clock_offset_ms: Whole,
  duties: Type.Array(Text),
})

export const processOperations = [
  look({
    path: '/operator/processes/list',
    summary: 'the processes that run, how far their clocks are off, and which duties each holds',
    description: 'A duty is what one process at a time does for all: chain, blocks, upkeep.',
    body: NOTHING,
    reply: Processes,
    handle: async ({ sql }) => ({ value: await runningProcesses(sql) }),
  }),
  look({
    path: '/operator/nodes/list',
    summary: 'what each node says now: how far it is, how long it took, why it did not answer',
    description:
      'Nodes are named by their hosts: an address may have a key in it. Each is asked for its ' +
      'head and its newest solid block. The exit code is 1 when one of them does not answer.',
    body: NOTHING,
    reply: ListOf({
      name: Text,
      head_number: OrNull(Count),
      head_time: OrNull(Moment),
      solid_number: OrNull(Count),
      behind_blocks: OrNull(Count),
      answered_ms: OrNull(Count),
      error: OrNull(Text),
    }),
    cli: { node: 'solid' },
    async handle({ clock, node }) {
      const value = await reportNodes({ node: node(), clock })
      return { value, ok: value.every(({ error }) => error === null) }
    },
  }),
  look({
    path: '/operator/nodes/requests',
    summary: 'what each process has asked of each node in the last hour, and how that went',
    description:
      'Each process says it anew every few seconds. A failure is a request that was not ' +
      'answered, or not with anything of use; `error` is the last one, whenever that was. ' +
      'Latencies are those of the newest 500 answers. A process that does not follow the chain ' +
      'sees no head.',
    body: NOTHING,
    reply: ListOf({
      process_id: Text,
      role: Text,
      host: Text,
      name: Text,
      requests: Count,
      failures: Count,
      p50_ms: OrNull(Count),
      p95_ms: OrNull(Count),
      head_number: OrNull(Count),
      answered_at: OrNull(Moment),
      failed_at: OrNull(Moment),
      error: OrNull(Text),
    }),
    handle: async ({ sql }) => ({ value: await nodeRequests(sql) }),
  }),
  look({
    path: '/operator/retention/list',
    summary: 'what is kept for how long, and how old the oldest of it is',
    description:
      'Without `kept_days` it is kept for ever. `overdue_seconds` says for how long the oldest ' +
      'should have been deleted: for some minutes that is so all the time, because what is old ' +
      'is deleted now and then; more of it means that no worker does. For events and evidence ' +
      'it is what the worker that deletes them was told, and the default while there is none. ' +
      'What is kept for less than a day is not listed.',
    body: NOTHING,
    reply: ListOf({
      what: Text,
      kept_days: OrNull(Count),
      oldest_at: OrNull(Moment),
      overdue_seconds: OrNull(Count),
    }),
    handle: async ({ sql, clock }) => ({ value: await retentions(sql, clock.now()) }),
  }),
]
