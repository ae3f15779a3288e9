// The policy of screening: the one in force, and another in its place.

import { Type } from 'typebox'
import { type Clock, later, readMoment } from '../../lib/clock.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { type Json, OtherNumber } from '../../lib/json.ts'
import { unchecked } from '../../platform/wire/body.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  OrNull,
  optional,
  Text,
  text,
} from '../../platform/wire/schemas.ts'
import { tryPolicy } from '../../screening/cases/trying.ts'
import {
  currentPolicy,
  EMBEDDED,
  judgedPolicy,
  type Policy,
  publishPolicy,
  SHIPPED_NEWEST,
} from '../../screening/engine/policy.ts'
import { policyHistory } from '../../screening/engine/policy_history.ts'
import { PROVIDERS } from '../../screening/providers/configured.ts'
import { tryOnDeposits } from '../../treasury/deposits/tried_policies.ts'
import { change, LIMIT, limit, look } from '../table/operation.ts'

/** Its form is judged by the policy's own reader. */
const PolicyShown = Type.Unsafe<Policy>({ type: 'object' })

function parsed(text: string, file: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw refusal(`${file} is not JSON.`)
  }
}

/** With its decimals as numbers. */
const plain = (policy: Json | undefined): unknown =>
  JSON.parse(
    JSON.stringify(policy ?? null, (_name, one: unknown) =>
      one instanceof OtherNumber ? Number(one.text) : one,
    ),
  )

/** Names in a policy's routes that are no provider's. */
function unknownProviders({ routes }: Policy): string[] {
  const named = new Set(Object.values(routes).flatMap(({ use }) => use))
  return [...named].filter((name) => name !== EMBEDDED && !PROVIDERS.includes(name))
}

/** How long ago, in days or hours, or a moment. */
function sinceOf(said: string, clock: Clock): Date {
  const [, number, unit] = /^(\d{1,4})([dh])$/.exec(said) ?? []
  if (number) return later(clock, -Number(number) * (unit === 'd' ? 24 : 1) * 3_600_000)
  const moment = readMoment(said)
  if (!moment) throw misuse(`aml try: --since is ${said}, and none of 30d, 12h, or a time.`)
  return moment
}

const Levels = Type.Object({ low: Count, medium: Count, high: Count })
const BeforeAfter = { before: Count, after: Count }
const Tried = Type.Object({
  answers: Count,
  reproduced: Count,
  left_out: Count,
  before: Levels,
  after: Levels,
  changes: ListOf({ customer_id: Text, from: Text, to: Text, answers: Count }),
  queue: Type.Object(BeforeAfter),
  lacking: Type.Object({ net_new: Count, recent: Count, sent: Count, index_rules: Count }),
  held_deposits: Type.Object({ deposits: Count, held: Type.Object(BeforeAfter) }),
})

export const policyOperations = [
  look({
    path: '/operator/aml/policy',
    summary: 'the policy in force: weights, floors, and who answers',
    description:
      'With --shipped it is the newest that came with Penstock, to be read, and published with ' +
      '`aml publish`: a new installation begins with it, an older one keeps what is in force.',
    body: Type.Object({ shipped: flag('the newest that came with Penstock') }),
    reply: PolicyShown,
    async handle({ sql, body: { shipped = false } }) {
      const current = await currentPolicy(sql)
      return { value: shipped ? { ...SHIPPED_NEWEST, version: current.version + 1 } : current }
    },
  }),
  look({
    path: '/operator/aml/policies',
    summary: 'the versions of the policy, newest first, with what each changed',
    description: 'The last one is that which came with Penstock: nobody has published it.',
    body: Type.Object({ limit }),
    reply: ListOf({
      version: Count,
      published_at: OrNull(Moment),
      published_by: OrNull(Text),
      changes: ListOf({ field: Text, before: OrNull(Text), after: OrNull(Text) }),
    }),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: await policyHistory(sql, limit),
    }),
  }),
  look({
    path: '/operator/aml/try',
    summary: 'what a policy would have made of the answers of before: nothing is published',
    description:
      'Every kept answer of our own engine is scored again from its evidence. `reproduced` says ' +
      'how many come out as they were under their own policy; `lacking`, how many of them the ' +
      'policy would look further at than evidence goes.',
    body: Type.Object({
      policy: unchecked({ type: 'object' }),
      since: optional(
        text('AGE', 'answers of so long ago and newer: 30d, 12h (30d), or since a TIME'),
      ),
    }),
    reply: Tried,
    cli: {
      operands: ['file'],
      extras: Type.Object({ file: text('FILE', 'a policy as JSON') }),
      filled: ['policy'],
      before: async ({ file }, { readFile }) => ({ policy: parsed(await readFile(file), file) }),
    },
    async handle({ sql, clock, progress, body }) {
      const current = await currentPolicy(sql)
      const policy = judgedPolicy(plain(body.policy), current.version + 1)
      const since = sinceOf(body.since ?? '30d', clock)
      const asked = { policy, since }
      const tell = (done: number) => progress({ done, whole: undefined, unit: 'answers' })
      const trial = await tryPolicy(sql, asked, tell).finally(() => progress())
      return { value: { ...trial, held_deposits: await tryOnDeposits(sql, asked) } }
    },
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
      before: async ({ file }, { readFile }) => ({ policy: parsed(await readFile(file), file) }),
    },
    async handle({ tx, at, by, body }) {
      const before = await currentPolicy(tx)
      const publishing = { body: plain(body.policy), published_by: by, published_at: at }
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
