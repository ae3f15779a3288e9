// Screening, by the operator's hand: what it rests on, doing a check again, its report, what the
// house has decided about addresses, who is screened again, and the policy.

import type { Address } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import { Type } from 'typebox'
import { listWatches, requireEvidence, showCheck } from '../checks/check_lookup.ts'
import { replayCheck, stateAt } from '../checks/replay.ts'
import { levelChanges, unwatch, watch } from '../checks/watches.ts'
import { requireCustomer } from '../customers/customers.ts'
import { findEntry, listEntries, makeEntry, withdrawEntry } from '../labels/entries.ts'
import { misuse, refusal } from '../lib/fault.ts'
import type { Json } from '../lib/json.ts'
import {
  change,
  LIMIT,
  limit,
  look,
  momentOf,
  type Needs,
  undertaking,
} from '../operation/operation.ts'
import { PROVIDERS } from '../providers/configured.ts'
import { readReportContext } from '../reports/context.ts'
import { reportJson, reportPage } from '../reports/report.ts'
import { currentPolicy, EMBEDDED, type Policy, publishPolicy } from '../screening/policy.ts'
import { screeningState } from '../screening/state.ts'
import { backfill, setReach } from '../tracing/backfill.ts'
import { unchecked } from '../wire/body.ts'
import {
  Anything,
  address,
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
} from '../wire/schemas.ts'
import { ScreeningState } from './status.ts'

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

/** Tells how far it is, in blocks, until it is done. */
async function telling<Result>(
  { progress }: Pick<Needs, 'progress'>,
  work: (tell: (block: number, last: number) => void) => Promise<Result>,
): Promise<Result> {
  return work((done, last) => progress({ done, whole: last, unit: 'blocks' })).finally(() =>
    progress(),
  )
}

const lookAt = [
  look({
    path: '/operator/aml/show',
    summary: 'what screenings rest on: lists, index, policy; or one check',
    body: Type.Object({ check: optional(text('CHECK', 'the id of a check')) }),
    reply: Type.Union([ScreeningState, CheckShown]),
    cli: { operands: ['check'] },
    handle: async ({ sql, body: { check: id } }) => ({
      value: id === undefined ? await screeningState(sql) : await showCheck(sql, id),
    }),
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
      const again = await telling(needs, (tell) => replayCheck(sql, body.check, tell))
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
      value: await telling(needs, (tell) => stateAt(sql, block, tell)),
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

const Entry = {
  id: Text,
  customer_id: OrNull(Text),
  address: Text,
  kind: Text,
  reason: Text,
  made_by: Text,
  made_at: Moment,
  expires_at: OrNull(Moment),
}

/** `aml allow` and `aml deny`. */
const deciding = (kind: 'allow' | 'deny', summary: string) =>
  change({
    path: `/operator/aml/${kind}`,
    summary,
    body: Type.Object({
      address: address('the address'),
      why: text('WHY', 'why, for the evidence'),
      customer: optional(text('CUSTOMER', 'for this customer alone; without it, for all')),
      expires: optional(moment('until then')),
    }),
    reply: Type.Object(Entry),
    cli: { operands: ['address', 'why'] },
    async handle({ tx, new_id, body, by, at }) {
      const expires_at = momentOf(body.expires) ?? null
      if (expires_at !== null && expires_at <= at) throw misuse('--expires is in the past.')
      const { customer } = body
      const entry = {
        customer_id: customer === undefined ? null : (await requireCustomer(tx, customer)).id,
        address: body.address as Address,
        kind,
        reason: body.why,
        made_by: by,
        made_at: at,
        expires_at,
      }
      const { id } = await makeEntry(tx, new_id, entry)
      return {
        result: { value: { id, ...entry } },
        actions: [{ subject: `entry:${id}`, before: null, after: entry }],
      }
    },
  })

const entries = [
  deciding(
    'allow',
    'let the weighted mean stand for an address: floors do not act; what an authority says does',
  ),
  deciding('deny', 'count an address as blacklisted'),
  change({
    path: '/operator/aml/withdraw',
    summary: 'end an entry of `aml allow` or `aml deny`',
    body: Type.Object({ entry: text('ENTRY', 'its id') }),
    reply: Type.Object({ id: Text, withdrawn_at: Moment }),
    cli: { operands: ['entry'] },
    async handle({ tx, at, body: { entry: id } }) {
      const entry = await findEntry(tx, id)
      if (!entry) throw refusal(`There is no entry ${id}.`)
      const ended = await withdrawEntry(tx, { id, customer_id: entry.customer_id, at })
      const after = { withdrawn_at: entry.withdrawn_at ?? at }
      const note = ended ? undefined : 'It had ended already.'
      const actions = ended ? [{ subject: `entry:${id}`, before: entry, after }] : []
      return { result: { value: { id, ...after }, note }, actions }
    },
  }),
  look({
    path: '/operator/aml/entries',
    summary: 'what has been decided about addresses, newest first',
    body: Type.Object({ address: optional(address('only this one')), limit }),
    reply: ListOf({ ...Entry, withdrawn_at: OrNull(Moment) }),
    cli: { operands: ['address'] },
    handle: async ({ sql, body: { address, limit = LIMIT } }) => ({
      value: await listEntries(sql, { address, limit }),
    }),
  }),
]

const WatchBody = Type.Object({
  customer: text('CUSTOMER', 'the id of the customer'),
  address: address('the address'),
})
const Watch = Type.Object({ customer_id: Text, address: Text })

const watches = [
  change({
    path: '/operator/aml/watch',
    summary: 'screen an address again whenever the labels change, for a customer, at no price',
    body: WatchBody,
    reply: Watch,
    cli: { operands: ['customer', 'address'] },
    async handle({ tx, at, body }) {
      const { id: customer_id } = await requireCustomer(tx, body.customer)
      const after = { customer_id, address: body.address as Address }
      await watch(tx, { ...after, made_at: at })
      return {
        result: { value: after },
        actions: [{ subject: `watch:${after.address}`, before: null, after }],
      }
    },
  }),
  change({
    path: '/operator/aml/unwatch',
    summary: 'watch an address no longer',
    body: WatchBody,
    reply: Watch,
    cli: { operands: ['customer', 'address'] },
    async handle({ tx, body: { customer: customer_id, address } }) {
      const before = { customer_id, address: address as Address }
      if (!(await unwatch(tx, before)))
        throw refusal(`${address} is not watched for ${customer_id}.`)
      return {
        result: { value: before },
        actions: [{ subject: `watch:${address}`, before, after: null }],
      }
    },
  }),
  look({
    path: '/operator/aml/watches',
    summary: 'the addresses that are watched, with their newest answers',
    body: Type.Object({ limit }),
    reply: ListOf({
      customer_id: Text,
      address: Text,
      made_at: Moment,
      label_set: OrNull(Count),
      check_id: OrNull(Text),
      state: OrNull(Text),
      risk_score: OrNull(Text),
      risk_level: OrNull(Text),
    }),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: await listWatches(sql, limit),
    }),
  }),
]

/** Its form is judged by the policy's own reader. */
const PolicyShown = Type.Unsafe<Policy>({ type: 'object' })

function parsed(text: string, file: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw refusal(`${file} is not JSON.`)
  }
}

/** Names in a policy's routes that are no provider's. */
function unknownProviders({ routes }: Policy): string[] {
  const named = new Set(Object.values(routes).flatMap(({ use }) => use))
  return [...named].filter((name) => name !== EMBEDDED && !PROVIDERS.includes(name))
}

const policies = [
  look({
    path: '/operator/aml/policy',
    summary: 'the policy in force: weights, floors, and who answers',
    body: NOTHING,
    reply: PolicyShown,
    handle: async ({ sql }) => ({ value: await currentPolicy(sql) }),
  }),
  change({
    path: '/operator/aml/publish',
    role: 'admin',
    careful: true,
    summary: 'put a policy in force: `aml policy --json` prints the one to begin with',
    body: Type.Object({ policy: unchecked({ type: 'object' }) }),
    reply: PolicyShown,
    cli: {
      operands: ['file'],
      extras: Type.Object({ file: text('FILE', 'a policy as JSON') }),
      filled: ['policy'],
      before: async ({ file }, { readFile }) => ({
        body: { policy: parsed(await readFile(file), file) },
      }),
    },
    async handle({ tx, at, by, body }) {
      const before = await currentPolicy(tx)
      const publishing = { body: body.policy, published_by: by, published_at: at }
      const version = await publishPolicy(tx, publishing)
      const after = await currentPolicy(tx)
      const unknown = unknownProviders(after)
      const missed =
        unknown.length === 0
          ? ''
          : ` No provider is called ${unknown.join(' or ')}: asking it fails.`
      return {
        result: { value: after, note: `Checks from now on follow it.${missed}` },
        actions: [{ subject: `policy:${version}`, before, after }],
      }
    },
  }),
]

const FOLLOWS =
  'The running service computes the next generation of the index beside the one in use.'
const Reach = { first_number: Count, reach: Count }
type Reach = { first_number: number; reach: number }

/** The record of a reach that was made. */
const reached = (made: Reach) => async () => ({
  result: undefined,
  actions: [{ subject: 'index', before: null, after: made }],
})

const index = [
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
      const made = await telling(needs, (tell) =>
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

export const amlOperations = [...lookAt, ...entries, ...watches, ...policies, ...index]
