// Migrating the database, beside a running service.

import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import { hasSigningKey, ownerProvidesSigningKey } from '../../market/receipts/signing_keys.ts'
import { migrate, pendingMigrations } from '../../platform/database/migrate.ts'
import type { Migration } from '../../platform/database/migrations.ts'
import { connect } from '../../platform/database/sql.ts'
import { Count, flag, ListOf, Text } from '../../platform/wire/schemas.ts'
import { beginWithNewest } from '../../screening/engine/policy.ts'
import { type LocalNeeds, local } from '../table/operation.ts'

/** What a person sees of a migration. */
const shown = ({ number, name, kind }: Migration) => ({ number, name, kind })

export const migrationOperations = [
  local({
    path: '/operator/migrate',
    role: 'admin',
    summary: 'bring the database to the schema of this version, while the service runs',
    description:
      'Works on DATABASE_URL, as the owner of the database. An expand leaves processes of the ' +
      'version before running; after a contract only this version starts. What waits for a lock ' +
      'is given up after 1.5 seconds and tried again, so that no customer waits longer. With ' +
      'PENSTOCK_SECRET_KEY it also makes the key that signs receipts, where there is none.',
    body: Type.Object({ plan: flag('only say what would be applied') }),
    reply: Type.Object({
      applied: Type.Boolean(),
      migrations: ListOf({
        number: Count,
        name: Text,
        kind: Type.Union([Type.Literal('expand'), Type.Literal('contract')]),
      }),
    }),
    cli: {
      text: (value) => {
        const { applied, migrations } = value as {
          applied: boolean
          migrations: ReturnType<typeof shown>[]
        }
        if (migrations.length === 0) return 'The database has every migration.\n'
        const lines = migrations.map(({ number, name, kind }) => `${number} ${name}: ${kind}`)
        return `${applied ? 'Applied' : 'To be applied'}:\n${lines.join('\n')}\n`
      },
    },
    async handle({ databaseUrl, progress, body: { plan = false }, ...needs }) {
      if (!databaseUrl) throw refusal('It is typed, where the database is.')
      const url = await databaseUrl()
      const migrations = plan
        ? await pendingMigrations(url)
        : await migrate(url, { waits: tellWaiting(progress) })
      progress()
      const note = plan ? undefined : await provideRows(url, needs)
      return { value: { applied: !plan, migrations: migrations.map(shown) }, note }
    },
  }),
]

/** What a new database has beside its schema: the newest policy of screening, and the key that
 *  signs receipts, where a sealing key is kept. What is to be done otherwise. */
async function provideRows(
  url: string,
  { clock, random, findSeal }: Pick<LocalNeeds, 'clock' | 'random' | 'findSeal'>,
): Promise<string | undefined> {
  const sql = connect({ url, connections_max: 1 })
  try {
    await beginWithNewest(sql, clock)
    const seal = await findSeal?.()
    if (seal) await ownerProvidesSigningKey({ sql, clock, random, seal }, 'migrate')
    else if (!(await hasSigningKey(sql)))
      return 'No key signs receipts yet: run it again where PENSTOCK_SECRET_KEY is set.'
    return undefined
  } finally {
    await sql.close()
  }
}

const tellWaiting =
  (progress: LocalNeeds['progress']) =>
  ({ number, name }: Migration, tries: number) =>
    progress({
      what: `${number} ${name} waits for a lock`,
      done: tries,
      whole: undefined,
      unit: 'tries',
    })
