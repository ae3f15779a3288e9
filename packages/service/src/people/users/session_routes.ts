// Who is signed in for a customer, on the wire. One who may not manage users sees and ends the
// sessions of that user's own.

import { type Static, Type } from 'typebox'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, later, wireTime } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  invalid,
  NotFound,
  refuses,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  readIdPlace,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { ownOnly } from '../keys/grants.ts'
import type { Face } from './faces.ts'
import { endSessions, listSessions, type SessionRow } from './sessions.ts'

/** `face`: the one that customers sign in to. */
export type Needs = { sql: Sql; clock: Clock; face: Face }

const SessionForm = Type.Object({
  id: Type.String(),
  user: Type.Object({ id: Type.String(), name: Type.String() }),
  ip: Type.String({ description: 'From where the user has signed in' }),
  browser: Type.String({ description: 'What it says that it is' }),
  created_at: Type.String(),
  last_used_at: Type.String({ description: 'To the minute' }),
  ends_at: Type.String({ description: 'Then it is over, however much it is used' }),
  current: Type.Boolean({ description: 'It is the one that asks' }),
})

const printSession = (session: SessionRow, { user }: Customer): Static<typeof SessionForm> => ({
  id: session.id,
  user: { id: session.user_id, name: session.name },
  ip: session.ip,
  browser: session.browser,
  created_at: wireTime(session.made_at),
  last_used_at: wireTime(session.used_at),
  ends_at: wireTime(session.ends_at),
  current: session.id === user?.session_id,
})

/** Which sessions somebody sees: those that are not over. */
const seenBy = (customer: Customer, { clock, face }: Omit<Needs, 'sql'>) => ({
  customer_id: customer.customer_id,
  user_id: ownOnly(customer),
  open_at: clock.now(),
  used_since: later(clock, -face.idle_ms),
})

const list = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/sessions/list',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'own',
    summary: 'Who is signed in for you, newest first',
    body: Type.Object({
      name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: "A part of the user's name; capital Latin letters are as small ones",
          ...invalid('name'),
        }),
      ),
      ...listFields(),
    }),
    reply: listOf(SessionForm),
    faults: [
      refuses(InvalidParams, '`name` is not text of 1 to 100 characters', 'name'),
      ...LIST_REFUSALS,
    ],
    async handle({ body: { name, limit, before }, customer }) {
      const seen = { ...seenBy(customer, needs), name }
      const wanted = { ...seen, before: readIdPlace(before), limit: rowsFor(limit) }
      const rows = await listSessions(needs.sql, wanted)
      const print = (row: SessionRow) => printSession(row, customer)
      return page(rows, limit, { print, placeOf: ({ id }) => id })
    },
  })

const end = (needs: Needs): Endpoint =>
  endpoint({
    path: '/v1/session/end',
    auth: 'signature',
    scope: 'manage',
    role_scope: 'own',
    mutating: true,
    second_signature: true,
    careful: true,
    summary: 'Signs somebody out',
    description: 'Within a second: so long a process remembers a session that it has read.',
    body: Type.Object({
      id: Type.String({
        minLength: 1,
        maxLength: 40,
        fault: () => InvalidParams('id', 'Invalid id'),
      }),
    }),
    reply: Type.Object({ ended: Type.Boolean() }),
    faults: [
      refuses(InvalidParams, '`id` is no text', 'id'),
      refuses(NotFound, 'You have no such session that is open', 'session'),
    ],
    examples: [{ summary: 'One that is not there', body: { id: '01jq7h6bvf6p5t1amnz6y3n8c4' } }],
    async handle({ body: { id }, customer }) {
      const at = needs.clock.now()
      await needs.sql.begin(async (tx) => {
        const [session] = await listSessions(tx, { ...seenBy(customer, needs), id, limit: 1 })
        const ended = session && (await endSessions(tx, { user_id: session.user_id, id, at }))
        if (!ended)
          throw NotFound('session', 'There is no such session').absent('id', 'session of yours')
        const { user_id, name, ip, browser } = session
        await recordCustomerAction(tx, at, {
          actor: customer,
          action: 'session/end',
          subject: `user:${user_id}`,
          before: { session: id, name, ip, browser },
          after: null,
        })
      })
      return { ended: true }
    },
  })

export const sessionRoutes = (needs: Needs): Endpoint[] => [list(needs), end(needs)]
