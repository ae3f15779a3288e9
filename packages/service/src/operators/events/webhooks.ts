// Webhooks, by the operator's hand: those of customers are looked into, put on and off, and given
// networks that are not public; those of the house are made here.

import { type Static, Type } from 'typebox'
import { changeKinds } from '../../events/log/changes.ts'
import { HOUSE } from '../../events/log/events.ts'
import { HOUSE_SCOPES } from '../../events/log/kinds.ts'
import { webhookKinds } from '../../events/webhooks/forms.ts'
import {
  allowedNetworks,
  allowNetwork,
  changeWebhook,
  createWebhook,
  denyNetwork,
  disableWebhook,
  listWebhooks,
  removeWebhook,
  rotateSecret,
  type WebhookReport,
} from '../../events/webhooks/webhooks.ts'
import { alertKinds } from '../../health/monitoring/watch_alerts.ts'
import type { Change } from '../../ledger/accounts/actions.ts'
import { Fault, misuse, refusal } from '../../lib/fault.ts'
import { isNetwork } from '../../lib/networks.ts'
import { requireCustomer } from '../../people/customers/customers.ts'
import { customerKinds } from '../../people/customers/forms.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import { caseKinds } from '../../screening/cases/cases.ts'
import { reviewKinds } from '../../screening/checks/reviews.ts'
import { type Answer, change, LIMIT, look, paging, reasonOf } from '../table/operation.ts'

const Fields = {
  id: Text,
  customer_id: Text,
  url: Text,
  state: Text,
  reason: OrNull(Text),
  failing_since: OrNull(Moment),
  waiting: Whole,
  due: Whole,
  dead: Whole,
}
const WebhookRow = Type.Object({
  ...Fields,
  description: OrNull(Text),
  types: OrNull(Type.Array(Text)),
  scopes: Type.Array(Text),
  at_once: Count,
  per_second: OrNull(Count),
  position: Whole,
  made_at: Moment,
  secrets: ListOf({ number: Count, made_at: Moment, until: OrNull(Moment) }),
})
const WithSecret = Type.Object({ id: Text, secret: Text })

export const webhook = text('WEBHOOK', 'the id of the webhook')
export const customer = text(
  'CUSTOMER',
  `the id of the customer; ${HOUSE} for those who run the service`,
)
const network = text('NETWORK', 'an address or a network, like 10.1.0.0/16')

const rowOf = (one: WebhookReport) => ({
  id: one.id,
  customer_id: one.customer_id,
  url: one.url,
  state: one.state,
  reason: one.reason,
  failing_since: one.failing_since,
  waiting: one.waiting,
  due: one.due,
  dead: one.dead,
})

const shown = (one: WebhookReport): Static<typeof WebhookRow> => ({
  ...rowOf(one),
  description: one.description,
  types: one.types,
  scopes: one.scopes,
  at_once: one.at_once,
  per_second: one.per_second,
  position: one.position,
  made_at: one.made_at,
  secrets: one.secrets,
})

/** The webhook of that id, whose ever it is. Throws Refused. */
async function requireWebhook(sql: Sql | Tx, id: string, at: Date): Promise<WebhookReport> {
  const [found] = await listWebhooks(sql, { id, limit: 1, at })
  if (!found) throw refusal(`There is no webhook ${id}.`)
  return found
}

/** The owner of that name. Throws Refused. */
export async function requireOwner(sql: Sql | Tx, customer_id: string): Promise<string> {
  return customer_id === HOUSE ? HOUSE : (await requireCustomer(sql, customer_id)).id
}

/** What the webhook has become; its note says whether anything changed. */
async function changed(
  tx: Tx,
  before: WebhookReport,
  at: Date,
): Promise<Change<Answer<Static<typeof WebhookRow>>>> {
  const after = await requireWebhook(tx, before.id, at)
  const same = before.state === after.state
  const fields = ({ state, reason }: WebhookReport) => ({ state, reason })
  const action = {
    subject: `webhook:${before.id}`,
    before: fields(before),
    after: fields(after),
  }
  const note = same ? 'No change.' : `It is ${after.state}.`
  return { result: { value: shown(after), note }, actions: same ? [] : [action] }
}

const looking = [
  look({
    path: '/operator/webhooks/list',
    summary: 'where customers, and the house, are told of events',
    body: Type.Object({
      customer: optional(customer),
      state: optional(oneOf(['on', 'off', 'disabled'], 'only those in this state')),
      ...paging,
    }),
    reply: ListOf(Fields),
    async handle({ sql, clock, body: { customer, state, before, limit = LIMIT } }) {
      const wanted = { customer_id: customer, state, before, limit, at: clock.now() }
      return { value: (await listWebhooks(sql, wanted)).map(rowOf) }
    },
  }),
  look({
    path: '/operator/webhooks/show',
    summary: 'all that is known of one',
    body: Type.Object({ webhook }),
    reply: WebhookRow,
    cli: { operands: ['webhook'] },
    async handle({ sql, clock, body }) {
      return { value: shown(await requireWebhook(sql, body.webhook, clock.now())) }
    },
  }),
]

const switching = [
  change({
    path: '/operator/webhooks/enable',
    summary: 'call it again, one that was disabled too',
    description: 'It goes on from where it stopped, unless --from-now is given.',
    body: Type.Object({ webhook, from_now: flag('only with what happens from now on') }),
    reply: WebhookRow,
    cli: { operands: ['webhook'] },
    async handle({ tx, at, clock, body: { webhook: id, from_now } }) {
      const before = await requireWebhook(tx, id, at)
      const { scopes } = before
      await changeWebhook(tx, { clock }, before, { state: 'on', scopes, from_now })
      return changed(tx, before, at)
    },
  }),
  change({
    path: '/operator/webhooks/disable',
    summary: 'call it no more, until its owner or an operator puts it on again',
    description: 'Its owner is told why: --reason is needed. What it misses meanwhile is kept.',
    body: Type.Object({ webhook }),
    reply: WebhookRow,
    cli: { operands: ['webhook'] },
    async handle({ tx, at, reason, body: { webhook: id } }) {
      const why = reasonOf(reason)
      const before = await requireWebhook(tx, id, at)
      if (before.state !== 'disabled') await disableWebhook(tx, before, { reason: why, at })
      return changed(tx, before, at)
    },
  }),
  change({
    path: '/operator/webhooks/remove',
    summary: 'remove it for good, with its secrets',
    body: Type.Object({ webhook }),
    reply: Type.Object({ id: Text, removed: Flag }),
    cli: { operands: ['webhook'] },
    async handle({ tx, at, body: { webhook: id } }) {
      const { customer_id, url } = await requireWebhook(tx, id, at)
      await removeWebhook(tx, { customer_id, id })
      const action = { subject: `webhook:${id}`, before: { customer_id, url }, after: null }
      return { result: { value: { id, removed: true } }, actions: [action] }
    },
  }),
]

/** What the house is told. */
const HOUSE_TYPES = [
  ...alertKinds,
  ...customerKinds,
  ...changeKinds,
  ...reviewKinds,
  ...caseKinds,
  ...webhookKinds,
].map(({ type }) => type)

/** Runs what judges a URL, and says what is wrong with it. */
async function withUrl<Value>(work: Promise<Value>): Promise<Value> {
  return work.catch((thrown: unknown) => {
    throw thrown instanceof Fault ? refusal(`${thrown.message}.`) : thrown
  })
}

const house = [
  change({
    path: '/operator/webhooks/add',
    careful: true,
    summary: "tell those who run the service of alerts; the webhook's secret is shown this once",
    description: `It is told of ${HOUSE_TYPES.join(', ')}, unless --type names some of them.`,
    body: Type.Object({
      url: text('URL', 'https; plain http in a network that was allowed for the house'),
      type: optional(Type.Array(Type.String(), { title: 'TYPE', description: 'only this' })),
    }),
    reply: WithSecret,
    cli: { operands: ['url'] },
    async handle({ tx, seal, clock, random, new_id, body: { url, type } }) {
      const unknown = type?.find((one) => !HOUSE_TYPES.includes(one))
      if (unknown !== undefined)
        throw misuse(`--type ${unknown}: it is one of ${HOUSE_TYPES.join(', ')}.`)
      const needs = { clock, random, new_id, seal: await seal() }
      const wanted = { customer_id: HOUSE, url, types: type, scopes: HOUSE_SCOPES }
      const { webhook, secret } = await withUrl(createWebhook(tx, needs, wanted))
      const after = { customer_id: HOUSE, url, types: type ?? null }
      const action = { subject: `webhook:${webhook.id}`, before: null, after }
      const note = 'The secret cannot be shown again.'
      return { result: { value: { id: webhook.id, secret }, note }, actions: [action] }
    },
  }),
  change({
    path: '/operator/webhooks/rotate',
    careful: true,
    summary: 'a new secret for a webhook of the house',
    description: 'The one before stays valid for a day, or as long as --overlap-hours says.',
    body: Type.Object({
      webhook,
      overlap_hours: optional(
        whole('HOURS', 'how long the one before stays valid (24)', { min: 0, max: 168 }),
      ),
    }),
    reply: WithSecret,
    cli: { operands: ['webhook'] },
    async handle({
      tx,
      at,
      seal,
      clock,
      random,
      new_id,
      body: { webhook: id, overlap_hours = 24 },
    }) {
      const { customer_id } = await requireWebhook(tx, id, at)
      if (customer_id !== HOUSE)
        throw refusal(`The webhook ${id} is a customer's: only its owner may see its secret.`)
      const needs = { clock, random, new_id, seal: await seal() }
      const which = { customer_id, id, overlap_hours }
      const { secret } = await withUrl(rotateSecret(tx, needs, which))
      const action = { subject: `webhook:${id}`, before: null, after: { overlap_hours } }
      const note = 'The secret cannot be shown again.'
      return { result: { value: { id, secret }, note }, actions: [action] }
    },
  }),
]

const Networks = ListOf({ network: Text })

/** Allows a network or takes that back. */
const permitting = (word: 'allow' | 'deny', summary: string, description: string) =>
  change({
    path: `/operator/webhooks/${word}`,
    careful: word === 'allow',
    role: 'admin',
    summary,
    description,
    body: Type.Object({ customer, network }),
    reply: Networks,
    cli: { operands: ['customer', 'network'] },
    async handle({ tx, at, body }) {
      const { network } = body
      if (!isNetwork(network)) throw misuse(`${network} is neither an address nor a network.`)
      const customer_id = await requireOwner(tx, body.customer)
      const is_new =
        word === 'allow'
          ? await allowNetwork(tx, { customer_id, network, at })
          : await denyNetwork(tx, { customer_id, network })
      const value = (await allowedNetworks(tx, customer_id)).map((one) => ({ network: one }))
      const allowed = word === 'allow'
      const action = {
        subject: `webhook_network:${customer_id}`,
        before: { network, allowed: !allowed },
        after: { network, allowed },
      }
      const note = is_new ? 'In force with the next call.' : 'No change.'
      return { result: { value, note }, actions: is_new ? [action] : [] }
    },
  })

const networks = [
  permitting(
    'allow',
    'let the webhooks of one customer call a network that is not public',
    'And over plain http there. Those who have a key of this customer can then learn what ' +
      'answers in that network.',
  ),
  permitting('deny', 'take such an allowance back', 'The next call there is refused.'),
  look({
    path: '/operator/webhooks/networks',
    summary: 'which networks are allowed for a customer',
    body: Type.Object({ customer }),
    reply: Networks,
    cli: { operands: ['customer'] },
    async handle({ sql, body }) {
      const allowed = await allowedNetworks(sql, await requireOwner(sql, body.customer))
      return { value: allowed.map((network) => ({ network })) }
    },
  }),
]

export const webhookOperations = [...looking, ...switching, ...house, ...networks]
