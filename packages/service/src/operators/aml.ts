// Screening, by the operator's hand: what it rests on, doing a check again, its report, what the
// house has decided about addresses, who is screened again, and the policy.

import { readFile, writeFile } from 'node:fs/promises'
import { USDT } from 'penstock-tron/tokens.ts'
import { listWatches, requireEvidence, showCheck } from '../checks/check_lookup.ts'
import { replayCheck, stateAt } from '../checks/replay.ts'
import { levelChanges, unwatch, watch } from '../checks/watches.ts'
import { requireCustomer } from '../customers/customers.ts'
import type { Tx } from '../database/sql.ts'
import { makeEntry, withdrawEntry } from '../labels/entries.ts'
import { type Operator, perform } from '../ledger/actions.ts'
import { misuse, refusal } from '../lib/fault.ts'
import { PROVIDERS } from '../providers/configured.ts'
import { readReportContext } from '../reports/context.ts'
import { reportJson, reportPage } from '../reports/report.ts'
import { currentPolicy, EMBEDDED, type Policy, publishPolicy } from '../screening/policy.ts'
import { screeningState } from '../screening/state.ts'
import { backfill, setReach } from '../tracing/backfill.ts'
import {
  address,
  change,
  command,
  LIMIT,
  many,
  type Needs,
  needed,
  paging,
  text,
  time,
  undertaking,
  whole,
} from './command.ts'
import { progressBar } from './lists.ts'

const check = needed(text('CHECK', 'the id of the check'))

const lookAt = [
  command({
    words: 'aml show',
    summary: 'what screenings rest on: lists, index, policy; or one check',
    operands: { check: text('CHECK', 'the id of a check') },
    async run({ sql }, { check: id }) {
      if (id === undefined) return { value: await screeningState(sql) }
      return { value: await showCheck(sql, id) }
    },
  }),
  command({
    words: 'aml replay',
    summary:
      'do a check again from the chain and the labels of then: it must come out the same, byte for byte',
    details: 'The exit code is 1 when it does not.',
    operands: { check },
    async run({ sql, progress }, { check: id }) {
      const { canonical: _, ...value } = await replayCheck(sql, id, (block, last) =>
        progress(progressBar(block, last, 'blocks')),
      ).finally(() => progress(''))
      const note = value.same ? 'It came out the same.' : 'It came out differently.'
      return { value, ok: value.same, note }
    },
  }),
  command({
    words: 'aml report',
    summary:
      'the report of a check, as a page of HTML to look at and to print; with --json its evidence',
    operands: { check },
    details: 'The SHA-256 of the file that --evidence writes is the one that the report names.',
    options: {
      out: text('FILE', 'write the page to this file'),
      evidence: text('FILE', 'write the evidence to this file, byte for byte as it was hashed'),
    },
    async run({ sql }, { check: id, out, evidence: evidence_file }) {
      const evidence = await requireEvidence(sql, id)
      const page = reportPage(evidence, await readReportContext(sql, evidence))
      if (out !== undefined) await writeFile(out, page)
      if (evidence_file !== undefined) await writeFile(evidence_file, evidence.canonical)
      const value: unknown = JSON.parse(reportJson(evidence))
      const written = [
        ...(out === undefined ? [] : [`The report is in ${out}.\n`]),
        ...(evidence_file === undefined ? [] : [`The evidence is in ${evidence_file}.\n`]),
      ]
      return { value, text: written.length === 0 ? page : written.join('') }
    },
  }),
  command({
    words: 'aml state',
    summary:
      "the hash of the index's state at a block: equal on every service with the same labels and first block",
    options: { block: whole('HEIGHT', 'at this block (the newest)') },
    async run({ sql, progress }, { block }) {
      const shown = (reached: number, last: number) =>
        progress(progressBar(reached, last, 'blocks'))
      return { value: await stateAt(sql, block, shown).finally(() => progress('')) }
    },
  }),
  command({
    words: 'aml changes',
    summary: 'watched addresses whose level has changed, oldest first',
    options: { since: needed(time('from then on')) },
    run: async ({ sql }, { since }) => ({ value: await levelChanges(sql, since) }),
  }),
]

async function decide(tx: Tx, needs: Needs, given: Decision) {
  const { kind, address, customer, why, expires, changed_by, at } = given
  if (expires !== undefined && expires <= at) throw misuse('--expires is in the past.')
  const entry = {
    customer_id: customer === undefined ? null : (await requireCustomer(tx, customer)).id,
    address,
    kind,
    ...{ reason: why, made_by: changed_by, made_at: at, expires_at: expires ?? null },
  }
  const { id } = await makeEntry(tx, needs.new_id, entry)
  return {
    result: { value: { id, ...entry } },
    actions: [{ subject: `entry:${id}`, before: null, after: entry }],
  }
}

type Decision = {
  kind: 'allow' | 'deny'
  address: string
  customer: string | undefined
  why: string
  expires: Date | undefined
  changed_by: string
  at: Date
}

const DECIDING = {
  operands: {
    address: needed(address('the address')),
    why: needed(text('WHY', 'why, for the evidence')),
  },
  options: {
    customer: text('CUSTOMER', 'for this customer alone; without it, for all'),
    expires: time('until then'),
  },
}

const entries = [
  change({
    words: 'aml allow',
    summary:
      'let the weighted mean stand for an address: floors do not act; what an authority says does',
    ...DECIDING,
    run: (tx, needs, given) => decide(tx, needs, { kind: 'allow', ...given }),
  }),
  change({
    words: 'aml deny',
    summary: 'count an address as blacklisted',
    ...DECIDING,
    run: (tx, needs, given) => decide(tx, needs, { kind: 'deny', ...given }),
  }),
  change({
    words: 'aml withdraw',
    summary: 'end an entry of `aml allow` or `aml deny`',
    operands: { entry: needed(text('ENTRY', 'its id')) },
    async run(tx, _needs, { entry: id, at }) {
      type Row = { customer_id: string | null; withdrawn_at: Date | null }
      const [entry] = await tx<Row>`select * from aml_entry where id = ${id}`
      if (!entry) throw refusal(`There is no entry ${id}.`)
      const ended = await withdrawEntry(tx, { id, customer_id: entry.customer_id, at })
      const after = { withdrawn_at: entry.withdrawn_at ?? at }
      const actions = ended ? [{ subject: `entry:${id}`, before: entry, after }] : []
      return {
        result: { value: { id, ...after }, ...(!ended && { note: 'It had ended already.' }) },
        actions,
      }
    },
  }),
  command({
    words: 'aml entries',
    summary: 'what has been decided about addresses, newest first',
    operands: { address: address('only this one') },
    options: { limit: paging.limit },
    run: async ({ sql }, { address: one = null, limit = LIMIT }) => ({
      value: await sql`
        select * from aml_entry where ${one}::text is null or address = ${one} order by made_at desc, id desc limit ${limit}`,
    }),
  }),
]

const watching = {
  customer: needed(text('CUSTOMER', 'the id of the customer')),
  address: needed(address('the address')),
}

const watches = [
  change({
    words: 'aml watch',
    summary: 'screen an address again whenever the labels change, for a customer, at no price',
    operands: watching,
    async run(tx, _needs, { customer, address: one, at }) {
      const { id: customer_id } = await requireCustomer(tx, customer)
      await watch(tx, { customer_id, address: one, made_at: at })
      const after = { customer_id, address: one }
      return {
        result: { value: after },
        actions: [{ subject: `watch:${one}`, before: null, after }],
      }
    },
  }),
  change({
    words: 'aml unwatch',
    summary: 'watch an address no longer',
    operands: watching,
    async run(tx, _needs, { customer: customer_id, address: one }) {
      if (!(await unwatch(tx, { customer_id, address: one })))
        throw refusal(`${one} is not watched for ${customer_id}.`)
      const before = { customer_id, address: one }
      return {
        result: { value: before },
        actions: [{ subject: `watch:${one}`, before, after: null }],
      }
    },
  }),
  command({
    words: 'aml watches',
    summary: 'the addresses that are watched, with their newest answers',
    options: { limit: paging.limit },
    run: async ({ sql }, { limit = LIMIT }) => ({
      value: await listWatches(sql, limit),
    }),
  }),
]

/** A file of JSON. */
async function readJson(file: string): Promise<unknown> {
  const content = await readFile(file, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    throw refusal(`${file} cannot be read: ${thrown.code}.`)
  })
  try {
    return JSON.parse(content) as unknown
  } catch {
    throw refusal(`${file} is not JSON.`)
  }
}

/** Names in a policy's routes that are no provider's. */
function strangersIn({ routes }: Policy): string[] {
  const named = new Set(Object.values(routes).flatMap(({ use }) => use))
  return [...named].filter((name) => name !== EMBEDDED && !PROVIDERS.includes(name))
}

const policies = [
  command({
    words: 'aml policy',
    summary: 'the policy in force: weights, floors, and who answers',
    run: async ({ sql }) => ({ value: await currentPolicy(sql) }),
  }),
  undertaking({
    words: 'aml publish',
    summary: 'put a policy in force: `aml policy --json` prints the one to begin with',
    operands: { file: needed(text('FILE', 'a policy as JSON')) },
    async run(needs, { file }, operator) {
      const body = await readJson(file)
      const { made_by: published_by } = operator
      return perform(needs, { operator, action: 'aml publish' }, async (tx, published_at) => {
        const before = await currentPolicy(tx)
        const version = await publishPolicy(tx, { body, published_by, published_at })
        const after = await currentPolicy(tx)
        const strange = strangersIn(after)
        const missed =
          strange.length === 0
            ? ''
            : ` No provider is called ${strange.join(' or ')}: asking it fails.`
        const note = `Checks from now on follow it.${missed}`
        return {
          result: { value: after, note },
          actions: [{ subject: `policy:${version}`, before, after }],
        }
      })
    },
  }),
]

type Reach = { first_number: number; reach: number }

const noted = (
  needs: Needs,
  { operator, action, made }: { operator: Operator; action: string; made: Reach },
) =>
  perform(needs, { operator, action }, async () => ({
    result: undefined,
    actions: [{ subject: 'index', before: null, after: made }],
  }))

const FOLLOWS =
  'The running service computes the next generation of the index beside the one in use.'

const index = [
  undertaking({
    words: 'aml backfill',
    summary:
      'read the past of the chain from a node into the log, and have the index computed from there',
    details:
      'It can be broken off and goes on where it stopped; the index changes when all of it is there.',
    options: {
      from: needed(whole('HEIGHT', 'the first block to read')),
      node_url: many(text('URL', 'a node that has those blocks')),
      solid_node_url: many(text('URL', 'its solidity side, where that has an address of its own')),
    },
    async run(needs, { from, node_url, solid_node_url }, operator) {
      const node = needs.chainAt(node_url, solid_node_url)?.node
      if (!node) throw misuse('aml backfill: --node-url is missing.')
      const { sql, clock, progress } = needs
      let began: number | undefined
      const wanted = { from_number: from, made_by: operator.made_by, made_at: clock.now() }
      const made = await backfill(
        { sql, node, tokens: new Set([USDT]) },
        wanted,
        (reached, last) => {
          began ??= reached
          progress(progressBar(began - reached, began - last, 'blocks'))
        },
      ).finally(() => progress(''))
      await noted(needs, { operator, action: 'aml backfill', made })
      return { value: made, note: FOLLOWS }
    },
  }),
  undertaking({
    words: 'aml rebuild',
    summary: 'compute the index anew, with the services without a label that have been found since',
    async run(needs, _given, operator) {
      const { first_block } = await screeningState(needs.sql)
      if (first_block === null) throw refusal('There is no index yet: start the service first.')
      const made = await setReach(needs.sql, {
        ...{
          from_number: Number(first_block),
          made_by: operator.made_by,
          made_at: needs.clock.now(),
        },
        reason: operator.reason ?? 'an operator asked for it',
      })
      await noted(needs, { operator, action: 'aml rebuild', made })
      return { value: made, note: FOLLOWS }
    },
  }),
]

export const amlCommands = [...lookAt, ...entries, ...watches, ...policies, ...index]
