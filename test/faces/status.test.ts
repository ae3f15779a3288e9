// The status page in a browser: what it weighs, how long it takes, that nothing runs in it, and
// that everybody can read it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barriers, isTooWide, newContext, noBrowser, watchPages } from '../harness/browser.ts'
import { atEndOfFile } from '../harness/ends.ts'
import { eventually } from '../harness/eventually.ts'
import { sharedBrowser, sharedSandbox } from '../harness/started_once.ts'

const skip = noBrowser()
const LANGUAGES = { en: 'Status', zh: '服务状态', ru: 'Состояние сервиса' }
const BYTES_MAX = 30_000
const INCIDENT = '01m7xps0ca8ksnnfg71x89vdp6'

const sandbox = await sharedSandbox()
await fillDays(4)
await postIncident()
atEndOfFile(async () => {
  await sandbox.sql`delete from incident where id = ${INCIDENT}`
  await sandbox.sql`
    delete from metric where span = 'day' and at < date_trunc('day', now(), 'UTC')`
})

/** Days before this one in which everything happened, in every bucket. */
async function fillDays(days: number): Promise<void> {
  await sandbox.sql`
    insert into metric (span, at, metric, counts)
    select 'day', day, m.metric, case when m.metric like 'state_%'
        then array[1440 - 2 * (n % 7), n % 7, n % 7]
        else (select array_agg((n * 7 + b * 13) % 97 order by b) from generate_series(1, 49) as b)
        end
    from generate_series(1, ${days}::int) as n
      cross join lateral (
        select date_trunc('day', now(), 'UTC') - n * interval '1 day' as day) as d
      cross join unnest(array['state_buying', 'state_delivering', 'state_deposits',
        'state_screening', 'state_events', 'purchase', 'order_sent', 'order_in_block',
        'order_irreversible', 'deposit_credited', 'check_ended', 'event_called']) as m (metric)
    on conflict do nothing`
}

async function postIncident(): Promise<void> {
  await sandbox.sql`
    insert into incident (id, title, what, parts, began_at, posted_at)
    values (${INCIDENT}, 'A <b>node</b> is away', 'Deliveries are "late" & slow.',
      array['delivering'], now() - interval '1 hour', now())`
}

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${sandbox.api_url}${path}`, { headers })

/** The service keeps a report for some seconds. */
const isDrawnAnew = (what: string, isNew: (text: string) => boolean) =>
  eventually(`${what} is on the page`, async () => isNew(await (await get('/status')).text()))

/** Each theme at each width, and each language, for barriers: contrast depends on theme and width
 *  alone, names on the language alone. With FACES=all every one with every other. */
const LOOKED_AT = ['en light 1280', 'zh dark 1280', 'ru light 375', 'en dark 375']
const isLookedAt = (where: string) => process.env.FACES === 'all' || LOOKED_AT.includes(where)

// Before there are many days: what is looked at for barriers takes long, and one day is drawn as
// every other.
test('it is read by everybody: languages, light and dark, wide and narrow', { skip }, async () => {
  await isDrawnAnew('the incident', (text) => text.includes('&lt;b&gt;node'))
  const context = await newContext(await sharedBrowser())
  const misdeeds = watchPages(context, new URL(sandbox.api_url).origin)
  const page = await context.newPage()
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 })
    for (const [language, title] of Object.entries(LANGUAGES)) {
      await page.goto(`${sandbox.api_url}/status?language=${language}`)
      await page.getByRole('heading', { level: 1, name: new RegExp(title) }).waitFor()
      const open = (which: string) =>
        page.evaluate(`for (const one of document.querySelectorAll("${which}")) one.open = true`)
      await open('article > details')
      assert.equal(await page.getByRole('img').count(), 13, language)
      await open('details')
      for (const colorScheme of ['light', 'dark'] as const) {
        const where = `${language} ${colorScheme} ${width}`
        await page.emulateMedia({ colorScheme })
        if (isLookedAt(where)) assert.deepEqual(await barriers(page), [], where)
        assert.equal(await isTooWide(page), false, where)
      }
    }
  }
  assert.deepEqual(misdeeds, { others: [], violations: [], errors: [] })
  await context.close()
})

test('its links lead to the other languages and to the figures', { skip }, async () => {
  const context = await newContext(await sharedBrowser(), { javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${sandbox.api_url}/status`)
  await page.getByRole('link', { name: 'Русский' }).click()
  await page.getByRole('heading', { name: 'Части сервиса' }).waitFor()
  await page.getByRole('link', { name: 'То же для программ' }).click()
  assert.equal(new URL(page.url()).pathname, '/status.json')
  await context.close()
})

test('the page weighs at most 30 kB with every day full, and is there at once', async () => {
  const before = await (await get('/status.json')).text()
  await fillDays(89)
  await eventually('the report is a new one', async () => {
    return (await (await get('/status.json')).text()) !== before
  })
  for (const language of Object.keys(LANGUAGES)) {
    await (await get(`/status?language=${language}`)).text()
    const answer = await get(`/status?language=${language}`, { 'accept-encoding': 'gzip' })
    assert.equal(answer.headers.get('content-encoding'), 'gzip')
    const bytes = Number(answer.headers.get('content-length'))
    assert.ok(bytes > 5_000 && bytes <= BYTES_MAX, `${language}: ${bytes} bytes`)
    const text = await answer.text()
    assert.doesNotMatch(text, /<script| style=| on[a-z]+=/i)
    assert.doesNotMatch(text, />\s*,\s*</, 'a list is no text')
    assert.ok(text.includes(`<html lang="${language}"`))
    assert.ok(!text.includes('<b>node') && text.includes('&lt;b&gt;node'), 'words are no markup')
    assert.doesNotMatch(text, /\{\w+\}|undefined|NaN|status\.(?!json)\w/, 'every word is there')
  }
})

test('nothing may run or be loaded but the style sheet, and it may be kept for 15 s', async () => {
  const answer = await get('/status', { 'accept-language': 'ru-RU,ru;q=0.9' })
  const policy = answer.headers.get('content-security-policy')!
  assert.match(policy, /^default-src 'none'; style-src 'self'; /)
  assert.doesNotMatch(policy, /script|unsafe|connect/)
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=15')
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
  assert.match(await answer.text(), /<html lang="ru"/)
  const compressed = await get('/status', { 'accept-encoding': 'identity' })
  assert.equal(compressed.headers.get('content-encoding'), null)
  const strange = await get('/status?language=%3Cscript%3E')
  assert.match(await strange.text(), /<html lang="en"/)
})
