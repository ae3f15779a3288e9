// Whether a step says that it is due, asked as the service asks.

import assert from 'node:assert/strict'
import type { Query } from 'penstock-service/platform/database/sql.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'

export async function isDue(sql: Query, step: Step<string>): Promise<boolean> {
  assert.ok(step.due, `the step ${step.name} does not say when it is due`)
  return (await dueAsker(sql, [step])(new Set([step.name]))).has(step.name)
}
