// The ledger: the journal that seals its entries, and what of it customers read.

import type { Common } from '../platform/wing.ts'
import { sealStep } from './accounts/journal.ts'
import { noteRootsStep } from './accounts/roots.ts'
import { routes as statementRoutes } from './statements/routes.ts'
import { summarizeStep } from './statements/summaries.ts'

export type LedgerSetup = {
  /** The file that the roots of the journal are noted in; without it they are noted in the log
   *  alone. */
  roots_file?: string | undefined
}

export const LEDGER_STEPS = {
  seal: 'Seals what was booked since the last row of the journal',
  summarize: 'Sums up transfers by the hour and by the day, for statements',
  note_roots: 'Notes the root of each day that is over, in the log and in a file',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof LEDGER_STEPS, string> {}
}

export const ledgerWing = ({ sql, api_sql, clock, log, roots_file }: Common & LedgerSetup) => ({
  endpoints: statementRoutes({ sql: api_sql, clock }),
  steps: [
    sealStep({ sql, clock }),
    summarizeStep({ sql, clock }),
    noteRootsStep({ sql, clock, log, file: roots_file }),
  ],
})
