// What browsers open, where there are pages for them.

import type { Common } from '../platform/wing.ts'
import { brandReader } from './brand.ts'
import { type Web, webPages } from './pages.ts'

export type WebSetup = {
  /** The files of the pages for browsers, and where those look at the chain. Left out: there are no
   *  such pages. */
  web?: Pick<Web, 'assets' | 'explorer'> | undefined
  wait(ms: number): Promise<void>
}

export function webWing({ api_sql: sql, clock, wait, web, about, network }: Common & WebSetup) {
  const brand = brandReader({ sql, clock, wait })
  const { public_url } = about
  return { pages: web ? webPages({ ...web, public_url, network, brand }) : [], brand }
}
