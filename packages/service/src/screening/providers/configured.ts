// The providers that the operator has access to, each behind its guard. Whether one is asked is the
// policy's business.

import { amlbot } from './amlbot.ts'
import { chainalysis } from './chainalysis.ts'
import { type CustomOptions, custom } from './custom.ts'
import { type GuardedProvider, type GuardOptions, guarded } from './guard.ts'
import { misttrack } from './misttrack.ts'
import type { Outside, Provider } from './provider.ts'

/** Those that are built in, and the one that a file describes; each is asked under its name. */
export const PROVIDERS: readonly string[] = ['amlbot', 'misttrack', 'chainalysis', 'custom']

/** What each of them knows us by; undefined: we have no access. */
export type ProviderKeys = {
  amlbot: { access_id: string; access_key: string } | undefined
  misttrack: string | undefined
  chainalysis: string | undefined
  custom: CustomOptions | undefined
}

export function configuredProviders(
  keys: ProviderKeys,
  outside: Outside & Omit<GuardOptions, 'wait'>,
): GuardedProvider[] {
  const found: Provider[] = []
  if (keys.amlbot) found.push(amlbot(outside, keys.amlbot))
  if (keys.misttrack) found.push(misttrack(outside, { api_key: keys.misttrack }))
  if (keys.chainalysis) found.push(chainalysis(outside, { api_key: keys.chainalysis }))
  if (keys.custom) found.push(custom(outside, keys.custom))
  const { access_id, access_key } = keys.amlbot ?? {}
  const secrets = [
    access_id,
    access_key,
    keys.misttrack,
    keys.chainalysis,
    ...secretsOf(keys.custom),
  ].filter((key) => key !== undefined)
  return found.map((provider) => guarded(provider, { ...outside, secrets }))
}

/** Shorter words are no keys, and would make sentences unreadable. */
const SECRET_MIN = 8

/** The secrets sent beside the question, whole and word by word: headers (`Bearer` and a key), the
 *  values of the address and those parts of its path that are no plain words, texts of the body.
 *  A key may stand in each of them. */
function secretsOf(options: CustomOptions | undefined): string[] {
  if (!options) return []
  const { pathname, searchParams } = new URL(options.url)
  const path = pathname.split('/').map(decoded)
  const parts = [...path.filter((part) => /\d/.test(part)), ...searchParams.values()]
  const sent = [...Object.values(options.headers), ...parts, ...textsIn(options.body)]
  const words = sent.flatMap((text) => text.split(/\s+/))
  return [...sent, ...words].filter((text) => text.length >= SECRET_MIN && !/[{}]/.test(text))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
