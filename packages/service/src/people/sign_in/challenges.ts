// What we ask somebody to answer: a challenge for a passkey, or a secret for codes that is only
// offered. None of it is stored, so that strangers may ask for as much as they like: it travels
// sealed through the browser, bound to what it is for (a face, a session, a link), and is good for
// a few minutes. A challenge that was answered is noted until it would be too old anyway.

import { hash } from 'node:crypto'
import { type Clock, later } from '../../lib/clock.ts'
import type { Random } from '../../lib/ids.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { Step } from '../../platform/steps/step.ts'

export type Needs = { seal: Seal; clock: Clock; random: Random }

/** For a passkey; and for one who has to find a phone first. */
const CHALLENGE_MS = 5 * 60_000
const OFFER_MS = 30 * 60_000

type Offer = { ends_ms: number; secret: string }

function sealFor(
  { seal, clock }: Needs,
  bound_to: string,
  life_ms: number,
  secret: string,
): string {
  const sealed: Offer = { ends_ms: later(clock, life_ms).getTime(), secret }
  return seal.seal(JSON.stringify(sealed), `offer:${bound_to}`)
}

/** What was sealed for this and is not too old; undefined for anything else. */
function openFor({ seal, clock }: Needs, bound_to: string, text: string): Offer | undefined {
  try {
    const sealed = JSON.parse(seal.open(text, `offer:${bound_to}`)) as Offer
    return sealed.ends_ms > clock.now().getTime() ? sealed : undefined
  } catch {
    return undefined
  }
}

/** A challenge as WebAuthn carries it: base64url. */
export function makeChallenge(needs: Needs, bound_to: string): string {
  const secret = Buffer.from(needs.random.bytes(16)).toString('base64url')
  return Buffer.from(sealFor(needs, bound_to, CHALLENGE_MS, secret)).toString('base64url')
}

/** Whether it is a challenge of ours for this. */
export const isChallenge = (needs: Needs, bound_to: string, challenge: string): boolean =>
  openFor(needs, bound_to, Buffer.from(challenge, 'base64url').toString()) !== undefined

/** Notes that a challenge was answered. False: it was answered before. */
export async function useChallenge(
  sql: Sql | Tx,
  { clock }: Pick<Needs, 'clock'>,
  challenge: string,
): Promise<boolean> {
  const used = await sql`
    insert into answered_challenge (challenge_hash, ends_at)
    values (${hash('sha256', challenge)}, ${later(clock, CHALLENGE_MS)})
    on conflict do nothing returning 1`
  return used.length > 0
}

/** A secret to be shown to somebody who then proves to have it. */
export const makeOffer = (needs: Needs, bound_to: string, secret: string): string =>
  sealFor(needs, bound_to, OFFER_MS, secret)

export const openOffer = (needs: Needs, bound_to: string, offer: string): string | undefined =>
  openFor(needs, bound_to, offer)?.secret

export function pruneChallengesStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  return {
    name: 'prune_challenges',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select where (select min(ends_at) from answered_challenge) < ${clock.now()}`,
    async run() {
      await sql`delete from answered_challenge where ends_at < ${clock.now()}`
      return false
    },
  }
}
