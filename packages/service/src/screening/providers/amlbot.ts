// AMLBot: form-encoded POST, signed with MD5 over the question and the access key, answered at once
// or after polling by uid. A score of null or none is a failure, never 0: chains without known
// entities give that.

import { createHash } from 'node:crypto'
import {
  askJson,
  type Outside,
  objectOf,
  type Provider,
  type ProviderAnswer,
  ProviderFailure,
  type ProviderQuestion,
  sharesOf,
} from './provider.ts'

export type AmlbotOptions = {
  access_id: string
  access_key: string
  url?: string
  poll_ms?: number
}

const URL_OF_SERVICE = 'https://extrnlapiendpoint.silencatech.com/'

/** Their name of a network; token checks on TRON go by the same. */
const ASSETS: Readonly<Record<string, string>> = {
  TRX: 'TRX',
  BTC: 'BTC',
  ETH: 'ETH',
  LTC: 'LTC',
  BSC: 'BSC',
  XRP: 'XRP',
  ADA: 'ADA',
}

export function amlbot({ http, wait }: Outside, options: AmlbotOptions): Provider {
  const { access_id, access_key, url = URL_OF_SERVICE, poll_ms = 1_000 } = options
  const md5 = (subject: string) =>
    createHash('md5').update(`${subject}:${access_key}:${access_id}`).digest('hex')

  async function post(path: string, form: Record<string, string>, signal: AbortSignal) {
    const { fields, body } = await askJson(http, {
      method: 'POST',
      url: url.replace(/\/+$/, '') + path,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      signal,
    })
    if (fields.result !== true) throw refusal(String(fields.description ?? ''), body)
    return { result: objectOf(fields.data), body }
  }

  return {
    name: 'amlbot',
    covers: ({ network }) => network in ASSETS,
    async screen(question, signal) {
      let { result, body } = await post('/', firstForm(question), signal)
      while (result.status === 'pending') {
        await wait(poll_ms, signal)
        const uid = String(result.uid ?? '')
        ;({ result, body } = await post(
          '/recheck',
          { uid, accessId: access_id, token: md5(uid) },
          signal,
        ))
      }
      return answerOf(result, body)
    },
  }

  function firstForm({
    type,
    network,
    address,
    hash,
    direction,
  }: ProviderQuestion): Record<string, string> {
    const subject = type === 'hash' ? (hash ?? '') : address
    const form = {
      hash: subject,
      asset: ASSETS[network] ?? network,
      accessId: access_id,
      locale: 'en_US',
      token: md5(subject),
    }
    return type === 'hash' ? { ...form, address, direction: direction ?? 'deposit' } : form
  }
}

function refusal(description: string, body: Uint8Array): ProviderFailure {
  const kind = /balance|limit|tariff/i.test(description)
    ? 'quota'
    : /token|access|denied|key/i.test(description)
      ? 'auth'
      : 'permanent'
  return new ProviderFailure(kind, description || 'refused', { body })
}

function answerOf(result: Record<string, unknown>, body: Uint8Array): ProviderAnswer {
  const given = result.riskscore
  const score = typeof given === 'string' && given !== '' ? Number(given) : given
  if (typeof score !== 'number' || !Number.isFinite(score) || score < 0 || score > 1)
    throw new ProviderFailure('permanent', 'the answer has no score', { body })
  return {
    score: score * 100,
    level: undefined,
    blacklist: result.hasBlackListFlag === true,
    shares: sharesOf(objectOf(result.signals)),
    reference: String(result.uid ?? ''),
    body,
  }
}
