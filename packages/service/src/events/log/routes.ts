// Events on the wire: the log of what happened to a customer's things.

import { type Static, Type } from 'typebox'
import type { Sql } from '../../platform/database/sql.ts'
import {
  type Customer,
  type Endpoint,
  endpoint,
  InvalidParams,
  LimitReached,
  NotFound,
  refuses,
  streamEndpoint,
  TooOld,
} from '../../platform/wire/endpoint.ts'
import {
  LIST_REFUSALS,
  listFields,
  listOf,
  page,
  readPlace,
  rowsFor,
} from '../../platform/wire/lists.ts'
import { type Event, eventBody, eventBounds, findEvent, listEvents } from './events.ts'
import { type EventKind, mayRead } from './kinds.ts'
import type { EventStreams } from './streams.ts'

export type Needs = { sql: Sql; kinds: readonly EventKind[]; streams: EventStreams }

/** The form of an event, as it is listed, streamed and told to webhooks. */
export const EventForm = Type.Object({
  type: Type.String(),
  timestamp: Type.String({ description: 'When it happened' }),
  id: Type.String({ description: 'The same wherever, and however often, it is told' }),
  number: Type.Integer({ description: '1, 2, 3, … for each customer, without gaps' }),
  subject: Type.String({ description: 'What it is about: `order:…`, `deposit:…`' }),
  test: Type.Boolean({ description: 'Nothing happened: somebody tries a webhook' }),
  data: Type.Unknown({
    description:
      'What the endpoint of the subject answered at that moment; null without its scope, and ' +
      'when that is more than 20,000 characters',
  }),
})

/** Prints the bodies of events for those who ask: who lacks the scope of a kind is told that there
 *  was one, and not what. */
export function eventBodyPrinter(kinds: readonly EventKind[]) {
  const scope_of = new Map(kinds.map(({ type, scope }) => [type, scope]))
  return (event: Event, { scopes }: Pick<Customer, 'scopes'>): string => {
    const is_shown = mayRead(scopes, scope_of.get(event.type) ?? 'manage')
    return eventBody(is_shown ? event : { ...event, data: 'null' })
  }
}

/** The same as a form. */
export function eventPrinter(kinds: readonly EventKind[]) {
  const print = eventBodyPrinter(kinds)
  return (event: Event, customer: Pick<Customer, 'scopes'>) =>
    JSON.parse(print(event, customer)) as Static<typeof EventForm>
}

const Number53 = (name: string) =>
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    fault: () => InvalidParams(name, `Invalid ${name}`),
  })

const TypesField = Type.Optional(
  Type.Array(Type.String({ maxLength: 64, fault: () => InvalidParams('types', 'Invalid types') }), {
    minItems: 1,
    maxItems: 64,
    fault: () => InvalidParams('types', 'Invalid types'),
  }),
)

const Subject = Type.Optional(
  Type.String({ maxLength: 200, fault: () => InvalidParams('subject', 'Invalid subject') }),
)

type Printer = ReturnType<typeof eventPrinter>

export function routes({ sql, kinds, streams }: Needs): Endpoint[] {
  const print = eventPrinter(kinds)
  const known = new Set(kinds.map(({ type }) => type))
  return [eventsList(sql, print, known), eventCheck(sql, print), eventStream(sql, streams, known)]
}

/** Throws 2 for a type that there is not: a misspelt one would wait for ever. */
function requireTypes(types: readonly string[] = [], known: ReadonlySet<string>): void {
  const wrong = types.findIndex((type) => !known.has(type))
  if (wrong >= 0)
    throw InvalidParams('types', 'Invalid types').at(
      `types[${wrong}]`,
      'a type of event, such as "order.succeeded" (see the docs)',
    )
}

const eventsList = (sql: Sql, print: Printer, known: ReadonlySet<string>): Endpoint =>
  endpoint({
    path: '/v1/events/list',
    auth: 'signature',
    scope: 'read',
    summary: 'What happened, newest first; with `after` from there on, oldest first',
    description:
      'With `after` nothing is ever left out: numbers have no gaps, and reading on after the ' +
      'last number reads all.',
    body: Type.Object({
      after: Type.Optional(Number53('after')),
      ...listFields(),
      types: TypesField,
      subject: Subject,
    }),
    reply: listOf(EventForm),
    faults: [
      ...LIST_REFUSALS,
      refuses(InvalidParams, '`after` is no number, or stands beside `before`', 'after'),
      refuses(InvalidParams, '`types` is no list of types that there are', 'types'),
      refuses(InvalidParams, '`subject` is no subject', 'subject'),
      refuses(TooOld, 'Events after that number are no longer available'),
    ],
    examples: [{ summary: 'All there is, from the first event on', body: { after: 0, limit: 3 } }],
    async handle({ body, customer }) {
      const { after, limit, types, subject } = body
      requireTypes(types, known)
      const { customer_id } = customer
      const before = readPlace(body.before)
      if (after !== undefined && before !== undefined)
        throw InvalidParams('after', 'Either after or before').because('both are given', 'after')
      if (after !== undefined) await requireKept(sql, customer_id, BigInt(after))
      const wanted = { customer_id, types, subject, limit: rowsFor(limit) }
      const rows = await listEvents(sql, {
        ...wanted,
        ...(after === undefined ? { before } : { after: BigInt(after) }),
      })
      return page(rows, limit, {
        print: (event) => print(event, customer),
        placeOf: ({ number }) => String(number),
      })
    },
  })

const eventCheck = (sql: Sql, print: Printer): Endpoint =>
  endpoint({
    path: '/v1/event/check',
    auth: 'signature',
    scope: 'read',
    summary: 'One event',
    body: Type.Object({ number: Number53('number') }),
    reply: EventForm,
    faults: [
      refuses(InvalidParams, '`number` is no number', 'number'),
      refuses(NotFound, 'There is no event of that number yet', 'event'),
      refuses(TooOld, 'No longer available'),
    ],
    examples: [{ summary: 'The first event', body: { number: 1 } }],
    async handle({ body, customer }) {
      const { customer_id } = customer
      const number = BigInt(body.number)
      const event = await findEvent(sql, { customer_id, number })
      if (event) return print(event, customer)
      const { oldest } = await eventBounds(sql, customer_id)
      throw number > 0n && number < oldest
        ? TooOld()
        : NotFound('event', 'There is no such event').absent('number', 'event of yours')
    },
  })

const eventStream = (sql: Sql, streams: EventStreams, known: ReadonlySet<string>): Endpoint =>
  streamEndpoint({
    path: '/v1/events/stream',
    scope: 'read',
    summary: 'Events as they are numbered, over one answer that stays open',
    description:
      'Server-sent events: `id` is the number, `event` the type, `data` the event. It ends after ' +
      'an hour, when the service stops, or when the key is revoked or has other scopes: go on ' +
      'with `after` the last number.',
    body: Type.Object({
      after: Type.Optional(Number53('after')),
      types: TypesField,
      subject: Subject,
      tests: Type.Optional(
        Type.Boolean({
          description: 'Also events that did not happen',
          fault: () => InvalidParams('tests', 'Invalid tests'),
        }),
      ),
    }),
    item: EventForm,
    faults: [
      refuses(InvalidParams, '`after` is no number', 'after'),
      refuses(InvalidParams, '`types` is no list of types that there are', 'types'),
      refuses(InvalidParams, '`subject` is no subject', 'subject'),
      refuses(InvalidParams, '`tests` is neither true nor false', 'tests'),
      refuses(TooOld, 'Events after that number are no longer available'),
      refuses(LimitReached, 'Too many streams are open', 'stream'),
    ],
    async open({ body, customer }, gone) {
      const { types, subject, tests = false } = body
      requireTypes(types, known)
      const after = body.after === undefined ? undefined : BigInt(body.after)
      if (after !== undefined) await requireKept(sql, customer.customer_id, after)
      return streams.open({ customer, after, types, subject, tests }, gone)
    },
  })

/** Throws TooOld when events after this number are not kept any more. */
async function requireKept(sql: Sql, customer_id: string, after: bigint): Promise<void> {
  const { oldest } = await eventBounds(sql, customer_id)
  if (after + 1n < oldest)
    throw TooOld(undefined, `The oldest event that is kept has the number ${oldest}`)
}
