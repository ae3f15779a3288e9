// What the strictest of the existing clients can decode. Its types are fixed: an integer with a
// fraction, a list that is an object when it is empty, or an id that is a number makes it fail,
// whatever our own schemas say. So this table is written down apart from them, and compared with
// the text that goes over the wire: JSON.parse() would make 1.0 an integer.

import assert from 'node:assert/strict'
import { type Json, OtherNumber, parseJson } from 'penstock-service/lib/json.ts'

type Kind =
  | 'integer'
  | 'money'
  | 'fraction'
  | 'text'
  | 'id'
  | 'time'
  | 'hash'
  | 'boolean'
  | 'object'
  | 'array'

const ULID = /^[0-9a-z]{26}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const HASH = /^[0-9a-f]{64}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const MONEY = /^-?(0|[1-9]\d{0,14})(\.\d{1,6})?$/
const FRACTION = /^(0(\.\d+)?|1(\.0+)?)$/

const matches = (value: Json, form: RegExp) => typeof value === 'string' && form.test(value)
const literal = (value: Json) =>
  value instanceof OtherNumber ? value.text : typeof value === 'number' ? `${value}` : ''

const FITS: Record<Kind, (value: Json) => boolean> = {
  integer: (value) => typeof value === 'number',
  money: (value) => MONEY.test(literal(value)),
  fraction: (value) => FRACTION.test(literal(value)),
  text: (value) => typeof value === 'string',
  id: (value) => matches(value, ULID),
  time: (value) => matches(value, TIME),
  hash: (value) => matches(value, HASH),
  boolean: (value) => typeof value === 'boolean',
  object: (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) && literal(value) === '',
  array: (value) => Array.isArray(value),
}

const ENERGY_TIERS =
  'integer: duration min_amount max_amount min_energy max_energy; ' +
  'money: price price_32k price_65k price_131k'
const PARAMS =
  'object: params params.amounts; text: params.address; boolean: params.activate_address'
const AMOUNTS = 'integer: params.duration params.amounts.energy params.amounts.bandwidth'
const TRANSACTION =
  'id: id; text?: external_id; text: service status; money: amount; time: created_at; ' +
  `hash: hash; ${PARAMS}; ${AMOUNTS}`
const LIMITS = 'integer: params.duration params.transactions_limit'
const SUBSCRIPTION =
  `id: id; text: subscription_id status; text?: external_id; time: created_at; ${PARAMS}; ` +
  `${LIMITS}`
const PAGE = 'integer: page per_page total; array: items; object: items[]'
const CHECK =
  'id: id; text: type address network status; hash: hash; ' +
  'text?: direction risk_score risk_level; boolean: blacklist; ' +
  'array: risk_factors sent_factors; object: risk_factors[]; ' +
  'text: risk_factors[].name risk_factors[].label risk_factors[].group; ' +
  'fraction: risk_factors[].score; time: checked_at'

/** The same fields below a path. */
const below = (path: string, fields: string) =>
  fields.replace(
    /(: |[^:;] )(?=\S)(\w)/g,
    (_all, before: string, first: string) => `${before}${path}.${first}`,
  )

/** What each endpoint's result is made of; `?`: or null. */
const RESULTS: Record<string, string> = {
  '/v1/services':
    'object: .; array: energy bandwidth; object: energy[] bandwidth[] activate_address; ' +
    `${below('energy[]', ENERGY_TIERS)}; ` +
    `${below('bandwidth[]', 'integer: duration min_amount max_amount; money: price')}; ` +
    'money: activate_address.price',
  '/v1/balance': 'object: .; money: balance; text: address',
  '/v1/estimate-energy':
    'object: .; integer: amount energy duration fee_limit bandwidth; ' +
    'money: price activation_fee total; text: from_address to_address contract_address',
  '/v1/calculate':
    'object: .; text: address type; integer: amount energy duration; ' +
    'money: price activation_fee total',
  '/v1/address-info':
    'object: . resources balances; integer: resources.energy resources.bandwidth; ' +
    'money: balances.TRX balances.USDT',
  '/v1/transaction/new': `object: .; ${TRANSACTION}`,
  '/v1/transaction/check':
    `object: .; ${TRANSACTION}; array: delegations; object: delegations[]; ` +
    below(
      'delegations[]',
      'text: resource; integer: amount; hash: hash reclaim_hash; time: expires_at reclaimed_at',
    ),
  '/v1/direct-recharge-info':
    'object: .; text: address; array: rates; object: rates[]; ' +
    `${below('rates[]', ENERGY_TIERS)}`,
  '/v1/subscriptions': `object: . *; ${below(
    '*',
    'integer: id transactions_limit duration_days; text: name; ' +
      'money: activation_fee initial_price price',
  )}`,
  '/v1/subscription/start': `object: .; ${SUBSCRIPTION}; text: address; time?: expire_at`,
  '/v1/subscription/check': `object: .; ${SUBSCRIPTION}; text: address; time?: expire_at`,
  '/v1/subscription/stop': `object: .; ${SUBSCRIPTION}; time: stopped_at`,
  '/v1/subscriptions/history': `object: .; ${PAGE}; ${below(
    'items[]',
    'id: id; text: status subscription_id address; integer: transactions_limit ' +
      'transactions_used energy_used; money: total_price; time?: started_at renewed_at ' +
      'stopped_at expire_at; time: created_at',
  )}`,
  '/v1/aml-checks': 'array: .; object: []; text: [].id [].type; money: [].price',
  '/v1/aml-checks/new': `object: .; ${CHECK}`,
  '/v1/aml-checks/check': `object: .; ${CHECK}`,
  '/v1/aml-checks/history': `object: .; ${PAGE}; ${below('items[]', CHECK)}`,
}

/** The endpoints that those clients call: as they are, for good. */
export const FROZEN: readonly string[] = Object.keys(RESULTS)

const TABLES = new Map(Object.entries(RESULTS).map(([path, text]) => [path, tableOf(text)]))

function tableOf(text: string): Map<string, string> {
  const fields = text.split('; ').flatMap((part) => {
    const [kind = '', names = ''] = part.split(': ')
    return names.split(' ').map((name) => [name, kind] as const)
  })
  return new Map(fields)
}

/** Fails unless the strictest client can decode the answer of the endpoint and finds nothing in it
 *  that it does not know. */
export function checkStrictly(path: string, text: string): void {
  const answer = parseJson(Buffer.from(text)) as { [name: string]: Json }
  const { code, request_id, result, key, error } = answer
  assert.ok(typeof code === 'number', `${path}: the code is an integer`)
  assert.ok(matches(request_id!, UUID), `${path}: request_id`)
  if (code === 0) {
    assert.deepEqual(Object.keys(answer), ['code', 'request_id', 'result'])
    // What is younger than the table is held to its schema by the server alone.
    if (TABLES.has(path)) checkValue(path, '.', result!)
  } else {
    // What is younger than those clients comes after it.
    const [names, more] = [Object.keys(answer).slice(0, 4), Object.keys(answer).slice(4)]
    assert.deepEqual(names, ['code', 'key', 'request_id', 'error'])
    assert.deepEqual(
      more.filter((name) => !['param', 'doc_url'].includes(name)),
      [],
    )
    assert.ok(
      typeof key === 'string' && typeof error === 'string' && key !== '' && error !== '',
      `${path}: ${text}`,
    )
  }
}

function checkValue(path: string, at: string, value: Json): void {
  const table = TABLES.get(path)!
  const kind = table.get(at)
  assert.ok(kind, `${path}: nobody knows ${at}`)
  const may_be_null = kind.endsWith('?')
  const fits = FITS[kind.replace('?', '') as Kind]
  assert.ok(
    (may_be_null && value === null) || fits(value),
    `${path}: ${at} is not ${kind}: ${JSON.stringify(value)}`,
  )
  const inside = at === '.' ? '' : at
  if (Array.isArray(value)) for (const item of value) checkValue(path, `${inside}[]`, item)
  else if (kind === 'object') {
    for (const [name, field] of Object.entries(value as { [name: string]: Json })) {
      const below = table.has('*') && inside === '' ? '*' : name
      checkValue(path, inside === '' ? below : `${inside}.${below}`, field)
    }
  }
}
