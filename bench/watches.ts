// What watched addresses cost the reader of solid blocks: blocks of 200 transfers are read by the
// step that looks for them, with nobody watched and with 100,000 addresses of which one in each
// block is touched. Processor time of this process and of PostgreSQL. Limit: a millisecond a block
// more. Beside it, how long a look for what is due takes that finds nothing, by the clock.
//
//   npm run bench -- watches [--watches N] [--blocks N] [--json]

import { createHash } from 'node:crypto'
import { pack } from 'penstock-service/chain/follow/contents.ts'
import { systemClock } from 'penstock-service/lib/clock.ts'
import { idMaker, systemRandom } from 'penstock-service/lib/ids.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import { watchBlocksStep } from 'penstock-service/screening/checks/watch_blocks.ts'
import { rescreenStep } from 'penstock-service/screening/checks/watches.ts'
import { flowGenerations } from 'penstock-service/screening/tracing/generations.ts'
import { type Address, addressFromBytes } from 'penstock-tron/address.ts'
import { withApi } from './parts/api.ts'
import { ownCpuUs, serverCpuReader } from './parts/cpu.ts'

export const OPTIONS = {
  watches: { type: 'string', default: '100000' },
  blocks: { type: 'string', default: '2000' },
} as const

const TRANSFERS = 200
const LIMIT_MS = 1
const LOOKS = 50
const AT_ONCE = 1_000

const addressOf = (name: string): Address =>
  addressFromBytes(
    Uint8Array.of(0x41, ...createHash('sha256').update(name).digest().subarray(0, 20)),
  )
const idOf = (name: string) => createHash('sha256').update(name).digest('hex')

export async function run({
  json,
  numbers,
}: {
  json: boolean
  numbers: Readonly<Record<string, number>>
}) {
  const { watches = 0, blocks = 0 } = numbers
  await withApi({}, async ({ sql }) => {
    await makeBlocks(sql, { first: 1, blocks, watches: 0 })
    const without_ms = await readAll(sql, blocks)
    await makeWatches(sql, watches)
    await makeBlocks(sql, { first: blocks + 1, blocks, watches })
    const with_ms = await readAll(sql, blocks)
    const [row] = await sql<{ touched: number }>`
      select count(*)::integer as touched from aml_watch where moved_number is not null`
    const look_ms = await lookForDue(sql)
    const more_ms = with_ms - without_ms
    const found = {
      watches,
      blocks,
      transfers_a_block: TRANSFERS,
      touched: row!.touched,
      block_without_ms: round(without_ms),
      block_with_ms: round(with_ms),
      more_ms: round(more_ms),
      limit_ms: LIMIT_MS,
      look_for_due_ms: round(look_ms),
      within_limit: more_ms <= LIMIT_MS,
    }
    process.stdout.write(`${JSON.stringify(found, null, json ? 0 : 2)}\n`)
  })
}

const round = (ms: number) => Math.round(ms * 1_000) / 1_000

/** Solid blocks; of each, the first transfer goes to a watched address when there are any. */
async function makeBlocks(
  sql: Sql,
  { first, blocks, watches }: { first: number; blocks: number; watches: number },
): Promise<void> {
  const last = first + blocks - 1
  for (let number = first; number <= last; number++) {
    const moves = Array.from({ length: TRANSFERS }, (_, index) => {
      const name = `${number} ${index}`
      const to = watches > 0 && index === 0 ? `watched ${number % watches}` : `to ${name}`
      return {
        tx_id: idOf(name),
        kind: 'transfer' as const,
        index: 0,
        asset: 'TRX',
        from: addressOf(`from ${name}`),
        to: addressOf(to),
        amount: 1_000_000n,
      }
    })
    const none = { unfollowed: [], unknown: [], freezes: [], energy_uses: [], fees: [] }
    await sql`
      insert into block (number, id, parent_id, time, contents)
      values (${number}, ${idOf(`block ${number}`)}, ${idOf(`block ${number - 1}`)},
        now() - interval '1 day' + ${number} * interval '3 seconds', ${pack({ moves, ...none })})`
  }
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, seen_at, confirmed_number)
    values (${last}, ${idOf(`block ${last}`)}, now(), ${last}, now(), ${last})
    on conflict (one) do update set head_number = excluded.head_number, head_id = excluded.head_id,
      solid_number = excluded.solid_number, confirmed_number = excluded.confirmed_number`
}

/** Half of them with a rule about what they receive. */
async function makeWatches(sql: Sql, watches: number): Promise<void> {
  for (let begun = 0; begun < watches; begun += AT_ONCE) {
    const names = Array.from({ length: Math.min(AT_ONCE, watches - begun) }, (_, i) => begun + i)
    await sql`
      insert into aml_watch (customer_id, address, made_at, label_set, due_at, any_incoming_usd)
      select 'bench', w.address, now(), 1000, now() + interval '1 day', w.incoming
      from unnest(${names.map((n) => addressOf(`watched ${n}`))}::text[],
        ${names.map((n) => (n % 2 === 0 ? 1_000_000n : null))}::bigint[]) as w (address, incoming)`
  }
  await sql`analyze aml_watch`
}

/** Milliseconds of the processor for a block. */
async function readAll(sql: Sql, blocks: number): Promise<number> {
  const step = watchBlocksStep({ sql })
  const readServer = await serverCpuReader(sql)
  const [server, own] = [await readServer(), process.cpuUsage()]
  while (await step.run());
  return (ownCpuUs(own) + (await readServer()) - server) / 1_000 / blocks
}

/** Milliseconds by the clock of a look that finds no watch to be due. */
async function lookForDue(sql: Sql): Promise<number> {
  await sql`update aml_watch set due_at = now() + interval '1 day'`
  await sql`vacuum analyze aml_watch`
  const generations = flowGenerations({
    sql,
    clock: systemClock,
    carried_blocks: 1_000,
    checkpoint_transfers: 1_000_000,
  })
  await generations.step.run()
  const current = () => ({ ...generations.current()!, label_set: 0 })
  const new_id = idMaker(systemClock, systemRandom)
  const step = rescreenStep({ sql, clock: systemClock, new_id, generations: { current } })
  await step.run()
  const began = performance.now()
  for (let i = 0; i < LOOKS; i++)
    if (await step.run()) throw new Error('a watch was due that should not be')
  return (performance.now() - began) / LOOKS
}
