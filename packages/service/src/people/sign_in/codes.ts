// Codes of six digits that a phone shows (TOTP, RFC 6238), and codes on paper for when it is gone.
// The first are worked out by otpauth; ours is that each is taken once. The second have 112
// random bits each: nobody tries so many, so their sums need neither salt nor a slow hash.

import { hash } from 'node:crypto'
import { Secret, TOTP } from 'otpauth'
import type { Random } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'

const STEP_SECONDS = 30
const SECRET_BYTES = 20
const RECOVERY_CODES = 10
const RECOVERY_BYTES = 14

/** A secret in base32, as phones take it. */
export const newTotpSecret = (random: Random): string =>
  new Secret({ buffer: new Uint8Array(random.bytes(SECRET_BYTES)).buffer }).base32

const totpOf = (secret: string, label = '', issuer = ''): TOTP =>
  new TOTP({ secret: Secret.fromBase32(secret), label, issuer, period: STEP_SECONDS, digits: 6 })

/** What a phone reads from a picture. */
export const totpUri = (secret: string, label: string, issuer: string): string =>
  totpOf(secret, label, issuer).toString()

/** What the sealed secret of a user's codes is bound to. */
export const totpContext = (user_id: string): string => `totp:${user_id}`

type SealedSecret = { user_id: string; sealed_totp: string }

/** Seals the secrets of codes again that another sealing key than the current one has sealed; says
 *  how many. */
export async function resealTotpSecrets(tx: Tx, seal: Seal): Promise<number> {
  const secrets = await tx<SealedSecret>`
    select user_id, sealed_totp from user_password order by user_id for update`
  const old = secrets.filter(({ sealed_totp }) => !seal.isCurrent(sealed_totp))
  const sealed = old.map(({ user_id, sealed_totp }) => {
    const context = totpContext(user_id)
    return seal.seal(seal.open(sealed_totp, context), context)
  })
  await tx`
    update user_password as p set sealed_totp = fresh.sealed_totp
    from unnest(${old.map(({ user_id }) => user_id)}::text[],
                ${sealed}::text[]) as fresh (user_id, sealed_totp)
    where p.user_id = fresh.user_id`
  return old.length
}

/** Of each sealing key the newest secret of codes that it has sealed and that may still be used. */
export async function newestTotpSecrets(
  sql: Sql | Tx,
): Promise<(SealedSecret & { sealed_by: string })[]> {
  return sql<SealedSecret & { sealed_by: string }>`
    select distinct on (sealed_by) user_id, sealed_totp, sealed_by
    from user_password as p join service_user as u on u.id = user_id,
      lateral (select split_part(sealed_totp, '.', 1) as sealed_by) as sealing
    where u.ended_at is null order by sealed_by, p.changed_at desc`
}

/** How many steps a phone's clock may be off. */
const STEPS_OFF = [0, -1, 1]

/** As long as a code, and never one. */
const NO_CODE = '------'

/** The 30 seconds whose code it is, now or one step off; undefined when it is none. The work is the
 *  same for each: how long it takes does not tell whether a code is right. */
export function totpStep(secret: string, code: string, now: Date): bigint | undefined {
  const totp = totpOf(secret)
  // Six digits of another script have more bytes, and otpauth throws for them.
  const token = /^[0-9]{6}$/.test(code) ? code : NO_CODE
  const timestamps = STEPS_OFF.map((off) => now.getTime() + off * STEP_SECONDS * 1_000)
  const [found] = timestamps.filter(
    (timestamp) => totp.validate({ token, timestamp, window: 0 }) !== null,
  )
  return found === undefined ? undefined : BigInt(Math.floor(found / 1_000 / STEP_SECONDS))
}

/** A secret that nobody's phone has. */
const NOBODYS = 'A'.repeat(32)

export type TotpCodes = {
  /** totpStep() of a user's sealed secret; of nobody's it is none, which takes as long. */
  step(known: SealedSecret | undefined, code: string, now: Date): bigint | undefined
}

export function totpCodes(seal: Seal): TotpCodes {
  let nobodys: SealedSecret | undefined
  return {
    step(known, code, now) {
      nobodys ??= { user_id: '', sealed_totp: seal.seal(NOBODYS, totpContext('')) }
      const { user_id, sealed_totp } = known ?? nobodys
      const step = totpStep(seal.open(sealed_totp, totpContext(user_id)), code, now)
      return known && step
    },
  }
}

/** Uses up the code of a step. False: it, or a later one, was used before. */
export async function useTotpStep(tx: Tx, user_id: string, step: bigint): Promise<boolean> {
  const used = await tx`
    update user_password set totp_step = ${step}
    where user_id = ${user_id} and totp_step < ${step} returning 1`
  return used.length > 0
}

const recoveryHash = (code: string): string =>
  hash('sha256', `recovery:${code.toLowerCase().replace(/[^a-z0-9]/g, '')}`)

/** Gives a user new codes in place of those before; they are in the answer and nowhere else. */
export async function newRecoveryCodes(tx: Tx, user_id: string, random: Random): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    const text = new Secret({ buffer: new Uint8Array(random.bytes(RECOVERY_BYTES)).buffer }).base32
    return text.toLowerCase().replace(/.{4}(?=.)/g, '$&-')
  })
  await tx`delete from recovery_code where user_id = ${user_id}`
  await tx`
    insert into recovery_code (user_id, code_hash)
    select ${user_id}, one from unnest(${codes.map(recoveryHash)}::text[]) as one`
  return codes
}

/** The user of a name when a code on paper is one of that user's that was not used. For a name that
 *  nobody has, it is looked for among somebody else's: that is nearly as much work. */
export async function findRecoveryCode(
  sql: Sql,
  { sign_in_name, code }: { sign_in_name: string; code: string },
): Promise<string | undefined> {
  const [found] = await sql<{ user_id: string | null; is_right: boolean }>`
    with named as materialized (
      select (select id from service_user
        where sign_in_name = ${sign_in_name} and ended_at is null) as user_id,
        (select min(user_id) from recovery_code) as other_id)
    select coalesce(user_id, other_id) as user_id, exists (select 1 from recovery_code as c
      where c.user_id = coalesce(named.user_id, other_id) and code_hash = ${recoveryHash(code)}
        and used_at is null) and user_id is not null as is_right
    from named`
  return found!.is_right ? found!.user_id! : undefined
}

/** Uses up a code on paper. False: the user has no such code that was not used. */
export async function useRecoveryCode(
  tx: Tx,
  { user_id, code, at }: { user_id: string; code: string; at: Date },
): Promise<boolean> {
  const used = await tx`
    update recovery_code set used_at = ${at}
    where user_id = ${user_id} and code_hash = ${recoveryHash(code)} and used_at is null
    returning 1`
  return used.length > 0
}
