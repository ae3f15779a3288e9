// The errors of a call, as classes: branch on them, or on `code`, which will not change.

/** The fields of an error beside its sentence. */
export type ErrorFields = {
  /** Of the service; 0 when there was no answer of its own. */
  code: number
  /** The same as `code` in words, with one part more where it is known:
   *  `insufficient_funds.daily_cap`. */
  key?: string | undefined
  /** Quote it when you ask the operator about a call. */
  request_id?: string | undefined
  /** The same call may succeed later, with nothing about it changed. */
  retryable?: boolean
  /** The field that it is about, as in `params.amounts.energy`. */
  param?: string | undefined
  /** Where it is documented. */
  doc_url?: string | undefined
  cause?: unknown
}

export class PenstockError extends Error {
  override name = 'PenstockError'
  readonly code: number
  readonly key: string | undefined
  readonly request_id: string | undefined
  readonly retryable: boolean
  readonly param: string | undefined
  readonly doc_url: string | undefined

  constructor(message: string, fields: ErrorFields) {
    super(message, { cause: fields.cause })
    this.code = fields.code
    this.key = fields.key
    this.request_id = fields.request_id
    this.retryable = fields.retryable ?? false
    this.param = fields.param
    this.doc_url = fields.doc_url
  }
}

/** The token is not known, the signature is wrong, or the key may not do this (`key` says so). */
export class AuthError extends PenstockError {
  override name = 'AuthError'
}

/** The body, or a field of it, is not what the endpoint takes. */
export class InvalidRequest extends PenstockError {
  override name = 'InvalidRequest'
}

/** The balance is too low, or the daily cap of the key is reached. */
export class InsufficientFunds extends PenstockError {
  override name = 'InsufficientFunds'
}

/** Not found among what is yours. */
export class NotFound extends PenstockError {
  override name = 'NotFound'
}

/** The receiver has no account on the chain: activate it first, or ask for `activate_address`. */
export class AddressNotActivated extends PenstockError {
  override name = 'AddressNotActivated'
}

/** There is nothing to activate. */
export class AddressAlreadyActivated extends PenstockError {
  override name = 'AddressAlreadyActivated'
}

/** Off sale, or it cannot be delivered now. Nothing was charged. */
export class Unavailable extends PenstockError {
  override name = 'Unavailable'
}

/** The quote has ended or was used. */
export class QuoteExpired extends PenstockError {
  override name = 'QuoteExpired'
}

/** There are as many of these as there may be. */
export class LimitReached extends PenstockError {
  override name = 'LimitReached'
}

/** You may not do this, or not without a proof of presence. */
export class Forbidden extends PenstockError {
  override name = 'Forbidden'
}

/** The object is no longer kept. */
export class TooOld extends PenstockError {
  override name = 'TooOld'
}

/** Too many requests. */
export class RateLimited extends PenstockError {
  override name = 'RateLimited'
}

/** This service has no such endpoint. */
export class NotSupported extends PenstockError {
  override name = 'NotSupported'
}

/** The service, or something in front of it, has failed. */
export class ServerError extends PenstockError {
  override name = 'ServerError'
}

/** There was no whole answer. */
export class ConnectionError extends PenstockError {
  override name = 'ConnectionError'
}

/** There was no answer in time, or what was waited for has not happened. */
export class TimeoutError extends PenstockError {
  override name = 'TimeoutError'
}

/** The order has failed; its whole amount was given back. */
export class OrderFailed<Order = unknown> extends PenstockError {
  override name = 'OrderFailed'
  readonly order: Order

  constructor(order: Order) {
    super('The order has failed; its whole amount was given back', { code: 0 })
    this.order = order
  }
}

/** The check has failed; its price was given back. */
export class CheckFailed<Check = unknown> extends PenstockError {
  override name = 'CheckFailed'
  readonly check: Check

  constructor(check: Check) {
    super('The check has failed; its price was given back', { code: 0 })
    this.check = check
  }
}

/** The call may or may not have been carried out: no answer came. `cause` is the last failure.
 *  The same call with the same id finds out, and does it if it was not done: nothing is done
 *  twice. */
export class UnknownOutcome extends PenstockError {
  override name = 'UnknownOutcome'
  /** The idempotency key of the call: its `external_id`, or the option `idempotency_key`. */
  readonly external_id: string

  constructor(external_id: string, cause?: unknown) {
    const message =
      'No answer came, so it is not known whether this was done. Call again in the same way with ' +
      `the same id, ${external_id}: that is safe, and tells.`
    const request_id = (cause as { request_id?: string } | undefined)?.request_id
    super(message, { code: 0, retryable: true, request_id, cause })
    this.external_id = external_id
  }
}

const CLASSES: Readonly<Record<number, typeof PenstockError>> = {
  1: AuthError,
  2: InvalidRequest,
  6: InsufficientFunds,
  10: InvalidRequest,
  11: InvalidRequest,
  12: InvalidRequest,
  20: NotFound,
  21: InvalidRequest,
  24: AddressNotActivated,
  25: AddressAlreadyActivated,
  30: NotFound,
  35: Unavailable,
  50: InvalidRequest,
  70: NotFound,
  71: QuoteExpired,
  72: LimitReached,
  73: Forbidden,
  76: TooOld,
  404: NotSupported,
  408: TimeoutError,
  429: RateLimited,
}

/** Codes of answers that pass by themselves. */
const PASSING = [35, 408, 429, 500, 502, 503, 504]

/** The error for a code of the service, or for a status of HTTP. */
export function errorFor(message: string, fields: ErrorFields): PenstockError {
  const { code } = fields
  const Class = CLASSES[code] ?? (code >= 500 ? ServerError : PenstockError)
  return new Class(message, { ...fields, retryable: PASSING.includes(code) })
}
