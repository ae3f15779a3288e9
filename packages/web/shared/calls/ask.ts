// One call of the service: JSON there, the envelope back. A call that needs a proof of presence
// asks for it and goes on, so that nothing that was typed is lost.

import type { Body, Endpoints, Result } from 'penstock-sdk'
import { attendanceHeaders } from './attendance.ts'
import { startData } from './start_data.ts'

/** The code of a call that nobody who is known has signed. */
export const UNAUTHENTICATED = 1
/** The code of what nothing was answered to. */
export const NOT_ANSWERED = -1

/** What the service, or the way there, has refused. */
export class Fault extends Error {
  /** Of the wire; -1: nothing was answered. */
  readonly code: number
  /** `quote_expired.used`; `offline` when nothing was answered. */
  readonly key: string
  readonly request_id: string | undefined

  constructor(said: { code: number; key?: string; error: string; request_id?: string }) {
    super(said.error)
    this.code = said.code
    this.key = said.key ?? String(said.code)
    this.request_id = said.request_id
  }

  /** Whatever was thrown, as one: a browser refuses too, in its own words. */
  static of(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown
    const error = thrown instanceof Error ? thrown.message : String(thrown)
    return new Fault({ code: NOT_ANSWERED, key: 'browser', error })
  }
}

/** What the service answers, or stands for its answer where none came. */
export type Envelope = {
  code: number
  key?: string
  error?: string
  request_id?: string
  result?: unknown
}

/** What is done when nobody is signed in any more, and when presence must be proven: answers
 *  whether it was. */
export type Guard = { signedOut(): void; stepUp(): Promise<boolean> }
let guard: Guard | undefined

export function guardCalls(by: Guard): void {
  guard = by
}

const STEP_UP = 'forbidden.step_up'

export type AskOptions = {
  /** Sent as `Idempotency-Key`: asked again with the same one, it is done once. For what takes no
   *  id of the caller in its body. */
  idempotency_key?: string
}

/** Posts to a path under that of the face. Throws a Fault. */
export async function post<Answer>(
  path: string,
  body: unknown,
  options: AskOptions = {},
): Promise<Answer> {
  const said = await exchange(path, body, options)
  if (said.code === 0) return said.result as Answer
  throw new Fault({ ...said, error: said.error ?? '' })
}

/** The same; a refusal is an answer like any other. Never throws. */
export async function exchange(
  path: string,
  body: unknown,
  options: AskOptions = {},
): Promise<Envelope> {
  const said = await send(`${startData().base}${path}`, body, options)
  if (said.key === STEP_UP && (await guard?.stepUp())) return exchange(path, body, options)
  if (said.code === UNAUTHENTICATED && !path.startsWith('/session/')) guard?.signedOut()
  return said
}

async function send(
  url: string,
  body: unknown,
  { idempotency_key }: AskOptions,
): Promise<Envelope> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-penstock': '1',
        ...attendanceHeaders(),
        ...(idempotency_key !== undefined && { 'idempotency-key': idempotency_key }),
      },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Envelope
  } catch {
    return { code: NOT_ANSWERED, key: 'offline', error: '' }
  }
}

/** Calls an endpoint of the customers by its path. Throws a Fault. */
export const ask = <Path extends keyof Endpoints>(
  path: Path,
  body: Body<Path>,
  options?: AskOptions,
): Promise<Result<Path>> => post(path, body, options)
