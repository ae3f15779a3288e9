// Backups of the database: made, listed, looked at. They are typed where the database can be
// reached, and need nothing of the service.

import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { Type } from 'typebox'
import { misuse, refusal } from '../../lib/fault.ts'
import { connect, type Sql } from '../../platform/database/sql.ts'
import {
  Count,
  Flag,
  flag,
  ListOf,
  Moment,
  OrNull,
  optional,
  Text,
  text,
  Whole,
  whole,
} from '../../platform/wire/schemas.ts'
import {
  damageOf,
  type FolderContents,
  type KeptBackup,
  listBackups,
  makeBackup,
  removeOlder,
} from '../../run/backups/backup_folder.ts'
import { lookAtArchive, noteBackup, noteLook } from '../../run/backups/backups.ts'
import { askPgbackrest, type Repository } from '../../run/backups/pgbackrest.ts'
import { type LocalNeeds, local } from '../table/operation.ts'

/** A backup is made every day, and takes its time. */
const OLD_MS = 25 * 3_600_000
const MEGABYTE = 1 << 20

const Kept = {
  id: Text,
  made_at: Moment,
  bytes: Whole,
  schema: Count,
  server_version: Text,
  folder: Text,
}
/** As listed: of one that is damaged nothing else is known. */
const Listed = {
  id: Text,
  made_at: OrNull(Moment),
  bytes: OrNull(Whole),
  schema: OrNull(Count),
  server_version: OrNull(Text),
  folder: Text,
  wrong: OrNull(Text),
}
const UNKNOWN = { made_at: null, bytes: null, schema: null, server_version: null }

const shown = ({ id, made_at, archive_bytes, schema, server_version, folder }: KeptBackup) => ({
  id,
  made_at,
  bytes: BigInt(archive_bytes),
  schema,
  server_version,
  folder,
})

/** Where backups are, for the database that knows of them. */
export const placeOf = (folder: string) => `${hostname()}:${resolve(folder)}`

/** Does the work with the database that is named, by connections of its own. */
export async function withNamed<Result>(
  { databaseUrl }: LocalNeeds,
  work: (sql: Sql, url: string) => Promise<Result>,
): Promise<Result> {
  if (!databaseUrl) throw refusal('It is typed, where the database is.')
  const url = await databaseUrl()
  const sql = connect({ url, connections_max: 1 })
  try {
    return await work(sql, url)
  } finally {
    await sql.close()
  }
}

type Plan = { keep: number | undefined; folder: string }

const NONE: FolderContents = { whole: [], damaged: [] }

/** What making a backup would do. */
async function planOf(sql: Sql, { keep, folder }: Plan) {
  const [size] = await sql<{ bytes: bigint }>`
    select sum(pg_database_size(oid))::bigint as bytes from pg_database`
  const { whole, damaged } = await listBackups(folder).catch(() => NONE)
  const removed = keep === undefined ? [] : whole.slice(Math.max(0, keep - 1))
  return {
    made: null,
    server_bytes: size!.bytes,
    removed: removed.map(({ id }) => id),
    damaged: damaged.map(({ wrong }) => wrong),
  }
}

export const backupOperations = [
  local({
    path: '/operator/backup',
    summary: 'copy the whole database server into a folder, while it runs',
    description:
      'Works on DATABASE_URL, with a role that has the attribute REPLICATION, from any machine. ' +
      'What is made is what pg_basebackup makes, packed: an archive of the data folder and a ' +
      'manifest. Keep it elsewhere: it has everything but the sealing key and the wallets.',
    body: Type.Object({
      folder: text('FOLDER', 'where backups are kept, a folder for each'),
      keep: optional(whole('N', 'remove all but the newest N afterwards')),
      plan: flag('only say what would be copied and removed'),
    }),
    reply: Type.Object({
      made: OrNull(Type.Object(Kept)),
      server_bytes: Whole,
      removed: Type.Array(Text),
      damaged: Type.Array(Text),
    }),
    cli: { operands: ['folder'] },
    async handle({ body: { folder, keep, plan = false }, ...needs }) {
      return withNamed(needs, async (sql, url) => {
        const planned = await planOf(sql, { keep, folder })
        if (plan) return { value: planned }
        const [row] = await sql<{ schema: number }>`
          select max(number)::int as schema from migration`
        const tell = (done: number, size: number) =>
          needs.progress({
            what: 'copying',
            done: Math.round(done / MEGABYTE),
            whole: Math.round(Math.max(size, done) / MEGABYTE),
            unit: 'MB',
          })
        const { schema } = row!
        const made = await makeBackup({
          url,
          parent: folder,
          clock: needs.clock,
          schema,
          tell,
        }).finally(() => needs.progress())
        const { id, made_at, archive_bytes } = made
        const note = { place: placeOf(folder), id, made_at, bytes: BigInt(archive_bytes) }
        await noteBackup(sql, note)
        const removed = keep === undefined ? [] : await removeOlder(folder, keep)
        return {
          value: { ...planned, made: shown(made), removed: removed.map((one) => one.id) },
          note: [
            `It is as of ${made_at.toISOString()}. \`restore --check\` proves what it holds.`,
            ...planned.damaged.map((wrong) => `Beside it: ${wrong}`),
          ].join('\n'),
        }
      })
    },
  }),
  local({
    path: '/operator/backup/list',
    summary: 'the backups in a folder, the newest first',
    description:
      'It needs no database. The exit code is 1 when one of them is damaged, which hides no other.',
    body: Type.Object({ folder: text('FOLDER', 'where backups are kept') }),
    reply: ListOf(Listed),
    cli: { operands: ['folder'] },
    async handle({ body: { folder } }) {
      const { whole, damaged } = await listBackups(folder)
      const all = [
        ...whole.map((one) => ({ ...shown(one), wrong: null })),
        ...damaged.map((one) => ({ ...one, ...UNKNOWN })),
      ]
      return { value: all.sort((a, b) => (a.id < b.id ? 1 : -1)), ok: damaged.length === 0 }
    },
  }),
  local({
    path: '/operator/backup/check',
    summary: 'whether there is a backup of today, whole, and the log since is archived',
    description:
      'Of a folder, every sum of the newest backup is worked out again; of pgBackRest its own ' +
      'word is taken. What is found is noted in the database, for the alert backup_old. The ' +
      'exit code is 1 when something is wrong.',
    body: Type.Object({
      folder: optional(text('FOLDER', 'where backups are kept')),
      stanza: optional(text('NAME', 'of pgBackRest, on this machine')),
    }),
    reply: Type.Object({
      place: Text,
      newest: OrNull(Type.Object({ id: Text, made_at: Moment, bytes: Whole })),
      archives: Flag,
      wrong: Type.Array(Text),
    }),
    cli: { operands: ['folder'] },
    async handle({ body: { folder, stanza }, ...needs }) {
      if ((folder === undefined) === (stanza === undefined))
        throw misuse('Give either the folder of the backups or --stanza NAME.')
      const { place, newest, wrong } =
        folder === undefined ? await askStanza(stanza!) : await lookAtFolder(folder)
      const now = needs.clock.now()
      const found = [...wrong]
      if (!newest) found.push('there is no backup')
      else if (now.getTime() - newest.made_at.getTime() > OLD_MS)
        found.push('the newest backup is more than a day old')
      return withNamed(needs, async (sql) => {
        const { archives, wrong: late } = await lookAtArchive(sql)
        const all = late === undefined ? found : [...found, late]
        if (newest) {
          await noteBackup(sql, { place, ...newest })
          await noteLook(sql, { place, id: newest.id, at: now, found: all, restored: false })
        }
        const note = archives
          ? undefined
          : 'The server archives no log: a restore goes back to the moment of a backup.'
        const value = { place, newest, archives, wrong: all }
        return { value, note, ok: all.length === 0 }
      })
    },
  }),
]

type Look = Repository & { place: string }

const askStanza = async (stanza: string): Promise<Look> => ({
  place: `${hostname()}:pgbackrest:${stanza}`,
  ...(await askPgbackrest(stanza)),
})

async function lookAtFolder(folder: string): Promise<Look> {
  const place = placeOf(folder)
  const { whole, damaged } = await listBackups(folder)
  const hidden = damaged.map(({ wrong }) => wrong)
  const [backup] = whole
  if (!backup) return { place, newest: null, wrong: hidden }
  const { id, made_at, archive_bytes } = backup
  const newest = { id, made_at, bytes: BigInt(archive_bytes) }
  return { place, newest, wrong: [...hidden, ...(await damageOf(backup))] }
}
