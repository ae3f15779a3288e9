// People who sign in, who is signed in now, and what users and keys have changed.

import type { Caller, CallOptions } from '../wire/calls.ts'
import { type Body, methodsOf } from '../wire/methods.ts'

export function users(caller: Caller) {
  const { call, byId, list } = methodsOf(caller)
  return {
    users: {
      /** The people who sign in, the newest first, removed ones too. */
      list: list('/v1/users/list'),
      check: byId('/v1/user/check'),
      /** Lets somebody sign in by a link that works once, and is in this answer alone. */
      invite: call('/v1/user/invite'),
      /** Changes a user; what is left out stays as it is. */
      change: call('/v1/user/change'),
      /** A new link for a user who has lost everything; nothing from before signs in. */
      recover: byId('/v1/user/recover'),
      /** Takes a user out for good, with all sessions; with `with_made` what it has made, too. */
      remove: (one: string | Body<'/v1/user/remove'>, options?: CallOptions) =>
        call('/v1/user/remove')(typeof one === 'string' ? { id: one } : one, options),
    },
    sessions: {
      /** Who is signed in, the newest first. */
      list: list('/v1/sessions/list'),
      /** Signs somebody out. */
      end: byId('/v1/session/end'),
    },
    actions: {
      /** What users and keys have changed, the newest first. */
      list: list('/v1/actions/list'),
    },
  }
}
