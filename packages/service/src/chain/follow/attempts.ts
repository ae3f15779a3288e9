// One transaction of ours on the chain.
//
//   new -> signed -> sent -> included -> solid
//     \       \        \ <----/ (a fork took the block back)
//      `-------`--------`-> dead
//
// It is signed and stored before it is sent; the same bytes are sent to every node, again and
// again, until it is seen in a block or its time is over. No answer to a broadcast decides
// anything. It is dead only when a solid block exists whose parent's time is at or past its
// expiration, we have followed the chain that far without meeting it, and every configured node
// says that its solid chain, reaching as far, does not have it. Only then may its subject have
// another. One that was never signed has no bytes that could be anywhere: it is dead when signing
// is refused or stopped for minutes, or when it is not wanted any more.
//
// Code that changes several attempts locks them in the order of their ids first, so that two of
// them never wait for each other.

import { type Contract, encodeRawData, encodeTransaction } from 'penstock-tron/transaction.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { NewId } from '../../lib/ids.ts'
import type { Log } from '../../lib/log.ts'
import { noteEvent, noteSpan, traced } from '../../lib/tracing.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Block, Node, Receipt } from '../node/node.ts'
import type { Signer, SignInput, SignOutcome } from '../signing/signer.ts'
import { chainState, isCurrent } from './progress.ts'

export type Needs = { sql: Sql; clock: Clock; node: Node; sign: Signer; log: Log }

/** How long a transaction may wait for a block, on the chain's clock. A node drops what waits for
 *  longer. */
const LIFETIME_MS = 60_000
/** The same bytes go out again after this long without a block that has them. */
const RESEND_MS = 5_000
/** What could not be signed in this time is given up. */
const UNSIGNED_MS_MAX = 300_000
/** What the signer has refused is tried again after this long. */
const REFUSED_MS = 30_000
/** So soon is it noticed that signing is not stopped any more. */
const WAITS_MS = 2_000
const AT_ONCE = 50

/** Asks for a transaction. The subject may have no other that is alive: `attempt_one_alive` is the
 *  judge. */
export function enqueueAttempt(tx: Tx, needs: EnqueueNeeds, wanted: NewAttempt): string {
  const [id] = enqueueAttempts(tx, needs, [wanted])
  return id!
}

export type EnqueueNeeds = { clock: Clock; new_id: NewId }
export type NewAttempt = { subject: string; contract: Contract }

/** enqueueAttempt() for any number at once: the ids come back in their order. */
export function enqueueAttempts(
  tx: Tx,
  needs: EnqueueNeeds,
  wanted: readonly NewAttempt[],
): string[] {
  const ids = wanted.map(() => needs.new_id())
  const now = needs.clock.now()
  tx.send`
    insert into attempt (id, subject, contract, send_at, made_at)
    select id, subject, contract, ${now}, ${now}
    from unnest(${ids}::text[], ${wanted.map((one) => one.subject)}::text[],
                ${wanted.map((one) => toText(one.contract))}::jsonb[]) as t (id, subject, contract)`
  for (const [i, id] of ids.entries())
    noteEvent('attempt', { 'penstock.attempt': id, 'penstock.subject': wanted[i]!.subject })
  return ids
}

/** JSON has no 64-bit integers: they are kept as text and made whole again by fromRow(). */
function toText(contract: Contract): string {
  return JSON.stringify(contract, (_key, value: unknown) =>
    typeof value === 'bigint' ? { int64: value.toString() } : value,
  )
}

export function fromRow(contract: Contract): Contract {
  return JSON.parse(JSON.stringify(contract), (_key, value: unknown) =>
    typeof value === 'object' && value !== null && 'int64' in value
      ? BigInt(String(value.int64))
      : value,
  ) as Contract
}

/** new -> signed. The bytes are stored here, before anything is sent. */
export function signStep(needs: Needs): Step {
  return {
    name: 'sign',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from attempt where state = 'new' and send_at <= ${needs.clock.now()}`,
    after: ['follow'],
    async run() {
      const { sql, clock } = needs
      const chain = await chainState(sql)
      if (!isCurrent(chain, clock)) return false
      const rows = await sql<UnsignedAttempt>`
        select id, contract, reference, nextval('transaction_stamp')::integer as number from (
          select attempt.id, contract, block.id as reference from attempt, block
          where attempt.state = 'new' and send_at <= ${clock.now()}
            and number = ${chain.solid_number}
          order by send_at, attempt.id limit ${AT_ONCE}) as unsigned`
      if (rows.length === 0) return false
      const batch = rows.map((row) => prepared(row, chain.head_time))
      const outcomes = await needs.sign(batch)
      await store(needs, batch, outcomes)
      return true
    },
  }
}

type UnsignedAttempt = {
  id: string
  contract: Contract
  /** The id of the solid block. */
  reference: string
  /** No other transaction that is signed at this head has it. */
  number: number
}

/** The bytes to sign. None for a row that nobody here has written: the signer says what is wrong
 *  with that. */
function prepared(
  { id, contract, reference, number }: UnsignedAttempt,
  head_time: Date,
): SignInput {
  const head_ms = head_time.getTime()
  try {
    const raw_data = encodeRawData({
      // The solid block, so that no small fork makes the transaction invalid.
      ref_block_bytes: reference.slice(12, 16),
      ref_block_hash: reference.slice(16, 32),
      expiration: head_ms + LIFETIME_MS,
      // TRON has no nonces: two equal operations are one transaction unless these differ.
      timestamp: head_ms - number,
      contract: [fromRow(contract)],
    })
    return { attempt: id, raw_data }
  } catch {
    return { attempt: id, raw_data: new Uint8Array() }
  }
}

/** Notes what became of each. */
async function store(
  needs: Needs,
  batch: readonly SignInput[],
  outcomes: SignOutcome[],
): Promise<void> {
  const { sql, clock, log } = needs
  const told = outcomes.map((outcome, i) => ({ id: batch[i]!.attempt, outcome }))
  const signed = told.flatMap(({ id, outcome }) =>
    outcome.state === 'signed' ? [{ id, ...outcome }] : [],
  )
  const refused = told.flatMap(({ id, outcome }) =>
    outcome.state === 'refused' ? [{ id, ...outcome }] : [],
  )
  const waiting = told.flatMap(({ id, outcome }) => (outcome.state === 'waits' ? [id] : []))
  for (const { id, why } of refused) log('signing_refused', { attempt: id, why })
  const doubles = await withBytesOfAnother(sql, signed)
  for (const id of doubles) log('bytes_of_another', { attempt: id })
  if (doubles.size > 0) await withdrawAttempts(sql, [...doubles], 'its bytes are of another')
  await markSigned(
    needs,
    signed
      .filter(({ id }) => !doubles.has(id))
      .map(({ id, tx_id, expires_at, raw_data, signature }) => ({
        id,
        tx_id,
        expires_at,
        bytes: encodeTransaction(raw_data, [signature]),
      })),
  )
  await markRefused(sql, refused, clock)
  await postponeUnsigned(sql, waiting, later(clock, WAITS_MS))
}

/** Which of those that were signed have the bytes of another attempt, which the network takes once.
 *  A signer keeps to what it has signed for an attempt: such a one can only be given up, and its
 *  subject gets another. */
async function withBytesOfAnother(
  sql: Sql,
  signed: readonly { id: string; tx_id: string }[],
): Promise<ReadonlySet<string>> {
  if (signed.length === 0) return new Set()
  const rows = await sql<{ id: string }>`
    with signed as (
      select * from unnest(${signed.map(({ id }) => id)}::text[],
                           ${signed.map(({ tx_id }) => tx_id)}::text[]) as t (id, tx_id))
    select s.id from signed as s join attempt as other on other.tx_id = s.tx_id
      and other.id <> s.id
    union
    select s.id from signed as s join signed as first on first.tx_id = s.tx_id
      and first.id < s.id`
  return new Set(rows.map(({ id }) => id))
}

type SignedAttempt = { id: string; tx_id: string; expires_at: Date; bytes: Uint8Array }

/** new -> signed, to be sent at once, also where another process has postponed it. That one may
 *  have signed it meanwhile: then its bytes are the attempt, and these are never sent. */
async function markSigned({ sql, clock }: Needs, signed: readonly SignedAttempt[]): Promise<void> {
  if (signed.length === 0) return
  const ids = signed.map((one) => one.id)
  const bytes = signed.map((one) => Buffer.from(one.bytes).toString('hex'))
  await sql`
    update attempt set state = 'signed', tx_id = t.tx_id, signed = decode(t.bytes, 'hex'),
      expires_at = t.expires_at, send_at = ${clock.now()}
    from unnest(${ids}::text[], ${signed.map((one) => one.tx_id)}::text[], ${bytes}::text[],
                ${signed.map((one) => one.expires_at)}::timestamptz[])
      as t (id, tx_id, bytes, expires_at)
    where attempt.id = t.id and attempt.state = 'new' and attempt.id in (
      select id from attempt where id = any(${ids}) order by id for no key update)`
}

/** What the signer refuses stays new, and is tried again later. */
async function markRefused(
  sql: Sql,
  refused: readonly { id: string; why: string }[],
  clock: Clock,
): Promise<void> {
  if (refused.length === 0) return
  const ids = refused.map((one) => one.id)
  await sql`
    update attempt set answer = t.why, refused_at = ${clock.now()},
      send_at = ${later(clock, REFUSED_MS)}
    from unnest(${ids}::text[], ${refused.map((one) => one.why)}::text[]) as t (id, why)
    where attempt.id = t.id and attempt.state = 'new' and attempt.id in (
      select id from attempt where id = any(${ids}) order by id for no key update)`
}

async function postponeUnsigned(sql: Sql, ids: readonly string[], send_at: Date): Promise<void> {
  if (ids.length === 0) return
  await sql`
    update attempt set send_at = ${send_at} where state = 'new' and id in (
      select id from attempt where id = any(${ids}) order by id for no key update)`
}

/** signed -> sent, and sent again until a block has it. No transaction is open while the nodes are
 *  asked. */
export function sendStep({ sql, clock, node }: Pick<Needs, 'sql' | 'clock' | 'node'>): Step {
  return {
    name: 'send',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from attempt where state in ('signed', 'sent') and send_at <= ${clock.now()}
        and expires_at > (select head_time from chain)`,
    after: ['sign'],
    before: ['follow'],
    async run() {
      const rows = await takeToSend(sql, clock)
      if (rows.length === 0) return false
      const answers = await Promise.all(
        rows.map(async ({ id, signed }) => {
          const broadcast = () => node.broadcast(signed)
          const said = await traced('broadcast', { 'penstock.attempt': id }, broadcast)
          return said.map((one) => one.said).join(' | ')
        }),
      )
      await sql`
        update attempt set answer = said.answer
        from unnest(${rows.map((row) => row.id)}::text[], ${answers}::text[]) as said (id, answer)
        where attempt.id = said.id and attempt.id in (
          select id from attempt where id = any(${rows.map((row) => row.id)})
            order by id for no key update)`
      return true
    },
  }
}

/** signed, sent -> sent. It counts as sent before it is: a crash in between must not look like
 *  nothing happened. */
function takeToSend(sql: Sql, clock: Clock): Promise<{ id: string; signed: Buffer }[]> {
  const now = clock.now()
  return sql<{ id: string; signed: Buffer }>`
    update attempt set state = 'sent', sends = sends + 1, send_at = ${later(clock, RESEND_MS)},
      sent_at = coalesce(sent_at, ${now})
    where id in (
      select id from attempt where state in ('signed', 'sent') and send_at <= ${now}
        and expires_at > (select head_time from chain)
      order by send_at limit ${AT_ONCE} for update skip locked)
    returning id, signed`
}

/** new, signed, sent -> dead: see the top of this file. */
export function judgeStep({ sql, clock, node }: Pick<Needs, 'sql' | 'clock' | 'node'>): Step {
  return {
    name: 'judge',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from attempt where state in ('signed', 'sent') and send_at <= ${clock.now()}
        and expires_at <= (select time from block, chain where number = confirmed_number - 1)
      union all
      select from attempt where state = 'new' and send_at > made_at
        and made_at < ${later(clock, -UNSIGNED_MS_MAX)}`,
    duty: 'chain',
    after: ['follow', 'confirm'],
    async run() {
      // First, because what follows fails while one of the nodes is silent.
      const given_up = await giveUpUnsigned(sql, clock)
      const late = await sql<LateAttempt>`
        select attempt.id, tx_id, confirmed_number from attempt, chain
        where state in ('signed', 'sent') and send_at <= ${clock.now()}
          and expires_at <= (select time from block where number = confirmed_number - 1)
        order by expires_at limit ${AT_ONCE}`
      const verdicts = await Promise.allSettled(late.map((one) => isDead(node, one)))
      const ids = late.map(({ id }) => id)
      const dead = ids.filter((_, i) => {
        const verdict = verdicts[i]!
        return verdict.status === 'fulfilled' && verdict.value
      })
      const undecided = ids.filter((id) => !dead.includes(id))
      // What cannot be decided yet lets the next ones through.
      if (undecided.length > 0)
        await sql`
          update attempt set send_at = ${later(clock, RESEND_MS)} where id in (
            select id from attempt where id = any(${undecided}) order by id for no key update)`
      const moved = await markDead(sql, dead)
      // That a node is silent about one keeps nothing else, and the log hears of it.
      const silent = verdicts.find((one) => one.status === 'rejected')
      if (silent) throw silent.reason
      return given_up || moved
    },
  }
}

export type LateAttempt = { id: string; tx_id: string; confirmed_number: bigint }

/** Whether every node says that its solid chain, having come as far as ours, does not have it. */
export async function isDead(
  node: Node,
  { tx_id, confirmed_number }: LateAttempt,
): Promise<boolean> {
  const findings = await node.solidTransaction(tx_id)
  return findings.every((one) => !one.found && one.solid_number >= Number(confirmed_number))
}

/** signed, sent -> dead. True when any of them was moved. */
async function markDead(sql: Sql, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false
  const dead = await sql`
    update attempt set state = 'dead' where state in ('signed', 'sent') and id in (
      select id from attempt where id = any(${ids}) order by id for no key update)
    returning id`
  return dead.length > 0
}

/** new -> dead: what could not be signed for minutes. True when any was given up. */
async function giveUpUnsigned(sql: Sql, clock: Clock): Promise<boolean> {
  const chain = await chainState(sql)
  // While no node answers nothing is signed, and that is nobody's fault; what signing has refused
  // was postponed.
  if (!isCurrent(chain, clock)) return false
  const dead = await sql`
    update attempt set state = 'dead', answer = coalesce(answer, 'it could not be signed')
    where state = 'new' and id in (
      select id from attempt
      where state = 'new' and send_at > made_at and made_at < ${later(clock, -UNSIGNED_MS_MAX)}
      order by id for no key update)
    returning id`
  return dead.length > 0
}

/** new -> dead: what is not signed yet is not wanted any more. True when any of them was not
 *  signed. */
export async function withdrawAttempts(
  sql: Sql | Tx,
  ids: readonly string[],
  why: string,
): Promise<boolean> {
  const dead = await sql`
    update attempt set state = 'dead', answer = ${why} where state = 'new' and id in (
      select id from attempt where id = any(${ids}) order by id for no key update)
    returning id`
  return dead.length > 0
}

/** signed, sent -> included: a block of the branch has them. `receipts` say what they have cost,
 *  in the order of the transactions. */
export function includeAttempts(tx: Tx, block: Block, receipts: readonly Receipt[]): void {
  const { transactions, number, time, id } = block
  const succeeded = transactions.flatMap((one, i) =>
    one.succeeded ? [{ tx_id: one.tx_id, receipt: receipts[i] }] : [],
  )
  if (succeeded.length === 0) return
  const ids = succeeded.map(({ tx_id }) => tx_id)
  const column = (name: 'fee_sun' | 'bandwidth' | 'energy') =>
    succeeded.map(({ receipt }) => receipt?.[name] ?? null)
  const included = tx<{ id: string; sent_at: Date | null }>`
    update attempt set state = 'included', block_number = ${number}, block_time = ${time},
      block_id = ${id}, fee_sun = cost.fee_sun, bandwidth = cost.bandwidth, energy = cost.energy
    from unnest(${ids}::text[], ${column('fee_sun')}::bigint[], ${column('bandwidth')}::bigint[],
                ${column('energy')}::bigint[]) as cost (tx_id, fee_sun, bandwidth, energy)
    where attempt.tx_id = cost.tx_id and state in ('signed', 'sent') and attempt.id in (
      select id from attempt where tx_id = any(${ids}) order by id for no key update)
    returning attempt.id, attempt.sent_at`
  // The transaction goes on meanwhile, and fails when this does.
  void included.then((attempts) => {
    for (const { id, sent_at } of attempts)
      noteSpan('inclusion', sent_at ?? time, { 'penstock.attempt': id, 'penstock.block': number })
  }, noted)
}

/** The transaction throws it. */
const noted = () => {}

/** included -> sent: a fork took the blocks above `keep` back. The same bytes may still get into
 *  another. */
export async function revertAttempts(tx: Tx, keep: number): Promise<void> {
  await tx`
    update attempt set state = 'sent', block_number = null, block_time = null, block_id = null,
      fee_sun = null, bandwidth = null, energy = null, uncovered = true
    where state = 'included' and id in (
      select id from attempt where state = 'included' and block_number > ${keep}
      order by id for no key update)`
}

/** included -> solid: what is in a confirmed block stays. */
export function makeAttemptsSolid(tx: Tx): void {
  tx.send`
    update attempt set state = 'solid'
    where state = 'included' and id in (
      select id from attempt
      where state = 'included' and block_number <= (select confirmed_number from chain)
      order by id for no key update)`
}

/** One that is found in a solid block after a database was restored to an earlier moment. */
export type FoundTransaction = {
  tx_id: string
  block_number: bigint
  block_id: string
  block_time: Date
  contract: Contract
  /** The whole transaction. */
  signed: Uint8Array
  expires_at: Date
}

/** new -> included: a solid block has them, though the rows did not know that they were signed; the
 *  caller has locked them. */
export async function includeUnsigned(
  tx: Tx,
  found: readonly (FoundTransaction & { id: string })[],
): Promise<void> {
  for (const { id, tx_id, signed, expires_at, block_number, block_id, block_time } of found)
    await tx`
      update attempt set state = 'included', tx_id = ${tx_id}, signed = ${signed},
        expires_at = ${expires_at}, block_number = ${block_number}, block_id = ${block_id},
        block_time = ${block_time}
      where id = ${id} and state = 'new'`
}

/** (found) -> included: the rows did not know of them at all. What they are for finds them by their
 *  subjects. */
export async function insertFound(
  tx: Tx,
  found: readonly (FoundTransaction & { id: string; subject: string })[],
): Promise<void> {
  for (const { id, subject, contract, block_time, ...one } of found)
    await tx`
      insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at,
        made_at, block_number, block_id, block_time)
      values (${id}, ${subject}, ${toText(contract)}::jsonb, 'included', ${one.tx_id},
        ${one.signed}, ${one.expires_at}, ${block_time}, ${block_time}, ${one.block_number},
        ${one.block_id}, ${block_time})`
}
