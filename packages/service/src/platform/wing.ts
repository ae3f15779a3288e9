// What each wing is given, whatever it does: its `wing.ts` takes this, what it needs besides, and
// returns its endpoints, pages, steps and kinds of events, and what wings above it use.

import type { Clock } from '../lib/clock.ts'
import type { NewId, Random } from '../lib/ids.ts'
import type { Log } from '../lib/log.ts'
import type { Again } from './database/again.ts'
import type { Sql } from './database/sql.ts'
import type { Seal } from './seal/seal.ts'
import type { StepName } from './steps/step.ts'

export type Common = {
  /** What the steps work by that may take long, and those that a customer looks on. */
  sql: Sql
  /** Few connections, through which the steps work that are due after each block, so that customers
   *  do not wait behind all of them at once. */
  steps_sql: Sql
  /** What answers customers' calls, with a role of the database that may do less. */
  api_sql: Sql
  /** How what a customer waits for is tried again that the database could not do. */
  again?: Again | undefined
  /** Between the beginnings of two batches where purchases come together. */
  pause?: (() => Promise<unknown>) | undefined
  /** Told of what customers are told of: `order:ID`, `check:ID`, `subscription:ID`. */
  told?: ((name: string) => void) | undefined
  clock: Clock
  random: Random
  log: Log
  new_id: NewId
  seal: Seal
  /** What callers are told of this service. */
  about: { version: string; public_url: string | undefined; issuer?: string | undefined }
  /** Which chain the service sells on; undefined while no node has said. */
  network: () => Promise<string | undefined>
  /** Called when something was written that a step may take up. */
  wake: (step: StepName) => void
}
