// The portal in a real browser: a customer and a page where its owner is signed in, for all tests
// of a file. The sandbox and the browser are those of all files of the process. A page's test
// begins with these lines and finds things as people do, by role and name:
//
//   const portal = newPortal()                 newPortal({ alone: true }): a sandbox of its own
//   const { button, heading, link, rows } = portal
//
//   portal.job('an address is supplied', 4, async (hands, answered) => {     keyboard or mouse
//     await hands.press(link('Subscriptions'))                  4: clicks; or { clicks, seconds }
//     await rows('Subscriptions').first().waitFor()
//     answered()                                          what is looked at later is not counted
//   })
//   portal.test('nothing is there at first', async () => {...})   anything else: `portal.page`
//   portal.looks([{ path: '/portal/subscriptions' }])             barriers, widths, languages
//   portal.behaves()                                              last: what pages never do
//
// What a test needs from outside of the page it gets from `portal.penstock`, the SDK with the key
// of the same customer, and from `portal.sandbox`. Alone is a file that changes what other
// customers have, or when it is; `atEndOfFile` of ends.ts ends what a file has started.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Penstock } from 'penstock-sdk'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type Misdeeds, newContext, noBrowser, watchPages } from './browser.ts'
import { atEndOfFile } from './ends.ts'
import { doJob, handsInTurn, type Job, type Limits } from './hands.ts'
import { faultsOfLooks, type PageToLookAt } from './looks.ts'
import { addCustomer, type Sandbox, startSandbox } from './sandbox.ts'
import { sharedBrowser, sharedSandbox } from './started_once.ts'

export const newPortal = ({ alone = false } = {}) => new Portal(alone)

class Portal {
  /** With the customer of this file. */
  sandbox!: Sandbox
  browser!: Browser
  context!: BrowserContext
  /** Signed in by the sandbox's link. */
  page!: Page
  /** The SDK, with the key of the customer who is signed in. */
  penstock!: Penstock
  origin!: string
  /** What the pages have done that they never should. */
  misdeeds!: Misdeeds
  private readonly skip = noBrowser()
  private jobs = 0
  private opening: Promise<void> | undefined

  readonly alone: boolean

  constructor(alone: boolean) {
    this.alone = alone
    atEndOfFile(async () => {
      await this.context?.close()
      if (alone) await this.sandbox?.close()
    })
  }

  private async open(): Promise<void> {
    ;[this.sandbox, this.browser] = await Promise.all([this.findSandbox(), sharedBrowser()])
    const { customer, api_url: url, sign_in } = this.sandbox
    this.penstock = new Penstock({ url, token: customer.token, secret: customer.secret })
    this.origin = new URL(sign_in.portal).origin
    this.context = await newContext(this.browser, {
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    this.misdeeds = watchPages(this.context, this.origin)
    this.page = await this.context.newPage()
    await this.page.goto(sign_in.portal)
    await this.heading('Home').waitFor()
  }

  private async findSandbox(): Promise<Sandbox> {
    return this.alone ? startSandbox() : addCustomer(await sharedSandbox())
  }

  /** A test that is left out where no browser is. */
  readonly test = (title: string, steps: (t: TestContext) => Promise<void>): void => {
    test(title, { skip: this.skip }, async (t) => {
      this.opening ??= this.open()
      await this.opening
      await steps(t)
    })
  }

  /** Does a job from the first page on, in at most so many clicks, or within limits: one with the
   *  keyboard alone, the next with the mouse. */
  readonly job = (title: string, most: number | Limits, job: Job): void => {
    const limits = typeof most === 'number' ? { clicks: most } : most
    for (const hands of handsInTurn(this.jobs++))
      this.test(`${title}, with the ${hands.name}`, async (t) => {
        await this.visit('/portal')
        await doJob(t, hands(this.page), limits, job)
      })
  }

  /** A test that these pages have no barriers and fit, in one language, theme and width after the
   *  other. A function is called when the test runs: for paths that are known only then. */
  readonly looks = (
    pages: readonly PageToLookAt[] | (() => Promise<readonly PageToLookAt[]>),
  ): void =>
    this.test(
      'the pages have no barriers and fit, in a language, theme and width each',
      async () => {
        const list = typeof pages === 'function' ? await pages() : pages
        assert.deepEqual(await faultsOfLooks(this, list), [])
      },
    )

  /** The last test of a file. */
  readonly behaves = (): void =>
    this.test('nothing was asked of others, no policy was broken, nothing was thrown', async () => {
      assert.deepEqual(this.misdeeds, { others: [], violations: [], errors: [] })
    })

  /** Another browser of the same person, signed in, for what would change this one. */
  readonly anotherBrowser = async (): Promise<BrowserContext> =>
    newContext(this.browser, { storageState: await this.context.storageState() })

  readonly visit = async (path: string): Promise<void> => {
    await this.page.goto(this.origin + path)
    await this.page.locator('main h1').waitFor()
  }

  readonly heading = (name: string | RegExp) => this.page.getByRole('heading', { level: 1, name })
  readonly button = (name: string) => this.page.getByRole('button', { name, exact: true })
  readonly link = (name: string) => this.page.getByRole('link', { name, exact: true }).first()
  readonly field = (name: string) => this.page.getByLabel(name, { exact: true })
  /** The rows of the table of this name, its head too. */
  readonly rows = (name: string) =>
    this.page.getByRole('table', { name, exact: true }).getByRole('row')
  readonly dialog = () => this.page.getByRole('dialog')
  readonly inDialog = (name: string) => this.dialog().getByRole('button', { name, exact: true })
}
