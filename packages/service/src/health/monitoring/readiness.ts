// Whether this process can do its work, for anyone who balances load or restarts what hangs. A look
// at the database every second; the answer is what the last look saw, so that asking costs nothing
// however often it is done.
//
// What makes a process not ready is what only this process, or another database, can fix. That
// nothing is sold is not: every process would be not ready at once, and reading, which works, would
// be off the net with them. It is a notice.

import {
  CHAIN_COLUMNS,
  type ChainRow,
  type ChainState,
  chainOf,
  isCurrent,
  isStale,
} from '../../chain/follow/progress.ts'
import type { Clock, CorrectedClock } from '../../lib/clock.ts'
import { recently } from '../../lib/recent.ts'
import { missingFor } from '../../market/receipts/signing_keys.ts'
import { newestSecret, sealContext } from '../../people/keys/keys.ts'
import { lookout, type ServerSeen } from '../../platform/database/lookout.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Seal } from '../../platform/seal/seal.ts'
import type { Step } from '../../platform/steps/step.ts'
import type { BeatRow, DatabaseMemory } from './database_memory.ts'

export type Reason = { reason: string; what: string }
export type Readiness = { ready: boolean; reasons: Reason[]; notices: Reason[] }
export type Phase = 'starting' | 'serving' | 'stopping'

export type ReadinessWatch = {
  /** Looks at the database; run every second. */
  step: Step
  readiness(): Readiness
  /** Seconds that the database's clock is ahead of ours; undefined before the first look. */
  clockOffset(): number | undefined
  enter(phase: Phase): void
}

type Needs = {
  sql: Sql
  /** Our own. */
  clock: Clock
  /** Goes as the database's does, from the first look on. */
  corrected: CorrectedClock
  /** Ends every other connection of the process, to a server that does not answer any more. */
  drop?: () => void
  /** Knows what the database had acknowledged; undefined: nobody does. */
  memory?: DatabaseMemory
  seal: Seal
  /** Connections that may read what customers prove themselves with, which this process must open;
   *  undefined: it answers nobody. */
  credentials_sql: Sql | undefined
  /** The number of the newest migration that this program knows. */
  known_schema: number
  /** The settings that loosen safety and that this process runs with: it says so for `status` to
   *  warn of. */
  loosened?: readonly string[]
}

type Observation = {
  at_ms: number
  standby: boolean
  schema: number
  secrets_open: boolean
  chain: ChainState | undefined
  on_sale: boolean
}

const LOOK_EVERY_MS = 1_000
const SAY_EVERY_MS = 60_000
/** Which secret is the newest is read again after this long. */
const NEWEST_SECRET_MS = 10_000
/** Looks take milliseconds; a machine that is busy may leave some out. */
const LOOK_AGE_MS_MAX = 5_000
/** What is decided goes by the database's clock; beyond this, something is wrong with a machine. */
const CLOCK_OFFSET_MS_MAX = 30_000

export function watchReadiness(needs: Needs): ReadinessWatch {
  const { sql, clock, corrected, known_schema, loosened = [], drop = () => {} } = needs
  const { memory } = needs
  const look = () => lookAt(needs)
  const lookAtServer = lookout({ look, clock, corrected, drop })
  const { credentials_sql } = needs
  const newestLately =
    credentials_sql &&
    recently(NEWEST_SECRET_MS, { clock, read: () => newestSecret(credentials_sql) })
  let said_at_ms = 0
  let phase: Phase = 'starting'
  let last: Observation | undefined
  return {
    step: {
      name: 'look',
      rest_ms: LOOK_EVERY_MS,
      async run() {
        const { identity, beat, keys_open, now: _, ...seen } = await lookAtServer()
        const newest = await newestLately?.()
        const secrets_open = keys_open && (newest === undefined || opens(needs.seal, newest))
        await memory?.compare(sql, identity, beat)
        last = { ...seen, secrets_open, at_ms: clock.now().getTime() }
        if (loosened.length > 0 && last.at_ms - said_at_ms > SAY_EVERY_MS) {
          await sayLoosened(sql, loosened, new Date(last.at_ms))
          said_at_ms = last.at_ms
        }
        return false
      },
    },
    readiness: () => judge({ phase, last, known_schema, clock, corrected, memory }),
    clockOffset: () => last && corrected.offset_ms() / 1_000,
    enter(next) {
      phase = next
    },
  }
}

type KnownRow = ServerSeen &
  BeatRow & {
    schema: number
    on_sale: boolean
    /** Of keys that sign receipts; null where there is none. */
    id: string
    sealed_private_key: string | null
  } & (ChainRow | { head_id: null })

/** In one statement, because it is asked every second. */
const readKnown = (sql: Sql, process_id: string | undefined) => sql<KnownRow>`
  select clock_timestamp() as now, pg_is_in_recovery() as standby,
    concat_ws(' ', (select system_identifier from pg_control_system()),
      case when not pg_is_in_recovery()
        then left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) end,
      pg_postmaster_start_time(), inet_server_addr(), inet_server_port()) as identity,
    (select coalesce(max(number), 0) from migration) as schema,
    (select bool_or(on_sale) from service) as on_sale,
    (select beat from process where id = ${process_id ?? null}) as beat,
    exists (select from database_loss where accepted_at is null) as open,
    k.id, k.sealed_private_key, c.${CHAIN_COLUMNS}
  from (values (1)) as one left join chain as c on true
    left join signing_key as k on k.sealed_private_key is not null`

type Seen = ServerSeen &
  Omit<Observation, 'secrets_open' | 'at_ms'> & {
    beat: BeatRow
    /** Whether our sealing keys open the keys that sign receipts. */
    keys_open: boolean
  }

async function lookAt({ sql, seal, memory }: Needs): Promise<Seen> {
  const rows = await readKnown(sql, memory?.process_id)
  const { now, standby, identity, schema, on_sale, beat, open, ...rest } = rows[0]!
  const { id: _, sealed_private_key: _key, ...chain_row } = rest
  const chain = chain_row.head_id === null ? undefined : chainOf(chain_row)
  const keys_open = missingFor(seal, rows) === undefined
  return { now, standby, identity, schema, chain, on_sale, beat: { beat, open }, keys_open }
}

async function sayLoosened(sql: Sql, names: readonly string[], now: Date): Promise<void> {
  await sql`
    insert into loosened_setting (name, seen_at) select name, ${now}::timestamptz
      from unnest(${names}::text[]) as name
    on conflict (name) do update set seen_at = greatest(loosened_setting.seen_at, excluded.seen_at)`
}

function opens(seal: Seal, { id, sealed_secret }: { id: string; sealed_secret: string }): boolean {
  try {
    seal.open(sealed_secret, sealContext(id))
    return true
  } catch {
    return false
  }
}

type ReadinessFacts = {
  phase: Phase
  last: Observation | undefined
  known_schema: number
  clock: Clock
  corrected: CorrectedClock
  memory: DatabaseMemory | undefined
}

function judge(facts: ReadinessFacts): Readiness {
  const { phase, last, known_schema, clock, corrected, memory } = facts
  const reasons: Reason[] = []
  const add = (wrong: boolean, reason: string, what: string) =>
    wrong && reasons.push({ reason, what })
  add(phase === 'starting', 'starting', 'the process is not up yet')
  add(phase === 'stopping', 'stopping', 'the process was asked to stop')
  if (!last) {
    add(phase !== 'starting', 'database_silent', 'the database has not answered yet')
    return { ready: false, reasons, notices: [] }
  }
  const age_ms = clock.now().getTime() - last.at_ms
  add(
    age_ms > LOOK_AGE_MS_MAX,
    'database_silent',
    `the database answered ${Math.round(age_ms / 1_000)} s ago`,
  )
  add(last.standby, 'database_standby', 'the database is a standby')
  const versions = `the database is at version ${last.schema}, this program at ${known_schema}`
  add(last.schema < known_schema, 'schema_old', versions)
  const offset_ms = corrected.offset_ms()
  const offset_s = Math.round(offset_ms / 1_000)
  const clocks = `the clock of the database is ${offset_s} s ahead of ours`
  add(Math.abs(offset_ms) > CLOCK_OFFSET_MS_MAX, 'clock_off', clocks)
  add(!last.secrets_open, 'sealing_key', 'the sealing key does not open the newest secret')
  const notices = noticesOf(last, corrected)
  if (memory?.wentBack())
    notices.push({ reason: 'database_went_back', what: 'the database lacks what it had' })
  // A newer program is taking over: until it has, this one goes on.
  if (last.schema > known_schema) notices.push({ reason: 'schema_new', what: versions })
  return { ready: reasons.length === 0, reasons, notices }
}

/** Why purchases are refused just now. */
function noticesOf({ chain, on_sale }: Observation, clock: Clock): Reason[] {
  const notices: Reason[] = []
  if (chain === undefined)
    notices.push({ reason: 'chain_unknown', what: 'no block has been followed yet' })
  else if (isStale(chain, clock))
    notices.push({ reason: 'chain_silent', what: 'no node has answered of late' })
  else if (!isCurrent(chain, clock))
    notices.push({ reason: 'chain_still', what: 'the chain makes no blocks' })
  if (!on_sale) notices.push({ reason: 'off_sale', what: 'everything was taken off sale' })
  return notices
}
