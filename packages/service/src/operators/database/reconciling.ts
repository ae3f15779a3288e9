// After a restore: what the chain knows and the restored database does not, and what must not be
// done a second time. Transactions of ours become attempts again, as far as it is clear what they
// were for. Orders that were open then are given back by themselves, since they are older than what
// is still delivered; what was paid for on the chain is read again, and would be acted on again,
// unless its sender is held.

import type { Address } from 'penstock-tron/address.ts'
import { Type } from 'typebox'
import { wrongStakes } from '../../health/books/chain.ts'
import { noteReconciled, openRestore } from '../../health/monitoring/database_losses.ts'
import { readMeasures, totalsOf } from '../../health/monitoring/measures.ts'
import { refusal } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import {
  Count,
  flag,
  ListOf,
  Moment,
  OrNull,
  Sun,
  Text,
  Whole,
} from '../../platform/wire/schemas.ts'
import {
  type UnknownTransaction,
  unknownTransactions,
} from '../../run/backups/unknown_transactions.ts'
import { makeEntry } from '../../screening/labels/entries.ts'
import { undertaking } from '../table/operation.ts'
import { tellBlocks } from '../table/progress.ts'
import { type Adoption, adopt, readAll, readVotes } from './adopting.ts'

/** What the lost database has signed is in a block within so long, or never. */
const SENT_MS_MAX = 60_000
const WHY = 'what came from it may have been delivered before the database was restored'

export const reconcileOperations = [
  undertaking({
    path: '/operator/restore/reconcile',
    role: 'admin',
    careful: true,
    summary: 'what the chain knows and a restored database does not; --apply notes it',
    description:
      'Type it before `database accept`, when the service has followed the chain to its head. ' +
      'Without --apply nothing is changed. With it transactions of ours become attempts again, ' +
      'so that nothing is sent twice, votes and withdrawn rewards are noted, and every sender ' +
      'of a direct recharge that may have been delivered or sent back already is denied ' +
      '(`aml deny`), so that the payment is held for you. The exit code is 1 ' +
      'while the chain knows something that the rows do not.',
    body: Type.Object({ apply: flag('note what is found, and hold payments that are unsure') }),
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
      adopted: ListOf({ tx_id: Text, subject: Text }),
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
      const open_recharges = await openRecharges(sql)
      const unsure = [...recharges, ...open_recharges]
      const senders = [...new Set(unsure.map(({ from }) => from))].sort()
      let adopted: Adoption[] = []
      if (apply) {
        const { time } = (await chain.node.blocks(Number(to_block), Number(to_block), 'solid'))[0]!
        const may_at = restored.found_at.getTime() + SENT_MS_MAX
        if (time.getTime() < may_at)
          throw refusal(
            'What the lost database has sent last may not be solid yet: the solid block must ' +
              `be of ${new Date(may_at).toISOString()} or later.`,
          )
        const found = await readAll(chain, unknown)
        const votes = await readVotes(chain.node, found)
        adopted = await record(async (tx, made_at) => {
          const result = await adopt(tx, new_id, { found, recharges: open_recharges, votes })
          const actions = result.map((one) => ({ subject: one.subject, before: null, after: one }))
          await noteReconciled(tx, made_at)
          const denied = await deny(tx, { new_id, by, made_at }, senders)
          const reconciled = { subject: 'database', before: null, after: { reconciled: true } }
          return { result, actions: [reconciled, ...actions, ...denied] }
        })
      }
      const names = ['orders_open'] as const
      const open = await readMeasures(sql, { names, now: needs.clock.now() })
      const value = {
        restored_to,
        from_block,
        to_block,
        open_orders: Number(totalsOf(open, names).orders_open),
        unknown: unknown.map(shown),
        stakes,
        recharges: unsure,
        adopted,
        denied: apply ? senders : [],
      }
      return { value, ok: unknown.length - adopted.length + stakes.length + unsure.length === 0 }
    },
  }),
]

const shown = ({ block_id: _, block_time: __, ...one }: UnknownTransaction) => one

type Denial = { new_id: NewId; by: string; made_at: Date }

/** Returns the records of it. Who is denied already for this stays so. */
async function deny(tx: Tx, { new_id, by, made_at }: Denial, senders: readonly Address[]) {
  const standing = await tx<{ address: Address }>`
    select address from aml_entry
    where customer_id is null and kind = 'deny' and withdrawn_at is null
      and (expires_at is null or expires_at > ${made_at}) and address = any(${senders})`
  const known = new Set(standing.map(({ address }) => address))
  const actions = []
  for (const address of senders.filter((one) => !known.has(one))) {
    const entry = { customer_id: null, address, kind: 'deny' as const, reason: WHY }
    const made = { ...entry, made_by: by, made_at, expires_at: null }
    const { id } = await makeEntry(tx, new_id, made)
    actions.push({ subject: `entry:${id}`, before: null, after: made })
  }
  return actions
}

/** Direct recharges that the database had begun to act on. */
const openRecharges = (sql: Sql) =>
  sql<{ tx_id: string; block_number: bigint; from: Address; sun: bigint }>`
    select tx_id, block_number, from_address as from, amount_sun as sun from deposit
    where state in ('received', 'delivering', 'returning', 'refunding') and amount_sun is not null
    order by block_number, tx_id`
