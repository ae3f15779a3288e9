// Every page as everybody may see it: in each language, wide and narrow, light and dark.

import type { BrowserContext, Page } from 'playwright-core'
import { barriers, isTooWide } from './browser.ts'

export type Looks = { context: BrowserContext; page: Page; origin: string }

const LANGUAGES = ['en', 'zh', 'ru']
const WIDTHS = [1280, 375]
const THEMES = ['light', 'dark'] as const
/** Until what a page asks for is drawn. */
const DRAWN_MS = 300

/** What axe finds on the pages and what does not fit into the window, a line for each. `prepare`:
 *  what is opened on a page before one looks, such as a dialog. */
export async function faultsOfLooks(
  { context, page, origin }: Looks,
  pages: readonly { path: string; prepare?: () => Promise<void> }[],
): Promise<string[]> {
  const found: string[] = []
  for (const language of LANGUAGES) {
    await context.addCookies([{ name: 'penstock-language', value: language, url: origin }])
    for (const { path, prepare } of pages) {
      await page.goto(origin + path)
      await page.locator('main h1').waitFor()
      await prepare?.()
      await page.waitForTimeout(DRAWN_MS)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        for (const colorScheme of THEMES) {
          await page.emulateMedia({ colorScheme })
          const where = `${path} ${language} ${width} ${colorScheme}`
          for (const line of await barriers(page)) found.push(`${where}: ${line}`)
        }
        if (await isTooWide(page)) found.push(`${path} ${language} ${width}: is too wide`)
      }
    }
  }
  await context.addCookies([{ name: 'penstock-language', value: 'en', url: origin }])
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}
