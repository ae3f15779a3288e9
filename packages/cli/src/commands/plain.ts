// Commands that are an endpoint each: what is typed is its body, what is printed its result.

import {
  CheckFailed,
  type Filter,
  type ListPath,
  type NumberedPath,
  type Penstock,
} from 'penstock-sdk'
import { ALL, type Command, field, LIMIT, type Outcome } from '../line/command.ts'
import { ENDPOINTS } from '../line/endpoints.ts'
import { EndNotSeen, Misuse } from '../line/errors.ts'

type More = Partial<Omit<Command, 'words' | 'path' | 'run'>>

/** Calls an endpoint, and prints its result. */
const plain = (words: string, path: string, more: More = {}): Command => ({
  words,
  path,
  summary: ENDPOINTS[path]!.summary,
  ...more,
  run: async ({ penstock, body, own, io }) => {
    const { idempotency_key } = own as { idempotency_key?: string }
    const options = { signal: io.signal, idempotency_key }
    return { value: await penstock.call(path as '/v1/balance', body as never, options) }
  },
})

const LIMIT_USUAL = 25

/** Lists, the newest first: 25 unless --limit or --all says otherwise. */
export const listing = (
  words: string,
  path: ListPath | NumberedPath,
  more: ListMore = {},
): Command => {
  const { columns, own = [], ...rest } = more
  return {
    words,
    path,
    summary: ENDPOINTS[path]!.summary,
    ...rest,
    own: [LIMIT, ALL, ...own],
    run: async ({ penstock, body, own: { limit, all }, io }): Promise<Outcome> => {
      if (limit !== undefined && all === true) throw new Misuse('--limit or --all, not both.')
      const most = all === true ? Number.POSITIVE_INFINITY : Number(limit ?? LIMIT_USUAL)
      if (most < 1) throw new Misuse(`--limit ${most}: it is 1 at least.`)
      return { rows: firstOf(penstock, path, { body, most, signal: io.signal }), columns }
    },
  }
}

type ListMore = More & { columns?: readonly string[] }

/** The first items of a list. No more is read than is wanted. */
export async function* firstOf(
  penstock: Penstock,
  path: ListPath | NumberedPath,
  { body, most, signal }: { body: object; most: number; signal: AbortSignal },
): AsyncGenerator<object> {
  const filter = { limit: Math.min(most, 100), ...body } as Filter<ListPath>
  let left = most
  for await (const item of penstock.list(path as ListPath, filter, { signal })) {
    yield item
    left -= 1
    if (left <= 0) return
  }
}

const ONE = ['id']
const IDEMPOTENCY_KEY = field('idempotency_key', 'an id of yours: the same again is the same check')

const DEPOSIT_COLUMNS = ['tx_id', 'state', 'amount', 'from_address', 'block_time', 'reason']
const KEY_COLUMNS = ['id', 'name', 'scopes', 'daily_cap', 'last_used_at', 'ends_at', 'revoked_at']
const USER_COLUMNS = ['id', 'name', 'sign_in_name', 'role', 'daily_cap', 'joined_at', 'ended_at']
const NOTICE_COLUMNS = ['number', 'webhook_id', 'type', 'state', 'calls', 'due_at', 'last.status']
const WEBHOOK_COLUMNS = ['id', 'url', 'state', 'types', 'waiting', 'due', 'dead', 'failing_since']
const CHECK_COLUMNS = ['id', 'type', 'address', 'status', 'risk_score', 'risk_level', 'checked_at']

const DURATION = field('duration', 'hours; 1, as there is no other', { type: 'whole' })

const calculate: Command = {
  ...plain('calculate', '/v1/calculate', {
    operands: ['address', 'amount', 'type'],
    filled: ['duration'],
    own: [DURATION],
  }),
  run: async ({ penstock, body, own: { duration = 1 }, io }) => {
    const wanted = { ...body, duration }
    return { value: await penstock.call('/v1/calculate', wanted as never, { signal: io.signal }) }
  },
}

const quote: Command = {
  ...plain('quote', '/v1/quote/new', {
    operands: ['service', 'params.address', 'params.amount'],
    filled: ['params.duration'],
    own: [DURATION],
  }),
  run: async ({ penstock, body, own: { duration = 1 }, io }) => {
    const { params, ...rest } = body as { params?: object }
    // A transfer has no parameters, and an activation no duration.
    const is_timed =
      params !== undefined && (rest as { service?: string }).service !== 'activate_address'
    const wanted = params && { params: is_timed ? { ...params, duration } : params }
    const asked = { ...rest, ...wanted }
    return { value: await penstock.call('/v1/quote/new', asked as never, { signal: io.signal }) }
  },
}

export const PLAIN: readonly Command[] = [
  plain('whoami', '/v1/whoami'),
  plain('services', '/v1/services'),
  plain('prices history', '/v1/prices/history', { operands: ['resource'] }),
  plain('prices recharge', '/v1/direct-recharge-info'),
  calculate,
  plain('estimate', '/v1/estimate-energy', { operands: ['from_address', 'to_address'] }),
  plain('address', '/v1/address-info', { operands: ['address'] }),
  plain('pool forecast', '/v1/pool-forecast', { operands: ['resource', 'hours'] }),
  plain('balance', '/v1/balance'),
  plain('summary', '/v1/summary'),
  plain('settings show', '/v1/settings'),
  plain('settings set', '/v1/settings/change'),
  listing('refusals list', '/v1/refusals/list', {
    columns: ['at', 'path', 'code', 'key', 'request_id', 'hint.right_for'],
  }),
  listing('deposits list', '/v1/deposits/list', { columns: DEPOSIT_COLUMNS }),
  plain('deposits show', '/v1/deposit/check', { operands: ['tx_id'] }),
  listing('invoices list', '/v1/invoices/list'),
  plain('subscriptions plans', '/v1/subscriptions'),
  plain('subscriptions start', '/v1/subscription/start', {
    operands: ['subscription_id', 'params.address'],
    repeat_by: '--external-id',
  }),
  listing('subscriptions list', '/v1/subscriptions/history', {
    columns: ['id', 'status', 'address', 'transactions_used', 'total_price', 'expire_at'],
  }),
  plain('subscriptions show', '/v1/subscription/check', { operands: ONE }),
  plain('subscriptions stop', '/v1/subscription/stop', { operands: ONE }),
  listing('subscriptions uses', '/v1/subscription/uses', { operands: ONE }),
  plain('aml prices', '/v1/aml-checks'),
  listing('aml list', '/v1/aml-checks/history', { columns: CHECK_COLUMNS }),
  plain('aml show', '/v1/aml-checks/check', { operands: ONE }),
  plain('aml report', '/v1/aml-check/report', { operands: ONE }),
  listing('watches list', '/v1/aml-watches/list', {
    columns: ['address', 'since', 'check.status', 'check.risk_level', 'level_before'],
  }),
  plain('watches add', '/v1/aml-watch/new', { operands: ['address'] }),
  plain('watches remove', '/v1/aml-watch/remove', { operands: ['address'] }),
  listing('keys list', '/v1/keys/list', { columns: KEY_COLUMNS }),
  plain('keys create', '/v1/key/new', { operands: ['name'] }),
  plain('keys change', '/v1/key/change', { operands: ONE }),
  plain('keys rotate', '/v1/key/rotate', { operands: ONE }),
  plain('keys revoke', '/v1/key/revoke', { operands: ONE }),
  plain('keys made', '/v1/made/check', { operands: ONE }),
  plain('pairings show', '/v1/pairing/check', { operands: ['code'] }),
  plain('pairings approve', '/v1/pairing/approve', { operands: ['code'] }),
  plain('pairings refuse', '/v1/pairing/refuse', { operands: ['code'] }),
  listing('users list', '/v1/users/list', { columns: USER_COLUMNS }),
  plain('users show', '/v1/user/check', { operands: ONE }),
  plain('users invite', '/v1/user/invite', { operands: ['name', 'role'] }),
  plain('users change', '/v1/user/change', { operands: ONE }),
  plain('users recover', '/v1/user/recover', { operands: ONE }),
  plain('users remove', '/v1/user/remove', { operands: ONE }),
  listing('sessions list', '/v1/sessions/list', {
    columns: ['id', 'user.name', 'ip', 'browser', 'created_at', 'last_used_at'],
  }),
  plain('sessions end', '/v1/session/end', { operands: ONE }),
  listing('actions list', '/v1/actions/list', {
    columns: ['number', 'at', 'by.name', 'action', 'subject', 'ip'],
  }),
  listing('webhooks list', '/v1/webhooks/list', { columns: WEBHOOK_COLUMNS }),
  plain('webhooks create', '/v1/webhook/new', { operands: ['url'] }),
  plain('webhooks show', '/v1/webhook/check', { operands: ONE }),
  plain('webhooks change', '/v1/webhook/change', { operands: ONE }),
  plain('webhooks remove', '/v1/webhook/remove', { operands: ONE }),
  plain('webhooks rotate', '/v1/webhook/rotate', { operands: ONE }),
  plain('webhooks test', '/v1/webhook/test', { operands: ['id', 'type'] }),
  plain('webhooks replay', '/v1/webhook/replay', { operands: ONE }),
  listing('notices list', '/v1/notices/list', { columns: NOTICE_COLUMNS }),
  plain('notices show', '/v1/notice/check', { operands: ['webhook_id', 'number'] }),
  plain('notices retry', '/v1/notice/retry', { operands: ['webhook_id', 'number'] }),
  listing('events list', '/v1/events/list', {
    filled: ['after'],
    columns: ['number', 'type', 'subject', 'timestamp', 'test'],
  }),
  plain('events show', '/v1/event/check', { operands: ['number'] }),
  quote,
  plain('quotes accept', '/v1/quote/accept', { operands: ONE, repeat_by: '--external-id' }),
  {
    ...plain('aml check', '/v1/aml-checks/new', { operands: ['address'], filled: ['network'] }),
    own: [IDEMPOTENCY_KEY, field('network', 'TRX when left out'), field('type', 'address or hash')],
    repeat_by: '--idempotency-key',
    async run({ penstock, body, own, io }) {
      const { idempotency_key, network = 'TRX', type = 'hash' in body ? 'hash' : 'address' } = own
      const { signal } = io
      const wanted = { ...body, network, type } as never
      const options = { signal, idempotency_key: idempotency_key as string | undefined }
      const { id, lastResponse } = await penstock.aml.create(wanted, options)
      const wait = penstock.aml.waitFor(id, { signal })
      const value = await wait.catch((thrown: unknown) => {
        const { idempotency_key: sent } = lastResponse
        if (thrown instanceof CheckFailed || sent === undefined) throw thrown
        throw new EndNotSeen(`The check ${id}`, sent, thrown)
      })
      return { value }
    },
  },
]
