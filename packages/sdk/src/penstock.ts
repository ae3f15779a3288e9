// The client: resources with a method for each endpoint, and `call`, which reaches every one of
// them by its path. Everything stays as it is on the wire.

import { Caller, type CallOptions, type WithResponse } from './calls.ts'
import type { Endpoints, Pages } from './endpoints.ts'
import { CheckFailed, OrderFailed } from './errors.ts'
import { pages, poll, type WaitOptions } from './waiting.ts'

export type { CallOptions, LastResponse, WithResponse } from './calls.ts'
export type { Endpoints, Pages } from './endpoints.ts'
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
} from './errors.ts'
export { fromSun, toSun } from './money.ts'
export type { WaitOptions } from './waiting.ts'

export type Body<Path extends keyof Endpoints> = Endpoints[Path]['body']
export type Result<Path extends keyof Endpoints> = Endpoints[Path]['result']

/** An order as it was placed, and as it is now. */
export type NewOrder = Result<'/v1/transaction/new'>
export type Order = Result<'/v1/transaction/check'>
export type Subscription = Result<'/v1/subscription/check'>
export type AmlCheck = Result<'/v1/aml-checks/check'>
export type Deposits = Pages['/deposits/{tx_id}']['result']

/** Which one is meant: its id, or a body with `id`, `external_id` or both. */
export type OrderRef = string | Body<'/v1/transaction/check'>
export type SubscriptionRef = string | Body<'/v1/subscription/check'>

export type PenstockOptions = {
  /** Of the service, without `/v1`: `https://api.example`. */
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
  /** Anyone who can open the page can read the secret, and spend with it. */
  allowSecretInBrowser?: boolean | undefined
  /** What is used instead of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined
}

const SUCCESS_MS_MAX = 5 * 60_000
/** An hour, and the time it takes to deliver and to reclaim. */
const ENDED_MS_MAX = 90 * 60_000

type Until = 'success' | 'ended'

export class Penstock {
  readonly #caller: Caller

  /** Throws when there is no URL, when token and secret are not both there, and for a secret in a
   *  page, unless that is allowed. */
  constructor({
    url,
    token,
    secret,
    retries = 2,
    timeout_ms = 30_000,
    retry_unavailable_ms = 0,
    allowSecretInBrowser = false,
    // Called as a function of its own: browsers refuse it as a method.
    fetch = (...call) => globalThis.fetch(...call),
  }: PenstockOptions) {
    if (!/^https?:\/\/[^/]/.test(url)) throw new TypeError(`url is no address: ${url}`)
    if (!token !== !secret) throw new TypeError('token and secret belong together')
    if (secret && !allowSecretInBrowser && 'window' in globalThis && 'document' in globalThis)
      throw new TypeError('A secret in a page is no secret: see allowSecretInBrowser')
    this.#caller = new Caller({
      url: url.replace(/\/+$/, ''),
      token,
      secret,
      retries,
      timeout_ms,
      retry_unavailable_ms,
      fetch,
    })
  }

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

  /** Calls an endpoint by its path. Throws a PenstockError. */
  call<Path extends keyof Endpoints>(
    path: Path,
    body: Body<Path>,
    options?: CallOptions,
  ): Promise<WithResponse<Result<Path>>> {
    return this.#caller.post(path, body, options)
  }

  readonly services = {
    /** What is on sale, and its prices. */
    list: (options?: CallOptions) => this.call('/v1/services', {}, options),
  }

  readonly prices = {
    /** What a purchase would cost. */
    calculate: (body: Body<'/v1/calculate'>, options?: CallOptions) =>
      this.call('/v1/calculate', body, options),
    /** The energy that a transfer of a token needs, and its price. */
    estimate: (body: Body<'/v1/estimate-energy'>, options?: CallOptions) =>
      this.call('/v1/estimate-energy', body, options),
  }

  readonly addresses = {
    /** What an address has and can use on the chain. */
    get: (address: string, options?: CallOptions) =>
      this.call('/v1/address-info', { address }, options),
  }

  readonly balance = {
    /** What can be spent, and where to send more. */
    get: (options?: CallOptions) => this.call('/v1/balance', {}, options),
  }

  readonly deposits = {
    /** What became of what a transaction sent to us. Throws NotFound until a block has it. */
    check: (tx_id: string, options?: CallOptions) =>
      this.#caller.get(`/deposits/${encodeURIComponent(tx_id)}`, options) as Promise<
        WithResponse<Deposits>
      >,
    /** Where TRX sent by anybody buys energy for the sender, and at which rates. */
    rechargeInfo: (options?: CallOptions) => this.call('/v1/direct-recharge-info', {}, options),
  }

  readonly orders = {
    /** Buys. Without an `external_id` it gets one, which the result has. Throws UnknownOutcome when
     *  no answer came: the same call with that `external_id` finds out. */
    create: (body: Body<'/v1/transaction/new'>, options?: CallOptions) =>
      this.call('/v1/transaction/new', body, options),
    /** The order as it is now. */
    check: (order: OrderRef, options?: CallOptions) =>
      this.call('/v1/transaction/check', reference(order), options),
    /** Waits until the order is delivered, or until all of it was reclaimed again. Throws
     *  OrderFailed, and TimeoutError after 5 or 90 minutes, unless `timeout_ms` says otherwise. */
    waitFor: async (
      order: OrderRef,
      { until = 'success', ...wait }: WaitOptions & { until?: Until | undefined } = {},
    ) => {
      const usual_ms = until === 'success' ? SUCCESS_MS_MAX : ENDED_MS_MAX
      const found = await this.#wait('/v1/transaction/check', reference(order), wait, {
        usual_ms,
        isThere: ({ status, delegations }) =>
          status === 'failed' ||
          (status === 'success' &&
            (until === 'success' || delegations.every(({ reclaimed_at }) => reclaimed_at))),
      })
      if (found.status === 'failed') throw new OrderFailed<Order>(found)
      return found
    },
  }

  readonly subscriptions = {
    /** What can be subscribed to, and its prices. */
    plans: (options?: CallOptions) => this.call('/v1/subscriptions', {}, options),
    /** Starts one. Ids and lost answers are as with `orders.create`. */
    start: (body: Body<'/v1/subscription/start'>, options?: CallOptions) =>
      this.call('/v1/subscription/start', body, options),
    check: (subscription: SubscriptionRef, options?: CallOptions) =>
      this.call('/v1/subscription/check', reference(subscription), options),
    /** Stops one. When the answer is lost, `check` says whether it has stopped. */
    stop: (subscription: SubscriptionRef, options?: CallOptions) =>
      this.call('/v1/subscription/stop', reference(subscription), options),
    /** All of them, the newest first. */
    list: (filter: Pick<Body<'/v1/subscriptions/history'>, 'status'> = {}, options?: CallOptions) =>
      pages((page, per_page) =>
        this.call('/v1/subscriptions/history', { ...filter, page, per_page }, options),
      ),
  }

  readonly aml = {
    /** What checks cost. */
    prices: (options?: CallOptions) => this.call('/v1/aml-checks', {}, options),
    /** Asks for a check. Its id is the option `idempotency_key`: lost answers are as with
     *  `orders.create`. */
    create: (body: Body<'/v1/aml-checks/new'>, options?: CallOptions) =>
      this.call('/v1/aml-checks/new', body, options),
    check: (id: string, options?: CallOptions) =>
      this.call('/v1/aml-checks/check', { id }, options),
    /** Waits until the check is completed. Throws CheckFailed, and TimeoutError after 5 minutes,
     *  unless `timeout_ms` says otherwise. */
    waitFor: async (id: string, wait: WaitOptions = {}) => {
      const found = await this.#wait('/v1/aml-checks/check', { id }, wait, {
        usual_ms: SUCCESS_MS_MAX,
        isThere: ({ status }) => status === 'completed' || status === 'failed',
      })
      if (found.status === 'failed') throw new CheckFailed<AmlCheck>(found)
      return found
    },
    /** All checks, the newest first. */
    list: (filter: Pick<Body<'/v1/aml-checks/history'>, 'status'> = {}, options?: CallOptions) =>
      pages((page, per_page) =>
        this.call('/v1/aml-checks/history', { ...filter, page, per_page }, options),
      ),
  }

  #wait<Path extends keyof Endpoints>(
    path: Path,
    body: Body<Path>,
    { signal, timeout_ms, request_headers }: WaitOptions,
    { usual_ms, isThere }: { usual_ms: number; isThere: (found: Result<Path>) => boolean },
  ): Promise<WithResponse<Result<Path>>> {
    const ask = (left_ms: number) =>
      this.call(path, body, {
        signal,
        request_headers,
        timeout_ms: Math.min(left_ms, this.#caller.timeout_ms),
      })
    return poll(ask, isThere, { signal, timeout_ms: timeout_ms ?? usual_ms })
  }
}

const reference = <Ref extends object>(one: string | Ref) =>
  (typeof one === 'string' ? { id: one } : one) as Ref

function environment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env ?? {}
}
