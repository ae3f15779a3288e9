// The operators' console without a chain, as somebody sees it who has just signed in with a link,
// for one test: a database and a console of its own, and the browser of all files of the process.

import type { TestContext } from 'node:test'
import { newContext, watchPages } from './browser.ts'
import { startedConsole } from './started_console.ts'
import { sharedBrowser } from './started_once.ts'

type Options = Omit<NonNullable<Parameters<typeof startedConsole>[1]>, 'web'>

/** `misdeeds`: what the pages have done that they never should. */
export async function consolePage(t: TestContext, options: Options = {}) {
  const started = await startedConsole(t, { ...options, web: true })
  const { url, link } = started
  const context = await newContext(await sharedBrowser())
  t.after(() => context.close())
  const misdeeds = watchPages(context, url)
  const page = await context.newPage()
  await page.goto(`${url}/console/join#${await link()}`)
  await page.getByRole('link', { name: 'Settings' }).waitFor()
  return { ...started, context, page, misdeeds }
}

export type ConsolePage = Awaited<ReturnType<typeof consolePage>>
