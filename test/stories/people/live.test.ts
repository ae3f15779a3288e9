// What a page is told as it happens: the portal's stream stays open for as long as its session and
// its role do, for every role, and no longer.

import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { CUSTOMER_ROLES } from 'penstock-service/people/users/roles.ts'
import { eventually } from '../../harness/eventually.ts'
import { signedIn } from '../../harness/users.ts'
import type { Visitor } from '../../harness/visitor.ts'
import { type Customer, makeWorld, type World } from '../../harness/world.ts'

/** A process looks once a second whether those who stream still may. */
const LOOKED_MS = 2_500

type SignedInUser = Awaited<ReturnType<typeof signedIn>>

/** A stream as a page holds it, and what has come over it. */
async function openStream(t: TestContext, world: World, { headers }: Pick<Visitor, 'headers'>) {
  const gone = new AbortController()
  t.after(() => gone.abort())
  const { port } = world.api.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/portal/events`
  const answer = await fetch(url, { headers, signal: gone.signal })
  assert.equal(answer.status, 200)
  const stream = { text: '', ended: false }
  const reading = (async () => {
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) stream.text += part
    stream.ended = true
  })()
  reading.catch(() => {})
  return Object.assign(stream, { reading })
}

async function listening(t: TestContext): Promise<{ world: World; anna: Customer }> {
  const world = await makeWorld(t)
  await world.api.listen({ port: 0, host: '127.0.0.1' })
  return { world, anna: await world.customer({ trx: 100 }) }
}

test('the stream of every role stays open, and tells what happens', async (t) => {
  const { world, anna } = await listening(t)
  const visitors = await Promise.all(
    CUSTOMER_ROLES.map((role) => signedIn(world, { customer_id: anna.id, role })),
  )
  await world.drain()
  const streams = await Promise.all(visitors.map((one) => openStream(t, world, one)))
  await delay(LOOKED_MS)
  assert.deepEqual(
    streams.map(({ ended }) => ended),
    CUSTOMER_ROLES.map(() => false),
  )
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  await eventually('all are told', async () =>
    streams.every(({ text }) => /event: order\.created/.test(text)),
  )
})

test('a stream ends with its session, with its user, and with the role', async (t) => {
  const { world, anna } = await listening(t)
  const owner = await signedIn(world, { customer_id: anna.id })
  const others = await Promise.all(
    ['reader', 'finance', 'developer'].map((role) =>
      signedIn(world, { customer_id: anna.id, role }),
    ),
  )
  const [out, removed, changed] = others as [SignedInUser, SignedInUser, SignedInUser]
  const streams = await Promise.all(others.map((one) => openStream(t, world, one)))
  const kept = await openStream(t, world, owner)
  await out.ask('/session/end')
  await owner.ask('/v1/user/remove', { id: removed.user_id })
  await owner.ask('/v1/user/change', { id: changed.user_id, role: 'reader' })
  await Promise.all(streams.map(({ reading }) => reading))
  assert.deepEqual([...streams.map(({ ended }) => ended), kept.ended], [true, true, true, false])
})

test('what happens before the stream is opened comes over it: begin says from where', async (t) => {
  const { world, anna } = await listening(t)
  const owner = await signedIn(world, { customer_id: anna.id })
  await anna.buyEnergy(world.person('bob', 1).address, 65_000)
  await world.drain()
  const { event_number } = await owner.ask('/session/begin')
  const { items } = await owner.ask('/v1/events/list', { limit: 1 })
  assert.equal(event_number, (items as { number: number }[])[0]!.number)
  await anna.buyEnergy(world.person('eve', 1).address, 65_000)
  await world.drain()
  const headers = { ...owner.headers, 'last-event-id': String(event_number) }
  const stream = await openStream(t, world, { headers })
  const next = new RegExp(`^id: ${Number(event_number) + 1}$`, 'm')
  await eventually('the next is told', async () => next.test(stream.text))
  assert.doesNotMatch(stream.text, new RegExp(`^id: ${event_number}$`, 'm'))
})
