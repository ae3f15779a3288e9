// The keys that seal the secrets of API keys, of webhooks and of the codes that users sign in with,
// and the key that signs receipts: from the configuration, else from a file under the data folder,
// made on the first start. A process whose keys do not open what the database has sealed must not
// start: it would answer its customers with failures, by them tell right tokens from made-up ones,
// and call no webhook.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { newestSealedSecrets, webhookContext } from '../../events/webhooks/webhooks.ts'
import { systemClock } from '../../lib/clock.ts'
import { Misuse } from '../../lib/fault.ts'
import { readSecretFile, requireWritable, writeOnce } from '../../lib/files.ts'
import { systemRandom } from '../../lib/ids.ts'
import {
  findSigningKey,
  hasSigningKey,
  ownerProvidesSigningKey,
  signingKeyMissing,
} from '../../market/receipts/signing_keys.ts'
import { hasSecrets, sealingKeysMissing } from '../../people/keys/keys.ts'
import { newestTotpSecrets, totpContext } from '../../people/sign_in/codes.ts'
import type { Sql } from '../../platform/database/sql.ts'
import { readSealingKeys, type Seal, type SealingKeys, sealWith } from '../../platform/seal/seal.ts'

type KeyLocation = { secret_key: string | undefined; data_dir: string }

const fileOf = ({ data_dir }: KeyLocation) => join(data_dir, 'secret.key')

/** The keys that are configured or kept; undefined when there are none. Throws Misuse when the file
 *  is damaged or can be read by others. */
export async function keptSealingKeys(where: KeyLocation): Promise<SealingKeys | undefined> {
  const text = where.secret_key ?? (await readSecretFile(fileOf(where), 'the sealing key'))
  if (text === undefined) return undefined
  const keys = readSealingKeys(text.trim())
  if (!keys) throw new Misuse(`${fileOf(where)} is damaged: it is not 64 hexadecimal characters.`)
  return keys
}

/** What sealingKeys() finds. A process that works as the owner of the database sees to the key that
 *  signs receipts. Throws Misuse when a process that answers customers finds none of ours: who
 *  migrates makes it. */
export async function keysAtStart(
  where: KeyLocation,
  sql: Sql,
  credentials_sql: Sql | undefined,
): Promise<SealingKeys> {
  const keys = await sealingKeys(where, sql, credentials_sql)
  const seal = sealWith(keys, systemRandom)
  const needs = { sql, clock: systemClock, random: systemRandom, seal }
  const [role] = await sql<{ may_make: boolean }>`
    select has_table_privilege('signing_key', 'insert') as may_make`
  if (role!.may_make) await ownerProvidesSigningKey(needs, 'start')
  else if (credentials_sql && !(await findSigningKey(sql, seal)))
    throw new Misuse(
      'No key that signs receipts has the mark of our sealing key: run `penstock-admin migrate` ' +
        'where PENSTOCK_SECRET_KEY is set.',
    )
  return keys
}

/** The keys that open what this database has sealed. Where nothing is sealed yet, one is made and
 *  kept in a file. `credentials_sql`: connections that may read what customers and people prove
 *  themselves with; undefined: this process answers nobody, and needs no key for that. Throws
 *  Misuse when a key is missing, or is another than the one that the database knows. */
export async function sealingKeys(
  where: KeyLocation,
  sql: Sql,
  credentials_sql: Sql | undefined,
): Promise<SealingKeys> {
  const keys = (await keptSealingKeys(where)) ?? (await firstKeys(where, sql, credentials_sql))
  const seal = sealWith(keys, systemRandom)
  const signing = await signingKeyMissing(sql, seal)
  const missing = [
    ...new Set([
      ...(credentials_sql ? await sealingKeysMissing(credentials_sql, seal) : []),
      ...(await otherKeysMissing(sql, credentials_sql, seal)),
      ...(signing === undefined ? [] : [signing]),
    ]),
  ]
  if (missing.length === 0) return keys
  const from = where.secret_key === undefined ? fileOf(where) : 'PENSTOCK_SECRET_KEY'
  throw new Misuse(
    `The database has secrets that ${from} does not open: ` +
      `they are sealed with another key ${missing.join(' and ')}.`,
  )
}

/** A sealed secret, and the name of the key that has sealed it. */
type SealedSecret = { sealed: string; context: string; sealed_by: string }

/** Of each sealing key the newest secrets that it has sealed and that are still used. */
async function newestSecrets(sql: Sql, credentials_sql: Sql | undefined): Promise<SealedSecret[]> {
  const of_webhooks = await newestSealedSecrets(sql, systemClock.now())
  const of_codes = credentials_sql ? await newestTotpSecrets(credentials_sql) : []
  return [
    ...of_webhooks.map(({ webhook_id, sealed_secret: sealed, sealed_by }) => {
      return { sealed, context: webhookContext(webhook_id), sealed_by }
    }),
    ...of_codes.map(({ user_id, sealed_totp: sealed, sealed_by }) => {
      return { sealed, context: totpContext(user_id), sealed_by }
    }),
  ]
}

/** The names of the sealing keys without which webhooks cannot be signed, or codes checked. */
async function otherKeysMissing(
  sql: Sql,
  credentials_sql: Sql | undefined,
  seal: Seal,
): Promise<string[]> {
  return (await newestSecrets(sql, credentials_sql)).flatMap(({ sealed, context, sealed_by }) => {
    try {
      seal.open(sealed, context)
      return []
    } catch {
      return [sealed_by]
    }
  })
}

async function firstKeys(
  where: KeyLocation,
  sql: Sql,
  credentials_sql: Sql | undefined,
): Promise<SealingKeys> {
  const file = fileOf(where)
  const [sealed] = await newestSecrets(sql, credentials_sql)
  if ((await hasSecrets(sql)) || (await hasSigningKey(sql)) || sealed) {
    throw new Misuse(
      'The database has sealed secrets, and there is no key that opens them: ' +
        `set PENSTOCK_SECRET_KEY, or put ${file} back.`,
    )
  }
  await requireWritable(where.data_dir)
  await writeOnce(file, `${randomBytes(32).toString('hex')}\n`)
  return (await keptSealingKeys(where))!
}
