// The pages of a face that need no id, as it lists them itself, and how one is opened.

import type { Page } from 'playwright-core'

/** Paths; those that a link alone opens are left out. */
export async function listedPages(origin: string, face: 'portal' | 'console'): Promise<string[]> {
  const answer = await fetch(`${origin}/${face}/pages.json`)
  const pages = (await answer.json()) as { path: string }[]
  return pages.map(({ path }) => path).filter((path) => !/:|\/join$/.test(path))
}

/** Opens a page by its address, and waits until all of it is there. */
export async function openPage(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('main h1, header h1').first().waitFor()
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
}
