// Signing up on the wire, for the pages of the portal: asking for a letter, and what its link does.

import { Type } from 'typebox'
import type { StepName } from '../../platform/steps/step.ts'
import {
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  LimitReached,
  refuses,
} from '../../platform/wire/endpoint.ts'
import { OrNull } from '../../platform/wire/schemas.ts'
import { LINK_REFUSED, NoLink, requireSecure, TokenField } from '../sign_in/begin.ts'
import { INSECURE } from '../sign_in/proofs.ts'
import { LANGUAGES } from './letters.ts'
import { isEmail } from './mailer.ts'
import {
  ALL_MAX,
  askToSignUp,
  followLetter,
  NETWORK_MAX,
  type SignUp,
  type Needs as SignUpNeeds,
} from './sign_up.ts'

export type Needs = SignUpNeeds & { sign_up: boolean; wake(step: StepName): void }

/** Visible characters: the name is shown to operators, and is on invoices. */
const NAME = /^[^\p{C}]{1,200}$/u

const ask = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/sign_up',
    auth: 'public',
    mutating: true,
    summary: 'Sends a letter with a link that makes an account; the answer is the same for all',
    body: Type.Object({
      email: Type.String({ maxLength: 254, ...invalid('email') }),
      language: Type.Enum([...LANGUAGES], invalid('language')),
    }),
    reply: Type.Object({}),
    faults: [
      INSECURE,
      refuses(InvalidParams, 'It is no address that letters can go to', 'email'),
      refuses(InvalidParams, '`language` is none of the pages', 'language'),
      refuses(
        LimitReached,
        `${NETWORK_MAX} were asked for from this network within an hour, or ${ALL_MAX} in a day`,
        'sign_up',
      ),
    ],
    async handle(asked) {
      requireSecure(asked)
      const { email, language } = asked.body
      if (!isEmail(email))
        throw InvalidParams('email', 'Invalid email').because('an address like name@host', 'email')
      await askToSignUp(needs, { email, language, ip: asked.ip })
      needs.wake('send_letters')
      return {}
    },
  })

const STATES = ['letter', 'opening', 'opened'] as const

function stateOf({ state, name }: SignUp): (typeof STATES)[number] {
  if (state === 'opened') return 'opened'
  return name === null ? 'letter' : 'opening'
}

const open = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/sign_up/open',
    auth: 'public',
    mutating: true,
    summary: 'What the link of a letter is for; with a name: makes the account, within seconds',
    body: Type.Object({
      token: TokenField,
      name: Type.Optional(Type.String({ maxLength: 200, ...invalid('name') })),
    }),
    reply: Type.Object({
      state: Type.Enum([...STATES], {
        description: 'letter: a name is wanted. opening: ask again. opened: the token joins now',
      }),
      email: Type.String(),
      name: OrNull(Type.String({ description: 'What the customer is called' })),
    }),
    faults: [
      INSECURE,
      LINK_REFUSED,
      refuses(InvalidParams, '`name` is not text of 1 to 200 visible characters', 'name'),
    ],
    async handle(asked) {
      requireSecure(asked)
      const { token, name } = asked.body
      const wanted = name?.trim()
      if (wanted !== undefined && !NAME.test(wanted))
        throw InvalidParams('name', 'Invalid name').because(
          'text of 1 to 200 visible characters',
          'name',
        )
      const found = await followLetter(needs, { token, name: wanted })
      if (!found) throw NoLink()
      if (found.state === 'confirmed') needs.wake('open_customers')
      if (found.state === 'opened') needs.wake('publish')
      return { state: stateOf(found), email: found.email, name: found.name }
    },
  })

/** None where strangers may not make an account. */
export const signUpRoutes = (needs: Needs): Endpoint[] =>
  needs.sign_up ? [ask(needs), open(needs)] : []
