// People who make an account themselves, where the operator allows it. The e-mail that somebody
// gives is worth nothing until a letter that went there comes back: no customer is made for what
// strangers type. The letter's token is the one that then lets its first user in.
//
//   asked -> sent -> confirmed -> opened      the API notes asked and confirmed, a worker sends
//        -> refused                           the letter and opens the customer
//
// The API says the same whether the e-mail has an account or not.

import type { Clock } from '../../lib/clock.ts'
import { DAY_MS, later } from '../../lib/clock.ts'
import { firstIdAt, type NewId, type Random } from '../../lib/ids.ts'
import { networkOf } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import { LimitReached } from '../../platform/wire/endpoint.ts'
import { newToken, userTokenHash } from '../users/sessions.ts'
import { inviteUser, keepLink } from '../users/users.ts'
import type { Language } from './letters.ts'

export type Needs = { sql: Sql; clock: Clock; random: Random; new_id: NewId; seal: Seal }

export const LIFE_MS = DAY_MS
/** Of one network in an hour, to one e-mail in a day, and of all in a day. */
export const NETWORK_MAX = 5
const EMAIL_MAX = 3
export const ALL_MAX = 500
const HOUR_MS = 3_600_000

/** Of the sealed token of a letter. */
export const sealContext = (id: string): string => `sign_up:${id}`

/** Notes who asks; a worker sends the letter. An e-mail that was sent as many as it may gets none,
 *  and the answer is the same. Throws LimitReached. */
export async function askToSignUp(
  { sql, clock, random, new_id, seal }: Needs,
  { email, language, ip }: { email: string; language: Language; ip: string },
): Promise<void> {
  const [id, token, now] = [new_id(), newToken({ random }), clock.now()]
  await sql.begin(async (tx) => {
    // One at a time: they are counted.
    await tx`select pg_advisory_xact_lock(720461520)`
    if (!(await mayAsk(tx, { email, network: networkOf(ip), clock }))) return
    await tx`
      insert into sign_up (id, email, language, network, made_at, ends_at, token_hash, sealed_token,
        due_at)
      values (${id}, ${email}, ${language}, ${networkOf(ip)}, ${now}, ${later(clock, LIFE_MS)},
        ${userTokenHash(token)}, ${seal.seal(token, sealContext(id))}, ${now})`
  })
}

/** Until when a letter may still be written whose link another sealing key than the current one has
 *  sealed. */
export async function lettersSealedOtherwise(tx: Tx, seal: Seal, now: Date): Promise<Date[]> {
  const waiting = await tx<{ sealed_token: string; ends_at: Date }>`
    select sealed_token, ends_at from sign_up
    where state = 'asked' and sealed_token is not null and ends_at > ${now}`
  return waiting.flatMap(({ sealed_token, ends_at }) =>
    seal.isCurrent(sealed_token) ? [] : [ends_at],
  )
}

type Counts = { network: bigint; email: bigint; all: bigint }

/** False: this e-mail was sent as many as it may. */
async function mayAsk(
  tx: Tx,
  { email, network, clock }: { email: string; network: string; clock: Clock },
): Promise<boolean> {
  const [counts] = await tx<Counts>`
    select count(*) filter (where network = ${network} and made_at > ${later(clock, -HOUR_MS)})
        as network,
      count(*) filter (where lower(email) = ${email.toLowerCase()}) as email,
      count(*) as all
    from sign_up where id >= ${firstIdAt(later(clock, -DAY_MS))}`
  if (counts!.network >= BigInt(NETWORK_MAX) || counts!.all >= BigInt(ALL_MAX))
    throw LimitReached('sign_up', 'Too many accounts were asked for: try again later')
  return counts!.email < BigInt(EMAIL_MAX)
}

export type SignUp = {
  id: string
  email: string
  state: 'asked' | 'sent' | 'refused' | 'confirmed' | 'opened'
  name: string | null
  customer_id: string | null
  user_id: string | null
}

/** Undefined: the token is unknown or too old. A customer that was opened stays. */
async function lockSignUp(tx: Tx, token: string, now: Date): Promise<SignUp | undefined> {
  const [found] = await tx<SignUp>`
    select id, email, state, name, customer_id, user_id from sign_up
    where token_hash = ${userTokenHash(token)} and (ends_at > ${now} or state = 'opened')
    for no key update`
  return found
}

/** Follows the link of a letter. With a name, its holder wants the customer opened; once a worker
 *  has done that, the token is the link of its first user, an owner. The same again changes
 *  nothing. Undefined: the token is unknown or too old. */
export async function followLetter(
  { sql, ...needs }: Omit<Needs, 'seal'>,
  { token, name }: { token: string; name: string | undefined },
): Promise<SignUp | undefined> {
  return sql.begin(async (tx) => {
    const found = await lockSignUp(tx, token, needs.clock.now())
    if (!found) return undefined
    // The letter is there, whether the worker has noted that it went or not.
    if (name !== undefined && (found.state === 'asked' || found.state === 'sent')) {
      await tx`
        update sign_up set state = 'confirmed', name = ${name}, sealed_token = null
        where id = ${found.id}`
      return { ...found, state: 'confirmed', name }
    }
    if (found.state === 'opened' && found.user_id === null) await letIn(tx, needs, found, token)
    return found
  })
}

async function letIn(
  tx: Tx,
  needs: Omit<Needs, 'seal' | 'sql'>,
  { id, name, customer_id }: SignUp,
  token: string,
): Promise<void> {
  const invited_by = `sign_up:${id}`
  const user = await inviteUser(tx, needs, { customer_id, name: name!, role: 'owner', invited_by })
  await keepLink(tx, needs, { token, user_id: user.id, purpose: 'join', made_by: null })
  await tx`update sign_up set user_id = ${user.id} where id = ${id}`
}

/** Deletes with which e-mail a user signed up, or whoever did for a customer. */
export async function eraseSignUps(
  tx: Tx,
  { user_id, customer_id }: { user_id?: string; customer_id?: string },
): Promise<number> {
  const gone = await tx`
    delete from sign_up
    where customer_id = ${customer_id ?? null} or user_id = ${user_id ?? null} returning 1`
  return gone.length
}
