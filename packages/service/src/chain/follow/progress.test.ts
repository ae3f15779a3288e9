// How long what is known of the chain counts as known, by the clock alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { type ChainState, chainState, isAgreed, isCurrent, isStale, showChain } from './progress.ts'

const NOW = new Date(1_780_000_000_000)
const clock = { now: () => NOW }
const after = (ms: number) => new Date(NOW.getTime() + ms)

const CHAIN: ChainState = {
  head_number: 100,
  head_id: 'head',
  head_time: NOW,
  solid_number: 81,
  confirmed_number: 80,
  unconfirmed_since: null,
  disputed_number: null,
  behind: 0,
  seen_at: NOW,
  head_seen_at: NOW,
}

test('what is known is stale after half a minute without a node, or five blocks behind', () => {
  const judged = (more: Partial<ChainState>) => {
    const chain = { ...CHAIN, ...more }
    return [isStale(chain, clock), isCurrent(chain, clock), isAgreed(chain, clock)]
  }
  const [stale, still, disputed, good] = [
    [true, false, false],
    [false, false, false],
    [false, true, false],
    [false, true, true],
  ]
  assert.deepEqual(judged({}), good)
  assert.deepEqual(judged({ seen_at: after(-30_000) }), good)
  assert.deepEqual(judged({ seen_at: after(-30_001) }), stale)
  assert.deepEqual(judged({ behind: 5 }), good)
  assert.deepEqual(judged({ behind: 6 }), stale)
  assert.deepEqual(judged({ head_seen_at: after(-60_000) }), good)
  assert.deepEqual(judged({ head_seen_at: after(-60_001) }), still)
  assert.deepEqual(judged({ disputed_number: 81 }), disputed)
  assert.deepEqual([isCurrent(undefined, clock), isAgreed(undefined, clock)], [false, false])
})

test('the chain is shown as the row has it, with how far each reader is', async (t) => {
  const { sql } = await freshDatabase(t)
  assert.equal(await chainState(sql), undefined)
  assert.equal(await showChain(sql, NOW), undefined)
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (100, 'head', ${NOW}, 81, 80, ${NOW}, ${NOW})`
  assert.deepEqual(await chainState(sql), CHAIN)
  await sql`insert into cursor (name, number) values ('b', 77), ('a', 80), ('c', 90)`
  const shown = await showChain(sql, after(7_000))
  assert.deepEqual(shown, {
    ...CHAIN,
    silent_seconds: 7,
    behind_seconds: 7,
    blocks_to_solid: 19,
    readers: [
      { name: 'a', number: 80n, behind_blocks: 0n },
      { name: 'b', number: 77n, behind_blocks: 3n },
      { name: 'c', number: 90n, behind_blocks: 0n },
    ],
  })
  await sql`update chain set disputed_number = 81, unconfirmed_since = ${NOW}`
  const ahead = await showChain(sql, after(-7_000))
  assert.deepEqual([ahead!.silent_seconds, ahead!.behind_seconds], [0, -7])
  assert.deepEqual([ahead!.disputed_number, ahead!.unconfirmed_since], [81, NOW])
})
