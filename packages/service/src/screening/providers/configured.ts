// The providers that the operator has access to, each behind its guard. Whether one is asked is the
// policy's business.

import { amlbot } from './amlbot.ts'
import { chainalysis } from './chainalysis.ts'
import { type GuardedProvider, type GuardOptions, guarded } from './guard.ts'
import { misttrack } from './misttrack.ts'
import type { Outside, Provider } from './provider.ts'

/** Those that are built in; each is asked under its name. */
export const PROVIDERS: readonly string[] = ['amlbot', 'misttrack', 'chainalysis']

/** What each of them knows us by; undefined: we have no access. */
export type ProviderKeys = {
  amlbot: { access_id: string; access_key: string } | undefined
  misttrack: string | undefined
  chainalysis: string | undefined
}

export function configuredProviders(
  keys: ProviderKeys,
  outside: Outside & Omit<GuardOptions, 'wait'>,
): GuardedProvider[] {
  const found: Provider[] = []
  if (keys.amlbot) found.push(amlbot(outside, keys.amlbot))
  if (keys.misttrack) found.push(misttrack(outside, { api_key: keys.misttrack }))
  if (keys.chainalysis) found.push(chainalysis(outside, { api_key: keys.chainalysis }))
  const { access_id, access_key } = keys.amlbot ?? {}
  const secrets = [access_id, access_key, keys.misttrack, keys.chainalysis].filter(
    (key) => key !== undefined,
  )
  return found.map((provider) => guarded(provider, { ...outside, secrets }))
}
