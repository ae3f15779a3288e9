// Whether what was tried may have been done, for all that its answers say.

import { NOT_ANSWERED, UNAUTHENTICATED } from './ask.ts'

const UNAVAILABLE = 35
const FORBIDDEN = 73
const RATE_LIMITED = 429
const FAILED = 500

/** Said before anybody has looked at what was done: they tell nothing of the tries before. */
const UNSEEN = [UNAUTHENTICATED, UNAVAILABLE, FORBIDDEN, RATE_LIMITED]

/** After one more answer. `was_unknown`: after those before, to the same under the same id. */
export const isUnknown = (was_unknown: boolean, code: number): boolean =>
  code === NOT_ANSWERED || code === FAILED || (was_unknown && UNSEEN.includes(code))
