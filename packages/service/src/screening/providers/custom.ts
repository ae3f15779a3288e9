// A provider that a file describes: where it is asked, and where in its answer the score and the
// rest stand. Answers are taken at their word or not at all: what is missing or is not what the
// file says is a failure, never a score.

import {
  askJson,
  type Outside,
  type Provider,
  type ProviderAnswer,
  ProviderFailure,
  type ProviderQuestion,
  sharesOf,
} from './provider.ts'

export type CustomOptions = {
  /** `{address}` and `{network}` stand for those of the question, here and in texts of `body`. */
  url: string
  headers: Readonly<Record<string, string>>
  /** Sent as JSON by POST; undefined: it is asked by GET. */
  body: unknown
  networks: readonly string[]
  /** JSON pointers (RFC 6901) into the answer. */
  score: string
  level: string | undefined
  blacklist: string | undefined
  factors: string | undefined
  reference: string | undefined
  /** The worst score, and the whole of the factors, in the provider's numbers. */
  score_max: number
  factors_whole: number
  /** Its names of levels. */
  levels: Readonly<Record<string, 'low' | 'medium' | 'high'>>
}

/** Shares are rounded by those who print them. */
const ROUNDING = 1e-3
const REFERENCE_MAX = 200

export function custom({ http }: Outside, options: CustomOptions): Provider {
  const { url, headers, networks } = options
  return {
    name: 'custom',
    covers: ({ type, network }) => type === 'address' && networks.includes(network),
    async screen(question, signal) {
      const sent = options.body === undefined ? undefined : filledIn(options.body, question)
      const { fields, body } = await askJson(http, {
        method: sent === undefined ? 'GET' : 'POST',
        url: fill(url, question, encodeURIComponent),
        headers: {
          accept: 'application/json',
          ...(sent !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent !== undefined && { body: JSON.stringify(sent) }),
        signal,
      })
      return answerOf(options, { question, fields, body })
    },
  }
}

function fill(
  text: string,
  { address, network }: ProviderQuestion,
  written: (value: string) => string = (value) => value,
): string {
  const values: Record<string, string> = { address, network }
  return text.replace(/\{(address|network)\}/g, (_, name: string) => written(values[name]!))
}

/** The body with the question in its texts. */
function filledIn(value: unknown, question: ProviderQuestion): unknown {
  if (typeof value === 'string') return fill(value, question)
  if (Array.isArray(value)) return value.map((one) => filledIn(one, question))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, filledIn(one, question)]),
  )
}

/** What a JSON pointer points at; undefined: nothing. Only what the answer itself has counts. */
export function pointed(value: unknown, pointer: string): unknown {
  let at = value
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}

type Reply = { question: ProviderQuestion; fields: Record<string, unknown>; body: Uint8Array }

function answerOf(options: CustomOptions, { question, fields, body }: Reply): ProviderAnswer {
  const at = (pointer: string | undefined) =>
    pointer === undefined ? undefined : pointed(fields, pointer)
  const unless = (holds: boolean, sentence: string) => {
    if (!holds) throw new ProviderFailure('permanent', sentence, { body })
  }
  const score = at(options.score)
  const is_score = typeof score === 'number' && score >= 0 && score <= options.score_max
  unless(is_score, `the answer has no score from 0 to ${options.score_max}`)
  const said = at(options.level)
  const is_level = typeof said === 'string' && Object.hasOwn(options.levels, said)
  unless(options.level === undefined || is_level, 'the answer has no level that is known')
  const blacklist = at(options.blacklist)
  const is_flag = options.blacklist === undefined || typeof blacklist === 'boolean'
  unless(is_flag, 'the answer does not say whether it is blacklisted')
  const factors = options.factors === undefined ? {} : wholeOf(at(options.factors), options)
  unless(factors !== undefined, 'the factors of the answer are no shares of a whole')
  const reference = options.reference === undefined ? question.address : at(options.reference)
  const is_reference = typeof reference === 'string' || typeof reference === 'number'
  unless(is_reference, 'the answer has no reference')
  return {
    score: ((score as number) / options.score_max) * 100,
    level: options.level === undefined ? undefined : options.levels[said as string],
    blacklist: blacklist === true,
    shares: sharesOf(factors!),
    reference: String(reference).slice(0, REFERENCE_MAX),
    body,
  }
}

/** Shares by name, of 1; undefined: they are none. */
function wholeOf(
  value: unknown,
  { factors_whole }: CustomOptions,
): Record<string, number> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const shares = new Map<string, number>()
  let sum = 0
  for (const [name, share] of Object.entries(value)) {
    if (typeof share !== 'number' || share < 0) return undefined
    shares.set(name, share / factors_whole)
    sum += share / factors_whole
  }
  return sum <= 1 + ROUNDING ? Object.fromEntries(shares) : undefined
}
