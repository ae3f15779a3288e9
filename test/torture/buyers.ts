// Customers over HTTP who never give up: each purchase has an external_id of its own and is asked
// for again, at any API process there is, until it is answered. What they were told is what the
// service is held to.

import { hash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { signedCall } from '../../bench/parts/load.ts'
import type { Access, Rig } from './rig.ts'

export type Reply = { code: number; result?: { id?: string; status?: string } }

/** The pool has no room, or the chain does not answer: the only refusal that a right purchase may
 *  get. */
const NOT_NOW = 35
const SOLD_MS_MAX = 60_000

/** What the customers were told: order ids by customer and external id. */
export class Buyers {
  readonly accepted = new Map<string, { customer_id: string; external_id: string; id: string }>()
  /** Two answers that cannot both be true. */
  readonly contradictions: string[] = []
  /** One purchase, two orders. */
  doubled = 0
  asked = 0
  unanswered = 0
  /** Of those, how many were told that the outcome is unknown. */
  failed = 0
  refused: Record<string, number> = {}
  /** What the slowest answer took. */
  longest_ms = 0
  private readonly rig: Rig
  private readonly calls = new Map<string, ReturnType<typeof signedCall>>()
  private shopping = true
  private people: Promise<void>[] = []
  private checked = 0
  private readonly run = randomBytes(4).toString('hex')

  constructor(rig: Rig) {
    this.rig = rig
  }

  /** So many people begin to buy. */
  begin(people: number, pause_ms: number): void {
    this.shopping = true
    this.people = Array.from({ length: people }, (_, i) => this.shop(i, pause_ms))
  }

  /** Everybody ends, each when the purchase under way is answered; not before something was sold
   *  once more. A service that sells nothing any more loses nothing either, and that must not pass.
   *  Blocks have to be made meanwhile. */
  async endWhenSoldTo(): Promise<void> {
    const before = this.accepted.size
    for (let waited_ms = 0; this.accepted.size === before; waited_ms += 50) {
      if (waited_ms > SOLD_MS_MAX) {
        this.contradictions.push(`nothing is sold any more: ${JSON.stringify(this.refused)}`)
        break
      }
      // What was sold has filled the pool: let the hours be over.
      if (waited_ms === SOLD_MS_MAX / 2) this.rig.passAnHour()
      await delay(50)
    }
    this.shopping = false
    await Promise.all(this.people)
    this.people = []
  }

  private async shop(person: number, pause_ms: number): Promise<void> {
    const { customers } = this.rig
    while (this.shopping) {
      const number = this.asked++
      const customer = customers[(person + number) % customers.length]!
      await this.buy(customer, `${this.run}-${number}`, wish(number, this.rig))
      await delay(pause_ms)
    }
  }

  private async buy(customer: Access, external_id: string, body: object): Promise<void> {
    // Now and then at two processes at once, as a customer does whose first call takes too long.
    const twice = hash('sha1', external_id).startsWith('0')
    await Promise.all([
      this.ask(customer, external_id, body),
      ...(twice ? [this.ask(customer, external_id, body)] : []),
    ])
  }

  private async ask(customer: Access, external_id: string, body: object): Promise<void> {
    for (let tries = 0; this.shopping || tries < 500; tries++) {
      const urls = this.rig.api_urls
      const url =
        urls[(tries + external_id.charCodeAt(external_id.length - 1)) % Math.max(1, urls.length)]
      const began_ms = performance.now()
      const reply =
        url &&
        (await this.call(url, customer)('/v1/transaction/new', { ...body, external_id }).catch(
          () => {},
        ))
      this.longest_ms = Math.max(this.longest_ms, performance.now() - began_ms)
      if (reply && reply.code !== 500) return this.told(customer, external_id, reply)
      this.unanswered += 1
      if (reply) this.failed += 1
      await delay(20)
    }
    this.contradictions.push(`${external_id} was never answered`)
  }

  private call(url: string, customer: Access) {
    const key = `${url} ${customer.token}`
    const call = this.calls.get(key) ?? signedCall(url, customer)
    this.calls.set(key, call)
    return call
  }

  private told({ customer_id }: Access, external_id: string, { code, result }: Reply): void {
    if (code !== 0) {
      this.refused[code] = (this.refused[code] ?? 0) + 1
      if (code !== NOT_NOW) this.contradictions.push(`${external_id} was refused with ${code}`)
      if (this.accepted.has(external_id))
        this.contradictions.push(`${external_id} was sold, and refused with ${code}`)
      return
    }
    const id = String(result?.id)
    const before = this.accepted.get(external_id)
    if (before && before.id !== id) {
      this.doubled += 1
      this.contradictions.push(`${external_id} is ${before.id} and ${id}`)
    }
    this.accepted.set(external_id, { customer_id, external_id, id })
  }

  /** All is well again: what is wrong when something was sold once more, everybody has ended and
   *  everything is at rest. */
  async findingsAtRest(): Promise<string[]> {
    await this.endWhenSoldTo()
    const at_rest = await this.rig.lookAtRest()
    const lost = await this.lostAtRest()
    return [...at_rest, ...this.contradictions, ...(lost > 0 ? [`${lost} orders are lost`] : [])]
  }

  /** How many orders that were accepted since the last time are not there. */
  async lost(): Promise<number> {
    const fresh = [...this.accepted.values()].slice(this.checked)
    this.checked = this.accepted.size
    return (await this.missing(fresh)).length
  }

  /** How many of all accepted orders are not there, or not at their end. */
  async lostAtRest(): Promise<number> {
    const open = await this.rig.sql`select 1 from orders where state in ('new', 'pending')`
    return open.length + (await this.gone()).length
  }

  /** The ids of all accepted orders that are not there. */
  gone(): Promise<string[]> {
    return this.missing([...this.accepted.values()])
  }

  private async missing(
    accepted: { customer_id: string; external_id: string; id: string }[],
  ): Promise<string[]> {
    const column = (name: 'id' | 'customer_id' | 'external_id') => accepted.map((one) => one[name])
    const found = await this.rig.sql<{ id: string }>`
      select id from orders join unnest(${column('id')}::text[], ${column('customer_id')}::text[],
                                       ${column('external_id')}::text[])
        as told (id, customer_id, external_id) using (id, customer_id, external_id)`
    const there = new Set(found.map(({ id }) => id))
    return column('id').filter((id) => !there.has(id))
  }
}

/** Mostly energy, for few addresses, so that delegations to one receiver from several orders
 *  meet. */
function wish(number: number, { sandbox }: Rig): object {
  const address = sandbox.funded_accounts[number % 2]!.address
  if (number % 7 === 3)
    return { service: 'bandwidth', params: { address, amount: 300, duration: 1 } }
  if (number % 7 === 5) {
    return {
      service: 'resource_bundle',
      params: { address, amounts: { energy: 32_000, bandwidth: 300 }, duration: 1 },
    }
  }
  return { service: 'energy', params: { address, amount: 32_000 + (number % 3), duration: 1 } }
}
