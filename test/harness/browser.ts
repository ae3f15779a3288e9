// A real browser for tests, driven by playwright-core: which one, browser_program.ts says. Tests
// find things as people do, by role and name. Without a browser they are skipped; with
// REQUIRE_BROWSER=1 that is a failure.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core'
import { findBrowser } from './browser_program.ts'

export { noBrowser } from './browser_program.ts'

export const startBrowser = (args: string[] = []): Promise<Browser> => {
  const { path, env } = findBrowser()!
  return chromium.launch({ executablePath: path, args, env: { ...process.env, ...env } })
}

/** Until something is seen. No measure: an end for what hangs, on a machine that is busy. */
const PATIENCE_MS = 120_000

/** Somebody's browser: without cookies, of a usual size. What moves is still, as for people who
 *  have set that, so that nobody waits for it; with FACES=all it moves. */
export async function newContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    reducedMotion: process.env.FACES === 'all' ? 'no-preference' : 'reduce',
    ...options,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** What a page must never do: ask another host for something, break the policy, throw. */
export type Misdeeds = { others: string[]; violations: string[]; errors: string[] }

/** Takes note of what the pages of a context do. */
export function watchPages(context: BrowserContext, origin: string): Misdeeds {
  const misdeeds: Misdeeds = { others: [], violations: [], errors: [] }
  context.on('request', (request) => {
    const { protocol, origin: asked } = new URL(request.url())
    if (/^https?:$/.test(protocol) && asked !== origin) misdeeds.others.push(request.url())
  })
  context.on('page', (page) => {
    page.on('pageerror', ({ message }) => misdeeds.errors.push(message))
    page.on('console', (line) => {
      if (/Content Security Policy|Trusted ?Type/i.test(line.text()))
        misdeeds.violations.push(line.text())
    })
  })
  return misdeeds
}

const axe_source = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** WCAG 2.0 to 2.2, A and AA, and what is good practice. */
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Of what is right it says nothing. */
const AXE_OPTIONS = {
  runOnly: { type: 'tag', values: AXE_TAGS },
  // It is in none of these tags' usual runs.
  rules: { 'target-size': { enabled: true } },
  resultTypes: ['violations'],
  selectors: false,
}

type Violation = { id: string; nodes: { html: string; failureSummary: string }[] }

/** What axe finds on the page, a line for each. */
export async function barriers(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  // What fades in is judged when it is there.
  const faded = 'Promise.allSettled(document.getAnimations().map((one) => one.finished)).then()'
  await session.send('Runtime.evaluate', { expression: faded, awaitPromise: true })
  // By the protocol of the debugger: the policy of the page allows no program of ours.
  await session.send('Runtime.evaluate', { expression: axe_source })
  const options = JSON.stringify(AXE_OPTIONS)
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, ${options}).then((said) => JSON.stringify(said.violations))`,
    awaitPromise: true,
  })
  await session.detach()
  const violations = JSON.parse(String(result.value)) as Violation[]
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)}: ${failureSummary}`),
  )
}

/** Gives something the focus once it can be seen. What stands below something that the page still
 *  asks for is hidden, and Playwright's own focus() goes by without a word then. */
export async function focusOn(what: Locator): Promise<void> {
  await what.waitFor()
  await what.focus()
}

/** Whether something is wider than the window, so that one would scroll two ways. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')

/** Texts that are cut off: what they hold is wider than they are. */
export const clippedTexts = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('header *, nav *, main *')]
    .filter((one) => !one.closest('.for-ears, .wide-only, .whole-text, thead, pre, svg'))
    .filter((one) => !one.closest('input, textarea'))
    .filter((one) => one.checkVisibility() && one.clientWidth > 0)
    .filter((one) => getComputedStyle(one).display !== 'inline')
    .filter((one) => getComputedStyle(one).overflowX !== 'auto')
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.outerHTML.slice(0, 100))`)

/** An authenticator of the page's own, with a finger that always fits. Looking for barriers on the
 *  same page would take it away: that ends a session of the debugger, and the authenticator with
 *  it. */
export async function giveAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
