// What everybody is told on the status page of outages.

import { Type } from 'typebox'
import {
  closeIncident,
  Incident,
  listIncidents,
  postIncident,
  updateIncident,
} from '../../health/status/incidents.ts'
import { PARTS } from '../../health/uptime/states.ts'
import { ListOf, moment, oneOf, optional, text } from '../../platform/wire/schemas.ts'
import { change, LIMIT, limit, look, momentOf } from '../table/operation.ts'

export const incidentOperations = [
  look({
    path: '/operator/incidents/list',
    summary: 'what everybody was told, the newest first',
    body: Type.Object({ limit }),
    reply: ListOf(Incident.fields),
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
      part: optional(Type.Array(oneOf(PARTS, 'a part of the service that it concerns'))),
      since: optional(moment('when it began; now when left out')),
    }),
    reply: Type.Object(Incident.fields),
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
    reply: Type.Object(Incident.fields),
    cli: { operands: ['id', 'what'] },
    async handle({ tx, body }) {
      const { result, actions } = await updateIncident(tx, body)
      const note = actions.length === 0 ? 'No change.' : 'On the status page within 15 s.'
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
    reply: Type.Object(Incident.fields),
    cli: { operands: ['id', 'outcome'] },
    async handle({ tx, at, body: { id, outcome = null } }) {
      const { result, actions } = await closeIncident(tx, { id, outcome }, at)
      return { result: { value: result, note: 'On the status page within 15 s.' }, actions }
    },
  }),
]
