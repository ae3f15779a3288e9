// Whom the stake of the pool votes for, and what that has earned.

import type { Address } from 'penstock-tron/address.ts'
import { isAddress } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  optional,
  Sun,
  Text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { type PlanLine, readPlan, setPlan, WITNESSES_MAX } from '../../treasury/votes/plan.ts'
import { voterFigures } from '../../treasury/votes/votes.ts'
import { look, undertaking } from '../table/operation.ts'

const WEIGHT_MAX = 1_000_000

const lines = optional(
  Type.Array(Type.Object({ witness: Type.String(), weight: Type.Integer() }), {
    title: 'WITNESS=WEIGHT',
    description: 'a witness by its address, and its share among all weights',
  }),
)

/** `T…=3`. Throws misuse. */
function readLine(given: string): PlanLine {
  const [witness = '', weight = '', ...more] = given.split('=')
  const is_weight = /^[1-9]\d{0,6}$/.test(weight) && Number(weight) <= WEIGHT_MAX
  if (isAddress(witness) && is_weight && more.length === 0)
    return { witness, weight: Number(weight) }
  throw misuse(`${given}: it is WITNESS=WEIGHT, an address and a whole number from 1.`)
}

/** Throws misuse unless it is a plan that the network would take. */
function requirePlan(plan: readonly PlanLine[]): void {
  if (plan.length > WITNESSES_MAX)
    throw misuse(`A vote has ${WITNESSES_MAX} witnesses at most, and this plan ${plan.length}.`)
  if (new Set(plan.map(({ witness }) => witness)).size < plan.length)
    throw misuse('A witness is in the plan twice.')
}

export const voteOperations = [
  look({
    path: '/operator/votes/show',
    summary: 'whom the stake votes for, and what that has earned',
    description:
      '`plan` is what is wanted; `wallets` what each wallet has voted for last, by our solid ' +
      'transactions. pool stakes asks a node, and says what waits to be withdrawn.',
    body: NOTHING,
    reply: Type.Object({
      plan: ListOf({ witness: Text, weight: Count, set_at: Moment, set_by: Text }),
      claimed_sun: Sun,
      wallets: ListOf({
        wallet: Text,
        power: OrNull(Whole),
        votes: OrNull(ListOf({ witness: Text, count: Text })),
        voted_at: OrNull(Moment),
        claims: Whole,
        claimed_sun: Sun,
        claimed_at: OrNull(Moment),
      }),
    }),
    async handle({ sql }) {
      const wallets = await voterFigures(sql)
      const claimed_sun = wallets.reduce((sum, one) => sum + one.claimed_sun, 0n)
      return { value: { plan: await readPlan(sql), claimed_sun, wallets } }
    },
  }),
  undertaking({
    path: '/operator/votes/set',
    role: 'admin',
    careful: true,
    summary: 'set whom the stake of every wallet votes for',
    description:
      'The whole plan: witnesses that are not in it get nothing from the next vote on. Each is ' +
      'looked up at a node. --none ends voting; what was voted for stays until the stake goes. ' +
      'Wallets with a key under votes in the file of wallets follow within ten minutes, once for ' +
      'each maintenance.',
    body: Type.Object({ plan: lines, none: flag('no plan: nobody votes any more') }),
    reply: Type.Object({ plan: ListOf({ witness: Text, weight: Count }) }),
    cli: { operands: ['plan'], read: { plan: readLine }, node: 'plain' },
    async handle({ body: { plan: given = [], none = false }, record, by, ...needs }) {
      if (none === given.length > 0)
        throw misuse('votes set takes witnesses with weights, or --none.')
      const plan = given.map(({ witness, weight }) => readLine(`${witness}=${weight}`))
      requirePlan(plan)
      if (plan.length > 0) {
        const node = needs.node()
        for (const { witness } of plan) {
          const states = await node.accountEverywhere(witness as Address)
          if (!states.every((one) => one.witness !== undefined))
            throw refusal(`${witness} is no witness: nobody can vote for it.`)
        }
      }
      return record(async (tx, at) => {
        const { result, actions } = await setPlan(tx, plan, { at, by })
        return { result: { value: { plan: [...result] } }, actions }
      })
    },
  }),
]
