// What people call to sign in: under /portal/session and /console/session, the same for both faces.

import type { Clock } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Endpoint } from '../../platform/wire/endpoint.ts'
import { pruneSessionsStep, sessionReader } from '../users/sessions.ts'
import { begin, link } from './begin.ts'
import { pruneChallengesStep } from './challenges.ts'
import { credentialRoutes } from './credentials.ts'
import { join } from './joining.ts'
import { assertionOptions, OptionsForm } from './passkeys.ts'
import { type Needs, passkey, password, recovery, stepUpRoute } from './proofs.ts'
import { signOut } from './sign_out.ts'
import { pruneTriesStep } from './tries.ts'

export type SignInNeeds = Needs

/** The same on other connections: the house's people are seen on those of the console alone. */
export const signInOn = (
  sql: Sql,
  needs: Omit<SignInNeeds, 'face'>,
): Omit<SignInNeeds, 'face'> => ({ ...needs, sql, sessions: sessionReader({ ...needs, sql }) })

export const signInRoutes = (needs: SignInNeeds): Endpoint[] => [
  begin(needs, {
    schema: OptionsForm,
    make: async (origin) =>
      assertionOptions(needs, { origin, bound_to: `face:${needs.face.name}` }),
  }),
  link(needs),
  join(needs),
  passkey(needs),
  password(needs),
  recovery(needs),
  stepUpRoute(needs),
  ...credentialRoutes(needs),
  signOut(needs),
]

/** Forgets sign-ins and sessions after `kept_days`, and challenges that are over. */
export const signInSteps = (needs: { sql: Sql; clock: Clock }, kept_days: number): Step[] => [
  pruneTriesStep(needs, kept_days),
  pruneChallengesStep(needs),
  pruneSessionsStep(needs, kept_days),
]
