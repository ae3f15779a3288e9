// A service of webhooks alone, with a receiver that the test speaks for.

import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { publishStep } from 'penstock-service/events/log/publish.ts'
import type { Call, Caller, CallOutcome } from 'penstock-service/events/webhooks/caller.ts'
import { notifyStep } from 'penstock-service/events/webhooks/notify.ts'
import { createWebhook, type NewWebhook } from 'penstock-service/events/webhooks/webhooks.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { drain } from 'penstock-service/platform/steps/step.ts'
import { freshDatabase } from './database.ts'

export const TYPES = ['order.created', 'order.succeeded']
const open = (text: string) => text.slice(7)
const seal = { seal: (secret: string) => `sealed ${secret}`, open }

export type ReceivedEvent = {
  number: number
  subject: string
  type: string
  id: string
  at_ms: number
  call: Call
}

/** A service of webhooks alone, on a clock that the test turns, and a receiver that answers what it
 *  is told to. */
export async function webhookRig(
  t: TestContext,
  { patience_ms = 60_000, webhooks_max = 256 } = {},
) {
  const { sql } = await freshDatabase(t)
  let now_ms = Date.UTC(2026, 10, 22)
  const clock = { now: () => new Date(now_ms) }
  const new_id = idMaker(clock, systemRandom)
  const heard: ReceivedEvent[] = []
  const waits: number[] = []
  let answer: (heard: ReceivedEvent) => Partial<CallOutcome> | Promise<Partial<CallOutcome>> =
    () => ({})
  const caller: Caller = {
    async call(call) {
      const { number, subject, type, id } = JSON.parse(call.body) as ReceivedEvent
      const one = { number, subject, type, id, at_ms: now_ms, call }
      heard.push(one)
      return { status: 200, error: null, body: 'ok', ms: 5, ...(await answer(one)) }
    },
    close() {},
  }
  const needs = { sql, clock, new_id, random: systemRandom, seal }
  const process = (name: string, on: Sql = sql) =>
    notifyStep({
      ...needs,
      sql: on,
      log: silentLog,
      caller,
      process: name,
      readable: () => TYPES,
      chance: () => 0.5,
      // A pause takes no time here; patience does, so that a run ends when everybody was told.
      wait: (ms) => {
        if (ms === patience_ms) return delay(ms, undefined, { ref: false })
        now_ms += ms
        waits.push(ms)
        return Promise.resolve()
      },
      patience_ms,
      webhooks_max,
      wake: () => {},
      user_agent: 'Penstock/test',
    })
  const steps = [publishStep({ sql, tellStreams: () => {} }), process('P1'), process('P2')]
  return {
    sql,
    heard,
    /** How long a call was put off, of those that were. */
    waits,
    needs,
    steps,
    process,
    answers(how: typeof answer) {
      answer = how
    },
    pass: (ms: number) => {
      now_ms += ms
    },
    run: () => drain(steps),
    webhook: (wanted: Partial<NewWebhook> = {}) =>
      sql.begin((tx) =>
        createWebhook(tx, needs, {
          customer_id: 'anna',
          url: 'https://hook.example/',
          scopes: ['read'],
          ...wanted,
        }),
      ),
    async note(count: number, subject = (i: number) => `order:${i}`, type = 'order.created') {
      for (let i = 0; i < count; i++) {
        await sql`
          insert into event_note (customer_id, type, subject, at, data)
          values ('anna', ${type}, ${subject(i)}, ${clock.now()}, '{"id":"x"}')`
      }
    },
    states: async () => {
      const rows = await sql<{
        state: string
      }>`select state from notice order by webhook_id, number`
      return rows.map(({ state }) => state)
    },
  }
}
