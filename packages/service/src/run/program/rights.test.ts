import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase, TestDatabase } from 'penstock-test/harness/database.ts'
import { failureOf } from '../../lib/fault.ts'
import { type Part, requireRights } from './rights.ts'

const PARTS: readonly Part[] = ['api', 'worker', 'console']
const FITS = { penstock_api: 'api', penstock_worker: 'worker', penstock_admin: 'console' } as const
const ROLES = [...Object.keys(FITS), 'penstock_read'] as (keyof typeof FITS)[]

/** What is logged by a process of these parts at its start, and the sentence that refuses it. */
async function startAs(
  role: Part | 'all',
  pools: Parameters<typeof requireRights>[0],
  loosened: readonly string[] = [],
) {
  const logged: unknown[] = []
  const log = (event: string, fields: object = {}) => {
    logged.push([event, (fields as { role?: string }).role])
  }
  const started = { role, console_port: 0, loosened, log }
  const refused = await requireRights(pools, started).then(() => undefined, failureOf)
  return { logged, refused }
}

test('a process of one part starts under the role that is made for it, and no other', async (t) => {
  const { sql: all, name, url } = await freshDatabase(t)
  const [{ owner } = {}] = await all<{ owner: string }>`select current_user::text as owner`
  const everywhere = { api: all, worker: all, console: all }
  const own = { ...everywhere }
  for (const role of ROLES) {
    const sql = new TestDatabase({ name, url }).connect({ role })
    t.after(() => sql.close())
    for (const part of PARTS) {
      const { refused } = await startAs(part, { ...everywhere, [part]: sql })
      if (FITS[role] === part) {
        own[part] = sql
        assert.equal(refused, undefined, `${role} ${part}`)
      } else assert.match(refused!.sentence, new RegExp(`The role ${role} of the database may not`))
    }
  }
  for (const part of PARTS) {
    const { refused } = await startAs(part, everywhere)
    assert.equal(refused?.exit_code, 2)
    assert.match(refused.sentence, new RegExp(`The role ${owner} of the database may do more than`))
    const allowed = await startAs(part, everywhere, ['PENSTOCK_ALLOW_WIDE_ROLE'])
    assert.deepEqual(allowed, { logged: [['wide_database_role', owner]], refused: undefined })
  }
  // What does everything may have one role for it, and is told once.
  const wide = { logged: [['wide_database_role', owner]], refused: undefined }
  assert.deepEqual(await startAs('all', everywhere), wide)
  assert.deepEqual(await startAs('all', own), { logged: [], refused: undefined })
})
