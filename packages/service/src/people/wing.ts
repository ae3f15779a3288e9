// People: customers, their keys and users, how they sign in, and what they set for themselves.

import type { Mount } from '../platform/http/mounts.ts'
import type { Common } from '../platform/wing.ts'
import type { Endpoint } from '../platform/wire/endpoint.ts'
import type { DepositAddress } from './customers/deposit_addresses.ts'
import { customerKinds } from './customers/forms.ts'
import { authenticator } from './keys/authentication.ts'
import { keyKinds } from './keys/forms.ts'
import { scopesOfKeys } from './keys/keys.ts'
import { lastUses } from './keys/last_uses.ts'
import type { EndSubscriptions } from './keys/made.ts'
import { pruneNonces } from './keys/nonces.ts'
import { remindKeysStep } from './keys/reminders.ts'
import { keyRoutes } from './keys/routes.ts'
import { endPairingsStep } from './pairing/pairings.ts'
import { pairingRoutes } from './pairing/routes.ts'
import { pruneRefusalsStep, refusalRecorder } from './refusals/refusals.ts'
import { routes as refusalRoutes } from './refusals/routes.ts'
import { secretReader } from './refusals/signature_hint.ts'
import { lowBalanceStep, settingKinds } from './settings/low_balance.ts'
import { routes as settingsRoutes } from './settings/routes.ts'
import { totpCodes } from './sign_in/codes.ts'
import { forgetProofs } from './sign_in/joining.ts'
import { passwordHasher } from './sign_in/passwords.ts'
import { type SignInNeeds, signInRoutes, signInSteps } from './sign_in/routes.ts'
import { SIGN_IN_DAYS } from './sign_in/tries.ts'
import { signUpRoutes } from './sign_up/routes.ts'
import { type LetterSetup, signUpSteps } from './sign_up/steps.ts'
import { actionRoutes } from './users/action_routes.ts'
import { endMade } from './users/eviction.ts'
import { portalFace, type SessionLengths } from './users/faces.ts'
import { userKinds } from './users/forms.ts'
import { type Needs as PortalNeeds, portalMount } from './users/portal.ts'
import { userRoutes } from './users/routes.ts'
import { sessionRoutes } from './users/session_routes.ts'
import { openSessions, sessionReader } from './users/sessions.ts'

export type PeopleSetup = {
  /** How long sessions of the portal may rest and be; as long as may be when left out. */
  portal_sessions?: SessionLengths | undefined
  /** For how long sign-ins and sessions are kept; SIGN_IN_DAYS when left out. */
  sign_in_days?: number | undefined
  /** Whether strangers may make an account. */
  sign_up?: boolean | undefined
  /** Who sends letters, and where their links lead; undefined: none is sent here. */
  letters?: LetterSetup | undefined
  /** How dear a password is to guess: 2 to the power of it; what is right today when left out. */
  password_cost?: number | undefined
}

type Needs = Common &
  PeopleSetup & {
    endSubscriptions: EndSubscriptions
    brandName: () => Promise<string>
    deposit_address: DepositAddress
  }

export const PEOPLE_STEPS = {
  remind_keys: 'Tells of keys that end soon',
  low_balance: 'Tells of balances that have fallen below what their customers have set',
  prune_refusals: 'Deletes refused calls that are older than a week',
  prune_nonces: 'Forgets nonces of calls that are too old to be sent again',
  prune_sign_ins: 'Forgets tries to sign in, after 30 days or what is set',
  prune_challenges: 'Forgets challenges that nobody has answered',
  prune_sessions: 'Forgets sessions 30 days after they began, or what is set',
  note_key_uses: 'Notes when each key was last used, of the calls of this process',
  end_pairings: 'Forgets pairings that have ended',
  send_letters: 'Sends letters to those who sign up',
  open_customers: 'Opens the customers of those who have followed their letters',
  prune_sign_ups: 'Forgets who signed up and did not come, a week after the letter has ended',
  read_tokens: 'Reads the tokens of keys that are new, to refuse others without a question',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof PEOPLE_STEPS, string> {}
}

export function peopleWing({ sql: long_sql, steps_sql, api_sql: sql, ...needs }: Needs) {
  const { clock, seal, about, network, endSubscriptions, portal_sessions } = needs
  const sessions = sessionReader({ sql, clock, seal })
  const passwords = passwordHasher(needs.random, needs.password_cost)
  const sign_in: Omit<SignInNeeds, 'face'> = {
    ...needs,
    sql,
    sessions,
    passwords,
    totp_codes: totpCodes(seal),
    sign_up: needs.sign_up ?? false,
  }
  const face = portalFace(about.public_url, portal_sessions)
  const uses = lastUses({ sql, clock })
  const service = { ...about, network }
  return {
    endpoints: [
      ...settingsRoutes({ sql, clock, service }),
      ...refusalRoutes({ sql }),
      ...keyRoutes({
        ...sign_in,
        endSubscriptions,
        endMade: (tx, asks, ending) => endMade(tx, { endSubscriptions }, asks, ending),
      }),
      ...pairingRoutes({ ...sign_in, public_url: about.public_url }),
      ...userRoutes({ ...sign_in, face, forgetProofs, endSubscriptions }),
      ...sessionRoutes({ sql, clock, face }),
      ...actionRoutes({ sql }),
    ],
    kinds: [...keyKinds, ...userKinds, ...settingKinds, ...customerKinds],
    steps: [
      remindKeysStep({ sql: steps_sql, clock }),
      lowBalanceStep({ sql: steps_sql, clock }),
      pruneRefusalsStep({ sql: long_sql, clock }),
      pruneNonces({ sql: long_sql, clock }),
      ...signInSteps({ sql: long_sql, clock }, needs.sign_in_days ?? SIGN_IN_DAYS),
      ...signUpSteps({ ...needs, sql: steps_sql }),
    ],
    api_steps: [uses.step, endPairingsStep({ sql, clock })],
    sign_in,
    /** Whose papers are shown, and where they have signed in. */
    readers: { sessions, face },
    authenticate: authenticator({ sql, clock, seal, noteUse: uses.note }),
    refusals: refusalRecorder({ sql, clock, secretsOf: secretReader(seal) }),
    scopesOf: (key_ids: readonly string[]) => scopesOfKeys(sql, key_ids, clock.now()),
    openSessions: (ids: readonly string[]) => openSessions(sql, face, { ids, now: clock.now() }),
    /** Another way in to the endpoints: the portal. */
    portal: (endpoints: readonly Endpoint[], { streams }: Pick<PortalNeeds, 'streams'>): Mount =>
      portalMount({ clock, sessions, streams }, face, {
        endpoints,
        sign_in: [...signInRoutes({ ...sign_in, face }), ...signUpRoutes(sign_in)],
      }),
  }
}
