// What operators change: the change, its record, and what the house is told of it, in one
// transaction.

import { type Static, Type } from 'typebox'
import {
  type ActionRow,
  type Change,
  type Operator,
  recordActions,
  sentenceOf,
} from '../../ledger/accounts/actions.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import { misuse } from '../../lib/fault.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { HOUSE } from './events.ts'
import { type EventKind, eventKind } from './kinds.ts'
import { noteEvents } from './notes.ts'

const ActionForm = Type.Object({
  number: Type.Integer({ description: 'Of the record: 1, 2, 3, … without gaps' }),
  made_at: Type.String(),
  made_by: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  action: Type.String({ description: 'The command: `prices set`' }),
  subject: Type.String({ description: 'What was changed: `price:energy`' }),
  before: Type.Unknown({ description: 'Null: there was nothing' }),
  after: Type.Unknown({ description: 'Null: there is nothing' }),
})

export const changeKinds: readonly EventKind[] = [
  eventKind('action.made', {
    data: ActionForm,
    when: 'an operator, or the check of the books, has changed something',
    scope: 'house',
    sample: {
      number: 12,
      made_at: '2026-11-21T00:05:57Z',
      made_by: 'olga',
      reason: 'maintenance',
      action: 'services off',
      subject: 'service:energy',
      before: { on_sale: true },
      after: { on_sale: false },
    } satisfies Static<typeof ActionForm>,
  }),
]

/** Makes a change and records it, in one transaction and as of one time. Throws Refused for what
 *  the database does not allow. */
export async function perform<Result>(
  { sql, clock }: { sql: Sql; clock: Clock },
  { operator, action }: { operator: Operator; action: string },
  work: (tx: Tx, made_at: Date) => Promise<Change<Result>>,
): Promise<Result> {
  const made_at = clock.now()
  try {
    return await sql.begin(async (tx) => {
      const { result, actions } = await work(tx, made_at)
      const rows = await recordActions(tx, { operator, action, made_at }, actions)
      noteEvents(tx, rows.map(actionMade))
      return result
    })
  } catch (thrown) {
    const sentence = sentenceOf(thrown)
    throw sentence === undefined ? thrown : misuse(sentence)
  }
}

const actionMade = ({ number, made_at, ...row }: ActionRow) => {
  const { made_by, reason, action, subject, before, after } = row
  const data = { number: Number(number), made_at: wireTime(made_at), made_by, reason }
  return {
    type: 'action.made' as const,
    subject: `action:${number}`,
    customer_id: HOUSE,
    at: made_at,
    data: { ...data, action, subject, before, after },
  }
}
