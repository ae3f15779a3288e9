// The kinds of events. Each domain declares its own beside its forms; app.ts lists them all, and
// the reference, the SDK and what a webhook may ask for are made from that list. What a kind tells
// has one schema for ever.

import type { TSchema } from 'typebox'
import type { Tx } from '../database/sql.ts'
import type { Scope } from '../wire/endpoint.ts'

export type EventKind = {
  /** `order.succeeded` */
  readonly type: string
  /** Schema of `data`. */
  readonly data: TSchema
  /** When it is told, in a sentence. */
  readonly when: string
  /** Who lacks it is told that there was an event, and not what. */
  readonly scope: Scope
  /** What a test of it tells. */
  readonly sample: object
}

/** Declares a kind of event. */
export const eventKind = (
  type: string,
  kind: { data: TSchema; when: string; scope?: Scope; sample: object },
): EventKind => ({ type, scope: 'read', ...kind })

/** What a note is about. */
export type Subject = { type: string; subject: string }

/** Prints what is told of subjects of one noun (`order:…`), in the order in which they are given,
 *  as the endpoint of the subject would answer. It is asked when the events are numbered, a moment
 *  after what happened: the state that it prints is the one that the type says. */
export type SubjectPrinter = (tx: Tx, notes: readonly Subject[]) => Promise<string[]>
