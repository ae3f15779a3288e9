// Those who run the service let people in and sign them out.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { worldOperator } from '../../harness/operator.ts'
import { signedIn } from '../../harness/users.ts'
import { makeWorld } from '../../harness/world.ts'

test('an operator lets somebody in, sees the session and ends it', async (t) => {
  const world = await makeWorld(t)
  const { id: customer_id } = await world.customer()
  const { json } = await worldOperator(world)
  const { link } = await json<{ link: string }>('users', 'invite', customer_id, 'Bert')
  assert.match(link, /\/portal\/join#[\w-]{43}$/)
  const visitor = await signedIn(world, { customer_id })
  const list = ['sessions', 'list', '--customer', customer_id]
  const [session] = await json<{ id: string; user_id: string }[]>(...list)
  assert.equal(session!.user_id, visitor.user_id)
  assert.equal((await json<{ ended: number }>('sessions', 'end', session!.id)).ended, 1)
  world.wait(2)
  assert.equal((await visitor.call('/v1/balance')).key, 'auth.session')
})
