// The service's rows as the auditor reads them: whole tables, in one snapshot, with statements of
// its own.

import pg from 'pg'

export type Account = { id: string; may_go_negative: boolean; posted_sun: bigint; held_sun: bigint }
export type Transfer = {
  id: string
  kind: 'move' | 'hold' | 'capture' | 'release'
  hold_id: string | null
  debit: string
  credit: string
  amount_sun: bigint
  made_at: Date
}
export type Order = {
  id: string
  customer_id: string
  external_id: string | null
  service: string
  address: string
  energy: bigint
  bandwidth: bigint
  activation_id: string | null
  state: 'new' | 'pending' | 'success' | 'failed'
  to_delegate: boolean
  amount_sun: bigint
  fee_sun: bigint
  tx_id: string | null
  key_id: string | null
  quote_id: string | null
  created_at: Date
  delayed_at: Date | null
  solid_at: Date | null
  ending_at: Date | null
  ended_at: Date | null
}
export type Delegation = {
  id: string
  order_id: string
  wallet: string
  receiver: string
  resource: 'energy' | 'bandwidth'
  amount: bigint
  stake_sun: bigint
  state: 'delegating' | 'active' | 'reclaiming' | 'ended' | 'failed'
  attempt_id: string
  reclaim_id: string | null
  delegated_at: Date | null
  expires_at: Date | null
}
export type Attempt = {
  id: string
  subject: string
  state: 'new' | 'signed' | 'sent' | 'included' | 'solid' | 'dead'
  tx_id: string | null
  block_number: bigint | null
  /** A fork took back a block that had it. */
  uncovered: boolean
}
export type Activation = { id: string; address: string; state: string; attempt_id: string | null }
export type Deposit = {
  tx_id: string
  position: number
  from_address: string
  to_address: string
  /** Of TRX; null for another token. */
  amount_sun: bigint | null
  customer_id: string | null
  state: string
  energy: bigint | null
  order_id: string | null
  refund_id: string | null
  solid_at: Date | null
}
/** How a deposit was ended by hand. */
export type Resolution = {
  tx_id: string
  position: number
  way: 'sent_back' | 'credited' | 'written_off'
  sent_by: string | null
  sent_to: string | null
  sent_amount: bigint | null
  customer_id: string | null
}
/** What was added to an account by hand, or, below nothing, taken from it. */
export type Correction = { id: string; customer_id: string; amount_sun: bigint }
/** With the terms of its plan. */
export type Subscription = {
  id: string
  customer_id: string
  address: string
  state: 'new' | 'pending' | 'active' | 'stopped' | 'expired' | 'error'
  transactions_used: number
  energy_used: bigint
  transactions_limit: number
  total_sun: bigint
  by_orders_sun: bigint
  key_id: string | null
  created_at: Date
  started_at: Date | null
  stopped_at: Date | null
  activate_address: boolean
  rested_at: Date | null
  supplies: number
  holds_made: number
  holds_ended: number
  withdrawn: boolean
  /** What the start costs. */
  start_sun: bigint
  /** The part of that for energy. */
  initial_price_sun: bigint
  price_sun: bigint
  included: number
  plan_limit: number
  energy_per_transaction: number
  /** Of the key that started it. */
  daily_cap_sun: bigint | null
}
export type Use = {
  subscription_id: string
  tx_id: string
  energy: bigint
  transactions: number
  charged_sun: bigint
  /** What of its energy was the address's own. */
  own_energy: bigint
  by_orders_sun: bigint
  block_number: bigint
  used_at: Date
  solid: boolean
}
export type Supply = { subscription_id: string; order_id: string }
export type Check = {
  id: string
  customer_id: string
  idempotency_key: string | null
  state: 'pending' | 'processing' | 'completed' | 'failed'
  price_sun: bigint
  key_id: string | null
  created_at: Date
  /** How many pieces of evidence there are. */
  evidence: bigint
}
/** How many checks of a customer are said to be in a state. */
export type CheckCount = { customer_id: string; state: string; n: bigint }
/** What a key has spent on a day, as the service keeps it. */
export type Spending = {
  key_id: string
  day: string
  spent_sun: bigint
  daily_cap_sun: bigint | null
}
/** A key that spends from the sum of another one. */
export type SharedCap = { id: string; spends_from: string }
export type Customer = { id: string; deposit_address: string }
export type Pool = { resource: 'energy' | 'bandwidth'; room: bigint; reserved: bigint }
/** What a customer was told; no number: it is only noted so far. */
export type Event = {
  customer_id: string
  number: bigint | null
  id: string | null
  type: string
  subject: string
  /** Somebody tried a webhook: nothing happened. */
  test: boolean
  /** The transaction that a use of a subscription is about. */
  used: string | null
  /** All that is told. */
  data: string
}
export type EventCounter = { customer_id: string; last_number: bigint }
export type Key = { id: string; customer_id: string; revoked: boolean }
/** Invoices and credit notes. `month`: `2026-10`. */
export type Invoice = {
  number: bigint
  customer_id: string
  month: string
  total_sun: bigint
  correction_id: string | null
}
/** A transfer from a deposit address to an address of the operator's. */
export type CollectionTransfer = {
  tx_id: string
  address: string
  receiver: string
  /** Null: TRX. */
  token: string | null
  amount: bigint
  state: 'made' | 'collected' | 'failed' | 'dead'
  moved: bigint | null
  fee_sun: bigint | null
}
/** A withdrawal of what votes have earned. */
export type RewardClaim = {
  id: string
  wallet: string
  state: 'claiming' | 'claimed' | 'failed'
  /** On the chain, after a restore: there may be several of a wallet. */
  found: boolean
  reward_sun: bigint | null
  tx_id: string | null
}
/** What a wallet votes for. */
export type VoteRow = {
  id: string
  wallet: string
  votes: { witness: string; count: string }[]
  state: 'casting' | 'cast' | 'failed'
  tx_id: string | null
}
export type Cursor = { name: string; number: bigint }

export type Rows = {
  accounts: Account[]
  transfers: Transfer[]
  orders: Order[]
  delegations: Delegation[]
  attempts: Attempt[]
  activations: Activation[]
  deposits: Deposit[]
  resolutions: Resolution[]
  corrections: Correction[]
  collections: CollectionTransfer[]
  claims: RewardClaim[]
  votes: VoteRow[]
  planned: { witness: string }[]
  customers: Customer[]
  pool: Pool[]
  cursors: Cursor[]
  subscriptions: Subscription[]
  uses: Use[]
  supplies: Supply[]
  checks: Check[]
  check_counts: CheckCount[]
  spending: Spending[]
  sharing: SharedCap[]
  events: Event[]
  event_counters: EventCounter[]
  keys: Key[]
  invoices: Invoice[]
}

/** Reads everything as it is committed at one moment. The connection is one that nobody else
 *  uses. */
export async function readRows(client: pg.Client): Promise<Rows> {
  return inSnapshot(client, async (read) => ({
    accounts: await read('select id, may_go_negative, posted_sun, held_sun from account'),
    transfers: await read(
      'select id, kind, hold_id, debit, credit, amount_sun, made_at from transfer',
    ),
    orders: await read('select * from orders'),
    delegations: await read('select * from delegation'),
    attempts: await read('select id, subject, state, tx_id, block_number, uncovered from attempt'),
    activations: await read('select * from activation'),
    deposits: await read('select * from deposit'),
    resolutions: await read(`
        select tx_id, position, way, sent_by, sent_to, sent_amount::int8, customer_id
          from deposit_resolution`),
    corrections: await read('select id, customer_id, amount_sun from correction'),
    collections: await read(`
        select tx_id, address, receiver, token, amount::int8, state, moved::int8, fee_sun
          from collection_transfer join collection as c on c.id = collection_id`),
    claims: await read(`
        select c.id, wallet, c.state, c.found, reward_sun, tx_id
          from reward_claim as c join attempt as a on a.id = c.attempt_id`),
    votes: await read(`
        select v.id, wallet, votes, v.state, tx_id
          from vote as v join attempt as a on a.id = v.attempt_id`),
    planned: await read('select witness from vote_plan'),
    customers: await read('select id, deposit_address from customer'),
    pool: await read('select resource, room, reserved from pool'),
    cursors: await read('select name, number from cursor'),
    subscriptions: await read(`
        select s.*, activation_fee_sun + initial_price_sun as start_sun, initial_price_sun,
               price_sun, included,
               plan.transactions_limit as plan_limit, energy_per_transaction, daily_cap_sun
        from subscription as s join plan on plan.id = s.plan_id
          left join api_key as k on k.id = s.key_id`),
    uses: await read('select * from subscription_use'),
    supplies: await read('select * from subscription_supply'),
    checks: await read(`
        select id, customer_id, idempotency_key, state, price_sun, key_id, created_at,
               (select count(*) from aml_evidence where check_id = id) as evidence
        from aml_check`),
    check_counts: await read(`
        select customer_id, state, sum(n)::int8 as n
        from (select customer_id, state, n from aml_count union all select customer_id, state, d
          from aml_count_delta) as one
        group by customer_id, state`),
    spending: await read(`
        select key_id, day::text, spent_sun, daily_cap_sun from api_key_spending as s
          join api_key as k on k.id = s.key_id
        order by day`),
    sharing: await read('select id, spends_from from api_key where spends_from is not null'),
    events: await read(`
        select * from (
          select customer_id, number, 0::int8 as note, id, type, subject, test,
                 data::json #>> '{use,tx_id}' as used, data from event
          union all
          select customer_id, null, id, null, type, subject, test, data::json #>> '{use,tx_id}',
                 data from event_note) as one
        order by number nulls last, note`),
    event_counters: await read('select customer_id, last_number from event_counter'),
    keys: await read('select id, customer_id, revoked_at is not null as revoked from api_key'),
    invoices: await read(`
        select number, customer_id, to_char(month, 'YYYY-MM') as month, total_sun, correction_id
        from invoice`),
  }))
}

type Read = <Row>(text: string) => Promise<Row[]>

/** What is read as it is committed at one moment. The connection is one that nobody else uses. */
export async function inSnapshot<T>(
  client: pg.Client,
  work: (read: Read) => Promise<T>,
): Promise<T> {
  await client.query('begin isolation level repeatable read read only')
  try {
    return await work(
      async <Row>(text: string) => (await client.query({ text, types })).rows as Row[],
    )
  } finally {
    await client.query('commit')
  }
}

const types = new pg.TypeOverrides()
types.setTypeParser(pg.types.builtins.INT8, (text: string) => BigInt(text))
