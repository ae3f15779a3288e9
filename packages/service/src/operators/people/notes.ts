// Notes about a customer, for those who look after it.

import { Type } from 'typebox'
import { misuse } from '../../lib/fault.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import { addNote, listNotes, NOTE_TEXT_MAX, NOTES_MAX } from '../../people/customers/notes.ts'
import { ListOf, Moment, optional, Text, text } from '../../platform/wire/schemas.ts'
import { change, LIMIT, limit, look } from '../table/operation.ts'

const customer = text('CUSTOMER', 'the id of the customer')

/** Throws Misuse when there is nothing in it, or too much. */
function readText(given: string): string {
  const written = given.trim()
  if (written === '') throw misuse('TEXT is empty.')
  if ([...written].length > NOTE_TEXT_MAX)
    throw misuse(`TEXT has more than ${NOTE_TEXT_MAX} characters.`)
  return written
}

export const noteOperations = [
  change({
    path: '/operator/customers/note',
    summary: 'write something down about a customer; it is never changed',
    description:
      `At most ${NOTES_MAX} notes. The record names the note and not its text. ` +
      'A customer who asks what is kept gets them too, and erasing the customer deletes them: ' +
      'nothing of a case belongs here.',
    body: Type.Object({ customer, text: text('TEXT', `at most ${NOTE_TEXT_MAX} characters`) }),
    reply: Type.Object({ customer_id: Text, id: Text }),
    cli: { operands: ['customer', 'text'] },
    async handle({ tx, by, at, new_id, body }) {
      const note = { id: new_id(), at, made_by: by, text: readText(body.text) }
      const action = await addNote(tx, { customer_id: body.customer, ...note })
      return {
        result: { value: { customer_id: body.customer, id: note.id } },
        actions: [action],
      }
    },
  }),
  look({
    path: '/operator/customers/notes',
    summary: 'the notes about a customer, the newest first',
    body: Type.Object({
      customer,
      limit,
      before: optional(text('NOTE', 'only those older than this one: the next page')),
    }),
    reply: ListOf({ id: Text, at: Moment, made_by: Text, text: Text }),
    cli: { operands: ['customer'] },
    async handle({ sql, body: { limit = LIMIT, before, customer } }) {
      const { id: customer_id } = await requireCustomer(sql, customer)
      const page = { customer_id, limit, ...(before !== undefined && { before }) }
      return { value: await listNotes(sql, page) }
    },
  }),
]
