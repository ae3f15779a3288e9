// How a person uses a page: with the mouse, or with the keyboard alone. Both find things by role
// and name, and count what was pressed.

import type { Locator, Page } from 'playwright-core'

export type Hands = {
  name: 'mouse' | 'keyboard'
  /** Clicks until now; typing counts none. */
  clicks: number
  press(what: Locator): Promise<void>
  type(field: Locator, text: string): Promise<void>
}

const TABS_MAX = 200

/** Moves the focus there by Tab, as one does who has no mouse. Throws when that leads nowhere. */
async function tabTo(page: Page, what: Locator): Promise<void> {
  await what.waitFor()
  const focused = page.locator(':focus')
  for (let i = 0; i < TABS_MAX; i++) {
    if ((await what.and(focused).count()) > 0) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not lead to ${what}`)
}

export const mouse = (): Hands => ({
  name: 'mouse',
  clicks: 0,
  async press(what) {
    this.clicks++
    await what.click()
  },
  type: (field, text) => field.fill(text),
})

export const keyboard = (page: Page): Hands => ({
  name: 'keyboard',
  clicks: 0,
  async press(what) {
    this.clicks++
    await tabTo(page, what)
    const is_box = (await what.getAttribute('type')) === 'checkbox'
    await page.keyboard.press(is_box ? 'Space' : 'Enter')
  },
  async type(field, text) {
    await tabTo(page, field)
    await page.keyboard.press('Control+a')
    await page.keyboard.type(text)
  },
})
