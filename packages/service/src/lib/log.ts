// Log lines, one JSON object each, written at the edges only (server, step runner). The fields are
// named one by one by the code that logs: no object is ever dumped, so a secret can only be logged
// by somebody who names it.

export type Log = (
  event: string,
  fields?: Record<string, string | number | boolean | bigint | null | undefined>,
) => void

export function jsonLog(write: (line: string) => void, now: () => Date): Log {
  return (event, fields = {}) => {
    const line = JSON.stringify(
      { at: now().toISOString(), event, ...fields },
      (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
    )
    write(`${line}\n`)
  }
}

export const silentLog: Log = () => {}

/** The fields that say what was thrown: its kind and message, never its properties. */
export function thrownFields(thrown: unknown): { error: string; stack?: string } {
  if (!(thrown instanceof Error)) return { error: String(thrown) }
  const cause = thrown.cause instanceof Error ? ` (${thrown.cause.message})` : ''
  const error = `${thrown.name}: ${thrown.message}${cause}`
  return thrown.stack === undefined ? { error } : { error, stack: thrown.stack }
}
