// People at pages to sign in, on rows alone: the endpoints of signing in are asked as the server
// asks them, without a server, a chain or steps. The time stands still until it is set.

import type { IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import { parseSetCookie } from 'cookie'
import { TOTP } from 'otpauth'
import { Fault } from 'penstock-service/lib/fault.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { totpCodes } from 'penstock-service/people/sign_in/codes.ts'
import { passwordHasher } from 'penstock-service/people/sign_in/passwords.ts'
import type { Needs } from 'penstock-service/people/sign_in/proofs.ts'
import { signInRoutes } from 'penstock-service/people/sign_in/routes.ts'
import { consoleFace, type Face, portalFace } from 'penstock-service/people/users/faces.ts'
import { sessionMount } from 'penstock-service/people/users/mount.ts'
import { sessionReader } from 'penstock-service/people/users/sessions.ts'
import { inviteUser, makeLink } from 'penstock-service/people/users/users.ts'
import { sealWith } from 'penstock-service/platform/seal/seal.ts'
import { Authenticator, type Options } from './authenticator.ts'
import { makeCustomer } from './customer_rows.ts'
import { freshDatabase } from './database.ts'
import { ownTransaction } from './own_transaction.ts'
import { withRace } from './race.ts'
import { PASSWORD } from './users.ts'

const NOW = new Date('2026-10-08T15:26:32Z')
/** Where all pages are. */
export const PAGES = 'https://pages.example'
/** Cheap: what a hash is made of is the same. */
const COST = 4

type PageOptions = { face?: Face['name']; origin?: string; ip?: string; browser?: string }
type PageNeeds = Omit<Needs, 'face' | 'sessions'>

/** Something that happens just before a transaction of a page begins: the first is 1. */
type Interruption = { before: number; work: () => Promise<unknown> }

/** A page of ours in a browser of its own, which keeps the cookies that it is given. */
export class SignInPage {
  private readonly face: Face
  private readonly origin: string
  private readonly ip: string
  private readonly browser: string
  private readonly needs: PageNeeds
  cookies: Record<string, string | undefined> = {}

  constructor(needs: PageNeeds, options: PageOptions = {}) {
    const { face = 'portal', origin = PAGES, ip = '192.0.2.1', browser = 'a browser' } = options
    this.face = face === 'portal' ? portalFace(origin) : consoleFace(origin)
    this.origin = origin
    this.ip = ip
    this.browser = browser
    this.needs = needs
  }

  /** What is answered. Throws what is refused. */
  async ask<Reply = Record<string, unknown>>(
    path: string,
    body: object = {},
    interruption?: Interruption,
  ): Promise<Reply> {
    const { sql: plain } = this.needs
    const sql = interruption ? withRace(plain, interruption.work, interruption) : plain
    const needs = { ...this.needs, sql, face: this.face, sessions: sessionReader(this.needs) }
    const mount = sessionMount(needs, this.face, { endpoints: signInRoutes(needs), streams: [] })
    const endpoint = mount.endpoints.find((one) => one.path === path)!
    const { headers, ip } = this
    const visit = { endpoint, method: 'POST', headers, ip, port: undefined }
    const customer = await mount.admit(visit)
    if (customer) mount.mayAsk(endpoint, customer)
    const reply_headers: Record<string, string | string[]> = {}
    const asked = { body: endpoint.read?.(body as never), customer, headers, ip, reply_headers }
    const reply = await endpoint.handle({ ...asked, request_id: 'request' })
    for (const given of [reply_headers['set-cookie'] ?? []].flat()) {
      const { name, value } = parseSetCookie(given)
      this.cookies[name] = value === '' ? undefined : value
    }
    return reply as Reply
  }

  /** By which sub-key it is refused; undefined: it is not. */
  async refusal(...asked: Parameters<typeof this.ask>): Promise<string | undefined> {
    const thrown = await this.ask(...asked).then(
      () => undefined,
      (error: unknown) => error,
    )
    if (thrown !== undefined && !(thrown instanceof Fault)) throw thrown
    return thrown?.key
  }

  private get headers(): IncomingHttpHeaders {
    const kept = Object.entries(this.cookies).filter(([, value]) => value !== undefined)
    return {
      origin: this.origin,
      'x-penstock': '1',
      'user-agent': this.browser,
      cookie: kept.map(([name, value]) => `${name}=${value}`).join('; '),
    }
  }
}

type Person = { customer_id?: string | null; name?: string; role?: string }

/** Customers alpha and beta, the house, and whoever is invited. */
export async function withSignIn(t: TestContext) {
  const { sql, url } = await freshDatabase(t)
  for (const id of ['alpha', 'beta']) await sql.begin((tx) => makeCustomer(tx, { id, at: NOW }))
  let at = NOW
  const clock = { now: () => at }
  const seal = sealWith({ current: 'a', keys: { a: new Uint8Array(32).fill(1) } }, systemRandom)
  const passwords = passwordHasher(systemRandom, COST)
  const needs: PageNeeds = {
    sql,
    clock,
    random: systemRandom,
    new_id: idMaker(clock, systemRandom),
    seal,
    passwords,
    totp_codes: totpCodes(seal),
    brandName: async () => 'Penstock',
    network: async () => undefined,
    sign_up: true,
    wake: () => undefined,
  }
  const codeOf = (secret: string) => new TOTP({ secret }).generate({ timestamp: at.getTime() })
  const setTime = (ms: number) => {
    at = new Date(NOW.getTime() + ms)
  }
  const page = (options: PageOptions = {}, others: Partial<PageNeeds> = {}) =>
    new SignInPage({ ...needs, ...others }, options)
  /** The token of a link for a new user. */
  const invite = (of: Person = {}, purpose: 'join' | 'sign_in' = 'join') =>
    sql.begin(async (tx) => {
      const { customer_id = 'alpha', name = 'Anna', role = 'owner' } = of
      const wanted = { customer_id, name, role, invited_by: 'test' }
      const { id: user_id } = await inviteUser(tx, needs, wanted)
      const { token } = await makeLink(tx, needs, { user_id, purpose })
      return { token, user_id }
    })
  const faceOf = ({ customer_id }: Person) => (customer_id === null ? 'console' : 'portal')
  /** Somebody who has just joined with a password and codes, and is signed in. */
  const joinByPassword = async (sign_in_name: string, of: Person = {}) => {
    const { token, user_id } = await invite(of)
    const own = page({ face: faceOf(of) })
    const { totp } = await own.ask<{ totp: TotpSecret }>('/session/join', { token })
    const shown = { password: PASSWORD, code: codeOf(totp.secret), offer: totp.offer }
    const joined = await own.ask<{ recovery_codes: string[] }>('/session/join', {
      token,
      sign_in_name,
      ...shown,
    })
    return { page: own, user_id, secret: totp.secret, recovery_codes: joined.recovery_codes }
  }
  /** Somebody who has just joined with a passkey, and is signed in. */
  const joinByPasskey = async (sign_in_name: string, of: Person = {}) => {
    const { token, user_id } = await invite(of)
    const own = page({ face: faceOf(of) })
    const authenticator = new Authenticator(PAGES)
    const { passkey } = await own.ask<{ passkey: Options }>('/session/join', { token })
    await own.ask('/session/join', { token, sign_in_name, passkey: authenticator.create(passkey) })
    return { page: own, user_id, authenticator }
  }
  /** What comes of a call while somebody else holds its customer, and then makes a change first. */
  const outrun = async <T>(change: string, ask: () => Promise<T>): Promise<T> => {
    const other = await ownTransaction(t, url)
    await other.query('select 1 from customer for update')
    const asked = ask()
    await other.waitedFor(asked)
    await other.query(change)
    await other.commit()
    return asked
  }
  return { sql, outrun, needs, codeOf, setTime, page, invite, joinByPassword, joinByPasskey }
}

type TotpSecret = { secret: string; offer: string }
