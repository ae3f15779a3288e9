// Backups brought back: on trial, in a throw-away place, where the books say whether all of it is
// there; or for good, into a folder whose database sells and sends nothing until an operator has
// seen what the chain knows and it does not.

import { readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { type Static, Type } from 'typebox'
import { checkAllBooks } from '../../health/books/books.ts'
import { insertRestored } from '../../health/monitoring/database_losses.ts'
import { readRoots } from '../../ledger/accounts/roots.ts'
import { misuse, refusal } from '../../lib/fault.ts'
import { schemaComplaint } from '../../platform/database/migrations.ts'
import type { Query, Sql } from '../../platform/database/sql.ts'
import {
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  moment,
  NOTHING,
  OrNull,
  optional,
  Text,
  text,
  Whole,
} from '../../platform/wire/schemas.ts'
import { noteBackup, noteLook } from '../../run/backups/backups.ts'
import {
  findSource,
  type RestoredServer,
  type RestoreSource,
  startRestored,
} from '../../run/backups/restoring.ts'
import { change, type LocalNeeds, local, momentOf, reasonOf } from '../table/operation.ts'
import { placeOf, withNamed } from './backups.ts'

const Checked = Type.Object({
  backup: OrNull(Text),
  passed_over: Type.Array(Text),
  restored_to: OrNull(Moment),
  folder: OrNull(Text),
  files_checked: OrNull(Count),
  books_balanced: Flag,
  broken: ListOf({ rule: Text, says: Text, subject: Text, found: Text }),
  roots_compared: Count,
  schema: Count,
  orders: Whole,
  last_order: OrNull(Text),
  last_entry: Whole,
  last_seal: OrNull(Text),
  head_number: OrNull(Whole),
  behind_blocks: OrNull(Whole),
  seconds: Count,
})

const Body = Type.Object({
  folder: text('FOLDER', 'of backups, of one backup, or a data folder of PostgreSQL'),
  check: flag('on trial, in a throw-away place; the exit code is 1 when something is wrong'),
  to: optional(text('FOLDER', 'an empty one, which becomes the data folder of a server')),
  at: optional(moment('the moment to restore, when --archive has the log since the backup')),
  archive: optional(text('FOLDER', 'where the server archived its log (archive_command)')),
  noted: optional(Type.Array(Text, { description: 'texts of roots, to compare with' })),
  plan: flag('only say which backup would be restored'),
  note: flag('with --check: note the result in the live database, for its metric'),
})

/** It is unpacked, played on, and checked. */
const STAGES = 3

type Facts = Pick<
  Static<typeof Checked>,
  'orders' | 'last_order' | 'last_entry' | 'last_seal' | 'head_number' | 'restored_to'
>

/** How far the restored database goes. */
async function factsOf(sql: Sql): Promise<Facts> {
  const [facts] = await sql<Facts>`
    select (select count(*) from orders) as orders,
      (select id from orders order by created_at desc, id desc limit 1) as last_order,
      coalesce((select max(number) from transfer), 0)::bigint as last_entry,
      (select sha256 from journal order by number desc limit 1) as last_seal,
      (select head_number from chain) as head_number,
      pg_last_xact_replay_timestamp() as restored_to`
  return facts!
}

type RestoreCall = Omit<LocalNeeds, 'node'> & { body: Static<typeof Body> }

/** What the database is, by its own rows. Throws Refused when this program does not know it. */
async function examine(sql: Sql, { body, clock, ...needs }: RestoreCall) {
  const complaint = await schemaComplaint(sql)
  if (complaint !== undefined) throw refusal(complaint)
  const noted = (body.noted ?? []).flatMap(readRoots)
  needs.progress({ what: 'checking the books', done: 2, whole: STAGES, unit: 'stages' })
  // Nothing moves in it: a second look would find the same.
  const books = { sql, chain: undefined, notedRoots: async () => noted, wait: async () => {} }
  const broken = (await checkAllBooks(books))
    .filter(({ state, stops_selling }) => state === 'broken' && stops_selling)
    .flatMap(({ rule, says, findings }) => findings.map((one) => ({ rule, says, ...one })))
  const facts = await factsOf(sql)
  const head = await needs.chain()?.node.head()
  const [row] = await sql<{ schema: number }>`select max(number)::int as schema from migration`
  const { head_number } = facts
  return {
    ...facts,
    books_balanced: broken.length === 0,
    broken,
    roots_compared: noted.length,
    schema: row!.schema,
    behind_blocks: head && head_number !== null ? BigInt(head.number) - head_number : null,
  }
}

/** Where the backup does not say it, as who and where DATABASE_URL signs in. */
async function loginOf({ databaseUrl }: LocalNeeds) {
  const url = await databaseUrl?.().catch(() => undefined)
  const { username = 'penstock', pathname = '/penstock' } = url ? new URL(firstHost(url)) : {}
  return { user: decodeURIComponent(username), database: pathname.slice(1) }
}

const firstHost = (url: string) => url.replace(/,[^/?]*/, '')

/** From here on the database says that it was restored, whatever is started on it. The lost one may
 *  have acted on payments of all blocks after the last one that this one has read, if it has it. */
async function mark(sql: Query, found_at: Date): Promise<{ from_block: bigint }> {
  const [row] = await sql<{ from_block: bigint; restored_to: Date | null }>`
    select coalesce(least((select confirmed_number from chain),
        (select number from cursor where name = 'deposits')), 0) as from_block,
      coalesce(pg_last_xact_replay_timestamp(), (select max(seen_at) from process)) as restored_to`
  const { from_block, restored_to } = row!
  await insertRestored(sql, {
    found_at,
    host: hostname(),
    restored_to: restored_to ?? found_at,
    from_block,
  })
  return { from_block }
}

/** Marks what was restored for good, before anything else is done with it: a check that fails or is
 *  interrupted must leave no folder that sells and sends. One that cannot be marked is no server's:
 *  it is emptied. */
async function markRestored({ sql, stop }: RestoredServer, to: string, at: Date): Promise<void> {
  try {
    await mark(sql, at)
  } catch (thrown) {
    const complaint = await schemaComplaint(sql).catch(() => undefined)
    await stop()
    for (const name of await readdir(to)) await rm(join(to, name), { recursive: true })
    throw complaint === undefined ? thrown : refusal(complaint)
  }
}

type Result = Static<typeof Checked>

/** Tells the live database what restoring its backup has shown. */
async function noteResult(needs: LocalNeeds, { backup }: RestoreSource, broken: Result['broken']) {
  if (!backup) throw refusal('Only what `penstock-admin backup` has made is noted.')
  const place = placeOf(dirname(backup.folder))
  const { id, made_at, archive_bytes } = backup
  const at = needs.clock.now()
  const found = broken.map(({ rule, subject, found }) => `${rule} ${subject}: ${found}`)
  await withNamed(needs, async (sql) => {
    await noteBackup(sql, { place, id, made_at, bytes: BigInt(archive_bytes) })
    await noteLook(sql, { place, id, at, found: found.slice(0, 10), restored: true })
  })
}

const Planned = Type.Object({
  backup: OrNull(Text),
  passed_over: Type.Array(Text),
  folder: Text,
  to: OrNull(Text),
})

export const restoreOperations = [
  local({
    path: '/operator/restore',
    role: 'admin',
    summary: 'restore a backup: on trial (--check), or into a folder for a server (--to)',
    description:
      'It starts a server of its own on what it has restored, which listens to nobody else, ' +
      'and never touches the live database. The books say whether all of it is there. What was ' +
      'restored with --to sells nothing and sends nothing until `database accept`.',
    body: Body,
    reply: Type.Union([Checked, Planned]),
    cli: {
      operands: ['folder'],
      node: 'solid',
      extras: Type.Object({
        roots: optional(
          Type.Array(
            text('FILE', 'roots that were noted outside of the database, to compare with'),
          ),
        ),
      }),
      filled: ['noted'],
      before: async ({ roots = [] }, { readFile }) => ({
        noted: await Promise.all(roots.map((name) => readFile(name))),
      }),
    },
    async handle(asked) {
      const { body, clock, progress } = asked
      const { folder, check = false, to, archive, plan = false, note = false } = body
      if (check === (to !== undefined)) throw misuse('Give either --check or --to FOLDER.')
      if (note && !check) throw misuse('--note goes with --check.')
      const at = momentOf(body.at)
      const source = await findSource(folder, at)
      const backup = source.backup?.id ?? null
      const { passed_over } = source
      const named = { backup, passed_over: [...passed_over] }
      if (plan) return { value: { ...named, folder: source.folder, to: to ?? null } }
      const began_at = clock.now()
      const tell = (what: string, done: number) =>
        progress({ what, done, whole: STAGES, unit: 'stages' })
      const login = await loginOf(asked)
      const bin = asked.postgres_bin
      const server = await startRestored({ source, to, at, archive, login, bin, tell })
      if (to !== undefined) await markRestored(server, to, clock.now())
      try {
        const examined = await examine(server.sql, asked)
        if (note) await noteResult(asked, source, examined.broken)
        const seconds = Math.round((clock.now().getTime() - began_at.getTime()) / 1_000)
        const { files_checked } = server
        const value = { ...named, folder: to ?? null, files_checked, ...examined, seconds }
        return { value, ok: examined.books_balanced, note: to && NEXT }
      } finally {
        progress()
        await server.stop()
      }
    },
  }),
  change({
    path: '/operator/restore/begin',
    role: 'admin',
    careful: true,
    summary: 'mark a database that another program has restored: nothing is sold or sent by it',
    description:
      'Type it before the service is started. `restore --to` does it by itself. ' +
      '`database accept` ends it.',
    body: NOTHING,
    reply: Type.Object({ from_block: Whole }),
    async handle({ tx, at, reason }) {
      reasonOf(reason)
      const marked = await mark(tx, at)
      return {
        result: { value: marked, note: 'Every process rests within a second.' },
        actions: [{ subject: 'database', before: null, after: { restored: true } }],
      }
    },
  }),
]

const NEXT =
  'Start a server on the folder, then the service: it only follows the chain until ' +
  '`database accept --reason ...`.'
