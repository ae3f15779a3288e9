// Which passkeys are kept, and whose they are: the signatures of browsers are tried by stories.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from 'penstock-test/harness/database.ts'
import { addPasskey, isOwnPasskey, listPasskeys, removePasskey, renamePasskey } from './passkeys.ts'

const at = new Date('2026-10-08T15:26:32Z')
const clock = { now: () => at }
const GIVEN = /That passkey was given before/

test('a passkey is kept once, and each challenge is answered once', async (t) => {
  const { sql } = await freshDatabase(t)
  for (const id of ['anna', 'bert'])
    await sql`
      insert into service_user (id, name, role, sign_in_name, invited_at, invited_by, joined_at)
      values (${id}, ${id}, 'admin', ${id}, ${at}, 'olga', ${at})`
  const add = (user_id: string, id: string, challenge: string) => {
    const key = { public_key: new Uint8Array([1]), counter: 0n, transports: [] }
    const passkey = { ...key, id, challenge }
    return sql.begin((tx) => addPasskey(tx, { clock }, { user_id, name: id, passkey }))
  }
  await add('anna', 'phone', 'first')
  await assert.rejects(add('anna', 'phone', 'second'), GIVEN, 'the same passkey')
  await assert.rejects(add('bert', 'phone', 'third'), GIVEN, "somebody else's")
  await assert.rejects(add('anna', 'laptop', 'first'), GIVEN, 'a challenge that was answered')
  await add('anna', 'laptop', 'fourth')
  await add('bert', 'stick', 'fifth')
  const idsOf = async (user_id: string) =>
    (await listPasskeys(sql, user_id)).map(({ id }) => id).sort()
  assert.deepEqual([await idsOf('anna'), await idsOf('bert')], [['laptop', 'phone'], ['stick']])
  const own = (user_id: string, id: string) => sql.begin((tx) => isOwnPasskey(tx, { user_id, id }))
  assert.deepEqual([await own('anna', 'phone'), await own('bert', 'phone')], [true, false])
  const remove = (user_id: string, id: string) =>
    sql.begin((tx) => removePasskey(tx, { user_id, id }))
  assert.deepEqual([await remove('bert', 'phone'), await remove('anna', 'phone')], [false, true])
  await add('anna', 'watch', 'sixth')
  const rename = (user_id: string, id: string) =>
    sql.begin((tx) => renamePasskey(tx, { user_id, id, name: 'new' }))
  assert.deepEqual([await rename('bert', 'laptop'), await rename('anna', 'watch')], [false, true])
  assert.deepEqual(
    (await listPasskeys(sql, 'anna')).map(({ id, name }) => [id, name]),
    [
      ['laptop', 'laptop'],
      ['watch', 'new'],
    ],
  )
  await sql`update passkey set off_at = ${at} where id = 'laptop'`
  assert.equal(await own('anna', 'laptop'), false, 'one that is off')
})
