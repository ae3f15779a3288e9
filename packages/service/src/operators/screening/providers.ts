// The providers whose answers a policy can have asked for, and how they do.

import { providerStates } from '../../health/processes/providers.ts'
import {
  Count,
  Flag,
  ListOf,
  Moment,
  NOTHING,
  OrNull,
  Text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { look } from '../table/operation.ts'

export const providerOperations = [
  look({
    path: '/operator/aml/providers',
    summary: 'the providers of screening answers: what each was asked and answered, and its errors',
    description:
      'Counted are questions of the last hour and day, whatever process asked them. `quota_day` ' +
      'is what of those that failed did so because what was paid for is used up. `error` is the ' +
      'last one, whenever that was. A provider that fails several times in a row is left alone ' +
      'for half a minute by the process that met it.',
    body: NOTHING,
    reply: ListOf({
      name: Text,
      processes: Count,
      left_alone: Count,
      in_policy: Flag,
      asked_hour: Whole,
      answered_hour: Whole,
      failed_hour: Whole,
      asked_day: Whole,
      answered_day: Whole,
      failed_day: Whole,
      quota_day: Whole,
      answered_at: OrNull(Moment),
      failed_at: OrNull(Moment),
      failure: OrNull(Text),
      error: OrNull(Text),
    }),
    handle: async ({ sql, clock }) => ({ value: await providerStates(sql, clock.now()) }),
  }),
]
