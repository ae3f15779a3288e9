// Who has asked for an account, and where that stands: for whoever is asked why no letter came.

import { Type } from 'typebox'
import { Count, ListOf, Moment, OrNull, optional, Text, text } from '../../platform/wire/schemas.ts'
import { LIMIT, limit, look } from '../table/operation.ts'

type Row = {
  id: string
  email: string
  state: string
  made_at: Date
  ends_at: Date
  sent_at: Date | null
  tries: number
  last_fault: string | null
  customer_id: string | null
}

export const signUpOperations = [
  look({
    path: '/operator/sign-ups/list',
    summary: 'who has asked for an account, the newest first',
    description:
      'asked: the letter has not gone out, and `last_fault` says why not. sent: the mail server ' +
      'has taken it. refused: it says that there is no such receiver. confirmed: its link was ' +
      'followed. opened: there is a customer. Who has not come is forgotten after a week.',
    body: Type.Object({
      email: optional(text('EMAIL', 'of this one alone')),
      limit,
      before: optional(text('ID', 'only those older than this one: the next page')),
    }),
    reply: ListOf({
      id: Text,
      email: Text,
      state: Text,
      made_at: Moment,
      ends_at: Moment,
      sent_at: OrNull(Moment),
      tries: Count,
      last_fault: OrNull(Text),
      customer_id: OrNull(Text),
    }),
    async handle({ sql, body: { email, limit = LIMIT, before } }) {
      const value = await sql<Row>`
        select id, email, state, made_at, ends_at, sent_at, tries, last_fault, customer_id
        from sign_up
        where (${before ?? null}::text is null or id < ${before ?? null})
          and (${email ?? null}::text is null or lower(email) = lower(${email ?? null}))
        order by id desc limit ${limit}`
      return { value }
    },
  }),
]
