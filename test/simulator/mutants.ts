// Known mistakes, put into the service's source as it is loaded: the simulator must find each of
// them. A mutant whose text is no longer in the source is stale, and fails too.

import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { ROOT } from '../../tools/source.ts'
import type { Emphasis } from './plan.ts'

/** In a file, one text in place of another, wherever it stands. */
type Edit = readonly [file: string, from: string, to: string]

export type Mutant = {
  name: string
  edits: readonly Edit[]
  /** Run on the database before the first seed: where a constraint would stop the mistake. */
  sql?: string
  /** What the runs that look for it are about, where it is seldom met otherwise. */
  emphasis?: Emphasis
}

const attempts = 'packages/service/src/chain/follow/attempts.ts'
const cursors = 'packages/service/src/chain/follow/cursors.ts'
const follower = 'packages/service/src/chain/follow/follower.ts'
const confirm = 'packages/service/src/chain/follow/confirm.ts'
const holdings = 'packages/service/src/treasury/deposits/holdings.ts'
const journal = 'packages/service/src/ledger/accounts/journal.ts'
const ledger = 'packages/service/src/ledger/accounts/ledger.ts'
const delegations = 'packages/service/src/market/pool/delegations.ts'
const delivery = 'packages/service/src/market/orders/delivery.ts'
const reasons = 'packages/service/src/chain/signing/signing_reasons.ts'
const signer = 'packages/service/src/chain/signing/signer.ts'
const orders = 'packages/service/src/market/orders/orders.ts'
const placing = 'packages/service/src/market/orders/placing.ts'
const purse = 'packages/service/src/people/customers/purse.ts'
const pool = 'packages/service/src/market/pool/pool.ts'
const settlement = 'packages/service/src/market/orders/settlement.ts'
const deposit_step = 'packages/service/src/treasury/deposits/deposit_step.ts'
const deposits = 'packages/service/src/treasury/deposits/deposits.ts'
const recharges = 'packages/service/src/treasury/deposits/recharges.ts'
const resolutions = 'packages/service/src/treasury/deposits/resolutions.ts'
const corrections = 'packages/service/src/treasury/corrections/corrections.ts'
const subscriptions = 'packages/service/src/market/subscriptions/subscriptions.ts'
const supply = 'packages/service/src/market/subscriptions/supply.ts'
const uses = 'packages/service/src/market/subscriptions/uses.ts'
const holds = 'packages/service/src/market/subscriptions/holds.ts'
const ending = 'packages/service/src/market/subscriptions/ending.ts'
const checks = 'packages/service/src/screening/checks/checks.ts'
const batch = 'packages/service/src/treasury/collecting/batch.ts'
const collections = 'packages/service/src/treasury/collecting/collections.ts'
const making = 'packages/service/src/treasury/collecting/making.ts'
const settling = 'packages/service/src/treasury/collecting/settling.ts'
const outages = 'packages/service/src/platform/database/outages.ts'
const publish = 'packages/service/src/events/log/publish.ts'
const notices = 'packages/service/src/events/webhooks/notices.ts'
const votes = 'packages/service/src/treasury/votes/votes.ts'
const voting = 'packages/service/src/treasury/votes/voting.ts'
const node = 'packages/service/src/chain/node/node.ts'
const notify = 'packages/service/src/events/webhooks/notify.ts'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'a delegation under way is forgotten, and made again',
    edits: [
      [delivery, "one.state !== 'failed')", "one.state === 'active')"],
      [orders, 'set to_delegate = false, state', 'set state'],
    ],
    sql: 'alter table pool drop constraint pool_reserved_not_negative',
  },
  {
    name: 'a failed order is charged',
    edits: [
      [
        orders,
        'await releasePrice(tx, price, { held_at: created_at, now })',
        'captureAll(tx, [{ hold_id: price.hold_id, amount_sun }], now)',
      ],
    ],
  },
  {
    name: 'the hour is fifty minutes',
    edits: [[delegations, "interval '1 hour'", "interval '50 minutes'"]],
  },
  {
    name: 'a deposit is read and credited again',
    edits: [
      [
        cursors,
        'update cursor set number = ',
        "update cursor set number = (case name when 'deposits' then -1 else 0 end)::bigint + ",
      ],
      [deposit_step, 'id: `deposit:', 'id: needs.clock.now().getTime() + `deposit:'],
    ],
  },
  {
    name: 'an external id is not looked up',
    edits: [[purse, 'name === null ? undefined', 'name !== null ? undefined']],
    sql: 'alter table orders drop constraint orders_external_id_once',
  },
  {
    name: 'more is taken back than was given',
    edits: [
      [
        delegations,
        "operation('UnDelegateResourceContract', delegation,",
        "operation('UnDelegateResourceContract', { ...delegation, stake_sun: " +
          'delegation.stake_sun + 1n },',
      ],
    ],
  },
  {
    name: 'the head says what is dead',
    edits: [
      [attempts, 'where number = confirmed_number - 1)', 'where number = head_number)'],
      [attempts, '!one.found && one.solid_number >= Number(confirmed_number)', '!one.found'],
    ],
  },
  {
    name: 'what was sent four times is given up',
    edits: [
      [
        attempts,
        'expires_at <= (select time from block where number = confirmed_number - 1)',
        'sends > 3',
      ],
      [attempts, '!one.found && one.solid_number >= Number(confirmed_number)', '!one.found'],
    ],
  },
  {
    name: 'what was sent is signed again, as another transaction',
    edits: [
      [
        attempts,
        "where attempt.state = 'new' and send_at",
        "where attempt.state in ('new', 'sent') and send_at",
      ],
      [
        attempts,
        "attempt.id = t.id and attempt.state = 'new'",
        "attempt.id = t.id and attempt.state in ('new', 'sent')",
      ],
    ],
  },
  {
    name: 'what was sent counts as delivered',
    edits: [
      [settlement, "in ('included', 'solid')", "in ('sent', 'included', 'solid')"],
      [delegations, '= attempt.block_time', '= coalesce(attempt.block_time, attempt.made_at)'],
    ],
  },
  {
    name: 'a fork takes nothing back',
    edits: [
      [attempts, "where state = 'included' and block_number > ", 'where false and block_number > '],
    ],
  },
  {
    name: 'the head says that the hour is over',
    edits: [
      [
        delegations,
        'from block, chain where number = confirmed_number',
        'from block, chain where number = head_number',
      ],
    ],
  },
  {
    name: 'two processes delegate one order',
    edits: [
      [
        delivery,
        'and to_delegate order by id for update skip locked`',
        'and to_delegate order by id`',
      ],
      [pool, 'order by address for update`', 'order by address`'],
    ],
    sql: 'alter table pool drop constraint pool_reserved_not_negative',
  },
  {
    name: 'accounts are not locked while orders are placed',
    edits: [
      [ledger, 'order by id for update`', 'order by id`'],
      [placing, 'order by resource for update`', 'order by resource`'],
    ],
    sql: 'alter table account drop constraint account_not_overdrawn',
    emphasis: 'poor',
  },
  {
    name: 'too little is staked',
    edits: [[pool, 'const MARGIN_PERCENT = 1n', 'const MARGIN_PERCENT = -1n']],
  },
  {
    name: 'a refund under way is sent again',
    edits: [
      [
        deposits,
        "attempt.state = 'dead' and deposit.state",
        "attempt.state in ('sent', 'dead') and deposit.state",
      ],
      [deposits, "and a.state = 'dead'", "and a.state in ('sent', 'dead')"],
    ],
    sql: 'drop index attempt_one_alive',
  },
  {
    name: 'an activation that was not ours is charged',
    edits: [
      [
        settlement,
        'activation.tx_id === null ? order.fee_sun : 0n',
        'activation.tx_id === null ? 0n : 0n',
      ],
    ],
  },
  {
    name: 'deposits are credited before they are solid',
    edits: [
      [deposit_step, "name: 'deposits',\n    side: 'solid'", "name: 'deposits',\n    side: 'head'"],
    ],
  },
  {
    name: 'a settled order is settled again',
    edits: [
      [settlement, "if (order.state === 'success' || order.state === 'failed') return moved", ''],
    ],
    sql: 'alter table transfer drop constraint transfer_hold_resolved_once',
  },
  {
    name: 'what an order needed stays reserved when it fails',
    edits: [[settlement, 'order.to_delegate ? missingOf', 'order.tries < 0 ? missingOf']],
  },
  {
    name: 'a use is charged again when its block is read again',
    edits: [[uses, 'if (again.length > 0) return', '']],
    sql: 'alter table subscription_use drop constraint subscription_use_pkey',
  },
  {
    name: 'a use that a fork took away stays charged',
    edits: [[uses, 'useOf(one)?.staked !== one.energy', 'useOf(one)?.staked === -1n - one.energy']],
  },
  {
    name: 'what the initial price covers after a fork stays charged',
    edits: [[uses, 'if (surplus_sun <= 0n) return', 'return']],
  },
  {
    name: 'what is used where nothing of ours lies is charged',
    edits: [
      [uses, 'if (!served?.supplied || use.staked', 'if (!served || use.staked'],
      [uses, '!one.supplied ||', ''],
      [uses, "in ('stopped', 'expired') and not withdrawn", "in ('stopped', 'expired')"],
    ],
  },
  {
    name: 'a transaction is supplied and not held for',
    edits: [[holds, 'cover.price_sun === 0n ? 0 :', 'cover.price_sun >= 0n ? 0 :']],
  },
  {
    name: 'what was held for the next transaction stays held',
    edits: [[ending, 'await releaseHolds(tx, whole, { count, now })', '']],
  },
  {
    name: 'what is held is given back before the energy is',
    edits: [
      [
        ending,
        'where supply.subscription_id = s.id\n',
        'where false and supply.subscription_id = s.id\n',
      ],
    ],
  },
  {
    name: 'a cap does not bind subscriptions',
    edits: [[holds, 'if (sun > (await leftOfCap(tx, payer, now))) {', 'if (sun < 0n) {']],
  },
  {
    name: 'what subscriptions use does not count for the key',
    edits: [
      [uses, 'if (key_id !== null) addSpending(tx, key_id, { sun: charged_sun, at: now })', ''],
    ],
  },
  {
    name: 'the start of a subscription is captured twice',
    edits: [
      [
        supply,
        "s.state = 'pending' and o.state = 'success'\n    order",
        "s.state in ('pending', 'active') and o.state = 'success'\n    order",
      ],
      [
        subscriptions,
        "and state = 'pending' order by id",
        "and state in ('pending', 'active') order by id",
      ],
    ],
    sql: 'alter table transfer drop constraint transfer_hold_resolved_once',
  },
  {
    name: 'an expired subscription is supplied again',
    edits: [
      [
        supply,
        "s.state in ('new', 'pending', 'active')\n      and (look_at",
        "s.state <> 'error'\n      and (look_at",
      ],
      [supply, "and s.state in ('new', 'pending', 'active')`", "and s.state <> 'error'`"],
      [
        supply,
        "const starting = running.state !== 'active'",
        "const starting = ['new', 'pending'].includes(running.state)",
      ],
      [
        supply,
        'if (!starting && running.expire_at',
        "if (running.state === 'active' && running.expire_at",
      ],
    ],
  },
  {
    name: 'a running subscription loses its supply',
    edits: [
      [
        ending,
        "s.state in ('stopped', 'expired', 'error')",
        "s.state in ('stopped', 'expired', 'error', 'active')",
      ],
    ],
  },
  {
    name: 'a start that failed is charged',
    edits: [
      [
        subscriptions,
        'await releasePrice(tx, price, { held_at: created_at, now })',
        'captureAll(tx, [{ hold_id: holdOf(id), amount_sun: total_sun }], now)',
      ],
    ],
  },
  {
    name: 'a check that failed is charged',
    edits: [
      [
        checks,
        'await releasePrice(tx, priceOf(check), { held_at: check.created_at, now })',
        'captureAll(tx, [{ hold_id: holdOfCheck(check.id), amount_sun: check.price_sun }], now)',
      ],
    ],
  },
  {
    name: 'a check that failed is not counted',
    edits: [[checks, "(values (before, -1), ('failed', 1))", "(values ('failed', 1))"]],
  },
  {
    name: 'a blacklisted sender is credited, and sold to',
    edits: [
      [deposit_step, 'if (held.has(from) ||', 'if (held.size < 0 ||'],
      [
        recharges,
        'if (await isHeld(needs, sql, from_address)) return',
        'if (from_address.length < 0) return',
      ],
    ],
  },
  {
    name: 'a blacklisted sender gets money back',
    edits: [
      [deposit_step, 'if (held.has(from) ||', 'if (held.size < 0 ||'],
      [
        recharges,
        '(await heldSenders(sql, [from])).has(from)',
        '(await heldSenders(sql, [])).has(from)',
      ],
      [
        recharges,
        'const ids = unsigned.filter((one) => held.has(one.from_address))',
        'const ids = unsigned.slice(0, 0)',
      ],
    ],
  },
  {
    name: 'money of high risk is credited where it is held',
    emphasis: 'screened_deposits',
    edits: [[deposit_step, "if (reading?.risk_level === 'high') return HIGH_RISK", '']],
  },
  {
    name: 'a recharge does not wait to be screened',
    emphasis: 'screened_deposits',
    edits: [[deposit_step, "recharge_at === 'solid' || by_money", "recharge_at === 'solid'"]],
  },
  {
    name: 'deposits that have to be screened are not queued',
    emphasis: 'screened_deposits',
    edits: [[deposit_step, 'await noteScreenings(tx, seen, now)', '']],
  },
  {
    name: 'what is held is given to the customer',
    edits: [
      [
        deposit_step,
        "const held = customer_id !== null && state !== 'credited'",
        'const held = false',
      ],
    ],
  },
  {
    name: 'a deposit that is being sent back is resolved',
    edits: [
      [
        resolutions,
        "state === 'held' || state === 'ignored'",
        '/^(held|ignored|return|refund)/.test(state)',
      ],
    ],
  },
  {
    name: 'what was sent back in part counts as sent back whole',
    edits: [[resolutions, 'amount_sun: sent_amount!, made_at }', 'amount_sun, made_at }']],
  },
  {
    name: 'a resolution is not noted as one',
    edits: [[deposits, "set state = 'resolved' where", 'set state = state where']],
  },
  {
    name: 'a correction is made again',
    edits: [
      [corrections, 'if (!inserted) return', 'if (inserted && amount_sun === 0n) return'],
      [corrections, 'id: `correction:', 'id: made_at.getTime() + `correction:'],
    ],
  },
  {
    name: 'one node is enough',
    edits: [
      [
        confirm,
        'const needed = Math.min(2, names.length)',
        'const needed = Math.min(1, names.length)',
      ],
    ],
  },
  {
    name: 'what a liar told stays',
    edits: [[confirm, 'if (refuted) await takeBack(tx, number - 1)', '']],
  },
  {
    name: 'what contracts send is credited whatever the balance is',
    edits: [[holdings, 'deposit.amount_sun > surplus_sun', 'deposit.amount_sun < 0n']],
  },
  {
    name: 'two followers overtake one another',
    edits: [
      [
        follower,
        'select 1 from chain where head_id = ',
        'select 1 from chain where true or head_id = ',
      ],
    ],
  },
  {
    name: 'the signer does not ask who wants it',
    edits: [[signer, 'if (against !== undefined) throw new SigningRefusal(against)', '']],
  },
  {
    name: 'the signer does not look whether an order is paid for',
    edits: [[reasons, "if (!order_paid) return 'its order is not paid for'", '']],
  },
  {
    name: 'the signer does not look how much an order wants',
    edits: [
      [
        reasons,
        "if (!order_wants) return 'no order that is open or owed wants this much there'",
        '',
      ],
    ],
  },
  {
    name: 'the signer takes back what a row says, and not what was delegated',
    edits: [[reasons, 'if (operation.sun !== sun) return', 'if (operation.sun < 0n) return']],
  },
  {
    name: 'the signer sends a deposit back twice',
    edits: [
      [
        reasons,
        "and not exists (select 1 from transfer as back where back.id = 'refund:' || " +
          'p.tx_id) as came',
        'as came',
      ],
    ],
  },
  {
    name: 'the signer believes a deposit that is not in the ledger',
    edits: [[reasons, 'if (!reason.came) return', 'if (reason.came === undefined) return']],
  },
  {
    name: 'an event is noted outside of the transaction that makes it true',
    edits: [
      [
        orders,
        '  noteEvents(\n    tx,\n    told(orders)',
        '}\n\nexport function noteCreated(tx, orders, now) {\n  noteEvents(\n    tx,\n    ' +
          'told(orders)',
      ],
      [placing, 'import { insertOrders,', 'import { insertOrders, noteCreated,'],
      [
        placing,
        'return await needs.sql.begin((tx) => placeTogether(tx, needs, purchases, next))',
        'const all = await needs.sql.begin((tx) => placeTogether(tx, needs, purchases, next))\n' +
          'const placed = all.flatMap((one) => one.order && !one.replayed ? [one.order] : [])\n' +
          'await needs.sql.begin(async (tx) => noteCreated(tx, placed, needs.clock.now()))\n' +
          'return all',
      ],
    ],
    emphasis: 'webhooks',
  },
  {
    // What is taken out of the table is nobody else's either: both must go.
    name: 'two processes publish the same notes',
    edits: [
      [publish, 'select 1 from event_publisher for update', 'select 1 from event_publisher'],
      [
        publish,
        'delete from event_note where id in (select note_id from named) returning *)',
        'select * from event_note where id in (select note_id from named)), gone as (' +
          'delete from event_note where id in (select note_id from named) returning id)',
      ],
    ],
    emphasis: 'webhooks',
  },
  {
    name: 'a fork is not told',
    edits: [[deposits, "await noteDeposits(tx, 'deposit.gone', gone, now)", '']],
  },
  {
    name: 'a webhook is called again under another id',
    edits: [[notify, '{ id: event.id, body }, at)', '{ id: event.id + at.getTime(), body }, at)']],
    emphasis: 'webhooks',
  },
  {
    name: 'the place of a webhook moves before its notices are written',
    edits: [
      [
        notify,
        'sql.begin((tx) => takeEvents(tx, { id, process, now: clock.now(), readable }))',
        '{ const later = {}; return sql.begin((tx) => takeEvents(tx, { id, process, now: ' +
          'clock.now(), readable, later })).then((took) => later.write ' +
          '? sql.begin(async (tx) => later.write(tx)).then(() => took) : took) }',
      ],
      [notices, '{ id, process, now, readable }: {', '{ id, process, now, readable, later }: {'],
      [
        notices,
        'tx.send`\n    insert into notice (webhook_id, number, event_id, type, subject, due_at)',
        'later.write = (tx) => tx.send`\n    insert into notice (webhook_id, number, event_id, ' +
          'type, subject, due_at)',
      ],
    ],
    emphasis: 'webhooks',
  },
  {
    name: 'what lies on an address is collected twice',
    edits: [[making, 'under_way_sun === 0n && trx_sun', 'trx_sun']],
    sql: 'drop index collection_transfer_one_alive',
    emphasis: 'collecting',
  },
  {
    name: 'what was collected is booked twice',
    edits: [
      [collections, "and state = 'made' returning token", 'returning token'],
      [settling, "t.state = 'made' and o.fee_sun", 'o.fee_sun'],
      [collections, 'id: `collected:', 'id: now.getTime() + `collected:'],
    ],
    emphasis: 'collecting',
  },
  {
    name: 'the receiver of a batch is not compared',
    edits: [[batch, '!collect_to.includes(to)', 'collect_to.length === 0']],
    emphasis: 'collecting',
  },
  {
    name: 'a collection is booked before it is solid',
    edits: [
      [
        deposit_step,
        'const fated = await withFates(tx, needs, arrivals, false)',
        'await noteOutflows(tx, needs, blocks)\n' +
          'const fated = await withFates(tx, needs, arrivals, false)',
      ],
      [settling, 'o.fee_sun is not null and', 'true and'],
      [settling, 'o.fee_sun as left_fee_sun', 'coalesce(o.fee_sun, 0) as left_fee_sun'],
    ],
    emphasis: 'collecting',
  },
  {
    name: 'what votes have earned is booked twice',
    edits: [
      [votes, "and state = 'claiming' returning 1", 'returning 1'],
      [votes, "where c.state = 'claiming' and a.state = 'solid'", "where a.state = 'solid'"],
      [votes, 'id: `reward:', 'id: now.getTime() + `reward:'],
    ],
    emphasis: 'voting',
  },
  {
    name: 'a reward is booked before it is solid',
    edits: [
      [
        votes,
        "c.state = 'claiming' and a.state = 'solid'",
        "c.state = 'claiming' and a.state in ('included', 'solid')",
      ],
      [voting, "c.state = 'claiming' and a.state in ('solid', 'dead')", "c.state = 'claiming'"],
      [
        node,
        "'/walletsolidity/gettransactioninfobyid', { value: tx_id }",
        "'/wallet/gettransactioninfobyid', { value: tx_id }",
      ],
    ],
    emphasis: 'voting',
  },
  {
    name: 'a connection to a standby is kept',
    edits: [[outages, "new Set(['25006', ", 'new Set([']],
    emphasis: 'promoted',
  },
  {
    name: 'nobody reads that a commit was not replicated',
    edits: [[outages, "routine === 'SyncRepWaitForLSN'", "routine === ''"]],
    emphasis: 'promoted',
  },
  {
    name: 'how far may be sealed is kept in memory',
    edits: [
      [journal, 'const sealMarked =', 'const kept = { last_entry: 0n }; const sealMarked ='],
      [journal, 'sealUpToMark(tx, clock.now())', 'sealUpToMark(tx, clock.now(), kept)'],
      [journal, 'mark(tx, clock.now())', 'mark(tx, clock.now(), kept)'],
      [journal, 'mark(tx: Tx, now: Date)', 'mark(tx: Tx, now: Date, kept)'],
      [
        journal,
        'const marked = await tx`',
        'Object.assign(kept, last, { writers: writers.map(({ writer }) => writer) })\n' +
          '  if (kept) return true\n  const marked = await tx`',
      ],
      [journal, 'sealUpToMark(tx: Tx, now: Date)', 'sealUpToMark(tx: Tx, now: Date, kept)'],
      [
        journal,
        "if (!marked) return 'nothing marked'\n  if (await stillWrite(tx, marked))",
        'const [sealed] = await tx`select max(last_entry) as last_entry from journal`\n' +
          "  if (kept.last_entry <= (sealed.last_entry ?? 0n)) return 'nothing marked'\n" +
          '  if (await stillWrite(tx, kept))',
      ],
      [journal, 'seal(tx, marked.last_entry, now)', 'seal(tx, kept.last_entry, now)'],
    ],
    emphasis: 'promoted',
  },
]

/** The edits of a mutant whose text is not in the source exactly as often as it should be: at least
 *  once. */
export async function staleEdits({ edits }: Mutant): Promise<string[]> {
  const stale: string[] = []
  for (const [file, from] of edits) {
    const text = await readFile(`${ROOT}${file}`, 'utf8')
    if (!text.includes(from)) stale.push(`${file} has no ${from}`)
  }
  return stale
}

/** Makes this process load the mutant in place of the service. To be called before anything of it
 *  is imported. */
export function infect({ edits }: Mutant): void {
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      const mine = edits.filter(([file]) => url.endsWith(`/${file}`))
      if (mine.length === 0) return loaded
      let source = String(loaded.source)
      for (const [, from, to] of mine) source = source.replaceAll(from, () => to)
      return { ...loaded, source }
    },
  })
}
