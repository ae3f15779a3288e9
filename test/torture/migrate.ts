// `npm run torture -- migrate`: the schema changes under load. First a column is added to the table
// of orders by hand; then the table is held by a transaction for a while, and a migration that
// changes it waits behind that, while a backup is made. Nobody may be refused, nobody may wait for
// longer than the migration waits for a lock, and the backup must be whole. At last the command is
// killed at random moments, on databases of its own (migrate_killed.ts).

import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrate } from 'penstock-service/platform/database/migrate.ts'
import { MIGRATIONS_FOLDER } from 'penstock-service/platform/database/migrations.ts'
import { readArguments } from '../../tools/arguments.ts'
import { Buyers } from './buyers.ts'
import { killMigrations } from './migrate_killed.ts'
import { Rig, type Role } from './rig.ts'

const ROLES: readonly Role[] = ['api', 'api', 'worker']
const PEOPLE = 4
const PAUSE_MS = 50
const BLOCK_MS = 200
const WARM_MS = 3_000
const LONGEST_MS_MAX = 2_500
/** A backup begins so long before the table is let go. */
const BACKUP_MS = 1_500

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { seconds: 20, kills: 10 } })
  const rig = await Rig.open()
  try {
    await Promise.all(ROLES.map((role) => rig.start(role)))
    await rig.fund()
    rig.keepMining(BLOCK_MS)
    const buyers = new Buyers(rig)
    buyers.begin(PEOPLE, PAUSE_MS)
    await delay(WARM_MS)
    await rig.sql`alter table orders add column by_hand int`
    await delay(WARM_MS)
    const by_hand = { orders: buyers.accepted.size, failed_requests: buyers.unanswered }
    buyers.longest_ms = 0
    const behind = await migrateBehind(rig, numbers.seconds * 1_000)
    const longest_ms = Math.round(buyers.longest_ms)
    const findings = await buyers.findingsAtRest()
    const backup = await restoredOf(rig)
    const { findings: of_kills, ...kills } = await killMigrations(rig, numbers.kills)
    findings.push(...of_kills)
    const result = {
      by_hand,
      ...behind,
      backup,
      ...kills,
      longest_ms,
      orders: buyers.accepted.size,
      failed_requests: buyers.unanswered,
      refused: buyers.refused,
      findings: findings.slice(0, 20),
    }
    process.stdout.write(`${JSON.stringify(result, null, json ? 0 : 2)}\n`)
    return (
      longest_ms < LONGEST_MS_MAX &&
      behind.tries > 1 &&
      behind.applied &&
      backup.books_balanced &&
      backup.has_migration === backup.ended_after_it &&
      buyers.unanswered + findings.length === 0
    )
  } finally {
    await rig.close()
  }
}

/** Holds the table for so long while a migration of it is applied. */
async function migrateBehind(rig: Rig, held_ms: number) {
  const folder = join(rig.folder, 'migrations')
  await mkdir(folder)
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true })
  const more = '-- kind: expand\nalter table orders add column by_migration int;\n'
  await writeFile(join(folder, '9999_by_migration.sql'), more)
  let tries = 0
  let backing_up: Promise<unknown> | undefined
  let migrating: ReturnType<typeof migrate> | undefined
  await rig.sql.begin(async (tx) => {
    await tx`select count(*) from orders`
    const waits = (_migration: unknown, times: number) => {
      tries = times
    }
    migrating = migrate(rig.database_url, { folder, waits })
    await delay(held_ms - BACKUP_MS)
    // It copies while the migration still waits, and while it is applied.
    backing_up = rig.operate('backup', backupsOf(rig))
    backing_up.catch(() => {})
    await delay(BACKUP_MS)
  })
  const applied = await migrating!
  await backing_up
  return { tries, applied: applied.length === 1 }
}

const backupsOf = ({ folder }: Rig) => join(folder, 'backups')

/** What the backup holds that was made meanwhile. */
async function restoredOf(rig: Rig) {
  const [made] = JSON.parse(await rig.operate('backup', 'list', backupsOf(rig), '--json')) as {
    made_at: string
  }[]
  const said = await rig.operate('restore', backupsOf(rig), '--check', '--json')
  const { books_balanced, schema } = JSON.parse(said) as { books_balanced: boolean; schema: number }
  const [{ after } = { after: false }] = await rig.sql<{ after: boolean }>`
    select applied_at < ${new Date(made!.made_at)} as after from migration where number = 9999`
  return { books_balanced, has_migration: schema === 9999, ended_after_it: after }
}
