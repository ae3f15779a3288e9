// The sentences of a record of changes: who did what, and to which things. Changes that were made
// at once are one deed.

import { nameText } from './name.ts'
import { named, nameIfKnown, say, sentenceOf } from './words.ts'

export type RecordedChange = {
  number: number
  action: string
  /** `key:01m7...`, `service:energy`. */
  subject: string
  before: unknown
  after: unknown
}

const NAMED_MAX = 3
const ID_LENGTH = 26
const SHOWN_OF_ID = 6

/** Changes of one action, next to each other, by the same one at the same time. */
export function deedsOf<Change extends RecordedChange>(
  changes: readonly Change[],
  isOne: (one: Change, other: Change) => boolean,
): Change[][] {
  const deeds: Change[][] = []
  for (const change of changes) {
    const last = deeds.at(-1)
    if (last && last[0]!.action === change.action && isOne(last[0]!, change)) last.push(change)
    else deeds.push([change])
  }
  return deeds
}

/** `Oskar took energy, bandwidth and 4 more off sale.` */
export function deedText(by: string, deed: readonly RecordedChange[]): string {
  const { action } = deed[0]!
  const names = deed.map(subjectText)
  const left = names.length - NAMED_MAX
  const first = names.slice(0, NAMED_MAX).join(', ')
  const what = left > 0 ? say('record.and_more', { what: first, n: left }) : first
  const said = { by: nameText(by), what }
  return sentenceOf('did', action, said) ?? say('record.other', { ...said, action })
}

/** The name of a thing where the record has one; ids are long, and stand in full beside it. */
function subjectText({ subject, before, after }: RecordedChange): string {
  const name = nameIn(after) ?? nameIn(before)
  if (name !== undefined) return nameText(name)
  const at = subject.indexOf(':')
  if (at < 0) return subject
  const [kind, id] = [subject.slice(0, at), subject.slice(at + 1)]
  if (kind === 'service') return named('service', id)
  if (kind === 'alert') return nameIfKnown('alert', id) ?? id
  return id.length >= ID_LENGTH ? `${id.slice(0, SHOWN_OF_ID)}…${id.slice(-SHOWN_OF_ID)}` : id
}

const nameIn = (state: unknown): string | undefined =>
  typeof state === 'object' && state !== null && 'name' in state && typeof state.name === 'string'
    ? state.name
    : undefined
