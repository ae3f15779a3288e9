// Health: whether the books are right, how the service does, and what the public is told of it.

import type { Language } from 'penstock-web/build/languages.ts'
import type { Node } from '../chain/node/node.ts'
import type { Prices } from '../market/prices/prices.ts'
import type { Common } from '../platform/wing.ts'
import type { Brand } from '../web/brand.ts'
import { styleLinks } from '../web/shell.ts'
import type { WebSetup } from '../web/wing.ts'
import type { BooksSources } from './books/books.ts'
import { watchBooksStep } from './books/watch.ts'
import { alertKinds } from './monitoring/watch_alerts.ts'
import { burnPriceReader } from './status/burn_price.ts'
import { frontPage } from './status/front.ts'
import { statusPages } from './status/pages.ts'
import { statusReader } from './status/report.ts'
import { measureMinutesStep } from './uptime/measuring.ts'
import { pruneMetricsStep } from './uptime/metrics.ts'
import { attendStep, purchaseCounter } from './uptime/presence.ts'

export type HealthSetup = {
  /** What the books' check looks at; undefined: the rows alone, by the same connections. */
  books?: BooksSources
}

type Needs = Common &
  HealthSetup &
  WebSetup & { node: Node; prices: () => Promise<Prices>; brand: () => Promise<Brand> }

export const HEALTH_STEPS = {
  watch_books: 'Checks the books, and takes everything off sale when they are wrong',
  attend: 'Says that a process that runs the steps is there',
  measure_minutes: 'Sums up each minute for the status page',
  prune_metrics: 'Forgets the minutes of long ago',
  count_purchases: 'Counts the purchases of this process for the status page',
  draw_status: 'Draws the status page before anybody asks',
  look: 'Looks whether this process is ready for calls',
  beat: 'Says that this process is there, and how it does',
  watch_alerts: 'Raises and clears alerts',
  measure: 'Reads what metrics the database knows',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof HEALTH_STEPS, string> {}
}

export function healthWing({ sql, api_sql, clock, node, about, web, ...needs }: Needs) {
  const purchases = purchaseCounter({ sql: api_sql, clock })
  const burnPrices = burnPriceReader(node, () => clock.now().getTime())
  const drawing = {
    ...needs,
    sql: api_sql,
    clock,
    burnPrices,
    burnPrice: async () => (await burnPrices()).energy_sun,
    styleLinks:
      web && (async (language: Language) => styleLinks(await web.assets.face('portal'), language)),
    is_https: about.public_url?.startsWith('https:') ?? false,
  }
  const read = statusReader(drawing)
  const status = statusPages({ ...drawing, read })
  const { styleLinks: links } = drawing
  const front = links ? [frontPage({ ...drawing, read, styleLinks: links })] : []
  return {
    pages: [...front, ...status.pages],
    kinds: alertKinds,
    steps: [
      watchBooksStep({ clock, ...(needs.books ?? { sql, chain: undefined }) }),
      attendStep({ sql, clock }),
      measureMinutesStep({ sql, clock }),
      pruneMetricsStep({ sql, clock }),
    ],
    api_steps: [purchases.step, status.drawStep],
    /** Told how each call was answered. */
    noteCall: purchases.note,
  }
}
