// What forgets old rows is run when there is one, of each kind that it forgets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tx } from 'penstock-service/platform/database/sql.ts'
import { dueAsker } from 'penstock-service/platform/steps/due.ts'
import { withoutTriggers } from '../../harness/without_triggers.ts'
import { makeWorld } from '../../harness/world.ts'

const DAY_MS = 86_400_000

/** A step, for how many days it keeps such a row, and how one is made. */
type Kind = { step: string; days: number; make(tx: Tx, at: Date): Promise<unknown> }

const metric = (span: string, days: number): Kind => ({
  step: 'prune_metrics',
  days,
  make: (tx, at) => tx`insert into metric values (${span}, ${at}, 'calls', '{1}')`,
})
const KINDS: Readonly<Record<string, Kind>> = {
  'figures of a minute': metric('minute', 14),
  'figures of an hour': metric('hour', 400),
  'figures of a day': metric('day', 400),
  'how many calls were refused on a day': {
    step: 'prune_refusals',
    days: 7,
    make: (tx, at) => tx`insert into refusal_day values ('old', ${at}::timestamptz::date, 1, 0)`,
  },
  'a call of a webhook': {
    step: 'prune_notices',
    days: 14,
    make: (tx, at) => tx`
      insert into webhook_call (webhook_id, number, at, ms) values ('old', 1, ${at}, 1)`,
  },
  'an event': {
    step: 'prune_events',
    days: 30,
    make: (tx, at) => tx`
      insert into event (customer_id, number, id, type, subject, at, test, data)
      values ('old', 1, 'old', 'order.ended', 'order:old', ${at}, false, '{}')`,
  },
  'a challenge that was answered': {
    step: 'prune_challenges',
    days: 0,
    make: (tx, at) => tx`insert into answered_challenge values ('old', ${at})`,
  },
  'a nonce': {
    step: 'prune_nonces',
    days: 600 / 86_400,
    make: (tx, at) => tx`insert into api_key_nonce values ('old', 'old', ${at})`,
  },
  'an amount that was signed': {
    step: 'forget_amounts',
    days: 2,
    make: (tx, at) => tx`
      insert into signing_amount (attempt, type, wallet, sun, at)
      values ('old', 'TransferContract', 'old', 1, ${at})`,
  },
}

test('what forgets old rows is due when there is one, and forgets it', async (t) => {
  const world = await makeWorld(t)
  const { steps } = world.app
  const ask = dueAsker(world.sql, steps)
  const isDue = async (name: string) => (await ask(new Set([name]))).has(name)
  for (const [what, { step: name, days, make }] of Object.entries(KINDS)) {
    const step = steps.find((one) => one.name === name)!
    assert.equal(await isDue(name), false, `${what}: there is none`)
    // Young enough, and then so old that it is over on another day as well.
    for (const [age_ms, due] of [
      [days * 0.9 * DAY_MS - 60_000, false],
      [days * DAY_MS + DAY_MS + 60_000, true],
    ] as const) {
      const at = new Date(world.now.getTime() - age_ms)
      await withoutTriggers(world.sql, (tx) => make(tx, at))
      assert.equal(await isDue(name), due, `${what}, ${age_ms} ms old`)
      if (due) await step.run()
      else await withoutTriggers(world.sql, (tx) => remove(tx))
      assert.equal(await isDue(name), false, `${what} is gone`)
    }
  }
})

/** Whatever was made here. */
async function remove(tx: Tx): Promise<void> {
  await tx`delete from metric where metric = 'calls' and counts = '{1}'`
  await tx`delete from refusal_day where customer_id = 'old'`
  await tx`delete from webhook_call where webhook_id = 'old'`
  await tx`delete from event where customer_id = 'old'`
  await tx`delete from answered_challenge where challenge_hash = 'old'`
  await tx`delete from api_key_nonce where key_id = 'old'`
  await tx`delete from signing_amount where attempt = 'old'`
}
