// Purchases, prices that hold, and the proof of what was delivered.

import type { Caller, CallOptions, WithResponse } from '../wire/calls.ts'
import type { Pages } from '../wire/endpoints.ts'
import { OrderFailed } from '../wire/errors.ts'
import { type Body, methodsOf, type Result, refBody } from '../wire/methods.ts'
import { type WaitOptions, type Waker, waitFor } from '../wire/waiting.ts'

/** An order as it is now. */
export type Order = Result<'/v1/transaction/check'>
/** Which one is meant: its id, or a body with `id`, `external_id` or both. */
export type OrderRef = string | Body<'/v1/transaction/check'>

/** Delivered, irreversible, or all of it taken back again. */
export type Until = 'success' | 'solid' | 'ended'

const MINUTE_MS = 60_000
/** Of `ended`: an hour, and the time it takes to deliver and to reclaim. */
const USUAL_MS: Readonly<Record<Until, number>> = {
  success: 5 * MINUTE_MS,
  solid: 10 * MINUTE_MS,
  ended: 90 * MINUTE_MS,
}

export function orders(caller: Caller, waker: Waker) {
  const { call, byRef, list } = methodsOf(caller)

  /** Whether all that was delivered is irreversible: then no step to that is still to come. */
  async function isSolid({ id }: Order): Promise<boolean> {
    const { steps } = await caller.post('/v1/transaction/timeline', { id })
    return steps.every(({ what, at }) => what !== 'solid' || at !== null)
  }

  return {
    orders: {
      /** Buys. Without an `external_id` it gets one, which the result has. Throws UnknownOutcome
       *  when no answer came: the same call with that `external_id` finds out. */
      create: call('/v1/transaction/new'),
      /** The order as it is now. */
      check: byRef('/v1/transaction/check'),
      /** All orders, the newest first. */
      list: list('/v1/transactions/list'),
      /** What became of an order, step by step, and what it waits for. */
      timeline: byRef('/v1/transaction/timeline'),
      /** Waits until the order is delivered, until no fork can take that back, or until all of it
       *  was reclaimed again. Throws OrderFailed, and TimeoutError after 5, 10 or 90 minutes,
       *  unless `timeout_ms` says otherwise. */
      waitFor: async (
        order: OrderRef,
        { until = 'success', ...wait }: WaitOptions & { until?: Until | undefined } = {},
      ) => {
        const { signal, timeout_ms = USUAL_MS[until], request_headers } = wait
        const wanted = {
          ask: (left_ms: number) =>
            caller.post('/v1/transaction/check', refBody<Body<'/v1/transaction/check'>>(order), {
              signal,
              request_headers,
              timeout_ms: Math.min(left_ms, caller.timeout_ms),
            }),
          isThere: async (found: Order) =>
            found.status === 'failed' ||
            (found.status === 'success' &&
              (until === 'success' ||
                (until === 'solid'
                  ? await isSolid(found)
                  : found.delegations.every(({ reclaimed_at }) => reclaimed_at)))),
          // No event tells that an order is solid.
          subjectOf: until === 'solid' ? undefined : ({ id }: Order) => `order:${id}`,
        }
        const found = await waitFor(waker, wanted, { signal, timeout_ms })
        if (found.status === 'failed') throw new OrderFailed<Order>(found)
        return found
      },
    },
    receipts: {
      /** Signed proof of what an order got. Throws PenstockError 74 unless all of it is there. */
      get: byRef('/v1/receipt'),
      /** The public keys that verify receipts, those of earlier ones too. */
      keys: (options?: CallOptions) =>
        caller.get('/.well-known/jwks.json', options) as Promise<
          WithResponse<Pages['/.well-known/jwks.json']['result']>
        >,
    },
    quotes: {
      /** A price that binds us for a while. */
      create: call('/v1/quote/new'),
      /** Buys what was quoted. Ids and lost answers are as with `orders.create`. */
      accept: call('/v1/quote/accept'),
    },
  }
}
