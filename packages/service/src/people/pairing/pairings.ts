// A program asks for a key of its own, and a user gives it one. The program shows a code and keeps
// a secret. The user types the code where the user is signed in, sees what asks and from where, and
// approves or refuses. The key waits, sealed, for the holder of the secret, who is told it once.
//
//   open -> approved -> taken        a code is worth something only while its pairing is open;
//        -> refused                  after ten minutes all of them end
//
// The key of a pairing that ends before it was taken is revoked: nobody knows it.

import { hash } from 'node:crypto'
import { recordCustomerAction } from '../../ledger/accounts/customer_actions.ts'
import { type Clock, later } from '../../lib/clock.ts'
import type { Random } from '../../lib/ids.ts'
import { networkOf, wideNetworkOf } from '../../lib/networks.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { Step } from '../../platform/steps/step.ts'
import {
  Conflict,
  type Customer,
  LimitReached,
  NotFound,
  type Scope,
} from '../../platform/wire/endpoint.ts'
import { grantKey } from '../keys/grants.ts'
import { type KeyLimits, type Needs as MakerNeeds, revokeKey } from '../keys/keys.ts'

export type Needs = MakerNeeds & { sql: Sql }

/** A pairing as its user sees it before deciding. */
export type Pairing = {
  id: string
  name: string
  ip: string
  scopes: Scope[] | null
  made_at: Date
  ends_at: Date
}

/** What the holder of the poll secret is told. */
export type Handover =
  | { state: 'open' | 'refused' }
  | { state: 'approved'; customer_id: string; key_id: string; token: string; secret: string }

/** How long a code can be approved, and its key taken. */
const LIFE_MS = 600_000
/** Of one network, of those that one provider may give somebody, and of all, within that time. */
export const NETWORK_MAX = 10
const WIDE_NETWORK_MAX = 100
export const ALL_MAX = 1_000
const ENDED_AT_ONCE = 100

/** Letters of which no two look or sound alike, and that spell no words. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_LETTERS = 8
const POLL_PREFIX = 'psp_'
const POLL_BYTES = 32

/** Of what is typed; a text that is no code is the code of nothing. */
const codeHash = (typed: string): string => hashOf(readCode(typed) ?? '')
const hashOf = (text: string): string => hash('sha256', `pairing:${text}`)
const sealContext = (id: string): string => `pairing:${id}`

/** A code as it is typed: blanks, hyphens and small letters make no difference. Undefined when it
 *  can be none. */
export function readCode(typed: string): string | undefined {
  const code = typed.replace(/[\s-]/g, '').toUpperCase()
  const is_code = code.length === CODE_LETTERS && [...code].every((one) => LETTERS.includes(one))
  return is_code ? code : undefined
}

/** `BCDF-GHJK` */
const printCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/** Each letter as likely as any other. */
function newCode(random: Random): string {
  let code = ''
  while (code.length < CODE_LETTERS)
    for (const byte of random.bytes(CODE_LETTERS))
      if (byte < 240 && code.length < CODE_LETTERS) code += LETTERS[byte % LETTERS.length]
  return code
}

type OpenRow = { id: string; network: string; approved_at: Date | null }

/** Throws LimitReached where a network, or many of one provider, have as many codes as they may.
 *  Where all have, the oldest code goes that nobody has approved, of the provider that has most: a
 *  stranger who asks for all of them pushes out his own. */
async function makeRoom(
  tx: Tx,
  { network, wide_network, now }: { network: string; wide_network: string; now: Date },
): Promise<void> {
  const open = await tx<OpenRow>`
    select id, network, approved_at from pairing where ends_at > ${now} order by id`
  const of_wide = Map.groupBy(open, (one) => wideNetworkOf(one.network.replace(/::\/64$/, '::')))
  const own = open.filter((one) => one.network === network)
  if (own.length >= NETWORK_MAX || (of_wide.get(wide_network) ?? []).length >= WIDE_NETWORK_MAX)
    throw LimitReached('pairing', 'Too many codes wait: try again in some minutes')
  if (open.length < ALL_MAX) return
  const [most = []] = [...of_wide.values()]
    .map((codes) => codes.filter(({ approved_at }) => approved_at === null))
    .sort((one, other) => other.length - one.length)
  if (most.length === 0)
    throw LimitReached('pairing', 'Too many codes wait: try again in some minutes')
  // One that is approved at this moment has a key, which somebody waits for.
  await tx`delete from pairing where id = ${most[0]!.id} and approved_at is null`
}

/** Begins a pairing. Throws LimitReached. */
export async function beginPairing(
  { sql, clock, random, new_id }: Omit<Needs, 'seal'>,
  { name, ip, scopes }: { name: string; ip: string; scopes: readonly Scope[] | null },
): Promise<{ code: string; poll_secret: string; ends_at: Date }> {
  const code = newCode(random)
  const poll_secret = `${POLL_PREFIX}${Buffer.from(random.bytes(POLL_BYTES)).toString('base64url')}`
  const [now, ends_at] = [clock.now(), later(clock, LIFE_MS)]
  const network = networkOf(ip)
  await sql.begin(async (tx) => {
    // Nobody else counts them meanwhile.
    await tx`select pg_advisory_xact_lock(720461512)`
    await makeRoom(tx, { network, wide_network: wideNetworkOf(ip), now })
    await tx`
      insert into pairing (id, code_hash, poll_hash, name, ip, network, scopes, made_at, ends_at)
      values (${new_id()}, ${hashOf(code)}, ${hashOf(poll_secret)}, ${name}, ${ip}, ${network},
        ${scopes}, ${now}, ${ends_at})`
  })
  return { code: printCode(code), poll_secret, ends_at }
}

/** One answer for codes that are unknown, answered, or too old. */
const NoCode = () => NotFound('pairing', 'There is no program that waits with this code')

/** The open pairing of a code. Throws NotFound. */
export async function findPairing(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  code: string,
): Promise<Pairing> {
  const [pairing] = await sql<Pairing>`
    select id, name, ip, scopes, made_at, ends_at from pairing
    where code_hash = ${codeHash(code)} and approved_at is null and refused_at is null
      and ends_at > ${clock.now()}`
  if (!pairing) throw NoCode()
  return pairing
}

/** Another who answers the code waits, and then finds it answered. Throws NotFound. */
async function lockPairing(tx: Tx, code: string, now: Date): Promise<{ id: string; name: string }> {
  const [pairing] = await tx<{ id: string; name: string }>`
    select id, name from pairing
    where code_hash = ${codeHash(code)} and approved_at is null and refused_at is null
      and ends_at > ${now}
    for no key update`
  if (!pairing) throw NoCode()
  return pairing
}

/** Makes the key that the program then takes: a program that pairs knows the second signature, so
 *  that is required unless it is said otherwise. Returns its id. Throws NotFound, and as grantKey()
 *  does. */
export async function approvePairing(
  tx: Tx,
  needs: MakerNeeds,
  asks: Customer,
  { code, require_v2 = true, ...limits }: KeyLimits & { code: string },
): Promise<string> {
  const now = needs.clock.now()
  const { id, ...program } = await lockPairing(tx, code, now)
  const name = limits.name ?? program.name
  const given = { ...limits, require_v2, name, action: 'pairing/approve' }
  const { key_id, token, secret } = await grantKey(tx, needs, asks, given)
  const sealed = needs.seal.seal(JSON.stringify({ token, secret }), sealContext(id))
  await tx`
    update pairing set approved_at = ${now}, customer_id = ${asks.customer_id},
      key_id = ${key_id}, sealed_key = ${sealed}
    where id = ${id}`
  return key_id
}

/** Throws NotFound. */
export async function refusePairing(
  tx: Tx,
  asks: Customer,
  { code, now }: { code: string; now: Date },
): Promise<{ name: string }> {
  const { id, name } = await lockPairing(tx, code, now)
  await tx`update pairing set refused_at = ${now} where id = ${id}`
  const change = { subject: `pairing:${id}`, before: { name }, after: null }
  await recordCustomerAction(tx, now, { actor: asks, action: 'pairing/refuse', ...change })
  return { name }
}

/** Until when keys wait for programs that another sealing key than the current one has sealed. */
export async function keysSealedOtherwise(tx: Tx, seal: Seal, now: Date): Promise<Date[]> {
  const waiting = await tx<{ sealed_key: string; ends_at: Date }>`
    select sealed_key, ends_at from pairing where sealed_key is not null and ends_at > ${now}`
  return waiting.flatMap(({ sealed_key, ends_at }) => (seal.isCurrent(sealed_key) ? [] : [ends_at]))
}

type WaitingRow = {
  id: string
  approved_at: Date | null
  refused_at: Date | null
  taken_at: Date | null
  sealed_key: string | null
  customer_id: string | null
  key_id: string | null
}

/** What has become of a pairing; a key is handed over once. Throws NotFound and Conflict. */
export async function takePairing(
  tx: Tx,
  { clock, seal }: { clock: Clock; seal: Seal },
  poll_secret: string,
): Promise<Handover> {
  const now = clock.now()
  const [row] = await tx<WaitingRow>`
    select id, approved_at, refused_at, taken_at, sealed_key, customer_id, key_id from pairing
    where poll_hash = ${hashOf(poll_secret)} and ends_at > ${now}
    for no key update`
  if (!row) throw NotFound('pairing', 'It has ended: begin another')
  if (row.refused_at) return { state: 'refused' }
  if (!row.approved_at) return { state: 'open' }
  if (row.taken_at) throw Conflict('taken', 'The key was handed over before: revoke it')
  const { id, sealed_key, customer_id, key_id } = row
  const { token, secret } = JSON.parse(seal.open(sealed_key!, sealContext(id)))
  await tx`update pairing set taken_at = ${now}, sealed_key = null where id = ${id}`
  return { state: 'approved', customer_id: customer_id!, key_id: key_id!, token, secret }
}

/** Forgets pairings that have ended. */
export function endPairingsStep({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Step {
  return {
    name: 'end_pairings',
    rest_ms: 60_000,
    before: ['publish'],
    async run() {
      const now = clock.now()
      return sql.begin(async (tx) => {
        type EndedRow = Pick<WaitingRow, 'id' | 'customer_id' | 'key_id' | 'taken_at'>
        const ended = await tx<EndedRow>`
          select id, customer_id, key_id, taken_at from pairing where ends_at <= ${now}
          order by id limit ${ENDED_AT_ONCE} for update skip locked`
        // Keys are locked by id.
        const untaken = ended
          .flatMap(({ customer_id, key_id, taken_at }) =>
            customer_id && key_id && !taken_at ? [{ customer_id, key_id, at: now }] : [],
          )
          .sort((one, other) => (one.key_id < other.key_id ? -1 : 1))
        for (const key of untaken) await revokeKey(tx, key)
        await tx`delete from pairing where id = any(${ended.map(({ id }) => id)})`
        return ended.length === ENDED_AT_ONCE
      })
    },
  }
}
