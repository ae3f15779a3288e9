// Rules of prices: a floor by cost, and steps as the pool fills.

import { Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import { type FullStep, type NewRule, readRules, setRule } from '../../market/prices/price_rules.ts'
import { previewRule } from '../../market/prices/rule_preview.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  RESOURCES,
  Sun,
  Text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { change, look } from '../table/operation.ts'

const STEPS_MAX = 10
const RAISE_MAX = 1_000

const FullStepForm = Type.Object({
  full_percent: Type.Integer({ minimum: 0 }),
  raise_percent: Type.Integer({ minimum: 0 }),
})
const Steps = ListOf({ full_percent: Count, raise_percent: Count })

const RULE = {
  resource: oneOf(RESOURCES, 'the resource'),
  steps: optional(
    Type.Array(FullStepForm, {
      title: 'FULL=RAISE',
      description: 'from so much of the pool on, in percent, prices are so many percent higher',
    }),
  ),
  margin: optional(
    whole('PERCENT', 'a floor: 1000 units cost so much above their cost, at least', {
      min: 0,
      max: RAISE_MAX,
    }),
  ),
}
const cli = { operands: ['resource', 'steps'] as const, read: { steps: readStep } }

/** `80=10` */
function readStep(given: string): FullStep {
  const [, full, raise] = /^(\d{1,3})=(\d{1,4})$/.exec(given) ?? []
  if (full === undefined || raise === undefined)
    throw misuse(`${given} is not a step: it has the form FULL=RAISE, like 80=10.`)
  return { full_percent: Number(full), raise_percent: Number(raise) }
}

type Body = { resource: 'energy' | 'bandwidth'; steps?: FullStep[]; margin?: number }

/** The rule that was asked for. Throws misuse unless each step is higher than the one before. */
function ruleOf({ resource, steps = [], margin }: Body): NewRule {
  if (steps.length > STEPS_MAX) throw misuse(`A rule has ${STEPS_MAX} steps at most.`)
  for (const [i, { full_percent, raise_percent }] of steps.entries()) {
    const text = `${full_percent}=${raise_percent}`
    if (full_percent < 1 || full_percent > 100 || raise_percent < 1 || raise_percent > RAISE_MAX)
      throw misuse(`${text}: FULL is from 1 to 100, and RAISE from 1 to ${RAISE_MAX}.`)
    const before = steps[i - 1]
    if (!before) continue
    if (full_percent <= before.full_percent || raise_percent <= before.raise_percent)
      throw misuse(`${text}: each step is fuller and higher than the one before.`)
  }
  return { resource, margin_percent: margin ?? null, steps }
}

const Rules = ListOf({
  resource: Text,
  margin_percent: OrNull(Count),
  steps: Steps,
  floor_sun: OrNull(Sun),
  refused_sun: OrNull(Sun),
  floor_at: OrNull(Moment),
  raise_percent: Count,
  full_percent: Count,
  raised_at: Moment,
  looked_at: Moment,
  set_at: Moment,
  set_by: Text,
})

const Preview = Type.Object({
  cost_1000_sun: Sun,
  floor_1000_sun: OrNull(Sun),
  orders: Count,
  units: Whole,
  since: OrNull(Moment),
  base_sun: Sun,
  with_floor_sun: Sun,
  with_steps_sun: Sun,
  with_both_sun: Sun,
  below_floor: Count,
  steps: ListOf({ full_percent: Count, raise_percent: Count, orders: Count }),
})

export const priceRuleOperations = [
  look({
    path: '/operator/price-rules/show',
    summary: 'the rules by which prices are raised, and what they make of them now',
    description:
      'None is set until you do. `floor_sun` is of 1000 units; `refused_sun` a floor of ten ' +
      'times a price or more, which is not put in force. `full_percent` is how much of the pool ' +
      'was out or reserved at `looked_at`.',
    body: NOTHING,
    reply: Rules,
    handle: async ({ sql }) => ({ value: await readRules(sql) }),
  }),
  look({
    path: '/operator/price-rules/preview',
    summary: 'what the last 1000 orders would have cost with a rule that is not in force',
    description:
      'Given like that of `price-rules set`, and nothing is changed. Of the last 31 days, at the ' +
      'prices that are set now; how full the pool was at each order, as if it had been as large ' +
      'as it is now.',
    body: Type.Object(RULE),
    reply: Preview,
    cli,
    handle: async ({ sql, clock, body }) => ({
      value: await previewRule(sql, ruleOf(body), clock.now()),
    }),
  }),
  change({
    path: '/operator/price-rules/set',
    careful: true,
    summary: 'set the rule by which prices of a resource are raised, or none',
    description:
      'The whole rule: what is not given is off, --none both. Look at `price-rules preview` ' +
      'first. A rule only raises: to the floor, which follows the cost of the last day ' +
      '(`pool costs`), and by the highest step that the pool has reached, which ends ten minutes ' +
      'later at the earliest, when it is emptier by three percent. Orders and quotes keep their ' +
      'prices.',
    body: Type.Object({ ...RULE, none: flag('no rule: the prices that were set are in force') }),
    reply: Rules,
    cli,
    async handle({ tx, clock, by, body: { none = false, ...body } }) {
      const wanted = ruleOf(body)
      const is_empty = wanted.margin_percent === null && wanted.steps.length === 0
      if (none !== is_empty)
        throw misuse('price-rules set takes steps like 80=10, --margin, or --none.')
      const { actions } = await setRule(tx, wanted, { clock, by })
      const note = actions.length === 0 ? 'No change.' : undefined
      return { result: { value: await readRules(tx), note }, actions }
    },
  }),
]
