// Events as they are numbered: printed, or handed on to a program on this machine.

import { createHmac, hkdfSync } from 'node:crypto'
import type { EventType, ListedEvent } from 'penstock-sdk'
import { type Command, field, type Invocation, type Outcome, type Row } from '../line/command.ts'
import { EVENT_TYPES } from '../line/endpoints.ts'
import { Misuse } from '../line/errors.ts'

const STREAM = '/v1/events/stream'

const eventLine = ({ number, type, subject, timestamp, test }: ListedEvent): string =>
  `${number} ${type} ${subject} ${timestamp}${test ? ' test' : ''}`

/** Prints events of some types until it is interrupted. */
const watching = (words: string, summary: string, types?: EventType[]): Command => ({
  words,
  summary,
  path: STREAM,
  ...(types && { filled: ['types'] }),
  run: async (invocation): Promise<Outcome> => ({
    rows: streamed(invocation, types ? { types } : {}),
    line: eventLine,
  }),
})

async function* streamed({ penstock, body, io, note }: Invocation, more: Row) {
  let is_lost = false
  // Every try that fails says so; a person wants to know it once.
  const lost = () => {
    if (!is_lost) note('The stream is lost; going on as soon as it is back.')
    is_lost = true
  }
  const opened = () => {
    if (is_lost) note('The stream is back.')
    is_lost = false
  }
  yield* penstock.events.stream({ ...body, ...more }, { signal: io.signal, lost, opened })
}

const CALL_MS_MAX = 15_000

const listen: Command = {
  words: 'listen',
  summary: 'Hand events on to a program on this machine, signed as a webhook signs them',
  path: STREAM,
  filled: ['tests'],
  own: [
    field('forward_to', 'where each event is posted: a URL, or :3000/hook'),
    field('print_secret', 'print the secret that verifies these calls, and end', { type: 'yes' }),
  ],
  async run(invocation): Promise<Outcome> {
    const { own, access, note } = invocation
    const { forward_to, print_secret } = own as { forward_to?: string; print_secret?: boolean }
    if (forward_to === undefined) {
      if (print_secret === true) throw new Misuse('--print-secret is of a --forward-to.')
      return { rows: streamed(invocation, { tests: true }), line: eventLine }
    }
    const url = forwardUrl(forward_to)
    const secret = secretFor(access.secret, url)
    if (print_secret === true) return { value: { secret }, text: `${secret}\n` }
    note(`Events go to ${url}. What verifies them: penstock listen … --print-secret`)
    return { rows: forwarded(invocation, url, secret), line: forwardedLine }
  },
}

type ForwardedEvent = {
  number: number
  type: string
  subject: string
  status: number | null
  error: string | null
  ms: number
}

/** Hands events on, one after the other, and says what came of each. */
async function* forwarded(
  invocation: Invocation,
  url: string,
  secret: string,
): AsyncGenerator<ForwardedEvent> {
  for await (const event of streamed(invocation, { tests: true })) {
    const { number, type, subject } = event
    const began_ms = performance.now()
    const answer = await post(url, secret, event, invocation.io.signal)
    const ms = Math.round(performance.now() - began_ms)
    yield { number, type, subject, ...answer, ms }
  }
}

const forwardedLine = ({ number, type, subject, status, error, ms }: ForwardedEvent) =>
  `${number} ${type} ${subject} → ${status ?? error} ${ms} ms`

type CallAnswer = Pick<ForwardedEvent, 'status' | 'error'>

async function post(
  url: string,
  secret: string,
  event: ListedEvent,
  signal: AbortSignal,
): Promise<CallAnswer> {
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${event.id}.${timestamp}.${body}`
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'penstock-cli',
    'webhook-id': event.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${createHmac('sha256', key).update(signed).digest('base64')}`,
  }
  const ended = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS_MAX)])
  try {
    const how = { method: 'POST', headers, body, redirect: 'manual', signal: ended } as const
    const response = await fetch(url, how)
    await response.body?.cancel()
    return { status: response.status, error: null }
  } catch (thrown) {
    signal.throwIfAborted()
    const { name, cause } = thrown as { name: string; cause?: { code?: string } }
    return { status: null, error: cause?.code ?? name }
  }
}

/** `:3000/hook` is on this machine. Throws Misuse. */
function forwardUrl(given: string): string {
  const text = /^:\d+/.test(given) ? `http://127.0.0.1${given}` : given
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new Misuse(
      `--forward-to ${given} is no URL, like http://127.0.0.1:3000/hook or :3000/hook.`,
    )
  return url.href
}

/** The same for the same key and URL, so that a receiver keeps it. */
export function secretFor(secret: string, url: string): string {
  const bytes = hkdfSync('sha256', secret, '', `penstock listen ${url}`, 32)
  return `whsec_${Buffer.from(bytes).toString('base64')}`
}

export const EVENTS: readonly Command[] = [
  watching('events tail', 'Events as they are numbered, until it is interrupted'),
  watching('orders watch', 'What happens to your orders, as it happens', ofNoun('order')),
  watching('deposits watch', 'What arrives, as it happens', ofNoun('deposit')),
  listen,
]

function ofNoun(noun: string): EventType[] {
  return EVENT_TYPES.filter((type) => type.startsWith(`${noun}.`))
}
