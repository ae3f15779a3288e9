// Which mistake is answered first. Clients branch on the code alone, so a request with two mistakes must get the same one
// today and tomorrow: authentication, form, address, duration, amount, external_id, service, wallet, activation, funds.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Customer, makeWorld, post, type World } from './world.ts'

const NEW = '/v1/transaction/new'

type Body = { service?: unknown; params?: Record<string, unknown> | null; external_id?: unknown }
type Draft = { who: Customer; body: Body & { params: Record<string, unknown> }; headers: Record<string, string>; off_sale: boolean }
type Mistake = { name: string; code: number; make: (draft: Draft, people: People) => void }
type People = { rich: Customer; poor: Customer; walletless: Customer; bob: string; nina: string }

/** In the order in which they are answered. */
const MISTAKES: Mistake[] = [
  { name: 'a wrong signature', code: 1, make: (draft) => Object.assign(draft.headers, { 'x-signature': '0'.repeat(64) }) },
  { name: 'an unknown service', code: 2, make: ({ body }) => Object.assign(body, { service: 'gas' }) },
  { name: 'an invalid address', code: 10, make: ({ body }) => Object.assign(body.params, { address: 'T123' }) },
  { name: 'another duration', code: 12, make: ({ body }) => Object.assign(body.params, { duration: 24 }) },
  { name: 'an amount in no tier', code: 11, make: ({ body }) => Object.assign(body.params, { amount: 1 }) },
  { name: 'an external_id of another meaning', code: 2, make: ({ body }) => Object.assign(body, { external_id: 'taken' }) },
  { name: 'a service off sale', code: 35, make: (draft) => Object.assign(draft, { off_sale: true }) },
  { name: 'no wallet', code: 5, make: (draft, { walletless }) => Object.assign(draft, { who: walletless }) },
  { name: 'an inactive address', code: 24, make: ({ body }, { nina }) => Object.assign(body.params, { address: nina }) },
  { name: 'too little money', code: 6, make: (draft, { poor }) => Object.assign(draft, { who: poor }) },
]

async function makePeople(t: TestContext, world: World): Promise<People> {
  const bob = world.person('bob', 1).address
  const [rich, poor, walletless] = [
    await world.customer({ trx: 100 }),
    await world.customer({ trx: 3 }),
    await world.customer({ trx: 3 }),
  ]
  const other = world.person('other', 1).address
  for (const one of [rich, poor, walletless]) {
    await one.buy({ service: 'energy', params: { address: other, amount: 60_000, duration: 1 }, external_id: 'taken' })
  }
  await world.settle()
  // Nobody is without a wallet by the ways of the service; the row is put back before the books are checked.
  const account = `customer:${walletless.id}`
  const [row] = await world.sql<{ posted_sun: bigint }>`delete from account where id = ${account} returning posted_sun`
  t.after(() => world.sql`insert into account (id, may_go_negative, posted_sun) values (${account}, false, ${row!.posted_sun})`)
  return { rich, poor, walletless, bob, nina: world.person('nina').address }
}

async function answer(world: World, people: People, mistakes: readonly Mistake[]): Promise<number> {
  const draft: Draft = {
    who: people.rich,
    body: { service: 'energy', params: { address: people.bob, amount: 65_000, duration: 1 } },
    headers: {},
    off_sale: false,
  }
  // The later ones first, so that an earlier one that changes the same field stands.
  for (const mistake of mistakes.toReversed()) mistake.make(draft, people)
  await world.sql`update service set on_sale = ${!draft.off_sale} where name = 'energy'`
  world.wait(2)
  await world.drain()
  return (await draft.who.call(NEW, draft.body, draft.headers)).code
}

/** Registered before the world, so that it runs before the world's own end. */
function worldWithPeople(t: TestContext): Promise<{ world: World; people: People }> {
  let putBack: () => Promise<unknown> = async () => {}
  t.after(() => putBack())
  return makeWorld(t).then(async (world) => {
    const before = { after: (work: () => Promise<unknown>) => (putBack = work) } as unknown as TestContext
    return { world, people: await makePeople(before, world) }
  })
}
