// The kinds of events. Each noun declares its own beside its forms, and its wing lists them; the
// reference, the SDK and what a webhook may ask for are made from all of them. What a kind tells
// has one schema for ever.

import type { TSchema } from 'typebox'
import { type Scope, UNNAMED_SCOPES } from '../../platform/wire/endpoint.ts'

/** What a reader of events may need: a scope of a key, or to be of the house. */
export type EventScope = Scope | 'house'

/** All that the house may read. */
export const HOUSE_SCOPES: readonly EventScope[] = [
  'house',
  'read',
  'buy',
  'aml',
  'money',
  'webhooks',
  'manage',
]

export type EventKind = {
  /** `order.succeeded` */
  readonly type: string
  /** Schema of `data`. */
  readonly data: TSchema
  /** When it is told, in a sentence. */
  readonly when: string
  /** Who lacks it is told that there was an event, and not what. */
  readonly scope: EventScope
  /** What a test of it tells. */
  readonly sample: object
}

/** Declares a kind of event. */
export const eventKind = (
  type: string,
  kind: { data: TSchema; when: string; scope?: EventScope; sample: object },
): EventKind => ({ type, scope: 'read', ...kind })

/** Whether those who have these scopes may read what needs this one. */
export const mayRead = (
  scopes: readonly EventScope[] | undefined = UNNAMED_SCOPES,
  scope: EventScope,
): boolean => scopes.includes(scope)

/** The types that a reader of these scopes may be told. */
export type Readable = (scopes: readonly EventScope[]) => readonly string[]

export const readableTypes =
  (kinds: readonly EventKind[]): Readable =>
  (scopes) =>
    kinds.filter(({ scope }) => mayRead(scopes, scope)).map(({ type }) => type)
