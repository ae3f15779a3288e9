// Log lines, one JSON object each, written at the edges only (server, step runner). The fields are
// named one by one by the code that logs: no object is ever dumped, so a secret can only be logged
// by somebody who names it, or who repeats what somebody else has said: what looks like one is left
// out of every field.

import { withoutSecrets } from './secrets.ts'

type Fields = Record<string, string | number | boolean | bigint | null | undefined>

export type Log = (event: string, fields?: Fields) => void

export function jsonLog(write: (line: string) => void, now: () => Date): Log {
  return (event, fields = {}) => {
    const line = JSON.stringify(
      { at: now().toISOString(), event, ...plainFields(fields) },
      (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
    )
    write(`${line}\n`)
  }
}

/** The fields without what could be a secret: in what somebody else has said, or in a path. */
export const plainFields = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? withoutSecrets(value, { field: name }) : value,
    ]),
  )

export const silentLog: Log = () => {}

/** The fields that say what was thrown: its kind and message, never its properties. */
export function thrownFields(thrown: unknown): { error: string; stack?: string } {
  if (!(thrown instanceof Error)) return { error: String(thrown) }
  const cause = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : ''
  const error = `${thrown.name}: ${thrown.message}${cause}`
  return thrown.stack === undefined ? { error } : { error, stack: thrown.stack }
}
