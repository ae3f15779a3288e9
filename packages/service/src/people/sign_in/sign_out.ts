// Signing out: the end of a session, and of what the browser keeps of it. The list of sessions and
// the end of another one are in users/session_routes.ts.

import { Type } from 'typebox'
import { type Endpoint, endpoint, InvalidParams, refuses } from '../../platform/wire/endpoint.ts'
import { requirePresence } from '../users/mount.ts'
import { endSessions } from '../users/sessions.ts'
import { givenToken, giveToken, type Needs, placeOf } from './begin.ts'
import { noteTry } from './tries.ts'

export const signOut = (needs: Needs): Endpoint =>
  endpoint({
    path: '/session/end',
    auth: 'signature',
    scope: [],
    mutating: true,
    summary: 'Signs out: ends this session, or all of the user, which wants a proof of presence',
    body: Type.Object({
      everywhere: Type.Optional(
        Type.Boolean({ fault: () => InvalidParams('everywhere', 'Invalid everywhere') }),
      ),
    }),
    reply: Type.Object({ ended: Type.Integer({ description: 'How many sessions' }) }),
    faults: [refuses(InvalidParams, '`everywhere` is neither true nor false', 'everywhere')],
    async handle(asked) {
      const { user_id, session_id } = asked.customer.user!
      const { everywhere = false } = asked.body
      const { sql, clock, face } = needs
      if (everywhere) requirePresence(asked.customer, clock.now())
      const which = { user_id, at: clock.now(), id: everywhere ? undefined : session_id }
      const ended = await sql.begin(async (tx) => {
        const attempt = { face: face.name, way: 'end' as const, place: placeOf(asked) }
        await noteTry(tx, needs, attempt, { outcome: 'done', user_id, session_id })
        return endSessions(tx, which)
      })
      needs.sessions.forget(givenToken(needs, asked))
      giveToken(needs, asked)
      // What is stored there is how the pages look, and the other face's.
      asked.reply_headers['clear-site-data'] = '"cache"'
      return { ended }
    },
  })
