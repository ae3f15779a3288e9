// What everybody is told on the status page: incidents, and what of it is not shown; and how the
// house presents itself on all pages.

import { Type } from 'typebox'
import { misuse } from '../lib/fault.ts'
import { change, LIMIT, limit, look, momentOf } from '../operation/operation.ts'
import {
  changeStatusPage,
  closeIncident,
  listIncidents,
  postIncident,
  readStatusPage,
  updateIncident,
} from '../status/incidents.ts'
import { PARTS } from '../uptime/states.ts'
import { changeBrand, showBrand } from '../web/brand.ts'
import {
  Flag,
  ListOf,
  Moment,
  moment,
  NOTHING,
  OrNull,
  oneOf,
  optional,
  Text,
  text,
} from '../wire/schemas.ts'

const Incident = {
  id: Text,
  title: Text,
  what: Text,
  parts: Type.Array(Text),
  began_at: Moment,
  posted_at: Moment,
  closed_at: OrNull(Moment),
  outcome: OrNull(Text),
}

export const incidentOperations = [
  look({
    path: '/operator/incidents/list',
    summary: 'what everybody was told, the newest first',
    body: Type.Object({ limit }),
    reply: ListOf(Incident),
    handle: async ({ sql, body: { limit = LIMIT } }) => ({
      value: await listIncidents(sql, limit),
    }),
  }),
  change({
    path: '/operator/incidents/post',
    summary: 'tell everybody on the status page that something is wrong',
    description: 'It is shown as it is written, in every language of the page, until it is closed.',
    body: Type.Object({
      title: text('TITLE', 'what is wrong, in a few words'),
      what: text('TEXT', 'what it means to customers, and what is being done'),
      part: optional(
        Type.Array(oneOf(PARTS, 'a part of the service that it concerns; may be repeated')),
      ),
      since: optional(moment('when it began; now when left out')),
    }),
    reply: Type.Object(Incident),
    cli: { operands: ['title', 'what'] },
    async handle({ tx, at, new_id, body: { title, what, part = [], since } }) {
      const began_at = momentOf(since) ?? at
      const incident = { id: new_id(), title, what, parts: part, began_at }
      const { result, actions } = await postIncident(tx, incident, at)
      return { result: { value: result, note: 'On the status page within 15 s.' }, actions }
    },
  }),
  change({
    path: '/operator/incidents/update',
    summary: 'say anew what an incident means and what is being done, while it is open',
    body: Type.Object({
      id: text('ID', 'of the incident'),
      what: text('TEXT', 'in the place of what is told now'),
    }),
    reply: Type.Object(Incident),
    cli: { operands: ['id', 'what'] },
    async handle({ tx, body }) {
      const { result, actions } = await updateIncident(tx, body)
      const note = actions.length === 0 ? 'It was so already.' : 'On the status page within 15 s.'
      return { result: { value: result, note }, actions }
    },
  }),
  change({
    path: '/operator/incidents/close',
    summary: 'say that it is over',
    body: Type.Object({
      id: text('ID', 'of the incident'),
      outcome: optional(text('TEXT', 'what it was, and what was done')),
    }),
    reply: Type.Object(Incident),
    cli: { operands: ['id', 'outcome'] },
    async handle({ tx, at, body: { id, outcome = null } }) {
      const { result, actions } = await closeIncident(tx, { id, outcome }, at)
      return { result: { value: result, note: 'On the status page within 15 s.' }, actions }
    },
  }),
]

const Settings = Type.Object({ pool_shown: Flag, prices_shown: Flag })
const shown = (what: string) => optional(oneOf(['shown', 'hidden'], `whether ${what}`))
const isShown = (given: string | undefined) => (given === undefined ? undefined : given === 'shown')

export const statusPageOperations = [
  look({
    path: '/operator/status-page/show',
    summary: 'what of the status page everybody sees',
    body: NOTHING,
    reply: Settings,
    handle: async ({ sql }) => ({ value: await readStatusPage(sql) }),
  }),
  change({
    path: '/operator/status-page/set',
    summary: 'show or hide parts of the status page; outages are always shown',
    body: Type.Object({
      pool: shown('everybody sees what can be delivered now'),
      prices: shown('everybody sees what things cost'),
    }),
    reply: Settings,
    async handle({ tx, body: { pool, prices } }) {
      if (pool === undefined && prices === undefined)
        throw misuse('status-page set: nothing to change is given.')
      const given = { pool_shown: isShown(pool), prices_shown: isShown(prices) }
      const { result, actions } = await changeStatusPage(tx, given)
      const note = actions.length === 0 ? 'It was so already.' : 'In force within 15 s.'
      return { result: { value: result, note }, actions }
    },
  }),
]

const BrandForm = Type.Object({
  name: Text,
  accent: OrNull(Text),
  support: OrNull(Text),
  terms_url: OrNull(Text),
  explorer: OrNull(Text),
})

export const brandOperations = [
  look({
    path: '/operator/brand/show',
    summary: 'how the house presents itself on its pages',
    body: NOTHING,
    reply: BrandForm,
    handle: async ({ sql }) => ({ value: await showBrand(sql) }),
  }),
  change({
    path: '/operator/brand/set',
    careful: true,
    summary: 'the name, colour, help and terms that pages show, and where one explores the chain',
    description:
      'An empty text takes away what was set. The colour is darkened on the light ground, and ' +
      'lightened on the dark one, until it has a contrast of 4.5:1. The explorer overrides ' +
      'PENSTOCK_EXPLORER.',
    body: Type.Object({
      name: optional(text('NAME', 'how pages call the house; empty: Penstock')),
      accent: optional(text('COLOUR', 'of links and main buttons, like #0b5cad')),
      support: optional(text('TEXT', 'one line below every page: whom to ask, and how')),
      terms_url: optional(text('URL', 'where the terms are')),
      explorer: optional(
        text('URLS', 'https://one.example/tx/{tx_id} https://one.example/address/{address}'),
      ),
    }),
    reply: BrandForm,
    async handle({ tx, body }) {
      if (Object.values(body).every((value) => value === undefined))
        throw misuse('brand set: nothing to change is given.')
      const { result, actions } = await changeBrand(tx, body)
      const note = actions.length === 0 ? 'It was so already.' : 'In force within 5 s.'
      return { result: { value: result, note }, actions }
    },
  }),
]
