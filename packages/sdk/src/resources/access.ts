// API keys, and who calls.

import type { Caller, CallOptions, WithResponse } from '../wire/calls.ts'
import type { EventType } from '../wire/events.ts'
import { type Body, methodsOf, type Result } from '../wire/methods.ts'

/** With types of events that the compiler knows. */
type WithTypes<Path extends '/v1/webhook/new' | '/v1/webhook/change'> = (
  body: Omit<Body<Path>, 'types'> & { types?: readonly EventType[] | undefined },
  options?: CallOptions,
) => Promise<WithResponse<Result<Path>>>

export function access(caller: Caller) {
  const { call, byId, list } = methodsOf(caller)
  return {
    keys: {
      /** All keys, the newest first, revoked ones too. */
      list: list('/v1/keys/list'),
      /** A new key, no wider than the one that asks. */
      create: call('/v1/key/new'),
      /** Puts other limits on a key; what is left out stays as it is. */
      change: call('/v1/key/change'),
      /** A new secret; the one before signs for a while. */
      rotate: call('/v1/key/rotate'),
      /** Ends a key for good. */
      revoke: call('/v1/key/revoke'),
      /** Keys, users and webhooks made by a key or a user, directly or in turn. */
      made: call('/v1/made/check'),
    },
    pairings: {
      /** Asks for a key of one's own; needs none. */
      create: call('/v1/pairing/new'),
      /** The key, once, when a user has approved; how it stands until then. */
      take: call('/v1/pairing/take'),
      /** Which program waits with a code. */
      check: call('/v1/pairing/check'),
      /** Gives it a key, no wider than the one that asks. */
      approve: call('/v1/pairing/approve'),
      /** Gives it none. */
      refuse: call('/v1/pairing/refuse'),
    },
    webhooks: {
      /** All webhooks, the newest first. */
      list: list('/v1/webhooks/list'),
      check: byId('/v1/webhook/check'),
      /** A new webhook, which is told of what happens from now on. */
      create: call('/v1/webhook/new') as WithTypes<'/v1/webhook/new'>,
      /** Changes a webhook; what is left out stays as it is. */
      change: call('/v1/webhook/change') as WithTypes<'/v1/webhook/change'>,
      /** Removes a webhook; it is told of nothing more. */
      remove: byId('/v1/webhook/remove'),
      /** A new secret; the one before stays valid for a while. */
      rotate: call('/v1/webhook/rotate'),
      /** Calls a webhook once with a sample, and says what it answered. */
      test: call('/v1/webhook/test'),
      /** Tells a webhook once more what it was told, or should have been. */
      replay: call('/v1/webhook/replay'),
    },
    notices: {
      /** Notices to webhooks, delivered or due, the newest event first. */
      list: list('/v1/notices/list'),
      /** One notice with all of its calls. */
      check: call('/v1/notice/check'),
      /** Tells a webhook once more of one event. */
      retry: call('/v1/notice/retry'),
    },
  }
}
