// Accepting something paid: an order, a subscription, a screening check. A purse is what the buyers
// of one transaction have: their wallets and, of keys with a daily cap, what is spent already. Each
// purchase is judged against it and taken from it, so that the next one of a batch meets what is
// left. What was accepted is paid by a hold, and counts as spent by its key until it is given back.

import type { Receiver } from '../../chain/receivers/receivers.ts'
import {
  customerAccount,
  holdAll,
  InsufficientFunds,
  lockAccounts,
  REVENUE,
  release,
  WalletNotFound,
} from '../../ledger/accounts/ledger.ts'
import type { Fault } from '../../lib/fault.ts'
import { trxText } from '../../lib/json.ts'
import type { Tx } from '../../platform/database/sql.ts'
import { type Customer, Forbidden, refuses, Suspended } from '../../platform/wire/endpoint.ts'
import { InvalidAddress } from '../../platform/wire/reading.ts'
import {
  addAllSpending,
  addSpending,
  type CappedKey,
  noteRefusedByCap,
  spentOn,
} from './spending.ts'

/** Who buys. `key`: the API key, when it may only spend so much in a day. */
export type Buyer = { customer_id: string; key?: CappedKey | undefined }

export class Purse {
  readonly #free_sun: Map<string, bigint>
  readonly #spent_sun: Map<string, bigint>
  readonly #refused_keys = new Set<string>()
  readonly #unpaid: { fault: Fault; customer_id: string; lack: string }[] = []

  constructor(free_sun: Map<string, bigint>, spent_sun: Map<string, bigint>) {
    this.#free_sun = free_sun
    this.#spent_sun = spent_sun
  }

  /** The wallet's refusal: 5 when the customer has none. */
  refuseWallet({ customer_id }: Buyer): Fault | undefined {
    return this.#free_sun.has(customerAccount(customer_id)) ? undefined : WalletNotFound()
  }

  /** The price's refusal: 6 when the balance is below it, or the key would pass its daily cap. */
  refusePrice({ customer_id, key }: Buyer, price_sun: bigint): Fault | undefined {
    const free_sun = this.#free_sun.get(customerAccount(customer_id)) ?? 0n
    if (free_sun < price_sun) {
      const lack =
        `it costs ${trxText(price_sun)} TRX, ${trxText(free_sun)} TRX can be spent: ` +
        `${trxText(price_sun - free_sun)} TRX are missing`
      const fault = InsufficientFunds().because(lack)
      this.#unpaid.push({ fault, customer_id, lack })
      return fault
    }
    if (!key || this.#spentBy(key) + price_sun <= key.daily_cap_sun) return undefined
    this.#refused_keys.add(key.key_id)
    return InsufficientFunds('daily_cap', 'The daily cap of this key is reached').because(
      `it costs ${trxText(price_sun)} TRX, and ${trxText(this.#spentBy(key))} of ` +
        `${trxText(key.daily_cap_sun)} TRX are spent today (UTC)`,
    )
  }

  /** Notes which keys' caps have refused a price, and tells who lacks money where to send it; to be
   *  called when all prices are judged. */
  async noteRefusals(tx: Tx, now: Date): Promise<void> {
    noteRefusedByCap(tx, [...this.#refused_keys], now)
    if (this.#unpaid.length === 0) return
    const ids = [...new Set(this.#unpaid.map(({ customer_id }) => customer_id))]
    const customers = await tx<{ id: string; deposit_address: string }>`
      select id, deposit_address from customer where id = any(${ids})`
    const address_of = new Map(customers.map((one) => [one.id, one.deposit_address]))
    for (const { fault, customer_id, lack } of this.#unpaid)
      fault.because(`${lack}; send TRX to ${address_of.get(customer_id)}, your deposit address`)
  }

  /** Takes the price of what was accepted; nothing is written by this. */
  take({ customer_id, key }: Buyer, price_sun: bigint): void {
    const account = customerAccount(customer_id)
    this.#free_sun.set(account, (this.#free_sun.get(account) ?? 0n) - price_sun)
    if (key) this.#spent_sun.set(key.spends_from, this.#spentBy(key) + price_sun)
  }

  #spentBy({ spends_from }: CappedKey): bigint {
    return this.#spent_sun.get(spends_from) ?? 0n
  }
}

/** Locks the buyers' accounts, and then what their keys have spent on the day of `now`. What the
 *  transaction asks after this, it asks under the locks: twins of one external id, in whatever
 *  process, come one after the other. */
export async function openPurse(tx: Tx, buyers: readonly Buyer[], now: Date): Promise<Purse> {
  const accounts = [...new Set(buyers.map(({ customer_id }) => customerAccount(customer_id)))]
  const keys = [...new Set(buyers.flatMap(({ key }) => key?.spends_from ?? []))]
  const [free_sun, spent_sun] = await Promise.all([
    lockAccounts(tx, accounts),
    spentOn(tx, keys, now),
  ])
  return new Purse(free_sun, spent_sun)
}

const contractRefusal = (param: string): Fault =>
  InvalidAddress(undefined, 'A contract cannot receive resources').because(
    `${param} must be the address of an account`,
    param,
  )

/** Said of an address to which nothing is sold. */
export const BARRED = 'This address is blacklisted'

/** The refusal of an address that may not receive resources: a contract, a wallet of ours, or a
 *  blacklisted one. `param` names the field. */
export function refuseReceiver(receiver: Receiver, param = 'params.address'): Fault | undefined {
  if (receiver === 'contract') return contractRefusal(param)
  if (receiver === 'ours')
    return InvalidAddress(undefined, 'Nothing is sold to a wallet of this service').because(
      `${param} is one`,
      param,
    )
  if (receiver === 'barred')
    return InvalidAddress('blacklisted', BARRED).because('nothing is sold to it', param)
  return undefined
}

/** The refusal of whoever may begin nothing, or nothing that is delivered there: a suspended
 *  customer, or a key or user bound to other addresses. What was begun before is answered all the
 *  same. `param` names the field, or what has named the address. */
export function refuseBuyer(
  { suspended, receivers }: Pick<Customer, 'suspended' | 'receivers'>,
  address: string,
  param = 'params.address',
): Fault | undefined {
  if (suspended) return Suspended()
  if (receivers === undefined || receivers.includes(address)) return undefined
  return Forbidden('receiver', 'Nothing may be bought for this address').because(
    'whoever asks is bound to receivers, which /v1/whoami lists',
    param,
  )
}

/** The line about it in an error matrix. */
export const RECEIVER_REFUSED = refuses(
  Forbidden,
  'The key is bound to receivers, and the address is none of them',
  'receiver',
)

/** What customers have bought under names of their own: `external_id`, or `Idempotency-Key`. */
export class NamedPurchases<Bought> {
  readonly #bought = new Map<string, Bought>()

  find(customer_id: string, name: string | null): Bought | undefined {
    return name === null ? undefined : this.#bought.get(`${customer_id} ${name}`)
  }

  add(customer_id: string, name: string | null, bought: Bought): void {
    if (name !== null) this.#bought.set(`${customer_id} ${name}`, bought)
  }
}

/** Whether what was bought before under a name is what is asked for now: then it is a replay. */
export const isReplay = <Field extends string>(
  bought: Record<Field, unknown>,
  wanted: Record<Field, unknown>,
  fields: readonly Field[],
): boolean => fields.every((field) => bought[field] === wanted[field])

/** A price, and the hold that pays it. */
export type Price = {
  hold_id: string
  customer_id: string
  key_id: string | null
  price_sun: bigint
}

/** Sets prices aside and counts them as spent. The caller has opened a purse of the buyers; its
 *  transaction waits for the statements. */
export function holdPrices(tx: Tx, prices: readonly Price[], now: Date): void {
  const paid = prices.filter(({ price_sun }) => price_sun > 0n)
  holdAll(
    tx,
    paid.map(({ hold_id, customer_id, price_sun }) => ({
      id: hold_id,
      debit: customerAccount(customer_id),
      credit: REVENUE,
      amount_sun: price_sun,
      made_at: now,
    })),
  )
  const spent = prices.map(({ key_id, price_sun: sun }) => ({ key_id, sun }))
  addAllSpending(tx, spent, now)
}

/** Gives back a price that was held on the day of `held_at`: nor does it count as spent any more.
 *  The caller has locked the account. */
export async function releasePrice(
  tx: Tx,
  { hold_id, key_id, price_sun }: Omit<Price, 'customer_id'>,
  { held_at, now }: { held_at: Date; now: Date },
): Promise<void> {
  if (price_sun === 0n) return
  await release(tx, hold_id, now)
  if (key_id !== null) addSpending(tx, key_id, { sun: -price_sun, at: held_at })
}
