// Events: their log, streams of it, and webhooks.

import type { Common } from '../platform/wing.ts'
import { changeKinds } from './log/changes.ts'
import { type EventKind, readableTypes } from './log/kinds.ts'
import { EVENT_DAYS, pruneEventsStep } from './log/prune.ts'
import { publishStep } from './log/publish.ts'
import { eventBodyPrinter, routes as eventRoutes } from './log/routes.ts'
import { EventStreams, type Needs as StreamNeeds } from './log/streams.ts'
import type { Caller } from './webhooks/caller.ts'
import { webhookKinds } from './webhooks/forms.ts'
import { pruneNoticesStep } from './webhooks/notices.ts'
import { notifyStep } from './webhooks/notify.ts'
import { webhookRoutes } from './webhooks/routes.ts'

export type WebhookCalls = {
  caller: Caller
  /** Names this process among those that call. */
  process: string
  /** 0 up to 1, for pauses that differ. */
  chance(): number
  wait(ms: number): Promise<void>
  patience_ms?: number | undefined
  user_agent: string
  /** Our own public host, which is never called. */
  own_host?: string | undefined
}

export type EventsSetup = {
  /** For how many days events are kept. */
  event_days?: number | undefined
  /** How webhooks are called. */
  webhooks: WebhookCalls
  /** Called when events were numbered: those who stream them may be in any process. */
  tellStreams: () => void
}

type Readers = Pick<StreamNeeds, 'scopesOf' | 'openSessions'>

export const EVENTS_STEPS = {
  publish: 'Numbers what has happened, in the order in which readers are told',
  notify: 'Calls webhooks, and again those that did not answer',
  prune_events: 'Deletes events that are older than they are to be kept',
  prune_notices: 'Deletes old calls of webhooks, and notices of events that are gone',
}
declare module '../platform/steps/step.ts' {
  interface StepNames extends Record<keyof typeof EVENTS_STEPS, string> {}
}

/** `others`: the kinds of the other wings. */
export function eventsWing(
  { sql, steps_sql, api_sql, ...needs }: Common & EventsSetup & Readers,
  others: readonly EventKind[],
) {
  const { clock, log, wake, seal, webhooks, tellStreams, event_days = EVENT_DAYS } = needs
  const { scopesOf, openSessions } = needs
  const kinds = [...others, ...webhookKinds, ...changeKinds]
  const print = eventBodyPrinter(kinds)
  const streams = new EventStreams({ sql: api_sql, clock, print, scopesOf, openSessions })
  const calls = { ...webhooks, clock, seal }
  return {
    kinds,
    streams,
    endpoints: [
      ...eventRoutes({ sql: api_sql, kinds, streams }),
      ...webhookRoutes({ ...needs, ...calls, sql: api_sql, kinds }),
    ],
    steps: [
      publishStep({ sql: steps_sql, tellStreams }),
      notifyStep({ ...calls, sql, log, wake, readable: readableTypes(kinds) }),
      pruneEventsStep({ sql: steps_sql, clock }, event_days),
      pruneNoticesStep({ sql: steps_sql, clock }, event_days),
    ],
  }
}
