// What a session that has ended, or a proof that was taken away, is good for a moment later:
// processes remember a session for a second, and what one signs in with outlives sessions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeAt, joinedByPassword, signedIn } from '../../harness/users.ts'
import { makeWorld } from '../../harness/world.ts'

test('a session that has just ended changes nothing of what its user signs in with', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const owner = await signedIn(world, { customer_id })
  const of = { customer_id, role: 'developer' }
  const endings: Record<string, (id: string) => Promise<unknown>> = {
    recovered: (id) => owner.ask('/v1/user/recover', { id }),
    'signed out by the owner': async (id) => {
      const { items } = await owner.ask('/v1/sessions/list')
      const all = items as { id: string; user: { id: string } }[]
      await owner.ask('/v1/session/end', { id: all.find(({ user }) => user.id === id)!.id })
    },
  }
  for (const [what, end] of Object.entries(endings)) {
    const { visitor, user_id } = await joinedByPassword(world, of, `anna.${what.length}`)
    const { secret, offer } = (await visitor.ask('/session/totp')).totp as Record<string, string>
    await end(user_id)
    // The clock stands still: this process remembers the session.
    const code = codeAt(secret!, world.now)
    const taken = { password: 'another horse battery', code, offer }
    const tries: [string, object][] = [
      ['/session/totp', taken],
      ['/session/recovery/new', {}],
    ]
    for (const [path, body] of tries)
      assert.equal((await visitor.call(path, body)).key, 'auth.session', `${what}: ${path}`)
    const [left] = await world.sql<{ changed: boolean }>`
      select exists (select 1 from user_password where user_id = ${user_id}
        and changed_at > (select joined_at from service_user where id = ${user_id})) as changed`
    assert.deepEqual(left, { changed: false }, what)
  }
})
