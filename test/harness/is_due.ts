// Whether a step says that it is due.

import assert from 'node:assert/strict'
import { joinFragments, writeFragment } from 'penstock-service/platform/database/fragments.ts'
import type { Query } from 'penstock-service/platform/database/sql.ts'
import type { Step } from 'penstock-service/platform/steps/step.ts'

export async function isDue(sql: Query, step: Step): Promise<boolean> {
  const due = step.due?.(writeFragment)
  assert.ok(due, `the step ${step.name} does not say when it is due`)
  const rows = await sql(...joinFragments([due]))
  return rows.length > 0
}
