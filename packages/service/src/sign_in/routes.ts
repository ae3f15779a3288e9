// What people call to sign in: under /portal/session and /console/session, the same for both faces.

import { Type } from 'typebox'
import type { Seal } from '../customers/seal.ts'
import type { Endpoint } from '../wire/endpoint.ts'
import { type Needs as BeginNeeds, begin, end, link } from './begin.ts'

export type SignInNeeds = BeginNeeds & {
  seal: Seal
  /** Wakes a step: somebody was told something. */
  wake(step: string): void
}

export const signInRoutes = (needs: SignInNeeds): Endpoint[] => [
  begin(needs, { schema: Type.Unknown(), make: async () => null }),
  link(needs),
  end(needs),
]
