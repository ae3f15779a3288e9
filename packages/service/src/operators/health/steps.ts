// The steps: what happens in the background, in one line each.

import { CHAIN_STEPS } from '../../chain/wing.ts'
import { EVENTS_STEPS } from '../../events/wing.ts'
import { HEALTH_STEPS } from '../../health/wing.ts'
import { LEDGER_STEPS } from '../../ledger/wing.ts'
import { MARKET_STEPS } from '../../market/wing.ts'
import { PEOPLE_STEPS } from '../../people/wing.ts'
import { PLATFORM_STEPS } from '../../platform/steps/step.ts'
import { ListOf, NOTHING, Text } from '../../platform/wire/schemas.ts'
import { SCREENING_STEPS } from '../../screening/wing.ts'
import { TREASURY_STEPS } from '../../treasury/wing.ts'
import { look } from '../table/operation.ts'

const WINGS = {
  platform: PLATFORM_STEPS,
  chain: CHAIN_STEPS,
  market: MARKET_STEPS,
  treasury: TREASURY_STEPS,
  screening: SCREENING_STEPS,
  ledger: LEDGER_STEPS,
  people: PEOPLE_STEPS,
  health: HEALTH_STEPS,
  events: EVENTS_STEPS,
}

export const STEPS = Object.entries(WINGS).flatMap(([wing, steps]) =>
  Object.entries(steps).map(([name, what]) => ({ name, wing, what })),
)

export const stepOperations = [
  look({
    path: '/operator/steps/list',
    summary: 'what happens in the background: each step, and what it does',
    description:
      'A step has its name in the log (`step_failed`) and in metrics (`penstock_step_runs_total`).',
    body: NOTHING,
    reply: ListOf({ name: Text, wing: Text, what: Text }),
    handle: async () => ({ value: STEPS }),
  }),
]
