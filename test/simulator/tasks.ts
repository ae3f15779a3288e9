// What customers do beside buying: they subscribe addresses, stop that, and have addresses
// screened. As with purchases, an answer that contradicts an earlier one, or a refusal that was not
// due, is a finding.

import { perform } from 'penstock-service/events/log/changes.ts'
import type { Action } from 'penstock-service/ledger/accounts/actions.ts'
import type { Clock } from 'penstock-service/lib/clock.ts'
import { type PlanTerms, setPlan } from 'penstock-service/market/subscriptions/plans.ts'
import type { Sql } from 'penstock-service/platform/database/sql.ts'
import type { Address } from 'penstock-tron/address.ts'
import { type Access, call, type Reply } from './buyer.ts'
import type { Dice } from './dice.ts'
import type { Instance } from './instance.ts'

/** One call. `run` returns what the customer was told, and what is wrong with that. */
export type Task = {
  name: string
  about: string
  run(instance: Instance): Promise<{ told: string; objection: string | undefined }>
}

/** Something asked for under a name of the customer's own, so that it can be asked for again. */
type Wish = {
  who: Access
  name: string
  path: string
  body: object
  headers: Record<string, string>
  id: string | undefined
  /** What was last told. A status that is final stays, with all that was told with it. */
  status: string | undefined
}

/** Each status by how far it is from the start: what is told later is at least as far. */
const RANKS: Readonly<Record<string, number>> = {
  new: 0,
  pending: 1,
  active: 2,
  stopped: 3,
  expired: 3,
  error: 3,
  processing: 2,
  completed: 3,
  failed: 3,
}
const FINAL = 3

const isRunning = ({ status }: Wish) => status !== undefined && (RANKS[status] ?? FINAL) < FINAL

type TaskOptions = { dice: Dice; customers: readonly Access[]; wishes_max: number }

/** What is the same for subscriptions and checks: asking, asking again, and looking. */
abstract class CustomerTasks {
  protected readonly dice: Dice
  protected readonly wishes: Wish[] = []
  protected readonly customers: readonly Access[]
  private readonly wishes_max: number
  protected abstract readonly kind: string
  protected abstract readonly look_path: string
  protected abstract readonly refusals: readonly number[]

  constructor({ dice, customers, wishes_max }: TaskOptions) {
    this.dice = dice
    this.customers = customers
    this.wishes_max = wishes_max
  }

  protected abstract draw(number: number): Wish

  /** What is done next; undefined: nothing. */
  next(): Task | undefined {
    const { dice, wishes } = this
    const told = wishes.filter(({ id }) => id !== undefined)
    const kind = dice.weighted({
      fresh: wishes.length < this.wishes_max ? 3 : 0,
      again: wishes.length > 0 ? 2 : 0,
      look: told.length > 0 ? 1 : 0,
    })
    if (kind === 'look') return this.look(dice.pick(told))
    return kind === 'again' ? this.ask(dice.pick(wishes)) : this.fresh()
  }

  protected fresh(): Task {
    const wish = this.draw(this.wishes.length)
    this.wishes.push(wish)
    return this.ask(wish)
  }

  private ask(wish: Wish): Task {
    const { who, name, path, body, headers } = wish
    const run = async (instance: Instance) => {
      const before = { ...wish }
      const reply = await call(instance, who, { path, body, headers })
      return {
        told: `${reply.code} ${reply.result?.id ?? ''}`,
        objection: this.judge(wish, before, reply),
      }
    }
    return { name: this.kind, about: `${name} ${JSON.stringify(body)}`, run }
  }

  private look(wish: Wish): Task {
    const { who, name } = wish
    const run = async (instance: Instance) => {
      const before = { ...wish }
      const reply = await call(instance, who, { path: this.look_path, body: { id: wish.id } })
      const missing =
        reply.code === 0 || reply.code === 500
          ? undefined
          : `${this.kind} ${wish.id} is not found: ${reply.code}`
      const objection =
        reply.code === 0 ? judgeStatus(wish, before, String(reply.result?.status)) : missing
      return { told: `${reply.code} ${wish.status}`, objection }
    }
    return { name: `look at ${this.kind}`, about: name, run }
  }

  private judge(wish: Wish, before: Wish, reply: Reply): string | undefined {
    const { code, result } = reply
    if (code === 500) return undefined
    if (code !== 0) {
      if (before.id !== undefined)
        return `refused with ${code} what was told as ${this.kind} ${before.id}`
      return this.refusals.includes(code)
        ? undefined
        : `refused with ${code} ${reply.key}: ${reply.error}`
    }
    const id = String(result?.id)
    if (wish.id !== undefined && id !== wish.id)
      return `${this.kind} made twice: ${wish.id} and ${id}`
    wish.id = id
    return judgeStatus(wish, before, String(result?.status))
  }
}

/** `before` is what was known when it was asked for: answers may overtake one another. */
function judgeStatus(wish: Wish, before: Wish, status: string): string | undefined {
  wish.status = status
  const from = RANKS[before.status ?? ''] ?? 0
  const back = (RANKS[status] ?? -1) < from || (from === FINAL && status !== before.status)
  return back ? `${wish.id} was ${before.status} and is ${status}` : undefined
}

/** Beside the plan that is shipped, two that are soon over, and one that includes nothing. */
const PLANS: Record<string, Partial<PlanTerms>> = {
  three: {
    name: 'Three',
    activation_fee_sun: 1_400_000n,
    initial_price_sun: 3_000_000n,
    price_sun: 0n,
    included: 3,
    transactions_limit: 3,
    duration_days: 2,
    energy_per_transaction: 32_000,
  },
  daily: {
    name: 'Daily',
    initial_price_sun: 1_000_000n,
    price_sun: 1_500_000n,
    included: 1,
    duration_days: 1,
    energy_per_transaction: 32_000,
    idle_hours: 1,
  },
  each: {
    name: 'Each',
    initial_price_sun: 0n,
    price_sun: 1_200_000n,
    included: 0,
    energy_per_transaction: 32_000,
    idle_hours: 1,
  },
}

/** Puts them on sale, as an operator does. */
export async function sellPlans(sql: Sql, clock: Clock): Promise<void> {
  const operator = { made_by: 'simulator', reason: null }
  await perform({ sql, clock }, { operator, action: 'plans set' }, async (tx, at) => {
    const actions: Action[] = []
    for (const [key, terms] of Object.entries(PLANS)) {
      const change = await setPlan(tx, {
        confirmed: true,
        key,
        terms,
        at,
        changed_by: operator.made_by,
      })
      actions.push(...change.actions)
    }
    return { result: undefined, actions }
  })
}

export class Subscribing extends CustomerTasks {
  protected readonly kind = 'subscription'
  protected readonly look_path = '/v1/subscription/check'
  protected readonly refusals = [2, 6, 10, 24, 35]
  private readonly addresses: readonly Address[]

  constructor({ addresses, ...asking }: TaskOptions & { addresses: readonly Address[] }) {
    super(asking)
    this.addresses = addresses
  }

  override next(): Task | undefined {
    // Also those that have not begun: a start, and a stop at once.
    const running = this.wishes.filter(isRunning)
    return running.length > 0 && this.dice.chance(0.06)
      ? this.stop(this.dice.pick(running))
      : super.next()
  }

  /** The addresses that are subscribed, as far as customers know. */
  get running(): Address[] {
    return this.wishes
      .filter(isRunning)
      .map(({ body }) => (body as { params: { address: Address } }).params.address)
  }

  protected draw(number: number): Wish {
    const { dice } = this
    const subscription_id = dice.pick(['unlimited_energy', 'three', 'daily', 'each'])
    const duration = dice.chance(0.3) ? 1 : 0
    // What has a limit and no end cannot be stopped, and would never be over.
    const ends = duration > 0 || ['three', 'daily'].includes(subscription_id)
    const params = {
      address: dice.pick(this.addresses),
      duration,
      transactions_limit: ends && dice.chance(0.3) ? dice.between(1, 3) : 0,
      activate_address: dice.chance(0.6),
    }
    const name = `subscription ${number}`
    const body = { subscription_id, params, external_id: name }
    const who = dice.pick(this.customers)
    return {
      who,
      name,
      path: '/v1/subscription/start',
      body,
      headers: {},
      id: undefined,
      status: undefined,
    }
  }

  private stop(wish: Wish): Task {
    const run = async (instance: Instance) => {
      const { code, result, key } = await call(instance, wish.who, {
        path: '/v1/subscription/stop',
        body: { id: wish.id },
      })
      const stopped = code === 0 && result?.status === 'stopped'
      if (stopped) wish.status = 'stopped'
      const fine = stopped || code === 21 || code === 500
      return {
        told: `${code}`,
        objection: fine ? undefined : `not stopped: ${code} ${key} ${result?.status}`,
      }
    }
    return { name: 'stop', about: wish.name, run }
  }

  /** Some to begin with. */
  starts(): Task[] {
    return Array.from({ length: this.dice.between(1, 2) }, () => this.fresh())
  }

  /** Stops all that may run, so that there is an end. */
  stops(): Task[] {
    return this.wishes.filter(({ id }) => id !== undefined).map((wish) => this.stop(wish))
  }
}

export class Screening extends CustomerTasks {
  protected readonly kind = 'check'
  protected readonly look_path = '/v1/aml-checks/check'
  protected readonly refusals = [6, 35]
  private readonly addresses: readonly Address[]
  private readonly transactions: ReadonlySet<string>

  constructor({
    addresses,
    transactions,
    ...asking
  }: TaskOptions & { addresses: readonly Address[]; transactions: ReadonlySet<string> }) {
    super(asking)
    this.addresses = addresses
    this.transactions = transactions
  }

  protected draw(number: number): Wish {
    const { dice } = this
    const name = `check ${number}`
    const address = dice.pick(this.addresses)
    const known = [...this.transactions].slice(-10)
    const hash = known.length > 0 && dice.chance(0.6) ? dice.pick(known) : 'ab'.repeat(32)
    const body = {
      network: 'TRX',
      address,
      ...(dice.chance(0.7) ? { type: 'address' } : { type: 'hash', hash }),
    }
    const who = dice.pick(this.customers)
    const headers = { 'idempotency-key': name }
    return {
      who,
      name,
      path: '/v1/aml-checks/new',
      body,
      headers,
      id: undefined,
      status: undefined,
    }
  }
}
