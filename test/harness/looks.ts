// Every page as everybody may see it: in each language, wide and narrow, light and dark.

import type { BrowserContext, Page } from 'playwright-core'
import { barriers, clippedTexts, isTooWide } from './browser.ts'

/** `prepare`: what is opened on a page before one looks, such as a dialog. */
export type PageToLookAt = { path: string; prepare?: () => Promise<void> }
export type Looks = { context: BrowserContext; page: Page; origin: string }

const everything = process.env.FACES === 'all'
/** Each language, theme and width once; FACES=all: every one with every other. */
const VIEWS = everything
  ? ['en', 'zh', 'ru'].flatMap((language) =>
      [1280, 375].flatMap((width) =>
        (['light', 'dark'] as const).map((colorScheme) => ({ language, width, colorScheme })),
      ),
    )
  : [
      { language: 'en', width: 1280, colorScheme: 'light' as const },
      { language: 'zh', width: 1280, colorScheme: 'dark' as const },
      { language: 'ru', width: 375, colorScheme: 'dark' as const },
    ]
/** The pages that are looked at in a view: one after the other each gets the next, and with
 *  FACES=all every page gets every view. */
const pagesOf = (pages: readonly PageToLookAt[], view: number) =>
  pages.filter((_, i) => everything || i % VIEWS.length === view)

/** What axe finds on the pages, what does not fit into the window and which texts are cut off, a
 *  line for each. */
export async function faultsOfLooks(
  { context, page, origin }: Looks,
  pages: readonly PageToLookAt[],
): Promise<string[]> {
  const found: string[] = []
  for (const [view, { language, width, colorScheme }] of VIEWS.entries()) {
    await context.addCookies([{ name: 'penstock-language', value: language, url: origin }])
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    for (const { path, prepare } of pagesOf(pages, view)) {
      await page.goto(origin + path)
      await page.locator('main h1').waitFor()
      await drawn(page)
      if (prepare) {
        await prepare()
        await drawn(page)
      }
      const lines = await barriers(page)
      if (await isTooWide(page)) lines.push('is too wide')
      lines.push(...(await clippedTexts(page)).map((text) => `is clipped: ${text}`))
      found.push(...lines.map((line) => `${path} ${language} ${width} ${colorScheme}: ${line}`))
    }
  }
  await context.addCookies([{ name: 'penstock-language', value: 'en', url: origin }])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}

/** Until nothing that the page has asked for is awaited, and nothing fades in any more: what is
 *  half there has half its contrast. */
async function drawn(page: Page): Promise<void> {
  await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  // What opens begins to fade in with the next frame.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 50)))')
  await page.evaluate('Promise.allSettled(document.getAnimations().map((one) => one.finished))')
}
