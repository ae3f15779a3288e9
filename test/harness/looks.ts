// Every page as everybody may see it: in each language, wide and narrow, light and dark.

import type { BrowserContext, Page } from 'playwright-core'
import { barriers, clippedTexts, isTooWide } from './browser.ts'
import { openPage } from './listed_pages.ts'

/** `prepare`: what is opened on a page before one looks, such as a dialog. */
export type PageToLookAt = { path: string; prepare?: () => Promise<void> }
export type Looks = { context: BrowserContext; page: Page; origin: string }

const everything = process.env.FACES === 'all'
/** How a page may be loaded, and the themes in which it is looked at then. */
type View = { language: string; width: number; themes: readonly ('light' | 'dark')[] }
/** Each language, theme and width once. */
const THREE_VIEWS: readonly View[] = [
  { language: 'en', width: 1280, themes: ['light'] },
  { language: 'zh', width: 1280, themes: ['dark'] },
  { language: 'ru', width: 375, themes: ['dark'] },
]
/** With FACES=all: every one with every other. */
const EVERY_VIEW: readonly View[] = ['en', 'zh', 'ru'].flatMap((language) =>
  [1280, 375].map((width) => ({ language, width, themes: ['light', 'dark'] as const })),
)

/** What axe finds on the pages, what does not fit into the window and which texts are cut off, a
 *  line for each. `in_turn`: one after the other each page gets the next of three views; otherwise
 *  every page gets all three. */
export async function faultsOfLooks(
  { context, page, origin }: Looks,
  pages: readonly PageToLookAt[],
  { in_turn = true } = {},
): Promise<string[]> {
  const all = everything || !in_turn
  const found: string[] = []
  const views = everything ? EVERY_VIEW : THREE_VIEWS
  for (const [view, { language, width, themes }] of views.entries()) {
    await context.addCookies([{ name: 'penstock-language', value: language, url: origin }])
    const shown = pages.filter((_, i) => all || i % views.length === view)
    for (const { path, prepare } of shown) {
      await page.emulateMedia({ colorScheme: themes[0]! })
      await page.setViewportSize({ width, height: HEIGHT })
      await openPage(page, origin + path)
      await drawn(page)
      if (prepare) await prepare()
      else await makeTall(page, width)
      await drawn(page)
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme })
        let lines = await faultsOfPage(page)
        // A list may have become longer than its window meanwhile.
        while (lines.length > 0 && !prepare && (await makeTall(page, width)))
          lines = await faultsOfPage(page)
        found.push(...lines.map((line) => `${path} ${language} ${width} ${colorScheme}: ${line}`))
      }
    }
  }
  await context.addCookies([{ name: 'penstock-language', value: 'en', url: origin }])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}

const HEIGHT = 800

/** Makes the window as tall as the page: what has scrolled half beneath the bar at the bottom of a
 *  narrow window is covered for axe, and not for somebody who scrolls on. What is opened on a page
 *  is looked at in a window of the usual height. False when it was as tall. */
async function makeTall(page: Page, width: number): Promise<boolean> {
  const of_page = 'document.documentElement.scrollHeight'
  const height = await page.evaluate<number>(`Math.max(${HEIGHT}, ${of_page})`)
  if (page.viewportSize()!.height === height) return false
  await page.setViewportSize({ width, height })
  return true
}

/** The same of the page that is open. */
async function faultsOfPage(page: Page): Promise<string[]> {
  const lines = await barriers(page)
  if (await isTooWide(page)) lines.push('is too wide')
  lines.push(...(await clippedTexts(page)).map((text) => `is clipped: ${text}`))
  return lines
}

/** Until nothing that the page has asked for is awaited, and nothing fades in any more: what is
 *  half there has half its contrast. */
async function drawn(page: Page): Promise<void> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  // What opens begins to fade in with the next frame.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))')
  await page.evaluate('Promise.allSettled(document.getAnimations().map((one) => one.finished))')
}
