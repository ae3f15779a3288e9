// How the service is doing, at a glance: what waits, how far the chain has been followed, what can
// be delivered, and alerts.

import { showChain } from '../chain/progress.ts'
import type { Sql } from '../database/sql.ts'
import { listActions } from '../ledger/actions.ts'
import { alerts } from '../monitoring/alerts.ts'
import { poolRows } from '../pool/figures.ts'
import { switches } from '../prices/switches.ts'
import { screeningState } from '../screening/state.ts'
import { command, LIMIT, paging, text, whole } from './command.ts'

async function counts(sql: Sql) {
  const [row] = await sql<Record<string, bigint>>`
    select (select count(*) from orders where state in ('new', 'pending')) as orders_open,
           (select count(*) from attempt where state in ('new', 'signed', 'sent')) as attempts_open,
           (select count(*) from delegation
             where state in ('active', 'reclaiming')) as delegations_live,
           (select count(*) from deposit where state = 'held') as deposits_held,
           (select count(*) from customer) as customers`
  return row!
}

export const statusCommands = [
  command({
    words: 'status',
    summary: 'how the service is doing, and what a person should look at',
    details: 'The exit code is 1 when there is an alert.',
    async run({ sql, clock, database }) {
      const now = clock.now()
      const chain = await showChain(sql, now)
      const found = await alerts({ sql, now })
      const { head_number, solid_number, confirmed_number, silent_seconds, behind_seconds } =
        chain ?? {}
      const value = {
        database,
        ...(await counts(sql)),
        chain: chain
          ? { head_number, solid_number, confirmed_number, silent_seconds, behind_seconds }
          : null,
        off_sale: (await switches(sql)).filter((one) => !one.on_sale).map(({ name }) => name),
        pool: await poolRows(sql),
        screening: await screeningState(sql),
        alerts: found,
      }
      return { value, ok: found.length === 0, ...(found.length === 0 && { note: 'No alerts.' }) }
    },
  }),
  command({
    words: 'actions list',
    summary: 'what operators have changed, and why, newest first',
    options: {
      subject: text(
        'SUBJECT',
        'only about this: price, fee, plan, service, customer, key, subscription, deposit, correction, list, signing ...; or one of them with a colon and its name',
      ),
      made_by: text('NAME', 'only by this operator'),
      before: whole('NUMBER', 'only those before this one: the next page'),
      limit: paging.limit,
    },
    run: async ({ sql }, { limit = LIMIT, ...wanted }) => ({
      value: await listActions(sql, { ...wanted, limit }),
    }),
  }),
]
