// Our transactions on the chain, for looking them up.

import { addressFromHex } from 'penstock-tron/address.ts'
import type { Contract } from 'penstock-tron/transaction.ts'
import { refusal } from '../../lib/fault.ts'
import type { Sql } from '../../platform/database/sql.ts'

export const ATTEMPT_STATES = ['new', 'signed', 'sent', 'included', 'solid', 'dead'] as const

type AttemptFilter = {
  state?: string | undefined
  open: boolean
  subject?: string | undefined
  before?: string | undefined
  limit: number
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

export async function listAttempts(sql: Sql, wanted: AttemptFilter): Promise<AttemptRow[]> {
  const { state = null, open, subject = null, before = null, limit } = wanted
  // The few that are open are found by indexes, however many there are in all.
  if (open)
    return sql<AttemptRow>`
      with open as materialized (
        select id, made_at, state, subject, sends, answer, expires_at, block_number, tx_id
        from attempt where state = 'new' or state in ('signed', 'sent')
      )
      select * from open
      where (${state}::text is null or state = ${state})
        and (${subject}::text is null or subject = ${subject}
          or starts_with(subject, ${subject} || ':'))
        and (${before}::text is null or id < ${before})
      order by id desc limit ${limit}`
  return sql<AttemptRow>`
    select id, made_at, state, subject, sends, answer, expires_at, block_number, tx_id from attempt
    where (${state}::text is null or state = ${state})
      and (${subject}::text is null or subject = ${subject}
        or starts_with(subject, ${subject} || ':'))
      and (${before}::text is null or id < ${before})
    order by id desc limit ${limit}`
}

type AttemptDetails = {
  send_at: Date
  sent_at: Date | null
  block_time: Date | null
  contract: Contract
  signed: string | null
}

/** An attempt by its id or by the id of its transaction, with what it does in readable form. */
export async function showAttempt(sql: Sql, wanted: string) {
  const [attempt] = await sql<AttemptRow & AttemptDetails>`
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
