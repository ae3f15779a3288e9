// Sessions: a user's being signed in, as a row. The token is 256 random bits that only the browser
// has; its SHA-256 finds the row. A session that was read within the last second is used from
// memory, as keys are, so one that is ended lasts up to a second longer in other processes. Each
// has marks that only the sealing key makes: a row that somebody else has written, or whose user,
// role or end he has changed, is no session, and a proof of presence of his is none.
//
//   (open) -> (ended): signed out, ended by somebody, its user changed or removed
//   (open) -> (over): by the clock: too long since it was used, or since it was begun

import { hash } from 'node:crypto'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import { firstIdAt, type NewId, type Random } from '../../lib/ids.ts'
import { Recent } from '../../lib/recent.ts'
import { batched } from '../../platform/database/batch.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { Face } from './faces.ts'

/** A session and its user. */
export type Session = {
  id: string
  user_id: string
  /** Null: of the house. */
  customer_id: string | null
  customer_name: string | null
  customer_state: string | null
  name: string
  sign_in_name: string | null
  role: string
  daily_cap_sun: bigint | null
  spends_from: string | null
  receivers: string[] | null
  made_at: Date
  used_at: Date
  ends_at: Date
  /** Until then the user has shown to be there. */
  stepped_up_until: Date | null
}

/** From where somebody signs in. */
export type Place = { ip: string; browser: string }

export type Needs = { sql: Sql; clock: Clock; random: Random; new_id: NewId; seal: Seal }

/** A session's row with the marks that show that it is of our making. */
type MarkedRow = Session & { token_hash: string; mark: string | null; step_up_mark: string | null }

/** What of a session says who is signed in. */
type Identity = Pick<
  MarkedRow,
  'id' | 'token_hash' | 'user_id' | 'customer_id' | 'role' | 'ends_at'
>

/** What its marks are of. They are made again with its token: a mark of before is none. */
const identityText = (of: Identity): string =>
  JSON.stringify([of.id, of.token_hash, of.user_id, of.customer_id, of.role, of.ends_at])
const stepUpText = ({ id, token_hash }: Pick<Identity, 'id' | 'token_hash'>, until: Date | null) =>
  JSON.stringify([id, token_hash, until])

/** Each face has marks of its own: one of the portal is none of the console. */
const purposeOf = ({ customer_id }: Pick<Session, 'customer_id'>) =>
  customer_id === null ? 'session of the house' : 'session of a customer'

const marksOf = (seal: Seal, of: Identity, stepped_up_until: Date | null) => ({
  mark: seal.mark(identityText(of), purposeOf(of)),
  step_up_mark: seal.mark(stepUpText(of, stepped_up_until), purposeOf(of)),
})

/** The session as it is believed: undefined when somebody else has made it, and without a proof of
 *  presence that somebody else has noted. */
function believed(seal: Seal, row: MarkedRow): MarkedRow | undefined {
  if (!seal.isMark(row.mark, identityText(row), purposeOf(row))) return undefined
  const text = stepUpText(row, row.stepped_up_until)
  const is_there = seal.isMark(row.step_up_mark, text, purposeOf(row))
  return is_there ? row : { ...row, stepped_up_until: null }
}

/** How long a session may be used as it was read. */
const FRESH_MS = 1_000
const BATCH_MAX = 500
const TOKEN_BYTES = 32
const NOTED_MS = 60_000
/** How long a proof of presence lasts. */
const STEP_UP_MS = 5 * 60_000
const BROWSER_LENGTH_MAX = 200
/** A user who signs in once more than this loses the oldest session. */
const SESSIONS_MAX = 20

/** 43 characters of base64url. */
export const newToken = ({ random }: { random: Random }): string =>
  Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')

export const isUserToken = (text: string | undefined): text is string =>
  text !== undefined && /^[\w-]{43}$/.test(text)

export const userTokenHash = (token: string): string => hash('sha256', token)

/** What a browser says that it is, shortened. */
export const browserOf = (user_agent: string | undefined): string =>
  (user_agent ?? '').replace(/[^ -~]/g, '?').slice(0, BROWSER_LENGTH_MAX)

/** Begins a session of a user; the token is in the answer and nowhere else. The caller has locked
 *  the user. `stepped_up_until`: the user has just shown to be there. */
export async function beginSession(
  tx: Tx,
  needs: Omit<Needs, 'sql'>,
  wanted: { user_id: string; face: Face; place: Place; stepped_up_until?: Date | undefined },
): Promise<{ token: string; session_id: string }> {
  const { user_id, face, place } = wanted
  const now = needs.clock.now()
  const token = newToken(needs)
  const session_id = needs.new_id()
  const ends_at = new Date(now.getTime() + face.life_ms)
  const stepped_up_until = wanted.stepped_up_until ?? new Date(now.getTime() + STEP_UP_MS)
  const token_hash = userTokenHash(token)
  const [user] = await tx<Pick<Session, 'customer_id' | 'role'>>`
    select customer_id, role from service_user where id = ${user_id}`
  const row = { id: session_id, token_hash, user_id, ends_at, ...user! }
  const { mark, step_up_mark } = marksOf(needs.seal, row, stepped_up_until)
  await tx`
    insert into user_session (id, token_hash, user_id, made_at, used_at, ends_at,
      stepped_up_until, mark, step_up_mark, ip, browser)
    values (${session_id}, ${token_hash}, ${user_id}, ${now}, ${now}, ${ends_at},
      ${stepped_up_until}, ${mark}, ${step_up_mark}, ${place.ip}, ${place.browser})`
  await tx`
    update user_session set ended_at = ${now}
    where user_id = ${user_id} and ended_at is null and id in (
      select id from user_session where user_id = ${user_id} and ended_at is null
      order by id desc offset ${SESSIONS_MAX})`
  return { token, session_id }
}

/** Notes that the user of a session is there, and gives it a new token. */
export async function stepUp(
  tx: Tx,
  needs: Pick<Needs, 'random' | 'clock' | 'seal'>,
  session_id: string,
): Promise<{ token: string }> {
  const token = newToken(needs)
  const token_hash = userTokenHash(token)
  const until = new Date(needs.clock.now().getTime() + STEP_UP_MS)
  const [row] = await tx<MarkedRow>`
    select s.id, s.token_hash, s.mark, s.step_up_mark, s.user_id, u.customer_id, u.role, s.ends_at,
      s.stepped_up_until
    from user_session as s join service_user as u on u.id = s.user_id
    where s.id = ${session_id} and s.ended_at is null for update of s`
  const session = row && believed(needs.seal, row)
  if (!session) return { token }
  const { stepped_up_until: before } = session
  const stepped_up_until = before !== null && before > until ? before : until
  const { mark, step_up_mark } = marksOf(needs.seal, { ...session, token_hash }, stepped_up_until)
  await tx`
    update user_session set token_hash = ${token_hash}, stepped_up_until = ${stepped_up_until},
      mark = ${mark}, step_up_mark = ${step_up_mark}
    where id = ${session_id}`
  return { token }
}

/** Ends the session of a token, if there is one: its browser has signed in anew. */
export async function endSessionBefore(tx: Tx, token: string | undefined, at: Date): Promise<void> {
  if (!isUserToken(token)) return
  await tx`
    update user_session set ended_at = ${at}
    where token_hash = ${userTokenHash(token)} and ended_at is null`
}

/** Ends sessions of a user; left out, which: all but `except`. Says how many there were. */
export async function endSessions(
  tx: Tx,
  which: { user_id: string; id?: string | undefined; except?: string | undefined; at: Date },
): Promise<number> {
  const { user_id, id = null, except = null, at } = which
  const ended = await tx`
    update user_session set ended_at = ${at}
    where user_id = ${user_id} and ended_at is null and (${id}::text is null or id = ${id})
      and (${except}::text is null or id <> ${except})
    returning 1`
  return ended.length
}

/** What has caused a request: a person who uses the page, or the page itself. */
export type Cause = 'person' | 'page'

/** Reads sessions by their tokens. */
export type SessionReader = {
  /** Undefined: there is no such session of this face, or it is over. It rests on when nobody has
   *  caused the request that is read for. */
  read(token: string | undefined, face: Face, by?: Cause): Promise<Session | undefined>
  /** Forgets what was read of it: it is read again for its next request. */
  forget(token: string | undefined): void
}

export function sessionReader(needs: Pick<Needs, 'sql' | 'clock' | 'seal'>): SessionReader {
  const { sql, clock, seal } = needs
  const known = new Recent<Session | undefined>(FRESH_MS)
  const readRow = batched(BATCH_MAX, async (token_hashes: string[]) => {
    const rows = (await sessionsOf(sql, token_hashes)).flatMap((row) => believed(seal, row) ?? [])
    const by_hash = new Map(rows.map((row) => [row.token_hash, row]))
    return token_hashes.map((one) => by_hash.get(one))
  })
  return {
    async read(token, face, by = 'person') {
      if (!isUserToken(token)) return undefined
      const token_hash = userTokenHash(token)
      const now = clock.now()
      const fresh = known.get(token_hash, now.getTime())
      const session = fresh ?? (await readRow(token_hash))
      if (!session || !isOpen(session, face, now)) return undefined
      if (by === 'person' && now.getTime() - session.used_at.getTime() > NOTED_MS) {
        session.used_at = now
        await sql`update user_session set used_at = ${now} where id = ${session.id}`
      }
      if (!fresh) known.set(token_hash, session, now.getTime())
      return session
    },
    forget: (token) => {
      if (token) known.set(userTokenHash(token), undefined, clock.now().getTime())
    },
  }
}

const isOpen = (session: Session, { name, idle_ms }: Face, now: Date): boolean =>
  (session.customer_id === null) === (name === 'console') &&
  session.customer_state !== 'closed' &&
  now < session.ends_at &&
  now < idleAt(session, { idle_ms })

/** When it is over unless it is used before. */
export const idleAt = ({ used_at }: Session, { idle_ms }: Pick<Face, 'idle_ms'>): Date =>
  new Date(used_at.getTime() + idle_ms)

function sessionsOf(sql: Sql, token_hashes: readonly string[]): Promise<MarkedRow[]> {
  return sql<MarkedRow>`
    select s.id, s.token_hash, s.mark, s.step_up_mark, s.user_id, s.made_at, s.used_at, s.ends_at,
      s.stepped_up_until,
      u.customer_id, u.name, u.sign_in_name, u.role, c.name as customer_name,
      c.state as customer_state, k.daily_cap_sun, k.spends_from, k.receivers
    from user_session as s join service_user as u on u.id = s.user_id
      left join customer as c on c.id = u.customer_id left join api_key as k on k.id = u.id
    where s.token_hash = any(${token_hashes}) and s.ended_at is null and u.ended_at is null`
}

/** Those of these sessions of a face that are not over. */
export async function openSessions(
  sql: Sql | Tx,
  { idle_ms }: Pick<Face, 'idle_ms'>,
  { ids, now }: { ids: readonly string[]; now: Date },
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }>`
    select id from user_session
    where id = any(${ids}) and ended_at is null and ends_at > ${now}
      and used_at > ${new Date(now.getTime() - idle_ms)}`
  return new Set(rows.map(({ id }) => id))
}

/** A session as it is listed. */
export type SessionRow = Pick<Session, 'id' | 'user_id' | 'made_at' | 'used_at' | 'ends_at'> &
  Place & { name: string; customer_id: string | null; ended_at: Date | null }

/** Sessions, newest first. `customer_id`: null for those of the house. `open_at`: only those that
 *  were not over by then. */
export function listSessions(
  sql: Sql | Tx,
  wanted: {
    customer_id: string | null
    user_id?: string | undefined
    id?: string | undefined
    before?: string | undefined
    open_at?: Date | undefined
    /** Only those that were used since. */
    used_since?: Date | undefined
    /** A part of the user's name; capital Latin letters are as small ones. */
    name?: string | undefined
    limit: number
  },
): Promise<SessionRow[]> {
  const { customer_id, user_id = null, id = null, name = null, before = null, limit } = wanted
  const { open_at = null, used_since = null } = wanted
  return sql<SessionRow>`
    select s.id, s.user_id, s.made_at, s.used_at, s.ends_at, s.ended_at, s.ip, s.browser, u.name,
      u.customer_id
    from user_session as s join service_user as u on u.id = s.user_id
    where u.customer_id is not distinct from ${customer_id}
      and (${user_id}::text is null or s.user_id = ${user_id})
      and (${id}::text is null or s.id = ${id})
      and (${name}::text is null or strpos(lower(u.name), lower(${name})) > 0)
      and (${before}::text is null or s.id < ${before})
      and (${open_at}::timestamptz is null or (s.ended_at is null and s.ends_at > ${open_at}))
      and (${used_since}::timestamptz is null or s.used_at > ${used_since})
    order by s.id desc limit ${limit}`
}

const PRUNED_AT_ONCE = 1_000

/** Takes from a user's sessions where they came from. */
export async function erasePlaces(tx: Tx, user_id: string): Promise<number> {
  const erased = await tx`
    update user_session set ip = '', browser = ''
    where user_id = ${user_id} and (ip <> '' or browser <> '') returning 1`
  return erased.length
}

/** Forgets sessions that began `kept_days` ago: none lasts as long. */
export function pruneSessionsStep(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  kept_days: number,
): Step {
  const before = () => firstIdAt(later(clock, -kept_days * DAY_MS))
  return {
    name: 'prune_sessions',
    rest_ms: 60_000,
    duty: 'upkeep',
    due: (sql) => sql`select where (select min(id) from user_session) < ${before()}`,
    async run() {
      const pruned = await sql`
        delete from user_session where id in (
          select id from user_session where id < ${before()} order by id limit ${PRUNED_AT_ONCE})
        returning 1`
      return pruned.length === PRUNED_AT_ONCE
    },
  }
}
