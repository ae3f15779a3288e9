// What the database lacks although it had acknowledged it, and that an operator goes on without it.

import { Type } from 'typebox'
import { acceptLosses, listLosses, openRestore } from '../../health/monitoring/database_losses.ts'
import { refusal } from '../../lib/fault.ts'
import { Count, ListOf, Moment, NOTHING, OrNull, Text, Whole } from '../../platform/wire/schemas.ts'
import { change, LIMIT, limit, look, reasonOf } from '../table/operation.ts'

/** An order that is older than ten minutes is given back instead of delivered: so no order that was
 *  open when the database was lost is delivered twice. */
const RESTORE_REST_MS = 900_000

const Loss = {
  found_at: Moment,
  process_id: Text,
  host: Text,
  role: Text,
  beat: Whole,
  beat_found: OrNull(Whole),
  missing: Type.Array(Text),
  restored_to: OrNull(Moment),
}

export const databaseOperations = [
  look({
    path: '/operator/database/losses',
    summary: 'when the database lacked what it had acknowledged, newest first',
    description: 'Each process that remembers more than the database has is one of them.',
    body: Type.Object({ limit }),
    reply: ListOf({ ...Loss, accepted_at: OrNull(Moment) }),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: (await listLosses(sql, { limit })).map((one) => ({
        ...one,
        missing: [...one.missing],
      })),
    }),
  }),
  change({
    path: '/operator/database/accept',
    role: 'admin',
    careful: true,
    summary: 'go on with a database that lacks what it had acknowledged',
    description:
      'First find out which server is right. What is missing is lost by this: customers were ' +
      'told of it, and the list is all that is left.',
    body: NOTHING,
    reply: Type.Object({ accepted: Count, missing: Type.Array(Text) }),
    async handle({ tx, at, reason }) {
      reasonOf(reason)
      const restored = await openRestore(tx)
      const may_at = restored && restored.restored_to.getTime() + RESTORE_REST_MS
      if (may_at !== undefined && at.getTime() < may_at)
        throw refusal(
          'What was open then may have been delivered: not before ' +
            `${new Date(may_at).toISOString()}.`,
        )
      if (restored && !restored.reconciled)
        throw refusal(
          'What the chain knows and it does not would be done again: first type ' +
            '`penstock-admin restore reconcile --apply`.',
        )
      const accepted = await acceptLosses(tx, at)
      if (accepted.length === 0) throw refusal('The database lacks nothing that any process knows.')
      const missing = [...new Set(accepted.flatMap((one) => one.missing))].sort()
      return {
        result: {
          value: { accepted: accepted.length, missing },
          note: 'Every process goes on within a second.',
        },
        actions: [{ subject: 'database', before: { missing }, after: null }],
      }
    },
  }),
]
