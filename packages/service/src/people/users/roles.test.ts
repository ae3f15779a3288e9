import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { CUSTOMER_ROLES, HOUSE_ROLES, scopesOfRole } from './roles.ts'

test('the documents give each role the scopes that it has', async () => {
  const file = new URL('../../../../../docs/operators/signing_in.md', import.meta.url)
  const text = await readFile(file, 'utf8')
  const documented = [...text.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, role, scopes]) => [
    role,
    scopes!.replaceAll('`', '').split(' '),
  ])
  assert.deepEqual(
    documented,
    CUSTOMER_ROLES.map((role) => [role, scopesOfRole(role)]),
  )
  for (const role of HOUSE_ROLES) {
    assert.ok(text.includes(`\`${role}\``), role)
    assert.deepEqual(scopesOfRole(role), [])
  }
})

test('the database takes each role, and no other', async (t) => {
  const { sql } = await freshDatabase(t)
  const [known] = await sql<{ definition: string }>`
    select pg_get_constraintdef(oid) as definition from pg_constraint
    where conname = 'service_user_role_known'`
  const roles = [...known!.definition.matchAll(/'(\w+)'/g)].map(([, role]) => role!)
  assert.deepEqual(roles.sort(), [...HOUSE_ROLES, ...CUSTOMER_ROLES].sort())
})
