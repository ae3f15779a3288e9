// How much the parts of a page move while it comes, by what the browser itself has noted: 0 when
// nothing that was seen has moved (the sum of its layout shifts).

import type { Page } from 'playwright-core'

/** How much has moved, and the parts that did. */
export type Shifts = { sum: number; parts: string[] }

const NOTED = `new Promise((resolve) => {
  const noted = { sum: 0, parts: [] }
  const nameOf = ({ node, previousRect: was, currentRect: is }) => {
    const element = node?.nodeType === 1 ? node : node?.parentElement
    const name = element ? element.tagName + '.' + element.className : 'gone'
    const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ')
    return name + ' ' + place(was) + ' -> ' + place(is)
  }
  new PerformanceObserver((list) => {
    for (const { value, sources, hadRecentInput } of list.getEntries()) {
      if (hadRecentInput) continue
      noted.sum += value
      noted.parts.push(...sources.map(nameOf))
    }
  }).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => resolve(JSON.stringify(noted)), 100)
})`

/** Opens a page, and waits until everything on it is there. */
export async function shiftsOf(page: Page, url: string): Promise<Shifts> {
  await page.goto(url)
  await page.locator('main h1').waitFor()
  await page.locator('main [aria-busy=true]').first().waitFor({ state: 'detached' })
  return JSON.parse(String(await page.evaluate(NOTED))) as Shifts
}
