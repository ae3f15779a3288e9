// What screenings rest on, as it is shown: the newest of each, and counts of that alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { publishLabels } from 'penstock-test/harness/labels.ts'
import { addressNumbered, momentOf, writeLog } from 'penstock-test/harness/logged_world.ts'
import { screeningState } from './state.ts'

const AT = momentOf(0)

test('the state is of the newest index that is used, and names the loaded lists', async (t) => {
  const { sql } = await freshDatabase(t)
  const none = 'none: nothing is known of who addresses belong to'
  const { policy, ...before } = await screeningState(sql)
  assert.match(policy, / \(version 1\)$/)
  const nothing = { generation: null, first_block: null, last_block: null, behind: null }
  assert.deepEqual(before, { ...nothing, label_set: 0, hubs: 0n, lists: none })
  for (const [reach, active_at] of [AT, AT, null].entries())
    await sql`
      insert into flow_generation (label_set, begun_at, reach, first_number, rules, active_at)
      values (0, ${AT}, ${reach}, ${100 + reach}, 1, ${active_at})`
  for (const [generation, hubs] of [
    [1, 1],
    [2, 2],
    [3, 4],
  ] as const)
    await sql`
      insert into flow_hub (generation, address, counterparties)
      select ${generation}, n::text, 9 from generate_series(1, ${hubs}) as n`
  await writeLog(sql, [[], []])
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at)
    values (110, 'x', ${AT}, 108, 105, ${AT})`
  const entries = [{ address: addressNumbered(1), category: 'mixer' }]
  await publishLabels(sql, entries, { at: AT })
  const { policy: _, ...one } = await screeningState(sql)
  const used = { generation: 2, first_block: 101n, last_block: 101n, behind: 4n, hubs: 2n }
  assert.deepEqual(one, { ...used, label_set: 1, lists: ['operator'] })
  await publishLabels(sql, entries, { at: AT, list: 'tagpacks' })
  assert.deepEqual((await screeningState(sql)).lists, ['operator', 'tagpacks'])
})
