// Screening: where value came from, and what that says of an address.

import type { Address } from 'penstock-tron/address.ts'
import type { Node } from '../chain/node/node.ts'
import type { Reads } from '../chain/reads/reads.ts'
import type { TransferArchive } from '../chain/transfers/transfer_archive.ts'
import type { Needs as OfPapers } from '../people/users/papers.ts'
import type { Common } from '../platform/wing.ts'
import { openCasesStep, remindCasesStep } from './cases/case_opening.ts'
import { caseKinds } from './cases/cases.ts'
import { pairStep } from './cases/counterparties.ts'
import { askProvidersStep, failLateStep, screenStep } from './checks/answering.ts'
import { checkKinds } from './checks/forms.ts'
import { foldCountsStep } from './checks/history.ts'
import { checkPlacer } from './checks/placing.ts'
import { reviewKinds } from './checks/reviews.ts'
import { watchBlocksStep } from './checks/watch_blocks.ts'
import { DEFAULT_RETENTION_DAYS, rescreenStep, retainStep } from './checks/watches.ts'
import { heldSenders } from './engine/barred.ts'
import { issuersOf } from './engine/issuers.ts'
import { moneyReader } from './engine/money.ts'
import type { KeptPlace } from './kept/kept_folder.ts'
import { type Download, refreshStep } from './labels/lists.ts'
import type { Provider } from './providers/provider.ts'
import { reportPages } from './reports/pages.ts'
import { routes as checkRoutes, reportRoutes } from './reports/routes.ts'
import { recordStep } from './tracing/flow_log.ts'
import {
  DEFAULT_CARRIED_BLOCKS,
  DEFAULT_CHECKPOINT_TRANSFERS,
  flowGenerations,
  noGenerations,
  pruneIndexStep,
} from './tracing/generations.ts'
import { sentReading } from './tracing/sent.ts'

export type ScreeningSetup = {
  /** Outside screening services that a policy can name; none when left out. */
  providers?: readonly Provider[]
  /** Opens publishers' lists; without it none is refreshed. */
  download?: Download
  /** For how long the evidence of checks is kept. */
  retention_days?: number | undefined
  /** Whether this process leaves the index, and the steps that need it, to others. */
  without_index?: boolean
  /** Where the index is kept beside what of it is in memory; undefined: all of it is there. */
  kept?: KeptPlace | undefined
  /** Where the log has transfers of older blocks. */
  archive?: TransferArchive | undefined
}

type Needs = Common &
  ScreeningSetup & {
    node: Node
    reads: Reads
    tokens: ReadonlySet<Address>
    readers: OfPapers
  }

export const SCREENING_STEPS = {
  record: 'Records the transfers of confirmed blocks for the index',
  index: 'Computes where the value of each address came from',
  pair_addresses: 'Reads of the log who dealt with whom, where that is kept',
  read_sent: 'Computes each night where the value that addresses sent went to',
  screen: 'Answers checks that our own engine answers alone',
  ask_providers: 'Answers checks that outside providers are asked about',
  fail_late: 'Fails checks that have waited too long',
  rescreen: 'Places checks of watched addresses that are due',
  watch_blocks: 'Reads of each confirmed block what concerns watched addresses',
  open_cases: 'Puts answers that wait and alerts about severe money into cases',
  remind_cases: 'Tells of cases that are not closed when they were due',
  fold_counts: 'Adds what has changed to the counts of checks',
  prune_index: 'Forgets what only an index out of use has',
  refresh_lists: 'Loads lists of labels from their publishers',
  retain: 'Deletes the evidence of checks that is older than it is to be kept',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof SCREENING_STEPS, string> {}
}

export function screeningWing({ sql, steps_sql, api_sql, ...needs }: Needs) {
  const { clock, new_id, node, reads, tokens, readers, download, kept, archive } = needs
  const { providers = [], retention_days = DEFAULT_RETENTION_DAYS } = needs
  const carried_blocks = DEFAULT_CARRIED_BLOCKS
  const checkpoint_transfers = DEFAULT_CHECKPOINT_TRANSFERS
  const flow = { sql, clock, carried_blocks, checkpoint_transfers, kept, archive }
  const generations = needs.without_index ? noGenerations(flow) : flowGenerations(flow)
  const issuers = issuersOf({ sql, clock, node })
  const sent = sentReading({ sql, clock, generations, kept })
  const answering = { sql, clock, reads, generations, sent, carried_blocks, issuers, providers }
  return {
    endpoints: [
      ...checkRoutes({ sql: api_sql, placeCheck: checkPlacer({ ...needs, sql: api_sql }) }),
      ...reportRoutes({ sql: api_sql, clock }),
    ],
    pages: reportPages({ sql: api_sql, ...readers }),
    kinds: [...checkKinds, ...reviewKinds, ...caseKinds],
    steps: [
      recordStep({ sql: steps_sql, node, tokens }),
      generations.step,
      sent.step,
      pairStep({ sql: steps_sql, archive }),
      screenStep(answering),
      askProvidersStep(answering),
      failLateStep({ sql, clock }),
      rescreenStep({ sql, clock, new_id, generations }),
      watchBlocksStep({ sql: steps_sql }),
      foldCountsStep({ sql: steps_sql }),
      openCasesStep({ sql: steps_sql, clock, new_id }),
      remindCasesStep({ sql: steps_sql, clock }),
      pruneIndexStep(flow),
      ...(download ? [refreshStep({ sql, clock, download })] : []),
      retainStep({ sql, clock }, retention_days),
    ],
    issuers,
    heldSenders: heldSenders({ clock }),
    money: moneyReader({ sql, clock, generations, carried_blocks }),
    /** What the flow index of this process takes. */
    indexMemory: generations.memory,
    async closeIndex(): Promise<void> {
      await sent.close()
      await generations.close()
      kept?.folder.close()
    },
  }
}
