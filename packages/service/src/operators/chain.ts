// What we sent to the chain, how far it has been followed, and what the pool can deliver.

import { addressFromHex } from 'penstock-tron/address.ts'
import type { Contract } from 'penstock-tron/transaction.ts'
import { type ChainState, chainState } from '../chain/progress.ts'
import type { Sql } from '../database/sql.ts'
import { refusal } from '../lib/fault.ts'
import { command, flag, LIMIT, needed, oneOf, paging, text } from './command.ts'

const ATTEMPT_STATES = ['new', 'signed', 'sent', 'included', 'solid', 'dead'] as const

type AttemptsWanted = {
  state?: string | undefined
  open: boolean
  subject?: string | undefined
  before?: string | undefined
  limit?: number | undefined
}

/** A transaction of ours, without its bytes. */
export type AttemptRow = {
  id: string
  made_at: Date
  state: string
  subject: string
  sends: number
  answer: string | null
  expires_at: Date | null
  block_number: bigint | null
  tx_id: string | null
}

export async function listAttempts(sql: Sql, wanted: AttemptsWanted): Promise<AttemptRow[]> {
  const { state = null, open, subject = null, before = null, limit = LIMIT } = wanted
  return sql<AttemptRow>`
    select id, made_at, state, subject, sends, answer, expires_at, block_number, tx_id from attempt
    where (${state}::text is null or state = ${state}) and (not ${open}::boolean
      or state in ('new', 'signed', 'sent'))
      and (${subject}::text is null or subject = ${subject}
        or starts_with(subject, ${subject} || ':'))
      and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`
}

/** An attempt by its id or by the id of its transaction, with what it does in readable form. */
export async function showAttempt(sql: Sql, wanted: string) {
  const [attempt] = await sql<AttemptRow & { contract: Contract; signed: string | null }>`
    select id, made_at, state, subject, tx_id, send_at, sends, sent_at, answer, expires_at,
      block_number, block_time,
           contract, encode(signed, 'hex') as signed
    from attempt where id = ${wanted} or tx_id = ${wanted}`
  if (!attempt) throw refusal(`There is no attempt ${wanted}.`)
  return { ...attempt, contract: readable(attempt.contract) }
}

/** Addresses as text, 64-bit integers as numbers. */
function readable({ type, parameter, Permission_id = 0 }: Contract) {
  // One that nobody here has written may have none.
  const fields = Object.entries(parameter?.value ?? {}).map(([name, value]) => {
    if (name.endsWith('_address')) return [name, addressFromHex(String(value))]
    const whole =
      typeof value === 'object' && value !== null && 'int64' in value
        ? BigInt(String(value.int64))
        : value
    return [name === 'balance' ? 'balance_sun' : name, whole]
  })
  return { type, permission_id: Permission_id, ...Object.fromEntries(fields) } as Record<
    string,
    unknown
  >
}

export type ChainShown = ChainState & {
  /** By our clock, since a node last answered. */
  silent_seconds: number
  /** By our clock and the time of the newest block. */
  behind_seconds: number
  blocks_to_solid: number
  readers: { name: string; number: bigint; behind_blocks: bigint }[]
}

/** How far the chain has been followed, and by whom. Undefined before the first block. */
export async function showChain(sql: Sql, now: Date): Promise<ChainShown | undefined> {
  const chain = await chainState(sql)
  if (!chain) return undefined
  const readers = await sql<ChainShown['readers'][number]>`
    select name, number, greatest(confirmed_number - number, 0) as behind_blocks from cursor, chain order by name`
  const since = (at: Date) => Math.max(0, Math.round((now.getTime() - at.getTime()) / 1_000))
  return {
    ...chain,
    silent_seconds: since(chain.seen_at),
    behind_seconds: since(chain.head_time),
    blocks_to_solid: chain.head_number - chain.solid_number,
    readers,
  }
}

export type PoolRow = {
  resource: string
  /** What could be delivered, and what of it open orders will take, in units. */
  room: bigint
  reserved: bigint
  free: bigint
  /** What is delegated now, in units and in stake. */
  out: bigint
  out_sun: bigint
  /** What a stake of 1000 TRX gives. */
  units_per_1000_trx: bigint | null
}

export async function poolRows(sql: Sql): Promise<PoolRow[]> {
  return sql<PoolRow>`
    select p.resource, room, reserved, room - reserved as free, coalesce(sum(d.amount),
      0)::bigint as out,
           coalesce(sum(d.stake_sun), 0)::bigint as out_sun,
           1000 * total_limit / nullif(total_weight, 0) as units_per_1000_trx
    from pool as p left join delegation as d on d.resource = p.resource
      and d.state in ('delegating', 'active', 'reclaiming')
    group by p.resource order by p.resource desc`
}

export type PoolWalletRow = {
  address: string
  resource: string
  room_sun: bigint
  /** How many transactions it can pay for, beyond those that take back what is out. */
  carries: bigint
  out_sun: bigint
  delegations: bigint
  surveyed_at_block: bigint
}

/** The wallets as last surveyed, and what of them is delegated now. */
export async function poolWallets(sql: Sql) {
  return sql<PoolWalletRow>`
    select w.address, w.resource, w.room_sun, w.carries, coalesce(sum(d.stake_sun),
      0)::bigint as out_sun,
           count(d.id) as delegations, w.block_number as surveyed_at_block
    from pool_wallet as w left join delegation as d
      on d.wallet = w.address and d.resource = w.resource
        and d.state in ('delegating', 'active', 'reclaiming')
    group by w.address, w.resource order by w.address, w.resource desc`
}

const FORECAST_MINUTES = 5

/** What is free now, and what will be at the end of each five minutes of the coming hour, in units,
 *  if nothing more is sold: what is out comes back when its hour is over on the chain. Whole, if
 *  nothing of it was used (`free`); what was used comes back with the stake as usage of ours, and
 *  recovers over a day (`free_if_used`: if all was, and as late as can be). */
export async function poolForecast(sql: Sql) {
  return sql<{ resource: string; minutes: number; free: bigint; free_if_used: bigint }>`
    select p.resource, minutes, (room - reserved + back.whole)::bigint as free,
           floor(room - reserved + back.recovered)::bigint as free_if_used
    from pool as p, chain, generate_series(0, 60, ${FORECAST_MINUTES}::integer) as minutes,
      lateral (select head_time + minutes * interval '1 minute' as at) as later,
      lateral (
        select coalesce(sum(d.amount), 0) as whole,
               coalesce(sum(d.amount * least(1, extract(epoch
                 from later.at - d.expires_at) / 86400)), 0) as recovered
        from delegation as d
        where d.resource = p.resource and d.state in ('active', 'reclaiming')
          and d.expires_at <= later.at) as back
    order by p.resource desc, minutes`
}

export const chainCommands = [
  command({
    words: 'attempts list',
    summary: 'transactions of ours on the chain, newest first',
    options: {
      state: oneOf(ATTEMPT_STATES, 'only in this state'),
      open: flag('only those that are neither in a block nor dead'),
      subject: text(
        'SUBJECT',
        'only for this: delegate, reclaim, activate, or one of them with a colon and an id',
      ),
      ...paging,
    },
    run: async ({ sql }, wanted) => ({ value: await listAttempts(sql, wanted) }),
  }),
  command({
    words: 'attempts show',
    summary: 'one transaction: what it does, what nodes said, its signed bytes',
    operands: { attempt: needed(text('ATTEMPT', "its id, or the transaction's")) },
    run: async ({ sql }, { attempt }) => ({ value: await showAttempt(sql, attempt) }),
  }),
  command({
    words: 'pool show',
    summary: 'what can be delivered, and what each wallet has out',
    run: async ({ sql }) => ({
      value: { resources: await poolRows(sql), wallets: await poolWallets(sql) },
    }),
  }),
  command({
    words: 'pool forecast',
    summary: 'what will be free in the coming hour, as what is delegated comes back',
    details:
      '`free` is so if nothing of it was used, `free_if_used` if all was: on the chain, what was used recovers over a day after it has come back.',
    run: async ({ sql }) => ({ value: await poolForecast(sql) }),
  }),
  command({
    words: 'chain show',
    summary: 'how far the chain has been followed, and how far each reader of blocks is',
    async run({ sql, clock }) {
      const chain = await showChain(sql, clock.now())
      if (!chain) throw refusal('No block has been followed yet: is a worker running?')
      return { value: chain }
    },
  }),
]
