// MistTrack: a task is made, and asked for until it has a result. Limits come as HTTP 429 or as a
// message in an answer of 200, with the seconds to wait. Its percentages are of what is risky
// alone.

import {
  askJson,
  type FailureKind,
  type Outside,
  objectOf,
  type Provider,
  type ProviderAnswer,
  ProviderFailure,
  type ProviderQuestion,
  pauseOf,
  sharesOf,
} from './provider.ts'

export type MistTrackOptions = { api_key: string; url?: string; coin?: string; poll_ms?: number }

const URL_OF_SERVICE = 'https://openapi.misttrack.io'

const LEVELS: ReadonlyMap<string, 'low' | 'medium' | 'high'> = new Map([
  ['low', 'low'],
  ['moderate', 'medium'],
  ['high', 'high'],
  ['severe', 'high'],
])

const CATEGORIES: ReadonlyMap<string, string> = new Map([
  ['sanctioned_entity', 'sanctions'],
  ['illicit_activity', 'illegal_service'],
  ['risk_exchange', 'exchange_fraudulent'],
])

const FAILURES: ReadonlyMap<string, FailureKind> = new Map([
  ['InvalidApiKey', 'auth'],
  ['ExpiredPlan', 'quota'],
  ['ExceededRateLimit', 'transient'],
  ['ExceededDailyRateLimit', 'quota'],
  ['UnsupportedToken', 'unsupported'],
  ['UnsupportedAddressType', 'unsupported'],
  ['InvalidAddress', 'permanent'],
  ['TaskNotFound', 'transient'],
])

export function misttrack({ http, wait }: Outside, options: MistTrackOptions): Provider {
  const { api_key, url = URL_OF_SERVICE, coin = 'USDT-TRC20', poll_ms = 1_000 } = options

  async function ask(
    request: { method: 'GET' | 'POST'; path: string; fields: Record<string, string> },
    signal: AbortSignal,
  ) {
    const { method, path, fields } = request
    const all = { ...fields, api_key }
    const { fields: answer, body } = await askJson(
      http,
      method === 'GET'
        ? { method, url: `${url}${path}?${new URLSearchParams(all)}`, signal }
        : {
            method,
            url: `${url}${path}`,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(all),
            signal,
          },
    )
    const msg = String(answer.msg ?? '')
    if (answer.success !== true) throw refusal(msg, answer, body)
    return { running: msg === 'TaskUnderRunning', result: objectOf(answer.data), body }
  }

  return {
    name: 'misttrack',
    covers: ({ network }) => network === 'TRX',
    async screen(question, signal) {
      const subject = subjectOf(question, coin)
      const made = await ask(
        { method: 'POST', path: '/v3/risk_score_create_task', fields: subject },
        signal,
      )
      const task_id = String(made.result.task_id ?? '')
      if (made.result.has_result !== true) await wait(poll_ms, signal)
      for (;;) {
        const asked = await ask(
          { method: 'GET', path: '/v3/risk_score_query_task', fields: { task_id } },
          signal,
        )
        if (!asked.running) return answerOf(asked.result, task_id, asked.body)
        await wait(poll_ms, signal)
      }
    },
  }
}

function subjectOf(
  { type, address, hash, direction }: ProviderQuestion,
  coin: string,
): Record<string, string> {
  if (type === 'address') return { coin, address }
  return { coin, txid: hash ?? '', direction: direction === 'withdrawal' ? 'withdraw' : 'deposit' }
}

function refusal(msg: string, answer: Record<string, unknown>, body: Uint8Array): ProviderFailure {
  const retry_after_ms = pauseOf(answer.retry_after)
  return new ProviderFailure(FAILURES.get(msg) ?? 'permanent', msg || 'refused', {
    retry_after_ms,
    body,
  })
}

function answerOf(
  result: Record<string, unknown>,
  reference: string,
  body: Uint8Array,
): ProviderAnswer {
  const { score, risk_level, risk_detail } = result
  const level = LEVELS.get(String(risk_level ?? '').toLowerCase())
  if (typeof score !== 'number' || !Number.isFinite(score) || score < 0 || score > 100 || !level)
    throw new ProviderFailure('permanent', 'the answer has no score', { body })
  const rows = Array.isArray(risk_detail) ? risk_detail.map(objectOf) : []
  const percents = new Map<string, number>()
  for (const { risk_type, percent } of rows) {
    const name = CATEGORIES.get(String(risk_type)) ?? String(risk_type)
    const share = Number(percent ?? 0) / 100
    if (Number.isFinite(share)) percents.set(name, (percents.get(name) ?? 0) + share)
  }
  const blacklist = rows.some(({ risk_type, exposure_type, hop_num }) => {
    return (
      risk_type === 'sanctioned_entity' && exposure_type === 'direct' && String(hop_num) === '0'
    )
  })
  return {
    score,
    level,
    blacklist,
    shares: sharesOf(Object.fromEntries(percents)),
    reference,
    body,
  }
}
