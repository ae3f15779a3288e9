// Tells the process above, from within a lane, what has become of each test.

import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

export type FileToRun = { path: string }

/** A lane's messages about the file that it runs. */
export type LaneMessage =
  | { what: 'test'; became: 'passed' | 'failed'; name: string; ms: number }
  | { what: 'test'; became: 'skipped'; name: string; ms: number; reason: string }
  | { what: 'failure'; name: string; line: number | undefined; text: string }
  | { what: 'diagnostic'; text: string }
  | { what: 'end' }

/** The name of the test that a lane puts after those of a file. */
export const END_OF_FILE = 'the end of the file'

type DataOf<Type> = Extract<TestEvent, { type: Type }>['data']

/** An error and its causes. */
export function textOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return inspect(thrown)
  const cause = thrown.cause === undefined ? '' : `\n  because of ${textOf(thrown.cause)}`
  return `${thrown.stack ?? thrown.message}${cause}`
}

export function tell(message: LaneMessage, then = () => {}): void {
  process.send?.(message, then)
}

export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === 'test:diagnostic' && event.data.file !== undefined)
      tell({ what: 'diagnostic', text: event.data.message })
    else if (event.type === 'test:pass') passed(event.data)
    else if (event.type === 'test:fail') failed(event.data)
  }
  yield ''
}

function passed({ name, line, nesting, skip, details }: DataOf<'test:pass'>): void {
  if (name === END_OF_FILE && nesting === 0) tell({ what: 'end' })
  else if (details.type === 'suite') return
  else if (skip === undefined)
    tell({ what: 'test', became: 'passed', name, ms: details.duration_ms })
  else tell(skipped(name, line, skip))
}

/** A skipped test has shown nothing. With REQUIRE_ALL=1 it has failed. */
function skipped(name: string, line: number | undefined, skip: string | boolean): LaneMessage {
  const reason = typeof skip === 'string' ? skip : 'it says no reason'
  const test = { what: 'test', name, ms: 0 } as const
  if (process.env.REQUIRE_ALL !== '1') return { ...test, became: 'skipped', reason }
  tell({ what: 'failure', name, line, text: `it was skipped, and REQUIRE_ALL=1: ${reason}` })
  return { ...test, became: 'failed' }
}

function failed({ name, line, details }: DataOf<'test:fail'>): void {
  if (details.type !== 'suite')
    tell({ what: 'test', became: 'failed', name, ms: details.duration_ms })
  const { error } = details
  // A test fails with its subtests; they have been told.
  if ('failureType' in error && error.failureType === 'subtestsFailed') return
  tell({ what: 'failure', name, line, text: textOf(error.cause ?? error) })
}
