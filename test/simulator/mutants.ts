// Known mistakes, put into the service's source as it is loaded: the simulator must find each of them. A mutant whose text
// is no longer in the source is stale, and fails too.

import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { ROOT } from '../source.ts'

type Edit = { file: string; from: string; to: string }

export type Mutant = {
  name: string
  edits: readonly Edit[]
  /** Run on the database before the first seed: where a constraint would stop the mistake. */
  sql?: string
}

const delivery = 'src/market/delivery.ts'
const delegations = 'src/market/delegations.ts'
const attempts = 'src/chain/attempts.ts'
const orders = 'src/market/orders.ts'
const pool = 'src/market/pool.ts'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a delegation under way is forgotten, and made again',
    edits: [
      { file: delivery, from: "one.state !== 'failed')", to: "one.state === 'active')" },
      { file: delivery, from: 'set to_delegate = false, state = case state', to: 'set state = case state' },
    ],
  },
  {
    name: 'a failed order is charged',
    edits: [
      {
        file: delivery,
        from: 'await release(tx, holdOf(order.id), now)',
        to: 'await capture(tx, holdOf(order.id), now)',
      },
    ],
  },
  {
    name: 'the hour is fifty minutes',
    edits: [{ file: delivery, from: "* interval '1 hour'", to: "* interval '50 minutes'" }],
  },
  {
    name: 'a deposit is read and credited again',
    edits: [
      {
        file: 'src/chain/blocks.ts',
        from: 'update cursor set number = ${last.number}',
        to: 'update cursor set number = ${last.number - 1}',
      },
      {
        file: 'src/treasury/deposits.ts',
        from: 'id: `deposit:${arrival.tx_id}`',
        to: 'id: `deposit:${arrival.tx_id}${needs.clock.now().getTime()}`',
      },
    ],
  },
  {
    name: 'an external id is not looked up',
    edits: [
      {
        file: orders,
        from: 'const earlier = asked.external_id === null ?',
        to: 'const earlier = asked.external_id !== null ?',
      },
    ],
    sql: 'alter table orders drop constraint orders_external_id_once',
  },
  {
    name: 'more is taken back than was given',
    edits: [
      {
        file: delegations,
        from: "operation('UnDelegateResourceContract', delegation,",
        to: "operation('UnDelegateResourceContract', { ...delegation, stake_sun: delegation.stake_sun * 2n },",
      },
    ],
  },
  {
    name: 'the head says what is dead',
    edits: [
      { file: attempts, from: 'where number = solid_number - 1)', to: 'where number = head_number)' },
      { file: attempts, from: 'one.found || one.solid_number < Number(solid_number)', to: 'one.found' },
    ],
  },
  {
    name: 'our clock says what is dead',
    edits: [
      {
        file: attempts,
        from: 'expires_at <= (select time from block where number = solid_number - 1)',
        to: 'made_at < ${new Date(needs.clock.now().getTime() - 60_000)}',
      },
      {
        file: attempts,
        from: "export function judgeStep({ sql, node }: Pick<Needs, 'sql' | 'node'>): Step {",
        to: 'export function judgeStep(needs: Needs): Step { const { sql, node } = needs',
      },
      { file: attempts, from: 'one.found || one.solid_number < Number(solid_number)', to: 'one.found' },
    ],
  },
  {
    name: 'what was sent is signed again, as another transaction',
    edits: [
      {
        file: attempts,
        from: "where attempt.state = 'new' and send_at <= ${clock.now()} and number",
        to: "where attempt.state in ('new', 'sent') and send_at <= ${clock.now()} and number",
      },
      {
        file: attempts,
        from: "where id = ${row.id} and state = 'new'`",
        to: "where id = ${row.id} and state in ('new', 'sent')`",
      },
    ],
  },
  {
    name: 'what a node accepts counts as delivered',
    edits: [
      {
        file: delivery,
        from: "where d.state = 'delegating' and a.state in ('included', 'solid', 'dead')",
        to: "where d.state = 'delegating' and a.state in ('sent', 'included', 'solid', 'dead')",
      },
      {
        file: delivery,
        from: "part.attempt === 'included' || part.attempt === 'solid'",
        to: "part.attempt === 'sent' || part.attempt === 'included' || part.attempt === 'solid'",
      },
      {
        file: delivery,
        from: "set state = 'active', delegated_at = ${part.block_time},",
        to: "set state = 'active', delegated_at = coalesce(${part.block_time}::timestamptz, ${order.created_at}),",
      },
      {
        file: delivery,
        from: 'expires_at = ${part.block_time}::timestamptz +',
        to: 'expires_at = coalesce(${part.block_time}::timestamptz, ${order.created_at}) +',
      },
    ],
  },
  {
    name: 'a fork takes nothing back',
    edits: [
      {
        file: attempts,
        from: "where state = 'included' and block_number > ${keep}",
        to: "where state = 'included' and block_number > ${keep} and false",
      },
    ],
  },
  {
    name: 'what is not solid is taken back',
    edits: [
      {
        file: delegations,
        from: "d.state = 'active' and a.state = 'solid' and d.expires_at",
        to: "d.state = 'active' and d.expires_at",
      },
    ],
  },
  {
    name: 'two processes delegate one order',
    edits: [
      { file: delivery, from: 'and to_delegate for update skip locked`', to: 'and to_delegate`' },
      { file: pool, from: 'order by address for update`', to: 'order by address`' },
    ],
    sql: 'alter table pool drop constraint pool_reserved_not_negative',
  },
  {
    name: 'accounts are not locked while orders are placed',
    edits: [
      { file: 'src/ledger/ledger.ts', from: 'order by id for update`', to: 'order by id`' },
      { file: orders, from: 'order by resource for update`', to: 'order by resource`' },
    ],
    sql: 'alter table account drop constraint account_not_overdrawn',
  },
  {
    name: 'too little is staked',
    edits: [{ file: pool, from: 'const MARGIN_PERCENT = 1n', to: 'const MARGIN_PERCENT = -1n' }],
  },
  {
    name: 'a refund under way is sent again',
    edits: [
      {
        file: 'src/treasury/recharges.ts',
        from: "attempt.state = 'dead' and deposit.state = 'refunding'",
        to: "attempt.state in ('sent', 'dead') and deposit.state = 'refunding'",
      },
    ],
    sql: 'drop index attempt_one_alive',
  },
  {
    name: 'an activation that was not ours is charged',
    edits: [
      { file: delivery, from: 'activation !== undefined && activation.tx_id === null ? order.fee_sun : 0n', to: '0n' },
    ],
  },
  {
    name: 'deposits are credited before they are solid',
    edits: [
      {
        file: 'src/treasury/deposits.ts',
        from: "readSolidBlocks(tx, 'deposits', async",
        to: "readBlocks(tx, { name: 'deposits', side: 'head' }, async",
      },
    ],
  },
  {
    name: 'money is given back after it was taken',
    edits: [
      {
        file: delivery,
        from: "if (order.state === 'success' || order.state === 'failed') return moved",
        to: "if (order.state === 'failed') return moved",
      },
    ],
    sql: 'alter table transfer drop constraint transfer_hold_resolved_once',
  },
  {
    name: 'what an order needed stays reserved when it fails',
    edits: [
      {
        file: delivery,
        from: 'if (missing > 0) await tx`update pool set reserved = reserved - ${missing}',
        to: 'if (missing < 0) await tx`update pool set reserved = reserved - ${missing}',
      },
    ],
  },
]

/** The edits of a mutant whose text is not in the source exactly as often as it should be: at least once. */
export async function staleEdits({ edits }: Mutant): Promise<string[]> {
  const stale: string[] = []
  for (const { file, from } of edits) {
    const text = await readFile(`${ROOT}${file}`, 'utf8')
    if (!text.includes(from)) stale.push(`${file} has no ${from}`)
  }
  return stale
}

/** Makes this process load the mutant in place of the service. To be called before anything of it is imported. */
export function infect({ edits }: Mutant): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const mine = edits.filter(({ file }) => url.endsWith(`/${file}`))
      if (mine.length === 0) return loaded
      let source = String(loaded.source)
      for (const { from, to } of mine) source = source.replaceAll(from, () => to)
      return { ...loaded, source }
    },
  })
}
