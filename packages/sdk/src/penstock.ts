// The client: resources with a method for each endpoint, and `call`, which reaches every one of
// them by its path. Everything stays as it is on the wire.

import { access } from './resources/access.ts'
import { account } from './resources/account.ts'
import { events } from './resources/events.ts'
import { market } from './resources/market.ts'
import { orders } from './resources/orders.ts'
import { screening } from './resources/screening.ts'
import { subscriptions } from './resources/subscriptions.ts'
import { users } from './resources/users.ts'
import { Caller, type CallOptions, type WithResponse } from './wire/calls.ts'
import type { Endpoints, Pages } from './wire/endpoints.ts'
import type { Listener } from './wire/listeners.ts'
import {
  type Filter,
  type Item,
  items,
  type ListPath,
  type NumberedPath,
  numberedItems,
} from './wire/lists.ts'
import type { Body, Result } from './wire/methods.ts'
import { Waker } from './wire/waiting.ts'

export { fromSun, toSun } from './money.ts'
export { type Deposits, statementText } from './resources/account.ts'
export type { Order, OrderRef, Until } from './resources/orders.ts'
export type { AmlCheck } from './resources/screening.ts'
export type { Subscription, SubscriptionRef } from './resources/subscriptions.ts'
export type { CallOptions, LastResponse, WithResponse } from './wire/calls.ts'
export type { Endpoints, Pages, Streams } from './wire/endpoints.ts'
export {
  AddressAlreadyActivated,
  AddressNotActivated,
  AuthError,
  CheckFailed,
  ConnectionError,
  type ErrorFields,
  Forbidden,
  InsufficientFunds,
  InvalidRequest,
  LimitReached,
  NotFound,
  NotSupported,
  OrderFailed,
  PenstockError,
  QuoteExpired,
  RateLimited,
  ServerError,
  TimeoutError,
  TooOld,
  Unavailable,
  UnknownOutcome,
} from './wire/errors.ts'
export type { Event, EventData, EventType } from './wire/events.ts'
export type { RequestInfo, ResponseInfo } from './wire/listeners.ts'
export type { Filter, Item, ListPath, NumberedPath } from './wire/lists.ts'
export type { Body, Result } from './wire/methods.ts'
export { type StampInput, signer } from './wire/signing.ts'
export type { ListedEvent, StreamOptions } from './wire/streams.ts'
export type { WaitOptions } from './wire/waiting.ts'

/** An order as it was placed. */
export type NewOrder = Result<'/v1/transaction/new'>

export type PenstockOptions = {
  /** Of the service: `https://api.example`, as well with `/` or `/v1` at its end. */
  url: string
  /** Of an API key. Both or neither: without them only what is public can be called. */
  token?: string | undefined
  secret?: string | undefined
  /** How often a call is tried again, if that is safe. */
  retries?: number | undefined
  /** How long one try may take. */
  timeout_ms?: number | undefined
  /** For how long calls are tried again while the service is unavailable (code 35). */
  retry_unavailable_ms?: number | undefined
  /** How many calls may be under way at once; the others wait for their turn. */
  connections?: number | undefined
  /** Anyone who can open the page can read the secret, and spend with it. */
  allowSecretInBrowser?: boolean | undefined
  /** Used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

/** The caller that all resources share. */
class Client {
  protected readonly caller: Caller

  /** Throws when there is no URL, when token and secret are not both there, and for a secret in a
   *  page, unless that is allowed. */
  constructor({
    url,
    token,
    secret,
    retries = 2,
    timeout_ms = 30_000,
    retry_unavailable_ms = 0,
    connections = 64,
    allowSecretInBrowser = false,
    // Called as a function of its own: browsers refuse it as a method.
    fetch = (...call) => globalThis.fetch(...call),
  }: PenstockOptions) {
    if (!/^https?:\/\/[^/]/.test(url)) throw new TypeError(`url is no address: ${url}`)
    if (!Number.isInteger(connections) || connections < 1)
      throw new TypeError('connections is a whole number from 1')
    if (!token !== !secret) throw new TypeError('token and secret belong together')
    if (secret && !allowSecretInBrowser && 'window' in globalThis && 'document' in globalThis)
      throw new TypeError('A secret in a page is no secret: see allowSecretInBrowser')
    this.caller = new Caller({
      // Without what is copied along: all calls begin with it.
      url: url.replace(/\/+$/, '').replace(/\/+v1$/, ''),
      token,
      secret,
      retries,
      timeout_ms,
      retry_unavailable_ms,
      connections,
      fetch,
    })
  }

  /** Shows each try of a call, as it begins or when it has ended, without headers and bodies.
   *  Returns what takes the listener off again. */
  on<Name extends keyof Listener>(name: Name, listener: Listener[Name]): () => void {
    return this.caller.listeners.on(name, listener)
  }

  /** Calls an endpoint by its path. Throws a PenstockError. */
  call<Path extends keyof Endpoints>(
    path: Path,
    body: Body<Path>,
    options?: CallOptions,
  ): Promise<WithResponse<Result<Path>>> {
    return this.caller.post(path, body, options)
  }

  /** Goes through a list by its path, the newest item first. Throws a PenstockError. */
  list<Path extends ListPath | NumberedPath>(
    path: Path,
    filter: Filter<Path> = {} as Filter<Path>,
    options?: CallOptions,
  ): AsyncGenerator<Item<Path>, void, void> {
    const numbered = path === '/v1/aml-checks/history' || path === '/v1/subscriptions/history'
    const read = (numbered ? numberedItems : items) as typeof items<ListPath>
    return read(this.caller, path as ListPath, filter as Filter<ListPath>, options) as never
  }
}

export class Penstock extends Client {
  readonly #waker = new Waker(this.caller)
  readonly #market = market(this.caller)
  readonly #orders = orders(this.caller, this.#waker)
  readonly #screening = screening(this.caller, this.#waker)
  readonly #account = account(this.caller)
  readonly #access = access(this.caller)
  readonly #users = users(this.caller)

  readonly services = this.#market.services
  readonly prices = this.#market.prices
  readonly addresses = this.#market.addresses
  readonly pool = this.#market.pool
  readonly orders = this.#orders.orders
  readonly quotes = this.#orders.quotes
  readonly receipts = this.#orders.receipts
  readonly subscriptions = subscriptions(this.caller).subscriptions
  readonly aml = this.#screening.aml
  readonly watches = this.#screening.watches
  readonly balance = this.#account.balance
  readonly deposits = this.#account.deposits
  readonly statement = this.#account.statement
  readonly invoices = this.#account.invoices
  readonly settings = this.#account.settings
  readonly refusals = this.#account.refusals
  readonly keys = this.#access.keys
  readonly pairings = this.#access.pairings
  readonly users = this.#users.users
  readonly sessions = this.#users.sessions
  readonly actions = this.#users.actions
  readonly webhooks = this.#access.webhooks
  readonly notices = this.#access.notices
  readonly events = events(this.caller).events

  /** A client of `PENSTOCK_URL`, `PENSTOCK_TOKEN` and `PENSTOCK_SECRET`. Throws when one of them is
   *  missing. */
  static fromEnv(
    options: Partial<PenstockOptions> = {},
    env: Readonly<Record<string, string | undefined>> = environment(),
  ): Penstock {
    const [url, token, secret] = ['PENSTOCK_URL', 'PENSTOCK_TOKEN', 'PENSTOCK_SECRET'].map(
      (name) => {
        const value = env[name]
        if (!value) throw new TypeError(`${name} is not set`)
        return value
      },
    )
    return new Penstock({ url: url!, token, secret, ...options })
  }

  /** Whose key this is, what it may do, and who answers. */
  whoami(options?: CallOptions) {
    return this.call('/v1/whoami', {}, options)
  }

  /** How each part of the service does, and has done; needs no credentials. */
  status(options?: CallOptions) {
    return this.caller.get('/status.json', options) as Promise<
      WithResponse<Pages['/status.json']['result']>
    >
  }
}

function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env ?? {}
}
