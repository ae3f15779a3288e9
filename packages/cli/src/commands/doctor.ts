// Whether everything is as it should be, from here to the chain: what to do where it is not.

import { wrapped } from 'penstock-command-line/fitting.ts'
import { AuthError, type Penstock, PenstockError } from 'penstock-sdk'
import type { Command, Invocation, Outcome } from '../line/command.ts'
import { valueText } from '../line/printing.ts'

type Finding = { what: string; state: 'ok' | 'warn' | 'fail'; detail: string }

const CLOCK_MS_MAX = 60_000
const HEAD_MS_MAX = 60_000
const STREAM_MS_MAX = 5_000
const ENDS_SOON_MS = 7 * 86_400_000
const DONE = new Error('done')

/** As wide as the state and what follows it. */
const INDENT = ' '.repeat(6)
const MARK = { ok: '32', warn: '33', fail: '31' } as const

const doctor: Command = {
  words: 'doctor',
  summary: 'Whether URL, clock, key, balance, chain, stream and webhooks are as they should be',
  also: ['/v1/whoami', '/v1/balance', '/v1/webhooks/list', '/v1/events/stream'],
  async run(invocation): Promise<Outcome> {
    const { io, width } = invocation
    const findings: Finding[] = []
    for await (const one of examine(invocation)) findings.push(one)
    const state = (one: Finding['state']) =>
      io.color ? `\x1b[${MARK[one]}m${one.padEnd(4)}\x1b[0m` : one.padEnd(4)
    const lines = findings.flatMap((one) => {
      const [first, ...others] = wrapped(`${one.what}: ${one.detail}`, width - INDENT.length)
      return [`${state(one.state)}  ${first}`, ...others.map((line) => `${INDENT}${line}`)]
    })
    const text = [...lines, '', ...wrapped(verdictOf(findings), width), ''].join('\n')
    return { value: findings, text, ok: findings.every((one) => one.state !== 'fail') }
  },
}

/** What comes of it all: whether one can go on, and what to see to first. */
function verdictOf(findings: readonly Finding[]): string {
  const [fails, warns] = (['fail', 'warn'] as const).map((state) =>
    findings.filter((one) => one.state === state).map(({ what }) => what),
  ) as [string[], string[]]
  if (fails.length > 0) return `Not ready: mend ${listed([...fails, ...warns])}.`
  if (warns.length > 0) return `Ready, but look at ${listed(warns)}.`
  return `Ready: all ${findings.length} are as they should be.`
}

const listed = (names: readonly string[]) => [...new Set(names)].join(', ')

const finding = (what: string, state: Finding['state'], detail: string): Finding => ({
  what,
  state,
  detail,
})

async function* examine(invocation: Invocation): AsyncGenerator<Finding> {
  const { penstock, access, io } = invocation
  yield finding('key', 'ok', `of ${access.from}`)
  yield ofUrl(access.url)
  const began_ms = Date.now()
  let who: Awaited<ReturnType<Penstock['whoami']>>
  try {
    who = await penstock.whoami({ signal: io.signal })
  } catch (thrown) {
    io.signal.throwIfAborted()
    yield ofFailure(thrown)
    return
  }
  const { key, service } = who
  const here_ms = (began_ms + Date.now()) / 2
  const ahead_ms = Date.parse(service.time) - here_ms
  const off = `${Math.abs(Math.round(ahead_ms / 1_000))} s`
  yield finding('answer', 'ok', `${Date.now() - began_ms} ms, version ${service.version}`)
  yield Math.abs(ahead_ms) > CLOCK_MS_MAX
    ? finding('clock', 'warn', `${off} off the service's: set it by a time server`)
    : finding('clock', 'ok', `${off} off the service's`)
  yield finding('signatures', 'ok', 'accepted')
  const soon = key.ends_at !== null && Date.parse(key.ends_at) - here_ms < ENDS_SOON_MS
  yield soon
    ? finding('scopes', 'warn', `${key.scopes.join(', ')}; the key ends at ${key.ends_at}`)
    : finding('scopes', 'ok', key.scopes.join(', '))
  yield ofChain(service)
  yield await ofBalance(penstock, io.signal)
  yield await ofStream(penstock, io.signal)
  if (key.scopes.includes('webhooks')) yield* ofWebhooks(penstock, io.signal)
}

function ofUrl(url: string): Finding {
  const { protocol, hostname } = new URL(url)
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || local) return finding('url', 'ok', url)
  return finding('url', 'warn', `${url}: without TLS others can read and change what you ask`)
}

function ofFailure(thrown: unknown): Finding {
  if (thrown instanceof AuthError)
    return finding(
      'signatures',
      'fail',
      `${thrown.message}: log in again, with a key that is valid`,
    )
  if (!(thrown instanceof PenstockError)) throw thrown
  type Cause = { cause?: { code?: string; message?: string } }
  const { code, message = thrown.message } = (thrown.cause as Cause | undefined)?.cause ?? {}
  const why = code ?? message
  return finding('answer', 'fail', `${why}: is this the address of the service, and is it up?`)
}

function ofChain({ head_time, time }: { head_time: string | null; time: string }): Finding {
  if (head_time === null) return finding('chain', 'fail', 'the service follows none yet')
  const age_ms = Date.parse(time) - Date.parse(head_time)
  if (age_ms < -CLOCK_MS_MAX) {
    const ahead = `${Math.round(-age_ms / 60_000)} min`
    return finding('chain', 'ok', `its newest block is ${ahead} ahead of the service's clock`)
  }
  const age = `the newest block is ${Math.max(0, Math.round(age_ms / 1_000))} s old`
  if (age_ms <= HEAD_MS_MAX) return finding('chain', 'ok', age)
  return finding('chain', 'warn', `${age}: nothing is sold until it is followed again`)
}

async function ofBalance(penstock: Penstock, signal: AbortSignal): Promise<Finding> {
  const { balance, address } = await penstock.balance.get({ signal })
  if (balance > 0) return finding('balance', 'ok', `${balance} TRX`)
  return finding('balance', 'warn', `${balance} TRX: send TRX to ${address}`)
}

/** Whether a stream opens, and says something at once. */
async function ofStream(penstock: Penstock, signal: AbortSignal): Promise<Finding> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(new Error('nothing was heard')), STREAM_MS_MAX)
  const both = AbortSignal.any([signal, end.signal])
  try {
    const opened = () => end.abort(DONE)
    await penstock.events.stream({}, { signal: both, opened }).next()
    throw DONE
  } catch (thrown) {
    signal.throwIfAborted()
    if (thrown === DONE) return finding('stream', 'ok', 'open')
    const { message } = thrown as Error
    return finding('stream', 'warn', `${message}: does a proxy hold answers back? Polling goes on`)
  } finally {
    clearTimeout(timer)
    end.abort(DONE)
  }
}

async function* ofWebhooks(penstock: Penstock, signal: AbortSignal): AsyncGenerator<Finding> {
  for await (const { id, url, state, reason, failing_since } of penstock.webhooks.list(
    {},
    { signal },
  )) {
    if (state === 'disabled') yield finding('webhook', 'fail', `${id} is disabled: ${reason}`)
    else if (failing_since !== null)
      yield finding('webhook', 'warn', `${id} (${url}) fails since ${failing_since}`)
    else yield finding('webhook', 'ok', `${id} (${url}) is ${state}`)
  }
}

const status: Command = {
  words: 'status',
  summary: 'The service, its chain, and what you can spend',
  also: ['/v1/whoami', '/v1/balance'],
  async run({ penstock, access, io }): Promise<Outcome> {
    const { signal } = io
    const [{ customer, service }, { balance }] = await Promise.all([
      penstock.whoami({ signal }),
      penstock.balance.get({ signal }),
    ])
    const { url } = access
    return { value: { url, ...service, customer: customer.name, balance } }
  },
}

const minutes: Command = {
  words: 'service status',
  summary: 'How each part of the service does, and has done',
  also: ['/status.json'],
  async run({ penstock, io }): Promise<Outcome> {
    const value = await penstock.status({ signal: io.signal })
    // Of ninety days and of each bucket, what one reads: today.
    const { parts, latencies, bounds_ms: _, ...rest } = value
    const today = {
      ...rest,
      parts: parts.map(({ part, state, days }) => {
        const { up = 0, slow = 0, down = 0 } = days.at(-1) ?? {}
        return { part, state, up_minutes: up, slow_minutes: slow, down_minutes: down }
      }),
      latencies: latencies.map(({ latency, today }) => {
        const { samples, failed, p50_ms, p95_ms } = today
        return { latency, samples, failed, p50_ms, p95_ms }
      }),
    }
    return { value, text: valueText(today) }
  },
}

export const DOCTOR: readonly Command[] = [doctor, status, minutes]
