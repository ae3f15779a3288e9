import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { CUSTOMER_ROLES, HOUSE_ROLES, scopesOfRole } from './roles.ts'

test('the documents give each role the scopes that it has', async () => {
  const file = new URL('../../../../docs/signing_in.md', import.meta.url)
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
