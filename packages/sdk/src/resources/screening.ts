// Screening of addresses and transactions.

import type { Caller } from '../wire/calls.ts'
import { CheckFailed } from '../wire/errors.ts'
import { methodsOf, type Result } from '../wire/methods.ts'
import { type WaitOptions, type Waker, waitFor } from '../wire/waiting.ts'

export type AmlCheck = Result<'/v1/aml-checks/check'>

const USUAL_MS = 5 * 60_000

export function screening(caller: Caller, waker: Waker) {
  const { call, read, byId, byAddress, list, numberedList } = methodsOf(caller)
  return {
    aml: {
      /** What checks cost. */
      prices: read('/v1/aml-checks'),
      /** Asks for a check. Its id is the option `idempotency_key`: lost answers are as with
       *  `orders.create`. */
      create: call('/v1/aml-checks/new'),
      check: byId('/v1/aml-checks/check'),
      /** What the result of a check rests on. */
      report: byId('/v1/aml-check/report'),
      /** Waits until the check is completed. Throws CheckFailed, and TimeoutError after 5 minutes,
       *  unless `timeout_ms` says otherwise. */
      waitFor: async (id: string, wait: WaitOptions = {}) => {
        const { signal, timeout_ms = USUAL_MS, request_headers } = wait
        const wanted = {
          ask: (left_ms: number) =>
            caller.post(
              '/v1/aml-checks/check',
              { id },
              { signal, request_headers, timeout_ms: Math.min(left_ms, caller.timeout_ms) },
            ),
          isThere: ({ status }: AmlCheck) => status === 'completed' || status === 'failed',
          subjectOf: () => `aml_check:${id}`,
        }
        const found = await waitFor(waker, wanted, { signal, timeout_ms })
        if (found.status === 'failed') throw new CheckFailed<AmlCheck>(found)
        return found
      },
      /** All checks, the newest first. */
      list: numberedList('/v1/aml-checks/history'),
    },
    watches: {
      /** The addresses that are screened again whenever what is known changes. */
      list: list('/v1/aml-watches/list'),
      /** Watches an address. */
      add: byAddress('/v1/aml-watch/new'),
      /** Watches it no longer; its checks stay. */
      remove: byAddress('/v1/aml-watch/remove'),
    },
  }
}
