// A customer's users on the wire: seen, invited, changed, taken out and given new links.

import { Type } from 'typebox'
import { recordCustomerActions } from '../../ledger/accounts/customer_actions.ts'
import { wireTime } from '../../lib/clock.ts'
import type { Json } from '../../lib/json.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import {
  Conflict,
  type Customer,
  type Endpoint,
  endpoint,
  Forbidden,
  type HandlerInput,
  InvalidParams,
  invalid,
  LimitReached,
  NotFound,
  refuses,
  unchecked,
} from '../../platform/wire/endpoint.ts'
import { answered } from '../../platform/wire/examples.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  readIdPlace,
  rowsFor,
  STATE_REFUSAL,
  stateField,
} from '../../platform/wire/lists.ts'
import { readMoney } from '../../platform/wire/reading.ts'
import { LimitFields, readReceivers } from '../keys/forms.ts'
import { MadeForm, WITH_MADE_REFUSED, WithMadeField } from '../keys/made.ts'
import { type Needs as EndingNeeds, endMade } from './eviction.ts'
import { type Face, originOf } from './faces.ts'
import { printUser, reportUsers, USER_STATES, UserForm } from './forms.ts'
import {
  changeByCustomer,
  inviteByCustomer,
  type MadeLink,
  type Needs as ManagingNeeds,
  recoverByCustomer,
  removeByCustomer,
} from './managing.ts'
import { CUSTOMER_ROLES } from './roles.ts'
import { linkUrl, lockUser, USERS_A_DAY, USERS_MAX } from './users.ts'

export type Needs = ManagingNeeds &
  EndingNeeds & {
    sql: Sql
    /** The portal, to which a link leads. */
    face: Face
    wake(step: StepName): void
  }

const IdField = Type.String({ minLength: 1, maxLength: 40, ...invalid('id') })
const NameField = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'What to call the person',
  ...invalid('name'),
})
const RoleField = Type.Enum([...CUSTOMER_ROLES], {
  description: 'What the person may do',
  ...invalid('role'),
})
const CapField = Type.Optional(
  unchecked(
    Type.Union([Type.Number(), Type.Literal('none')], {
      description: 'The most that the user may spend in a day (UTC), in TRX, or `none`',
    }),
  ),
)

const { receivers: ReceiversField } = LimitFields

const ID_REFUSED = refuses(InvalidParams, '`id` is no text', 'id')
const NAME_REFUSED = refuses(InvalidParams, '`name` is not text of 1 to 100 characters', 'name')
const ROLE_REFUSED = refuses(InvalidParams, '`role` is none of the roles', 'role')
const CAP_REFUSED = refuses(InvalidParams, '`daily_cap` is no amount of TRX', 'daily_cap')
const RECEIVERS_REFUSED = refuses(
  InvalidParams,
  '`receivers` is no list of addresses of the network',
  'receivers',
)
const NO_USER = refuses(NotFound, 'You have no such user who may sign in', 'user')
const WIDER = refuses(
  Forbidden,
  'The user can or could do something, from somewhere, for longer or for more than the one who ' +
    'asks',
  'wider',
)
const LAST_OWNER = refuses(Conflict, 'The last owner who can sign in stays one', 'last_owner')

const LinkFields = {
  link: Type.String({ description: 'For the person alone; works once; shown this once' }),
  link_ends_at: Type.String(),
}
const UserWithLink = Type.Object({ user: UserForm, ...LinkFields })

/** What limits a user, as it was asked for: null for no limit. Throws 2. */
const readTerms = ({
  daily_cap,
  receivers,
}: {
  daily_cap?: Json | undefined
  receivers?: string[] | undefined
}) => ({
  daily_cap_sun:
    daily_cap === undefined
      ? undefined
      : daily_cap === 'none'
        ? null
        : readMoney(daily_cap, 'daily_cap'),
  receivers: receivers && readReceivers(receivers),
})

async function report({ sql }: Pick<Needs, 'sql'>, { customer_id }: Customer, id: string) {
  const [user] = await reportUsers(sql, { customer_id, ids: [id], limit: 1 })
  if (!user) throw NotFound('user', 'There is no such user').absent('id', 'user of yours')
  return printUser(user)
}

/** A link that leads to the pages of the one who asks. */
function printLink(
  { face }: Pick<Needs, 'face'>,
  { customer, headers }: Pick<HandlerInput<unknown, Customer>, 'customer' | 'headers'>,
  { token, ends_at }: MadeLink,
) {
  // The origin of a page was compared with that of ours.
  const page_origin = customer.user ? headers.origin : undefined
  const origin = page_origin ?? originOf(face, undefined)
  return { link: linkUrl(origin + face.path, token), link_ends_at: wireTime(ends_at) }
}

const list = ({ sql }: Needs): Endpoint =>
  endpoint({
    path: '/v1/users/list',
    auth: 'signature',
    scope: 'manage',
    summary: 'The people who sign in for you, newest first, removed ones too',
    body: Type.Object({
      role: Type.Optional(RoleField),
      state: stateField(USER_STATES),
      ...listFields(),
    }),
    reply: listOf(UserForm),
    faults: [ROLE_REFUSED, STATE_REFUSAL, ...LIST_REFUSALS],
    async handle({ body: { role, state, limit, before }, customer: { customer_id } }) {
      const place = { before: readIdPlace(before), limit: rowsFor(limit) }
      const users = await reportUsers(sql, { customer_id, role, state, ...place })
      return page(users, limit, { print: printUser, placeOf: ({ id }) => id })
    },
  })

const check = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/user/check',
    auth: 'signature',
    scope: 'manage',
    summary: 'One of your users',
    body: Type.Object({ id: IdField }),
    reply: UserForm,
    faults: [ID_REFUSED, refuses(NotFound, 'You have no such user', 'user')],
    examples: [{ summary: 'By the id', body: { id: answered('/v1/user/invite', 'user.id') } }],
    handle: ({ body: { id }, customer }) => report(needs, customer, id),
  })

const invite = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/user/invite',
    auth: 'signature',
    scope: 'manage',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'Lets somebody sign in for you: a link that works once, for 72 hours',
    description:
      'The user may do no more than the one who asks, has the cap and the receivers of that when ' +
      'they are left out, and spends from it. A key with networks or an end invites nobody.',
    body: Type.Object({
      name: NameField,
      role: RoleField,
      daily_cap: CapField,
      receivers: ReceiversField,
    }),
    reply: UserWithLink,
    faults: [
      NAME_REFUSED,
      ROLE_REFUSED,
      CAP_REFUSED,
      RECEIVERS_REFUSED,
      WIDER,
      refuses(
        LimitReached,
        `There are ${USERS_MAX} users, or ${USERS_A_DAY} were invited within a day`,
        'user',
      ),
    ],
    examples: [{ summary: 'Somebody who only looks', body: { name: 'Bert', role: 'reader' } }],
    async handle(asked) {
      const { body, customer } = asked
      const { name, role } = body
      const wanted = { name, role, ...readTerms(body) }
      const made = await needs.sql.begin((tx) => inviteByCustomer(tx, needs, customer, wanted))
      needs.wake('publish')
      const user = await report(needs, customer, made.id)
      return { user, ...printLink(needs, asked, made.link) }
    },
  })

const change = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/user/change',
    auth: 'signature',
    scope: 'manage',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'Changes a user; what is left out stays as it is',
    description: 'One whose role changes has to sign in again.',
    body: Type.Object({
      id: IdField,
      name: Type.Optional(NameField),
      role: Type.Optional(RoleField),
      daily_cap: CapField,
      receivers: ReceiversField,
    }),
    reply: UserForm,
    faults: [
      ID_REFUSED,
      NAME_REFUSED,
      ROLE_REFUSED,
      CAP_REFUSED,
      RECEIVERS_REFUSED,
      NO_USER,
      WIDER,
      LAST_OWNER,
    ],
    examples: [
      {
        summary: 'Another role',
        body: { id: answered('/v1/user/invite', 'user.id'), role: 'finance' },
      },
    ],
    async handle({ body, customer }) {
      const { id, name, role } = body
      const wanted = { name, role, ...readTerms(body) }
      const which = { id, at: needs.clock.now(), change: wanted }
      await needs.sql.begin((tx) => changeByCustomer(tx, customer, which))
      needs.wake('publish')
      return report(needs, customer, id)
    },
  })

const recover = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/user/recover',
    auth: 'signature',
    scope: 'manage',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'A new link for a user who has lost everything, or never came',
    description:
      'At once all sessions of the user end, and no password, passkey, recovery code or link ' +
      'from before signs in. An owner who has joined gets a new link from the operator alone.',
    body: Type.Object({ id: IdField }),
    reply: UserWithLink,
    faults: [
      ID_REFUSED,
      NO_USER,
      WIDER,
      refuses(Forbidden, 'It is an owner who has joined', 'owner'),
    ],
    examples: [{ summary: 'By the id', body: { id: answered('/v1/user/invite', 'user.id') } }],
    async handle(asked) {
      const { body, customer } = asked
      const { id } = body
      const link = await needs.sql.begin((tx) => recoverByCustomer(tx, needs, customer, id))
      needs.wake('publish')
      return { user: await report(needs, customer, id), ...printLink(needs, asked, link) }
    },
  })

const remove = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/user/remove',
    auth: 'signature',
    scope: 'manage',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'Takes a user out for good, with all sessions',
    description:
      'What the user has bought stays; open invitations of the user end. `made` lists what the ' +
      'user has made, and what that has made in turn; with `with_made` that ends, too, but for ' +
      'users who may do more than the one who asks.',
    body: Type.Object({ id: IdField, with_made: WithMadeField }),
    reply: Type.Object({ ...UserForm.properties, made: MadeForm }),
    faults: [ID_REFUSED, WITH_MADE_REFUSED, NO_USER, WIDER, LAST_OWNER],
    examples: [{ summary: 'By the id', body: { id: answered('/v1/user/invite', 'user.id') } }],
    async handle({ body: { id, with_made = false }, customer }) {
      const { customer_id } = customer
      const which = { id, at: needs.clock.now() }
      const ending = { ...which, customer_id, with_made, keep_subscriptions: false }
      const made = await needs.sql.begin(async (tx) => {
        const user = await lockUser(tx, { id, customer_id })
        if (!user) throw NotFound('user', 'There is no such user').absent('id', 'user of yours')
        const { ended, made } = await endMade(tx, needs, customer, ending)
        await removeByCustomer(tx, customer, which)
        const actions = ended.map((one) => ({ actor: customer, ...one }))
        recordCustomerActions(tx, which.at, actions)
        return made
      })
      needs.wake('publish')
      return { ...(await report(needs, customer, id)), made }
    },
  })

export const userRoutes = (needs: Needs): Endpoint[] => [
  list(needs),
  invite(needs),
  check(needs),
  change(needs),
  recover(needs),
  remove(needs),
]
