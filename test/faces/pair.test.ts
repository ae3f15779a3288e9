// A program of its own process asks for a key, a person approves it in a real browser, and the
// program signs with it: from `penstock login` to the first signed call.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEndOfFile } from 'penstock-test/harness/ends.ts'
import { newPortal } from 'penstock-test/harness/portal.ts'

const portal = newPortal()
const { button, field, heading, link } = portal
const MAIN = `${import.meta.dirname}/../../packages/cli/src/main.ts`
const folder = await mkdtemp(join(tmpdir(), 'penstock-pair-'))
/** What a failed test leaves behind waits for minutes. */
const children: ChildProcess[] = []

atEndOfFile(() => rm(folder, { recursive: true, force: true }))
atEndOfFile(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** A process of the command line: its end, and what it has printed until now. */
function penstock(...words: string[]) {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder }
  const child = spawn(process.execPath, [MAIN, ...words], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.on('data', (text) => {
    said.out += text
  })
  child.stderr.on('data', (text) => {
    said.err += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { said, ended }
}

type Login = ReturnType<typeof penstock>

/** What `login --json` shows before it waits. */
async function shown({ said, ended }: Login): Promise<{ url: string; code: string }> {
  const over = ended.then((code) => Promise.reject(new Error(`ended with ${code}: ${said.err}`)))
  const line = async () => {
    while (!said.err.includes('\n')) await new Promise((go) => setTimeout(go, 50))
    return JSON.parse(said.err.split('\n', 1)[0]!)
  }
  return Promise.race([line(), over])
}

portal.job('a program gets a key, and calls', 3, async (hands) => {
  const profile = `by-${hands.name}`
  const url = portal.sandbox.api_url
  const login = penstock('login', '--url', url, '--profile', profile, '--json')
  const asked = await shown(login)
  assert.equal(asked.url, `${portal.origin}/portal/pair`)
  // The program prints where to go; who comes by the pages finds it beside the keys.
  await portal.visit('/portal/developers/keys')
  await hands.press(link('Approve a program'))
  await hands.type(field('Code'), asked.code)
  await hands.press(button('Show the program'))
  await portal.page.getByText('127.0.0.1').waitFor()
  await portal.page.getByText(/^read, buy, screen addresses/).waitFor()
  await hands.type(field('Daily spending limit (TRX)'), '7')
  await hands.press(button('Approve'))
  await portal.page.getByText('now has its key and continues by itself').waitFor()
  assert.equal(await login.ended, 0, login.said.err)
  const { key } = JSON.parse(login.said.out) as { key: string }
  assert.match(key, /^penstock on /)
  // No secret was printed, and the key is what was approved.
  assert.doesNotMatch(login.said.out + login.said.err, /ps[ts]_/)
  const call = penstock('whoami', '--json', '--profile', profile)
  assert.equal(await call.ended, 0, call.said.err)
  const who = JSON.parse(call.said.out) as { key: { scopes: string[]; daily_cap: number } }
  assert.deepEqual(who.key.scopes, ['read', 'buy', 'aml', 'money', 'webhooks'])
  assert.equal(who.key.daily_cap, 7)
})

portal.test('what is refused ends with 3; a code that is none is said to be none', async () => {
  const login = penstock('login', '--url', portal.sandbox.api_url, '--scopes', 'read', '--json')
  const { code } = await shown(login)
  await portal.visit('/portal/pair')
  await field('Code').fill('BCDF')
  await button('Show the program').click()
  await portal.page.getByText('A code has eight letters.').waitFor()
  await field('Code').fill('ZZZZ-ZZZZ')
  await button('Show the program').click()
  await portal.page.getByText('No program is waiting with this code').waitFor()
  await field('Code').fill(` ${code.toLowerCase().replace('-', ' ')}`)
  await button('Show the program').click()
  await button('Refuse').click()
  await portal.page.getByText('gets no key').waitFor()
  assert.equal(await login.ended, 3)
  assert.match(login.said.err, /refused in the portal/)
  assert.equal(login.said.out, '')
  await heading('Approve a program').waitFor()
})

portal.looks(async () => {
  const { page, penstock } = portal
  const { code } = await penstock.pairings.create({ name: 'a program', scopes: ['aml'] })
  const prepare = async () => {
    await page.locator('main input').first().fill(code)
    await page.locator('main button.main').click()
    await page.locator('main h2').waitFor()
  }
  return [{ path: '/portal/pair' }, { path: '/portal/pair', prepare }]
})

portal.behaves()
