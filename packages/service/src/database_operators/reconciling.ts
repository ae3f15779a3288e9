// After a restore: what the chain knows and the restored database does not, and what must not be
// done a second time. Orders that were open then are given back by themselves, since they are older
// than what is still delivered; what was paid for on the chain is read again, and would be acted on
// again, unless its sender is held.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { wrongStakes } from '../audit/chain.ts'
import { unknownTransactions } from '../backups/unknown_transactions.ts'
import type { Sql } from '../database/sql.ts'
import { makeEntry } from '../labels/entries.ts'
import { refusal } from '../lib/fault.ts'
import { openRestore } from '../monitoring/database_losses.ts'
import { undertaking } from '../operation/operation.ts'
import { tellBlocks } from '../operation/progress.ts'
import { Count, flag, ListOf, Moment, OrNull, Sun, Text, Whole } from '../wire/schemas.ts'

const WHY = 'what came from it may have been delivered before the database was restored'

export const reconcileOperations = [
  undertaking({
    path: '/operator/restore/reconcile',
    role: 'admin',
    careful: true,
    summary: 'what the chain knows and a restored database does not; --apply holds what is unsure',
    description:
      'Type it before `database accept`, when the service has followed the chain to its head. ' +
      'Without --apply nothing is changed. With it every sender of a direct recharge that may ' +
      'have been delivered or sent back already is denied (`aml deny`), so that his payment is ' +
      'held for you. The exit code is 1 while the chain knows something that the rows do not.',
    body: Type.Object({ apply: flag('hold the payments that may have been acted on') }),
    reply: Type.Object({
      restored_to: Moment,
      from_block: Whole,
      to_block: Whole,
      open_orders: Count,
      unknown: ListOf({
        tx_id: Text,
        block_number: Whole,
        wallet: Text,
        contract_type: Text,
        to: OrNull(Text),
        sun: OrNull(Sun),
      }),
      stakes: ListOf({ subject: Text, found: Text }),
      recharges: ListOf({ tx_id: Text, block_number: Whole, from: Text, sun: Sun }),
      denied: Type.Array(Text),
    }),
    cli: { node: 'solid' },
    async handle({ sql, new_id, record, by, body: { apply = false }, ...needs }) {
      const restored = await openRestore(sql)
      if (!restored) throw refusal('This database is not marked as restored, or was accepted.')
      const chain = needs.chain()
      if (!chain) throw refusal('No node is named: --node-url URL.')
      const { restored_to, from_block } = restored
      const { pool, activation, refund, recharge_address } = await needs.wallets()
      const wallets = [...pool, activation, ...(refund ? [refund] : [])].map((one) => one.address)
      const scan = { from_block, wallets, recharge_address }
      const { to_block, unknown, recharges } = await tellBlocks(needs, (tell) =>
        unknownTransactions(sql, chain.node, { ...scan, tell }),
      )
      const stakes = await wrongStakes(sql, chain)
      const unsure = [...recharges, ...(await openRecharges(sql))]
      const senders = [...new Set(unsure.map(({ from }) => from))].sort()
      if (apply && senders.length > 0)
        await record(async (tx, made_at) => {
          const actions = []
          for (const address of senders) {
            const entry = { customer_id: null, address, kind: 'deny' as const, reason: WHY }
            const made = { ...entry, made_by: by, made_at, expires_at: null }
            const { id } = await makeEntry(tx, new_id, made)
            actions.push({ subject: `entry:${id}`, before: null, after: made })
          }
          return { result: undefined, actions }
        })
      const [open] = await sql<{ orders: number }>`
        select count(*)::int as orders from orders where state in ('new', 'pending')`
      const value = {
        restored_to,
        from_block,
        to_block,
        open_orders: open!.orders,
        unknown,
        stakes,
        recharges: unsure,
        denied: apply ? senders : [],
      }
      return { value, ok: unknown.length + stakes.length + unsure.length === 0 }
    },
  }),
]

/** Direct recharges that the database had begun to act on. */
const openRecharges = (sql: Sql) =>
  sql<{ tx_id: string; block_number: bigint; from: Address; sun: bigint }>`
    select tx_id, block_number, from_address as from, amount_sun as sun from deposit
    where state in ('received', 'delivering', 'returning', 'refunding') and amount_sun is not null
    order by block_number, tx_id`
