// Who tried to sign in, from where, and what came of it: kept for 30 days, and what makes those
// wait who guess. A try is noted before it is judged, so that many at once count as many. What was
// typed as a name is kept as its sum, known or not, so that both are the same work.
//
// Failures count by name from everywhere, so whoever knows a name can make it wait. A browser and
// a network that have signed this name in before are not kept out by that: each has a count of its
// own. Codes on paper, too, which nobody guesses: theirs are those of a name in one network. Proofs
// of one who is signed in count by session: a thief of one keeps its user from no other.
//
//   trying -> done | failed | too_soon

import { hash } from 'node:crypto'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { TooManyRequests } from '../../lib/fault.ts'
import { firstIdAt, type NewId } from '../../lib/ids.ts'
import { networkOf, wideNetworkOf } from '../../lib/networks.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Place } from '../users/sessions.ts'
import type { Lane } from './passwords.ts'

export type Way = 'link' | 'join' | 'passkey' | 'password' | 'recovery' | 'step_up' | 'end'

export type Needs = { sql: Sql; clock: Clock; new_id: NewId }

/** Free failures: of one count since it was last signed in with, and of one network in an hour. */
const COUNT_FAILURES = 5
const NETWORK_FAILURES = 20
const COUNT_MS = 24 * 3_600_000
const NETWORK_MS = 3_600_000
const WAIT_SECONDS_MAX = 900
/** Of one network, but what can be guessed at counts in any case. */
const NOTED_MAX = 60
const NOTED_MS = 60_000
/** For how long networks and browsers of sign-ins are kept unless the operator says otherwise. */
export const SIGN_IN_DAYS = 30
const PRUNED_AT_ONCE = 1_000

export type Attempt = { face: 'portal' | 'console'; way: Way; place: Place }

/** Whose try it is: the name that was typed, or the session whose user proves to be there.
 *  `browser_id`: of a browser that has signed in with the name before. */
export type Claim =
  | { sign_in_name: string; browser_id: string | undefined }
  | { session_id: string }

/** No name that can be typed is counted with a session. */
const claimText = (claim: Claim): string =>
  'session_id' in claim ? `session:${claim.session_id}` : `sign_in_name:${claim.sign_in_name}`

/** Which failures a try counts with, and where it waits for its hash. */
type Count = { name_hash: string; count_hash: string; of_network: boolean; lane: Lane }

async function countOf({ sql }: Needs, { way, place }: Attempt, claim: Claim): Promise<Count> {
  const text = claimText(claim)
  const name_hash = hash('sha256', text)
  const network = networkOf(place.ip)
  const [known] = await sql`
    select 1 from sign_in
    where name_hash = ${name_hash} and network = ${network} and outcome = 'done' limit 1`
  const count = (from: string, known_from: string | undefined, of_network = true): Count => {
    const count_hash = hash('sha256', JSON.stringify([text, way === 'recovery', from]))
    const own = { name: count_hash, is_known: true }
    const shared = { name: wideNetworkOf(place.ip), is_known: false }
    return { name_hash, count_hash, of_network, lane: known_from === undefined ? shared : own }
  }
  if ('session_id' in claim) return count('', 'session', false)
  const { browser_id } = claim
  if (browser_id !== undefined) return count(`browser:${browser_id}`, browser_id, false)
  if (known || way === 'recovery') return count(`network:${network}`, known && network)
  return count('', undefined)
}

/** A try that is under way. */
export type Try = { id: string; lane: Lane }

/** Notes a try that guessing would gain by. Throws TooManyRequests while those who make this claim,
 *  or the network, have to wait. */
export async function beginTry(needs: Needs, attempt: Attempt, claim: Claim): Promise<Try> {
  const { sql, clock, new_id } = needs
  const { face, way, place } = attempt
  const id = new_id()
  const count = await countOf(needs, attempt, claim)
  await requireNoWait(needs, attempt, { id, ...count }, async () => {
    await noteTry(sql, needs, attempt, { outcome: 'too_soon' })
  })
  await sql`
    insert into sign_in (id, at, face, way, outcome, name_hash, count_hash, network, ip, browser)
    values (${id}, ${clock.now()}, ${face}, ${way}, 'trying', ${count.name_hash},
      ${count.count_hash}, ${networkOf(place.ip)}, ${place.ip}, ${place.browser})`
  // Many at once count as many: those before this one are all there by now.
  await requireNoWait(needs, attempt, { id, ...count }, () =>
    endTry(sql, id, { outcome: 'too_soon' }),
  )
  return { id, lane: count.lane }
}

/** Throws TooManyRequests while those who fail have to wait, after what is to be noted of it. */
async function requireNoWait(
  { sql, clock }: Needs,
  { place }: Attempt,
  { id, count_hash, of_network }: Count & { id: string },
  note: () => Promise<void>,
): Promise<void> {
  const now = clock.now()
  const network = networkOf(place.ip)
  const [before] = await sql<Failures>`
    with of_count as (
      select count(*) as failures, max(at) as last from sign_in
      where count_hash = ${count_hash} and id < ${id} and at > ${later(clock, -COUNT_MS)}
        and outcome in ('failed', 'trying') and id > coalesce((
          select max(id) from sign_in where count_hash = ${count_hash} and outcome = 'done'), '')
    ), of_network as (
      select count(*) as failures, max(at) as last from sign_in
      where network = ${network} and id < ${id} and at > ${later(clock, -NETWORK_MS)}
        and outcome <> 'done' and outcome in ('failed', 'trying')
    )
    select of_count.failures as count_failures, of_count.last as count_last,
      of_network.failures as network_failures, of_network.last as network_last
    from of_count, of_network`
  const { count_failures, count_last, network_failures, network_last } = before!
  const by_count = waitMs(count_failures, count_last, { free: COUNT_FAILURES, now })
  const by_network = waitMs(network_failures, network_last, { free: NETWORK_FAILURES, now })
  const wait_ms = Math.max(by_count, of_network ? by_network : 0)
  if (wait_ms <= 0) return
  await note()
  throw new TooManyRequests(Math.ceil(wait_ms / 1_000))
}

type Failures = {
  count_failures: bigint
  count_last: Date | null
  network_failures: bigint
  network_last: Date | null
}

/** How long one has still to wait after so many failures: 2, 4, 8 … seconds since the last. */
function waitMs(
  failures: bigint,
  last: Date | null,
  { free, now }: { free: number; now: Date },
): number {
  const beyond = Number(failures) - free
  if (beyond < 0 || last === null) return 0
  const seconds = Math.min(WAIT_SECONDS_MAX, 2 ** Math.min(beyond + 1, 20))
  return last.getTime() + seconds * 1_000 - now.getTime()
}

/** Whose it was, as far as that is known. */
export type Outcome = {
  outcome: 'done' | 'failed' | 'too_soon'
  user_id?: string | undefined
  session_id?: string | undefined
}

export async function endTry(sql: Sql | Tx, id: string, ended: Outcome): Promise<void> {
  const { outcome, user_id = null, session_id = null } = ended
  await sql`
    update sign_in set outcome = ${outcome}, user_id = ${user_id}, session_id = ${session_id}
    where id = ${id}`
}

/** Notes what nobody gains by guessing, or what has ended. Of what fails in one network so much is
 *  noted in a minute as somebody could read: strangers fill no table. */
export async function noteTry(
  sql: Sql | Tx,
  { clock, new_id }: Omit<Needs, 'sql'>,
  { face, way, place }: Attempt,
  { outcome, user_id, session_id }: Outcome,
): Promise<void> {
  const network = networkOf(place.ip)
  await sql`
    insert into sign_in (id, at, face, way, outcome, user_id, session_id, network, ip, browser)
    select ${new_id()}, ${clock.now()}, ${face}, ${way}, ${outcome}, ${user_id ?? null},
      ${session_id ?? null}, ${network}, ${place.ip}, ${place.browser}
    where ${outcome}::text = 'done' or ${NOTED_MAX} > (
      select count(*) from sign_in
      where network = ${network} and at > ${later(clock, -NOTED_MS)} and outcome <> 'done')`
}

/** What tries with the name of a user are kept under, those that have failed among them: of these
 *  nothing else says whose they are. Null: the user has no name to sign in with. */
export async function nameHashOf(sql: Query, user_id: string): Promise<string | null> {
  const [user] = await sql<{ sign_in_name: string | null }>`
    select sign_in_name from service_user where id = ${user_id}`
  const sign_in_name = user?.sign_in_name ?? null
  return sign_in_name && hash('sha256', claimText({ sign_in_name, browser_id: undefined }))
}

/** Forgets the tries of a user who still has the name to sign in with. */
export async function forgetTries(tx: Tx, user_id: string): Promise<number> {
  const name_hash = await nameHashOf(tx, user_id)
  const gone = await tx`
    delete from sign_in where user_id = ${user_id} or name_hash = ${name_hash} returning 1`
  return gone.length
}

/** Forgets tries that are older than `kept_days`. */
export function pruneTriesStep(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  kept_days: number,
): Step {
  const before = () => firstIdAt(later(clock, -kept_days * DAY_MS))
  return {
    name: 'prune_sign_ins',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`select where (select min(id) from sign_in) < ${before()}`,
    async run() {
      const pruned = await sql`
        delete from sign_in where id in (
          select id from sign_in where id < ${before()} order by id limit ${PRUNED_AT_ONCE})
        returning 1`
      return pruned.length === PRUNED_AT_ONCE
    },
  }
}
