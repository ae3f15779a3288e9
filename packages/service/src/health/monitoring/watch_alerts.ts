// Tells the house when something needs a person, and when it is over: as events, which its own
// webhooks are told of. Several workers look; the one that writes the row first tells, and one that
// has looked before another wrote looks again.
//
//   (found) -> alert: raised -> seen -> (not found any more)

import { isDeepStrictEqual } from 'node:util'
import { type Static, Type } from 'typebox'
import { HOUSE } from '../../events/log/events.ts'
import { type EventKind, eventKind } from '../../events/log/kinds.ts'
import { noteEvents } from '../../events/log/notes.ts'
import { type Clock, wireTime } from '../../lib/clock.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { type Alert, alerts } from './alerts.ts'

const AlertForm = Type.Object({
  alert: Type.String({ description: 'Its name, as `status` has it' }),
  what: Type.String(),
  since: Type.Union([Type.String(), Type.Null()]),
})

const SAMPLE: Static<typeof AlertForm> = {
  alert: 'deposit_held',
  what: 'deposits that wait for your decision: 1',
  since: '2026-11-21T00:05:57Z',
}

const alertKind = (what: string, when: string) =>
  eventKind(`alert.${what}`, { data: AlertForm, when, scope: 'house', sample: SAMPLE })

export const alertKinds: readonly EventKind[] = [
  alertKind('raised', 'something of the service needs a person'),
  alertKind('cleared', 'that is over; with what was said when it was raised'),
]

const WHAT_LENGTH_MAX = 2_000

/** One line for each name: some alerts are found several times, once for each wallet. */
function byName(found: readonly Alert[]): Alert[] {
  return [...Map.groupBy(found, ({ alert }) => alert)].map(([alert, lines]) => {
    const times = lines.flatMap(({ since }) => since?.getTime() ?? [])
    return {
      alert,
      what: lines
        .map(({ what }) => what)
        .join('; ')
        .slice(0, WHAT_LENGTH_MAX),
      since: times.length > 0 ? new Date(Math.min(...times)) : null,
    }
  })
}

const sorted = (alerts: readonly Alert[]) =>
  alerts
    .map(({ alert, what, since }) => ({ alert, what, since }))
    .sort((one, other) => (one.alert < other.alert ? -1 : 1))

const readAlerts = (sql: Sql | Tx) => sql<Alert>`select alert, what, since from alert`

/** (found) -> alert -> (not found any more) */
export function watchAlertsStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  return {
    name: 'watch_alerts',
    rest_ms: 5_000,
    before: ['publish'],
    async run() {
      const now = clock.now()
      // Read before the look: where these rows are others now, another worker has looked later.
      const written = sorted(await readAlerts(sql))
      const found = byName(await alerts({ sql, now }))
      if (isDeepStrictEqual(written, sorted(found))) return false
      const names = found.map(({ alert }) => alert)
      return sql.begin(async (tx) => {
        // Not a weaker one: who has locked a row to say that it is seen would wait for us, and we
        // for him.
        await tx`lock table alert in exclusive mode`
        if (!isDeepStrictEqual(written, sorted(await readAlerts(tx)))) return true
        const raised = await tx<Alert>`
          insert into alert (alert, what, since, raised_at)
          select alert, what, since, ${now}
          from unnest(${names}::text[], ${found.map(({ what }) => what)}::text[],
                      ${found.map(({ since }) => since)}::timestamptz[]) as t (alert, what, since)
          order by alert on conflict do nothing returning alert, what, since`
        // What is found changes while it lasts: three orders wait, and then four.
        await tx`
          with found as (
            select * from unnest(${names}::text[], ${found.map(({ what }) => what)}::text[],
              ${found.map(({ since }) => since)}::timestamptz[]) as t (alert, what, since)),
          locked as (select alert from alert where alert = any(${names}) order by alert for update)
          update alert as a set what = f.what, since = f.since
          from found as f join locked using (alert)
          where a.alert = f.alert and (a.what, a.since) is distinct from (f.what, f.since)`
        const cleared = await tx<Alert>`
          delete from alert where alert in (
            select alert from alert where not alert = any(${names}) order by alert for update)
          returning alert, what, since`
        const told = (type: 'alert.raised' | 'alert.cleared') => (one: Alert) => ({
          type,
          subject: `alert:${one.alert}`,
          customer_id: HOUSE,
          at: now,
          data: { ...one, since: one.since && wireTime(one.since) },
        })
        noteEvents(tx, [...raised.map(told('alert.raised')), ...cleared.map(told('alert.cleared'))])
        return raised.length + cleared.length > 0
      })
    },
  }
}

/** raised -> seen: somebody has seen to it, and it is still found. Undefined: it is not raised. */
export async function seeAlert(
  tx: Tx,
  { alert, by, at }: { alert: string; by: string; at: Date },
): Promise<{ before: Seen; after: Seen } | undefined> {
  const [before] = await tx<Seen>`
    select seen_at, seen_by from alert where alert = ${alert} for update`
  if (!before) return undefined
  if (before.seen_at !== null) return { before, after: before }
  await tx`update alert set seen_at = ${at}, seen_by = ${by} where alert = ${alert}`
  return { before, after: { seen_at: at, seen_by: by } }
}

type Seen = { seen_at: Date | null; seen_by: string | null }
