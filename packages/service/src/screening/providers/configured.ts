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

/** Shorter words of a header are no keys, and would make sentences unreadable. */
const SECRET_MIN = 8

/** The headers that are sent, whole and the words in them: `Bearer` and a key. */
function secretsOf(options: CustomOptions | undefined): string[] {
  const sent = Object.values(options?.headers ?? {})
  const words = sent.flatMap((text) => text.split(/\s+/))
  return [...sent, ...words].filter((text) => text.length >= SECRET_MIN)
}
