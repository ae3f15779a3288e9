// How a key gets into a profile: a user approves it in the portal, somebody types it, or it is that
// of a sandbox on this machine.

import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { NotFound, NotSupported, Penstock, PenstockError, type Result } from 'penstock-sdk'
import { type Command, field, type Invocation } from '../line/command.ts'
import { Misuse, NotSignedIn, Refusal } from '../line/errors.ts'
import type { Io } from '../line/io.ts'
import { cleaned, jsonText } from '../line/printing.ts'
import { isProfileName, type Profile } from '../line/profiles.ts'
import { readSandbox } from '../sandbox/sandbox.ts'

const URL_USUAL = 'http://127.0.0.1:8080'
/** What a profile is for that has no other purpose; the user may approve less. */
const SCOPES_USUAL = ['read', 'buy', 'aml', 'money', 'webhooks'] as const

/** The service says earlier that the time is over. */
const WAIT_MS_MAX = 900_000

export const LOGIN: Command = {
  words: 'login',
  summary: 'Get a key that you approve in the portal, keep it in a profile, and use it',
  also: ['/v1/pairing/new', '/v1/pairing/take'],
  offline: () => true,
  own: [
    field('url', `of the service; ${URL_USUAL} when left out`),
    field('scopes', `what the key should be allowed; ${SCOPES_USUAL.join(',')} when left out`, {
      type: 'list',
    }),
    field('open', 'open the page of the portal in the browser of this machine', { type: 'yes' }),
    field('with_key', 'read the token and the secret: asked, or two lines of standard input', {
      type: 'yes',
    }),
    field('sandbox', 'take the key of the `npm start` whose data folder this is'),
  ],
  async run(invocation) {
    const { own, io, profiles } = invocation
    const { url = URL_USUAL, with_key, sandbox, profile } = own as Record<string, string>
    const name = profile ?? (sandbox === undefined ? 'default' : 'sandbox')
    if (!isProfileName(name)) throw new Misuse('A profile is 1 to 64 of A-Z a-z 0-9 . _ -')
    if (sandbox !== undefined && with_key !== undefined)
      throw new Misuse('login --with-key, or login --sandbox DIR.')
    if (!/^https?:\/\/[^/]/.test(url)) throw new Misuse(`--url ${url} is no address.`)
    const kept = await (sandbox !== undefined
      ? ofSandbox(sandbox)
      : with_key === undefined
        ? byApproval(url, invocation)
        : withKey(url, io))
    const whose = await ownerOf(kept, io.signal)
    await profiles.change((all) => {
      all.profiles[name] = kept
      all.current = name
    })
    const value = { profile: name, url: kept.url, ...whose }
    return { value }
  },
}

async function ofSandbox(folder: string): Promise<Profile> {
  const { api_url, customer } = await readSandbox(folder)
  return { url: api_url, token: customer.token, secret: customer.secret, sandbox: folder }
}

async function withKey(url: string, { ask, input }: Io): Promise<Profile> {
  const typed = ask
    ? [await ask('Token: ', true), await ask('Secret: ', true)]
    : (await input()).split(/\r?\n/)
  const [token = '', secret = ''] = typed.map((one) => one.trim())
  if (token === '' || secret === '') throw new Misuse('The token and the secret are two lines.')
  return { url, token, secret }
}

/** Shows a code, and waits for its approval. Throws NotSignedIn when it was refused, or nobody has
 *  answered in time. */
async function byApproval(url: string, { own, io, json, note }: Invocation): Promise<Profile> {
  const penstock = new Penstock({ url })
  const { signal } = io
  const scopes = [...((own.scopes as typeof SCOPES_USUAL | undefined) ?? SCOPES_USUAL)]
  const name = `penstock on ${cleaned(hostname())}`.slice(0, 100)
  const begun = await penstock.pairings.create({ name, scopes }, { signal })
  const { code, ends_at } = begun
  const page = begun.url ?? portalOf(url)
  // Without these two there is no signing in: --quiet does not hide them.
  if (json) io.err(jsonText({ url: page, code, ends_at }))
  else io.err(`Open  ${cleaned(page)}\nType  ${cleaned(code)}\n`)
  note(`Waiting for your approval, until ${ends_at} …`)
  if (own.open === true) openPage(page)
  const { token, secret } = await approved(penstock, begun, signal)
  return { url, token, secret }
}

/** The page of a service that does not say where it is. Sign-in is at names alone, not at the bare
 *  address of this machine. */
function portalOf(url: string): string {
  const page = new URL(`${url.replace(/(\/+v1)?\/*$/, '')}/portal/pair`)
  if (/^(127\.0\.0\.1|\[::1\])$/.test(page.hostname)) page.hostname = 'localhost'
  return page.href
}

type Pairing = Result<'/v1/pairing/new'>

/** Asks until the user has answered. A service that is away for a moment is asked again. */
async function approved(
  penstock: Penstock,
  { poll_secret, poll_seconds, ends_at }: Pairing,
  signal: AbortSignal,
): Promise<{ token: string; secret: string }> {
  const until_ms = performance.now() + WAIT_MS_MAX
  for (;;) {
    const answer = await penstock.pairings.take({ poll_secret }, { signal }).catch((thrown) => {
      if (thrown instanceof NotFound)
        throw new NotSignedIn(`Nobody has approved it by ${ends_at}: penstock login.`)
      const again = thrown instanceof PenstockError && thrown.retryable
      if (!again || performance.now() > until_ms) throw thrown
    })
    if (answer?.key) return answer.key
    if (answer?.state === 'refused') throw new NotSignedIn('It was refused in the portal.')
    await delay(poll_seconds * 1_000, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

const OPENERS: Record<string, readonly [string, ...string[]]> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Shows a page in the person's browser, if there is one. The service has named it: anything but an
 *  address is not opened. */
function openPage(page: string): void {
  if (!/^https?:\/\/[\w.:[\]-]+\/[\w/-]*$/.test(page)) throw new Refusal('That is no page to open.')
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  const opened = spawn(program, [...args, page], { stdio: 'ignore', detached: true })
  opened.on('error', () => undefined)
  opened.unref()
}

/** Whose key it is. Throws when it is nobody's. */
async function ownerOf({ url, token, secret }: Profile, signal: AbortSignal) {
  const penstock = new Penstock({ url, token, secret })
  try {
    const { customer, key } = await penstock.whoami({ signal })
    return { customer: customer.name, key: key.name, scopes: key.scopes }
  } catch (thrown) {
    if (!(thrown instanceof NotSupported)) throw thrown
    // Another server of this wire.
    await penstock.balance.get({ signal })
    return {}
  }
}
