// `npm run torture -- sdk`: a thousand purchases with the SDK through a proxy that loses, cuts,
// delays and doubles requests and answers. There must be a thousand orders, each charged once, and
// whatever the SDK could not know it must have said so: only UnknownOutcome may be thrown, and the
// same call again resolves it.

import { Penstock, Unavailable, UnknownOutcome } from '../../packages/sdk/src/penstock.ts'
import { readArguments } from '../../tools/arguments.ts'
import { type Access, Rig } from './rig.ts'
import { type Mishap, UnreliableProxy } from './unreliable_proxy.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)

const SHARE = 0.4
const TIMEOUT_MS = 1_500
const LATE_MS = 2_000
const CALLERS = 25

type BuyOptions = {
  api_url: string
  access: Pick<Access, 'token' | 'secret'>
  /** Who receives what is bought. */
  address: string
  purchases: number
  seed: number
}

type BuyFigures = {
  /** What was sold, by its external id. */
  ids: Map<string, string>
  /** How often the SDK said that it does not know. */
  unknown: number
  happened: Partial<Record<Mishap, number>>
  findings: string[]
}

/** Buys so often through an unreliable proxy, several at once. Every second purchase has an
 *  external id of its own; the others get one from the SDK. */
export async function buyUnreliably(wanted: BuyOptions): Promise<BuyFigures> {
  const { api_url, access, address, purchases, seed } = wanted
  const random = numbersFrom(seed)
  const proxy = new UnreliableProxy({ target: api_url, random, share: SHARE, late_ms: LATE_MS })
  const url = await proxy.listen()
  const penstock = new Penstock({ url, ...access, timeout_ms: TIMEOUT_MS })
  const bought: BuyFigures = { ids: new Map(), unknown: 0, happened: proxy.happened, findings: [] }
  // From now on it knows that its key is right.
  await penstock.balance.get()
  let next = 0
  const caller = async () => {
    while (next < purchases) await buy(penstock, address, seed, next++, bought)
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  await proxy.close()
  return bought
}

async function buy(
  penstock: Penstock,
  address: string,
  seed: number,
  number: number,
  bought: BuyFigures,
): Promise<void> {
  let external_id = number % 2 === 0 ? `unreliable-${seed}-${number}` : undefined
  for (;;) {
    const body = { service: 'energy', params: { address, amount: 65_000, duration: 1 } } as const
    try {
      const order = await penstock.orders.create({ ...body, external_id })
      const before = bought.ids.get(order.external_id!)
      if (before) bought.findings.push(`${order.external_id} was sold as ${before} and ${order.id}`)
      bought.ids.set(order.external_id!, order.id)
      return
    } catch (thrown) {
      if (thrown instanceof UnknownOutcome) {
        bought.unknown += 1
        external_id = thrown.external_id
      } else if (!(thrown instanceof Unavailable)) {
        bought.findings.push(`purchase ${number}: ${String(thrown)}`)
        return
      }
    }
  }
}

/** Numbers from 0 to 1, the same for a seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export async function run(args: string[]): Promise<boolean> {
  const { numbers, json } = readArguments(args, { numbers: { purchases: 1_000, seed: 1 } })
  const { purchases, seed } = numbers
  const rig = await Rig.open()
  try {
    await rig.start('all')
    await rig.fund()
    rig.keepMining(500)
    const [api_url] = rig.api_urls
    const [access] = rig.customers
    const { address } = rig.sandbox.funded_accounts[0]!
    const began_ms = performance.now()
    const bought = await buyUnreliably({
      api_url: api_url!,
      access: access!,
      address,
      purchases,
      seed,
    })
    const seconds = Math.round((performance.now() - began_ms) / 1000)
    const rows = await rig.sql<{ id: string; external_id: string | null }>`
      select id, external_id from orders`
    const [charges] = await rig.sql<{ count: bigint }>`
      select count(*) as count from transfer where kind = 'hold'`
    const told = rows.filter(({ id, external_id }) => bought.ids.get(external_id ?? '') === id)
    const { findings, unknown, happened } = bought
    findings.push(...(await rig.lookAtRest()))
    const counted = { orders: rows.length, charges: Number(charges!.count), told: told.length }
    say(
      JSON.stringify(
        { purchases, ...counted, unknown, seconds, happened, findings },
        null,
        json ? 0 : 2,
      ),
    )
    const once = Object.values(counted).every((count) => count === purchases)
    return once && unknown > 0 && findings.length === 0
  } finally {
    await rig.close()
  }
}
