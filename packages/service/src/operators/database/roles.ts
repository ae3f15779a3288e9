// The roles of the database that processes and people sign in with; what each may do is said in the
// migrations. A password reaches the server as what proves it, so that no log of statements has it.

import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { Type } from 'typebox'
import { refusal } from '../../lib/fault.ts'
import type { Random } from '../../lib/ids.ts'
import { provideSigningKey } from '../../market/receipts/signing_keys.ts'
import type { Query } from '../../platform/database/sql.ts'
import { ListOf, NOTHING, Text } from '../../platform/wire/schemas.ts'
import { undertaking } from '../table/operation.ts'

const ROLES = [
  'penstock_api',
  'penstock_worker',
  'penstock_admin',
  'penstock_signer',
  'penstock_read',
] as const

export type DatabaseRole = (typeof ROLES)[number]

/** What PostgreSQL keeps of a password for SCRAM-SHA-256. */
export function verifierOf(password: string, salt: Uint8Array): string {
  const rounds = 4_096
  const salted = pbkdf2Sync(password, salt, rounds, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const server = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${rounds}:${Buffer.from(salt).toString('base64')}$${stored}:${server}`
}

/** Lets a role sign in with a password, and with no other. Throws Refused when the caller's own
 *  role may not say so. */
export async function setPassword(
  sql: Query,
  random: Random,
  { role, password }: { role: DatabaseRole; password: string },
): Promise<void> {
  const verifier = verifierOf(password, random.bytes(16))
  await sql`select set_role_password(${role}, ${verifier})`.catch((thrown: unknown) => {
    throw thrown instanceof Error && 'code' in thrown && thrown.code === '42501'
      ? refusal(`This role of the database may not set the password of ${role}: a superuser may.`)
      : thrown
  })
}

type Password = { role: DatabaseRole; password: string }

/** A role and its password, with a blank between them. */
const LINE = new RegExp(`^(${ROLES.join('|')}) ([!-~]{16,128})$`)

/** Throws Refused, and never shows a password. */
function readPasswords(text: string): Password[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) throw refusal('No role and no password came on standard input.')
  return lines.map((line, i) => {
    const [, role, password] = LINE.exec(line) ?? []
    if (role === undefined || password === undefined)
      throw refusal(
        `Line ${i + 1} is not a role (${ROLES.join(', ')}), a blank, and a password of 16 to 128 ` +
          'characters without blanks.',
      )
    return { role: role as DatabaseRole, password }
  })
}

export const roleOperations = [
  undertaking({
    path: '/operator/roles/apply',
    role: 'admin',
    careful: true,
    summary: 'let roles of the database sign in, with the passwords on standard input',
    description:
      'Works on DATABASE_URL as a role that may change others, like a superuser. Each line of ' +
      'standard input is a role, a blank and its password. A role that is not named stays as it ' +
      'is. What each role may do is in packages/service/db/rights.txt. With PENSTOCK_SECRET_KEY ' +
      'it also makes the key that signs receipts, where there is none.',
    body: NOTHING,
    reply: Type.Object({ roles: ListOf({ role: Text }) }),
    takes: 'secret',
    async handle({ secret = '', clock, random, findSeal, record }) {
      const passwords = readPasswords(secret)
      const actions = passwords.map(({ role }) => ({
        subject: `role:${role}`,
        before: null,
        after: { password: 'set' },
      }))
      const seal = await findSeal?.()
      await record(async (tx) => {
        for (const one of passwords) await setPassword(tx, random, one)
        const made = seal ? await provideSigningKey(tx, { clock, random, seal }) : []
        return { result: undefined, actions: [...actions, ...made] }
      })
      return { value: { roles: passwords.map(({ role }) => ({ role })) } }
    },
  }),
]
