// People who sign in, by the operator's hand: the first owner of a customer, those of the house,
// and their sessions. A link is shown once, and is handed over by the one who has asked for it.

import { type Static, Type } from 'typebox'
import type { Action, Change } from '../../ledger/accounts/actions.ts'
import { Fault, refusal } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import { MadeForm } from '../../people/keys/made.ts'
import { forgetProofs } from '../../people/sign_in/joining.ts'
import { reportUsers, type UserReport } from '../../people/users/forms.ts'
import { CUSTOMER_ROLES, HOUSE_ROLES } from '../../people/users/roles.ts'
import { endSessions, listSessions } from '../../people/users/sessions.ts'
import {
  changeUser,
  endLinkOf,
  inviteUser,
  linkUrl,
  lockUser,
  makeLink,
  recoverUser,
  removeUser,
  type Needs as UserNeeds,
  usersLinkedBy,
} from '../../people/users/users.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  Flag,
  Moment,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { type Answer, change, LIMIT, type LocalNeeds, look, paging } from '../table/operation.ts'
import { endWithMade, leftOf, WITH_MADE } from './ending.ts'

const UserRow = Type.Object({
  id: Text,
  customer_id: OrNull(Text),
  name: Text,
  role: Text,
  sign_in_name: OrNull(Text),
  passkeys: Type.Integer(),
  totp: Flag,
  invited_at: Moment,
  joined_at: OrNull(Moment),
  ended_at: OrNull(Moment),
})
const WithLink = Type.Object({ id: Text, link: Text, ends_at: Moment })
const SessionRow = Type.Object({
  id: Text,
  user_id: Text,
  name: Text,
  made_at: Moment,
  used_at: Moment,
  ip: Text,
  browser: Text,
})

const shown = (user: UserReport): Static<typeof UserRow> => {
  const { id, customer_id, name, role, sign_in_name, passkeys, totp } = user
  const { invited_at, joined_at, ended_at } = user
  const times = { invited_at, joined_at, ended_at }
  return { id, customer_id, name, role, sign_in_name, passkeys, totp, ...times }
}
const recorded = ({ id, name, role, ended_at }: UserReport) => ({
  id,
  name,
  role,
  ended: ended_at !== null,
})

/** What is refused to customers by a code is refused here by its sentence. */
const inWords = (thrown: unknown): never => {
  throw thrown instanceof Fault ? refusal(`${thrown.message}.`) : thrown
}

/** Who becomes one of these spends what a customer has, or agrees to what another operator does;
 *  the higher ones let others in, too. */
const TRUST: Readonly<Record<string, number>> = { developer: 1, operator: 1, owner: 2, admin: 2 }
const trustIn = (role: string | undefined): number => TRUST[role ?? ''] ?? 0

async function roleOf(sql: Sql, id: string): Promise<string | undefined> {
  const [found] = await sql<{ role: string }>`select role from service_user where id = ${id}`
  return found?.role
}

async function requireUser(tx: Tx, id: string, of_house: boolean): Promise<UserReport> {
  const user = await lockUser(tx, { id })
  if (!user || (user.customer_id === null) !== of_house)
    throw refusal(`There is no ${of_house ? 'operator' : 'user'} ${id} who may sign in.`)
  return user
}

const portalBase = ({ publicUrl }: Pick<LocalNeeds, 'publicUrl'>) => `${publicUrl()}/portal`
const consoleBase = ({ consoleUrl }: Pick<LocalNeeds, 'consoleUrl'>) => `${consoleUrl()}/console`

/** `base`: what the link begins with. */
async function invite(
  tx: Tx,
  needs: UserNeeds,
  wanted: { customer_id: string | null; name: string; role: string; by: string; base: string },
): Promise<Change<Answer<Static<typeof WithLink>>>> {
  const { customer_id, name, role, by, base } = wanted
  const asked = { customer_id, name, role, invited_by: by }
  const user = await inviteUser(tx, needs, asked).catch(inWords)
  const { token, ends_at } = await makeLink(tx, needs, { user_id: user.id, purpose: 'join' })
  const action = { subject: `user:${user.id}`, before: null, after: recorded(user) }
  const value = { id: user.id, link: linkUrl(base, token), ends_at }
  return { result: { value, note: 'The link works once.' }, actions: [action] }
}

const name = text('NAME', 'what to call the person')
const user = text('USER', 'the id of the user')

const operationsOf = (of_house: boolean) => {
  const noun = of_house ? 'operators' : 'users'
  const who = of_house ? 'an operator' : 'a user of a customer'
  const roles = of_house ? HOUSE_ROLES : CUSTOMER_ROLES
  const role = of_house ? ('admin' as const) : ('operator' as const)
  const common = { role, careful: true }
  const base = (needs: Pick<LocalNeeds, 'publicUrl' | 'consoleUrl'>) =>
    of_house ? consoleBase(needs) : portalBase(needs)
  return [
    change({
      ...common,
      path: `/operator/${noun}/change`,
      summary: `change the name or the role of ${who}, who signs in again for another role`,
      body: Type.Object({
        user,
        name: optional(name),
        role: optional(oneOf(roles, 'what the person may do')),
      }),
      reply: UserRow,
      cli: { operands: ['user'] },
      second: async ({ sql, body }) => trustIn(body.role) > trustIn(await roleOf(sql, body.user)),
      async handle({ tx, at, body }) {
        const before = await requireUser(tx, body.user, of_house)
        const given = { user: before, change: { name: body.name, role: body.role }, at }
        const after = await changeUser(tx, given).catch(inWords)
        const subject = `user:${after.id}`
        const action = { subject, before: recorded(before), after: recorded(after) }
        return { result: { value: shown(after) }, actions: [action] }
      },
    }),
    change({
      ...common,
      path: `/operator/${noun}/recover`,
      summary: `a new link for ${who} who has lost everything; nothing from before signs in`,
      body: Type.Object({ user }),
      reply: WithLink,
      cli: { operands: ['user'] },
      second: async ({ sql, body }) => trustIn(await roleOf(sql, body.user)) > 0,
      async handle({ tx, body, ...needs }) {
        const found = await requireUser(tx, body.user, of_house)
        await forgetProofs(tx, found.id)
        const { token, ends_at } = await recoverUser(tx, needs, found)
        const after = { ...recorded(found), link: 'new' }
        const action = { subject: `user:${found.id}`, before: recorded(found), after }
        const link = linkUrl(base(needs), token)
        const value = { id: found.id, link, ends_at }
        return { result: { value, note: 'The link works once.' }, actions: [action] }
      },
    }),
  ]
}

/** Takes a locked user out; what is recorded of it. */
async function takeOut(tx: Tx, user: UserReport, at: Date) {
  const after = await removeUser(tx, { user, at }).catch(inWords)
  const subject = `user:${after.id}`
  const action = { subject, before: recorded(user), after: recorded(after) }
  return { value: shown(after), action }
}

/** Ends the open links that an operator was shown who is taken out, and users who wait for one. */
async function endLinksOf(tx: Tx, { sign_in_name, name }: UserReport, at: Date): Promise<Action[]> {
  const actions: Action[] = []
  for (const id of await usersLinkedBy(tx, sign_in_name ?? name)) {
    const user = await lockUser(tx, { id })
    if (!user) continue
    if (user.joined_at === null) {
      actions.push((await takeOut(tx, user, at)).action)
      continue
    }
    await endLinkOf(tx, id)
    const [before, after] = ['new', 'ended'].map((link) => ({ ...recorded(user), link }))
    actions.push({ subject: `user:${id}`, before: before!, after: after! })
  }
  return actions
}

const removeOfCustomer = change({
  path: '/operator/users/remove',
  careful: true,
  summary: 'take a user of a customer out, and end the sessions',
  description:
    'Open invitations of the user end. What the user has made is named, and what that has made; ' +
    '--with-made ends that, too.',
  body: Type.Object({ user, with_made: WITH_MADE }),
  reply: Type.Object({ ...UserRow.properties, made: MadeForm }),
  cli: { operands: ['user'] },
  async handle({ tx, at, body: { user: id, with_made = false } }) {
    const { customer_id } = await requireUser(tx, id, false)
    const of = { customer_id: customer_id!, id, at }
    const gone = await endWithMade(tx, { ...of, with_made, keep_subscriptions: false })
    const { value, action } = await takeOut(tx, await requireUser(tx, id, false), at)
    const { made, actions } = gone
    const note = `Removed.${leftOf(made)}`
    return { result: { value: { ...value, made }, note }, actions: [action, ...actions] }
  },
})

const removeOfHouse = change({
  path: '/operator/operators/remove',
  role: 'admin',
  careful: true,
  summary: 'take an operator out, and end the sessions and open invitations',
  description:
    'Who was let in by the operator, and has not come yet, is taken out with him; a new link for ' +
    'somebody else that nobody has followed works no more. --by of the command line counts as it ' +
    'was typed.',
  body: Type.Object({ user }),
  reply: UserRow,
  cli: { operands: ['user'] },
  async handle({ tx, at, body }) {
    const operator = await requireUser(tx, body.user, true)
    const { value, action } = await takeOut(tx, operator, at)
    const more = await endLinksOf(tx, operator, at)
    const note = more.length === 0 ? undefined : `Open links that ended with it: ${more.length}.`
    return { result: { value, note }, actions: [action, ...more] }
  },
})

export const userOperations = [
  look({
    path: '/operator/users/list',
    summary: 'the users of a customer, newest first',
    body: Type.Object({ customer: text('CUSTOMER', 'the id of the customer'), ...paging }),
    reply: Type.Array(UserRow),
    cli: { operands: ['customer'] },
    async handle({ sql, body: { customer, limit = LIMIT, before } }) {
      const { id: customer_id } = await requireCustomer(sql, customer)
      return { value: (await reportUsers(sql, { customer_id, before, limit })).map(shown) }
    },
  }),
  change({
    path: '/operator/users/invite',
    careful: true,
    summary: 'let somebody sign in for a customer: a link that works once, for 72 hours',
    body: Type.Object({
      customer: text('CUSTOMER', 'the id of the customer'),
      name,
      role: optional(oneOf(CUSTOMER_ROLES, 'what the person may do (owner)')),
    }),
    reply: WithLink,
    cli: { operands: ['customer', 'name'] },
    second: ({ body: { role = 'owner' } }) => trustIn(role) > 0,
    async handle({ tx, body: { customer, name, role = 'owner' }, by, ...needs }) {
      const { id: customer_id } = await requireCustomer(tx, customer)
      return invite(tx, needs, { customer_id, name, role, by, base: portalBase(needs) })
    },
  }),
  ...operationsOf(false),
  removeOfCustomer,
]

export const operatorOperations = [
  look({
    path: '/operator/operators/list',
    summary: 'who may sign in to the console, newest first',
    body: Type.Object(paging),
    reply: Type.Array(UserRow),
    handle: async ({ sql, body: { limit = LIMIT, before } }) => ({
      value: (await reportUsers(sql, { customer_id: null, before, limit })).map(shown),
    }),
  }),
  change({
    path: '/operator/operators/invite',
    role: 'admin',
    careful: true,
    summary: 'let somebody sign in to the console: a link that works once, for 72 hours',
    description: 'The link begins where the console is reached.',
    body: Type.Object({
      name,
      role: optional(oneOf(HOUSE_ROLES, 'what the person may do (auditor)')),
    }),
    reply: WithLink,
    cli: { operands: ['name'] },
    second: ({ body: { role } }) => trustIn(role) > 0,
    handle: ({ tx, body: { name, role = 'auditor' }, by, ...needs }) =>
      invite(tx, needs, { customer_id: null, name, role, by, base: consoleBase(needs) }),
  }),
  ...operationsOf(true),
  removeOfHouse,
]

/** The session of that id, whose ever it is. Throws Refused. */
async function requireSession(sql: Sql | Tx, id: string, at: Date) {
  const [owner] = await sql<{ customer_id: string | null }>`
    select customer_id from user_session as s join service_user as u on u.id = s.user_id
    where s.id = ${id}`
  const wanted = { customer_id: owner?.customer_id ?? null, id, open_at: at, limit: 1 }
  const [session] = await listSessions(sql, wanted)
  if (!session) throw refusal(`There is no session ${id} that is open.`)
  return session
}

export const sessionOperations = [
  look({
    path: '/operator/sessions/list',
    summary: 'who is signed in, newest first',
    body: Type.Object({
      customer: optional(text('CUSTOMER', 'of a customer (of the house)')),
      ...paging,
    }),
    reply: Type.Array(SessionRow),
    async handle({ sql, clock, body: { customer, limit = LIMIT, before } }) {
      const customer_id = customer ?? null
      const rows = await listSessions(sql, { customer_id, before, open_at: clock.now(), limit })
      const value = rows.map(({ id, user_id, name, made_at, used_at, ip, browser }) => ({
        id,
        user_id,
        name,
        made_at,
        used_at,
        ip,
        browser,
      }))
      return { value }
    },
  }),
  change({
    path: '/operator/sessions/end',
    careful: true,
    summary: 'sign somebody out',
    body: Type.Object({ session: text('SESSION', 'the id of the session') }),
    reply: Type.Object({ id: Text, ended: Whole }),
    cli: { operands: ['session'] },
    async handle({ tx, at, body }) {
      const { id, user_id } = await requireSession(tx, body.session, at)
      const ended = await endSessions(tx, { user_id, id, at })
      const action = { subject: `user:${user_id}`, before: { session: id }, after: null }
      return { result: { value: { id, ended: BigInt(ended) } }, actions: [action] }
    },
  }),
]
