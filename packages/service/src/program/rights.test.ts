import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase, TestDatabase } from 'penstock-test/harness/database.ts'
import { type Part, requireRights } from './rights.ts'

const PARTS: readonly Part[] = ['api', 'worker', 'console']
const FITS = { penstock_api: 'api', penstock_worker: 'worker', penstock_admin: 'console' } as const

test('a part of a process starts under the role that is made for it, or its owner', async (t) => {
  const { sql: all, name, url } = await freshDatabase(t)
  for (const part of PARTS) await requireRights(all, part)
  for (const role of [...Object.keys(FITS), 'penstock_read'] as (keyof typeof FITS)[]) {
    const sql = new TestDatabase({ name, url }).connect({ role })
    t.after(() => sql.close())
    for (const part of PARTS) {
      if (FITS[role] === part) await requireRights(sql, part)
      else
        await assert.rejects(requireRights(sql, part), (thrown) => {
          assert.match(String(thrown), new RegExp(`The role ${role} of the database may not`))
          return true
        })
    }
  }
})
