// Outside screening services, behind one interface. A provider says what it found, or fails in one
// of five ways; it never makes a score up. What it answered is handed on byte for byte, for the
// evidence. An answer that is not what the provider documents (HTML from an edge, a score that is
// null) is a failure.

import { categoryNamed } from '../flow/category_names.ts'

export type ProviderQuestion = {
  type: 'address' | 'hash'
  network: string
  address: string
  hash: string | null
  direction: 'deposit' | 'withdrawal' | null
}

export type ProviderAnswer = {
  /** 0 to 100. Undefined: this provider only says whether an address is barred. */
  score: number | undefined
  level: 'low' | 'medium' | 'high' | undefined
  blacklist: boolean
  /** Shares of the money by our categories, each 0 to 1; what they lack to 1 is unidentified. */
  shares: { category: string; share: number }[]
  /** The provider's own name for this answer. */
  reference: string
  body: Uint8Array
}

/** transient: time may fix it. permanent: this question has no answer there. unsupported: it does
 *  not screen such a thing. auth: it does not know us. quota: we have used up what we paid for. */
export type FailureKind = 'transient' | 'permanent' | 'unsupported' | 'auth' | 'quota'

export class ProviderFailure extends Error {
  override name = 'ProviderFailure'
  readonly kind: FailureKind
  readonly retry_after_ms: number | undefined
  readonly body: Uint8Array
  constructor(
    kind: FailureKind,
    sentence: string,
    more: { retry_after_ms?: number | undefined; body?: Uint8Array } = {},
  ) {
    super(sentence)
    this.kind = kind
    this.retry_after_ms = more.retry_after_ms
    this.body = more.body ?? new Uint8Array()
  }
}

export type Provider = {
  readonly name: string
  /** Whether it screens such a thing at all. */
  covers(question: Pick<ProviderQuestion, 'type' | 'network'>): boolean
  /** Throws ProviderFailure. */
  screen(question: ProviderQuestion, signal: AbortSignal): Promise<ProviderAnswer>
}

export type HttpRequest = {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  body?: string
  signal: AbortSignal
}
export type HttpAnswer = {
  status: number
  content_type: string
  retry_after_ms: number | undefined
  body: Uint8Array
}
/** One exchange. Rejects with anything when there was no answer. */
export type Http = (request: HttpRequest) => Promise<HttpAnswer>

/** What adapters need of the world: exchanges, and time. */
export type Outside = { http: Http; wait: (ms: number, signal: AbortSignal) => Promise<void> }

/** Asks and reads a JSON object. What is not one, or comes with a status that says so, is the
 *  failure that fits. */
export async function askJson(
  http: Http,
  request: HttpRequest,
): Promise<{ fields: Record<string, unknown>; body: Uint8Array }> {
  const answer = await http(request).catch((thrown: unknown) => {
    throw new ProviderFailure(
      'transient',
      `no answer: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    )
  })
  const { status, body, retry_after_ms } = answer
  const failed = statusFailure(status)
  const fields = jsonFields(answer)
  if (failed)
    throw new ProviderFailure(failed, `HTTP ${status}${fields ? '' : ' without JSON'}`, {
      retry_after_ms,
      body,
    })
  if (!fields) throw new ProviderFailure('transient', 'the answer is not JSON', { body })
  return { fields, body }
}

function statusFailure(status: number): FailureKind | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status === 401 || status === 403) return 'auth'
  if (status === 402) return 'quota'
  if (status === 429 || status >= 500) return 'transient'
  return 'permanent'
}

function jsonFields({ content_type, body }: HttpAnswer): Record<string, unknown> | undefined {
  if (!/\bjson\b/i.test(content_type)) return undefined
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}

/** The pause that is asked for in seconds, as a number or in digits; undefined: in no sensible
 *  one. */
export function pauseOf(seconds: unknown): number | undefined {
  const given = typeof seconds === 'string' && seconds.trim() !== '' ? Number(seconds) : seconds
  return typeof given === 'number' && given >= 0 && Number.isFinite(given)
    ? given * 1_000
    : undefined
}

/** Shares under our names; several of theirs can be one of ours. A name without a category counts
 *  as unidentified. */
export function sharesOf(theirs: Record<string, unknown>): ProviderAnswer['shares'] {
  const shares = new Map<string, number>()
  for (const [name, value] of Object.entries(theirs)) {
    const share = typeof value === 'string' ? Number(value) : value
    if (typeof share !== 'number' || !Number.isFinite(share) || share <= 0) continue
    const category = categoryNamed(name) ?? 'unidentified'
    // Nothing is more than the whole, whatever is said.
    shares.set(category, Math.min(1, (shares.get(category) ?? 0) + share))
  }
  return [...shares].map(([category, share]) => ({ category, share }))
}
