// What stands between us and a provider in trouble: a budget of time for each question, tries with
// growing and random pauses, and a circuit breaker, which for a while asks nothing after several
// questions in a row have failed.

import type { Clock } from '../../lib/clock.ts'
import { errorText } from '../../lib/fault.ts'
import { type Http, type Outside, type Provider, ProviderFailure, pauseOf } from './provider.ts'

export type GuardOptions = {
  clock: Clock
  wait: Outside['wait']
  /** 0 up to 1. */
  chance: () => number
  /** For one question, with all tries and polling. */
  budget_ms?: number
  tries_max?: number
  /** Questions that fail in a row before the breaker opens, and for how long it stays open. */
  failures_max?: number
  open_ms?: number
  /** What no failure may say: some repeat what they were asked with. */
  secrets?: readonly string[]
}

export type GuardedProvider = Provider & { readonly state: () => 'closed' | 'open' }

/** For one question, with all tries and polling. */
export const BUDGET_MS = 25_000
const PAUSE_MS = 250

export function guarded(provider: Provider, options: GuardOptions): GuardedProvider {
  const {
    clock,
    wait,
    chance,
    budget_ms = BUDGET_MS,
    tries_max = 3,
    failures_max = 5,
    open_ms = 30_000,
    secrets = [],
  } = options
  let failures = 0
  let open_until_ms = 0

  async function tryAgain(question: Parameters<Provider['screen']>[0], signal: AbortSignal) {
    for (let tries = 1; ; tries++) {
      try {
        return await provider.screen(question, signal)
      } catch (thrown) {
        const failure = asFailure(thrown, signal)
        const pause_ms = failure.retry_after_ms ?? PAUSE_MS * 2 ** tries * (0.5 + chance())
        const worth_it =
          failure.kind === 'transient' &&
          tries < tries_max &&
          pause_ms < budget_ms &&
          !signal.aborted
        if (!worth_it) throw failure
        await wait(pause_ms, signal).catch(() => {
          throw failure
        })
      }
    }
  }

  return {
    name: provider.name,
    covers: provider.covers,
    state: () => (clock.now().getTime() < open_until_ms ? 'open' : 'closed'),
    async screen(question, signal) {
      if (clock.now().getTime() < open_until_ms)
        throw new ProviderFailure(
          'transient',
          `${provider.name} is left alone after several failures`,
        )
      const budget = new AbortController()
      const over = wait(budget_ms, budget.signal).then(
        () => budget.abort(),
        () => {},
      )
      try {
        const answer = await tryAgain(question, AbortSignal.any([signal, budget.signal]))
        failures = 0
        return answer
      } catch (thrown) {
        const failure = asFailure(thrown, budget.signal)
        // What is wrong with the question says nothing about the provider.
        if (failure.kind !== 'permanent' && failure.kind !== 'unsupported') failures += 1
        if (failures >= failures_max) {
          failures = 0
          open_until_ms = clock.now().getTime() + open_ms
        }
        failure.message = errorText(failure.message, secrets)
        throw failure
      } finally {
        budget.abort()
        await over
      }
    },
  }
}

/** A reader that breaks on an answer breaks on it again: to ask once more would be paid for. */
function asFailure(thrown: unknown, signal: AbortSignal): ProviderFailure {
  if (thrown instanceof ProviderFailure) return thrown
  if (signal.aborted) return new ProviderFailure('transient', 'the time for this question is over')
  const why = thrown instanceof Error ? thrown.message : String(thrown)
  return new ProviderFailure('permanent', `the answer cannot be read: ${why}`)
}

/** The transport of production. */
export const httpExchange: Http = async ({ method, url, headers, body, signal }) => {
  const response = await fetch(url, {
    method,
    redirect: 'error',
    signal,
    ...(headers && { headers }),
    ...(body !== undefined && { body }),
  })
  return {
    status: response.status,
    content_type: response.headers.get('content-type') ?? '',
    retry_after_ms: pauseOf(response.headers.get('retry-after')),
    body: await bodyOf(response),
  }
}

/** Far more than any provider has to say; all of it would be kept. */
const BODY_BYTES_MAX = 2_000_000

async function bodyOf({ body }: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of body ?? []) {
    length += part.length
    if (length > BODY_BYTES_MAX)
      throw new Error(`the answer is longer than ${BODY_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
