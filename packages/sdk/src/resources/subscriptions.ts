// Addresses that are kept supplied.

import type { Caller } from '../wire/calls.ts'
import { type Body, methodsOf, type Result } from '../wire/methods.ts'

export type Subscription = Result<'/v1/subscription/check'>
/** Which one is meant: its id, or a body with `id`, `external_id` or both. */
export type SubscriptionRef = string | Body<'/v1/subscription/check'>

export function subscriptions(caller: Caller) {
  const { call, read, byRef, list, numberedList } = methodsOf(caller)
  return {
    subscriptions: {
      /** What can be subscribed to, and its prices. */
      plans: read('/v1/subscriptions'),
      /** Starts one. Ids and lost answers are as with `orders.create`. */
      start: call('/v1/subscription/start'),
      check: byRef('/v1/subscription/check'),
      /** Stops one. When the answer is lost, `check` says whether it has stopped. */
      stop: byRef('/v1/subscription/stop'),
      /** All of them, the newest first. */
      list: numberedList('/v1/subscriptions/history'),
      /** The transactions that one has served, the newest first. */
      uses: list('/v1/subscription/uses'),
    },
  }
}
