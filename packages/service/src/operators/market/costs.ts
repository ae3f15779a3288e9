// The cost of an order to the house beside its revenue.

import { Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import { type CostLine, readCosts, setCapital } from '../../market/pool/costs.ts'
import {
  Count,
  ListOf,
  Moment,
  OrNull,
  optional,
  Sun,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { change, look } from '../table/operation.ts'

const HOURS = 24
const HUNDREDTHS_MAX = 10_000

/** `7.5`: 750. Throws misuse. */
function readPercent(given: string): number {
  const [, whole = '', decimals = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?$/.exec(given) ?? []
  const hundredths = 100 * Number(whole) + Number(decimals.padEnd(2, '0'))
  if (whole !== '' && hundredths <= HUNDREDTHS_MAX) return hundredths
  throw misuse(`${given}: PERCENT is a number from 0 to 100 with two decimals at most, like 7.5.`)
}

const percentText = (hundredths: number): string => {
  const decimals = String(hundredths % 100).padStart(2, '0')
  return `${Math.floor(hundredths / 100)}.${decimals}`
}

const Line = {
  kind: Text,
  orders: Whole,
  units: Whole,
  transactions: Whole,
  unknown: Whole,
  bandwidth: Whole,
  burned_sun: Sun,
  revenue_sun: Sun,
  order_burned_sun: OrNull(Sun),
  revenue_1000_sun: OrNull(Sun),
  burned_1000_sun: OrNull(Sun),
  capital_1000_sun: OrNull(Sun),
  votes_1000_sun: OrNull(Sun),
  cost_1000_sun: OrNull(Sun),
}

const printLine = ({ per_1000, ...line }: CostLine) => ({
  ...line,
  burned_1000_sun: per_1000?.burned_sun ?? null,
  capital_1000_sun: per_1000?.capital_sun ?? null,
  votes_1000_sun: per_1000?.votes_sun ?? null,
  cost_1000_sun: per_1000?.cost_sun ?? null,
})

export const costOperations = [
  look({
    path: '/operator/pool/costs',
    summary: 'what an order costs, what it brings, and what a day at this use leaves',
    description:
      '`burned_sun` is what the network took for our own transactions, as their receipts say; ' +
      'it is kept since this was added, and `unknown` counts transactions from before, or found ' +
      'after a restore. `revenue_sun` is from the ledger. In `capital`, `day_sun` is what the ' +
      'stake should earn in a day (pool capital). In `votes`, `earned_day_sun` is the mean of ' +
      'the last 30 days, `forgone_day_sun` what votes that are not cast would earn alike. ' +
      '`cost_1000_sun` of 1000 units is what was burned for them, and the capital of their stake ' +
      'for a day as far as its votes do not earn that: what is used comes back over a day.',
    body: Type.Object({ hours: optional(whole('N', 'of so many hours (24)', { max: 744 })) }),
    reply: Type.Object({
      since: Moment,
      hours: Count,
      lines: ListOf(Line),
      capital: Type.Object({ percent: Text, staked_sun: Sun, day_sun: Sun }),
      votes: Type.Object({
        power: Whole,
        cast: Whole,
        earned_day_sun: Sun,
        forgone_day_sun: OrNull(Sun),
      }),
      day: Type.Object({
        revenue_sun: Sun,
        burned_sun: Sun,
        capital_sun: Sun,
        votes_sun: Sun,
        left_sun: Sun,
      }),
    }),
    async handle({ sql, clock, body: { hours = HOURS } }) {
      const { lines, capital, ...rest } = await readCosts(sql, clock.now(), hours)
      const { hundredths, ...stake } = capital
      const percent = percentText(hundredths)
      return {
        value: { ...rest, lines: lines.map(printLine), capital: { percent, ...stake } },
      }
    },
  }),
  change({
    path: '/operator/pool/capital',
    careful: true,
    summary: 'say what the stake should earn in a year, in percent',
    description: 'It counts as a cost in `pool costs`, and in the floor of `price-rules`.',
    body: Type.Object({ percent: text('PERCENT', 'a year, like 12 or 7.5; 0: none') }),
    reply: Type.Object({ percent: Text }),
    cli: { operands: ['percent'] },
    async handle({ tx, at, by, body }) {
      const set = await setCapital(tx, readPercent(body.percent), { at, by })
      return { ...set, result: { value: { percent: percentText(set.result) } } }
    },
  }),
]
