// The file that describes a provider of the operator's own. It holds keys: only its owner may read
// it, and what is wrong in it is said without its values.

import { readFileSync, statSync } from 'node:fs'
import { Misuse } from '../../lib/fault.ts'
import { isLoopback } from '../../lib/networks.ts'
import type { CustomOptions } from './custom.ts'

const FIELDS = [
  'url',
  'headers',
  'body',
  'networks',
  'score',
  'level',
  'blacklist',
  'factors',
  'reference',
  'score_max',
  'factors_whole',
  'levels',
]
const LEVELS: readonly unknown[] = ['low', 'medium', 'high']
const POINTER = /^(\/([^~]|~[01])*)+$/
const BYTES_MAX = 100_000

/** Reads the file. Throws Misuse, which names what is wrong. */
export function readCustomProvider(file: string): CustomOptions {
  const bad = (what: string) => new Misuse(`PENSTOCK_PROVIDER_FILE ${file}: ${what}.`)
  const given = fieldsOf(file, bad)
  const unknown = Object.keys(given).find((name) => !FIELDS.includes(name))
  if (unknown !== undefined) throw bad(`it has ${unknown}; it can have ${FIELDS.join(', ')}`)
  const { url, body, networks = ['TRX'], headers = {} } = given
  requireUrl(url, body, bad)
  if (!Array.isArray(networks) || networks.length === 0 || !networks.every(isText))
    throw bad('networks is no list of names such as TRX')
  const levels = textsOf(given.levels ?? { low: 'low', medium: 'medium', high: 'high' })
  if (!levels || !Object.values(levels).every((one) => LEVELS.includes(one)))
    throw bad('levels does not say for each name of theirs low, medium or high')
  const sent = textsOf(headers)
  if (!sent || !isHeaders(sent)) throw bad('headers are no names with texts that can be sent')
  const pointer = (name: string) => {
    const text = given[name]
    if (text === undefined || (isText(text) && POINTER.test(text))) return text
    throw bad(`${name} is no JSON pointer such as /data/${name}`)
  }
  const score = pointer('score')
  if (score === undefined) throw bad('score is missing: where in the answer the score stands')
  const number = (name: string, otherwise: number) => {
    const value = given[name] ?? otherwise
    if (typeof value === 'number' && value > 0 && value <= 1e9) return value
    throw bad(`${name} is no number above 0`)
  }
  return {
    url,
    headers: sent,
    body,
    networks,
    score,
    level: pointer('level'),
    blacklist: pointer('blacklist'),
    factors: pointer('factors'),
    reference: pointer('reference'),
    score_max: number('score_max', 100),
    factors_whole: number('factors_whole', 1),
    levels: levels as CustomOptions['levels'],
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

function fieldsOf(file: string, bad: (what: string) => Misuse): Record<string, unknown> {
  let value: unknown
  try {
    const { mode, size } = statSync(file)
    if ((mode & 0o077) !== 0) throw bad('it holds keys and can be read by others: chmod 600 it')
    if (size > BYTES_MAX) throw bad(`it has more than ${BYTES_MAX} bytes`)
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (thrown) {
    if (thrown instanceof Misuse) throw thrown
    throw bad(thrown instanceof SyntaxError ? 'it is not JSON' : 'it cannot be read')
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw bad('it is no JSON object')
}

/** No address of a question goes over a network in the clear, and no key does. */
function requireUrl(
  url: unknown,
  body: unknown,
  bad: (what: string) => Misuse,
): asserts url is string {
  if (!isText(url) || !URL.canParse(url)) throw bad('url is no address of a service')
  const { protocol, hostname, username, password, hash } = new URL(url)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname)))
    throw bad('url does not begin with https://')
  if (username || password) throw bad('url has a user name or a password: use headers')
  if (hash) throw bad('url has a fragment, which nobody is sent')
  if (/[{}]|%7b|%7d/i.test(hostname)) throw bad('url has {} in its host')
  if (!url.includes('{address}') && !JSON.stringify(body ?? '').includes('{address}'))
    throw bad('neither url nor body has {address}')
}

function textsOf(value: unknown): Record<string, string> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.values(value).every(isText) ? (value as Record<string, string>) : undefined
}

function isHeaders(headers: Record<string, string>): boolean {
  try {
    new Headers(headers)
    return true
  } catch {
    return false
  }
}
