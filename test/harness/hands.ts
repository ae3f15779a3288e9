// How a person uses a page: with the mouse, with the keyboard alone, or by touch. All find things
// by role and name, and count what was pressed.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { focusOn } from './browser.ts'

export type Hands = {
  name: 'mouse' | 'keyboard' | 'finger'
  /** Clicks until now; typing counts none, a key combination or a pasted text one. */
  clicks: number
  /** When something was pressed last, on the clock of `performance`. */
  pressed_ms: number
  press(what: Locator): Promise<void>
  /** A combination such as `Control+k`. */
  shortcut(keys: string): Promise<void>
  /** Where the focus is, or into a field that gets it first. */
  paste(text: string, into?: Locator): Promise<void>
  type(field: Locator, text: string): Promise<void>
  /** What the page says, and what has the focus: for whoever reads why a job has failed. */
  said(): Promise<string>
}

const TABS_MAX = 200
const SAID_MS_MAX = 5_000
const SAID_LENGTH_MAX = 2_000

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

function count(hands: Hands): void {
  hands.clicks++
  hands.pressed_ms = performance.now()
}

/** What all do. */
const common = (page: Page) => ({
  clicks: 0,
  pressed_ms: performance.now(),
  async shortcut(this: Hands, keys: string) {
    count(this)
    await page.keyboard.press(keys)
  },
  async paste(this: Hands, text: string, into?: Locator) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
    // Last of all: what comes before may take the focus away.
    if (into) await focusOn(into)
    count(this)
    await page.keyboard.press('Control+v')
  },
  async said() {
    const focus = 'document.activeElement?.outerHTML.slice(0, 200)'
    const [main, focused] = await Promise.all([
      page.locator('main').innerText({ timeout: SAID_MS_MAX }),
      page.evaluate(focus),
    ])
    return `the page says: ${main.slice(0, SAID_LENGTH_MAX)}\nthe focus is on: ${String(focused)}`
  },
})

export const mouse = (page: Page): Hands => ({
  name: 'mouse',
  ...common(page),
  async press(what) {
    await what.waitFor()
    count(this)
    await what.click()
  },
  type: (field, text) => field.fill(text),
})

/** On a page of a context that has touch. */
export const finger = (page: Page): Hands => ({
  name: 'finger',
  ...common(page),
  async press(what) {
    await what.waitFor()
    count(this)
    await what.tap()
  },
  type: (field, text) => field.fill(text),
})

export const keyboard = (page: Page): Hands => ({
  name: 'keyboard',
  ...common(page),
  async press(what) {
    await tabTo(page, what)
    const is_box = (await what.getAttribute('type')) === 'checkbox'
    count(this)
    await page.keyboard.press(is_box ? 'Space' : 'Enter')
  },
  async type(field, text) {
    await tabTo(page, field)
    await page.keyboard.press('Control+a')
    await page.keyboard.type(text)
  },
})

/** Who does a job: in turn the keyboard alone and the mouse; with FACES=all both, one after the
 *  other. */
export const handsInTurn = (turn: number) => {
  if (process.env.FACES === 'all') return [mouse, keyboard]
  return [turn % 2 === 0 ? keyboard : mouse]
}

/** What a job may take: clicks, and seconds from the last of them to the answer on the screen. */
export type Limits = { clicks: number; seconds?: number }
/** Called when the answer is on the screen, where more is looked at after that. */
export type Job = (hands: Hands, answered: () => void) => Promise<void>

/** On a machine that is shared, seconds are printed; FACES=all holds them to their limit too. */
const seconds_count = process.env.FACES === 'all'

/** Does a job from the page that is open, and says what it took. Fails above its limits. */
export async function doJob(
  t: Pick<TestContext, 'diagnostic'>,
  hands: Hands,
  { clicks, seconds = Number.POSITIVE_INFINITY }: Limits,
  job: Job,
): Promise<void> {
  hands.pressed_ms = performance.now()
  let taken: { clicks: number; ms: number } | undefined
  const answered = () => {
    taken ??= { clicks: hands.clicks, ms: performance.now() - hands.pressed_ms }
  }
  await job(hands, answered).catch(async (thrown: Error) => {
    thrown.stack += `\n${await hands.said().catch(String)}`
    throw thrown
  })
  answered()
  t.diagnostic(`${taken!.clicks} clicks of ${clicks}, then ${Math.round(taken!.ms)} ms`)
  assert.ok(taken!.clicks <= clicks, `${taken!.clicks} clicks`)
  if (seconds_count) assert.ok(taken!.ms <= 1_000 * seconds, `${taken!.ms} ms`)
}
