// Asking for checks. Concurrent requests are placed together, like orders: one transaction, each
// judged as if it were alone. How a check is answered is in answering.ts.

import type { Address } from 'penstock-tron/address.ts'
import { chainState } from '../../chain/follow/progress.ts'
import {
  type Actor,
  type CustomerAction,
  recordCustomerActions,
} from '../../ledger/accounts/customer_actions.ts'
import { type Clock, dayOf } from '../../lib/clock.ts'
import { Fault } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import { money } from '../../lib/json.ts'
import {
  type Buyer,
  isReplay,
  NamedPurchases,
  openPurse,
  type Purse,
} from '../../people/customers/purse.ts'
import { type Again, notAgain } from '../../platform/database/again.ts'
import { batched } from '../../platform/database/batch.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import type { StepName } from '../../platform/steps/step.ts'
import { InvalidParams, ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import { type Check, type CheckType, newCheck, placeChecks } from './checks.ts'
import { CHECK_COLUMNS } from './forms.ts'

/** How many hash checks of a customer may be under way. Each asks the nodes, and costs nothing when
 *  its transaction is made up. */
const HASHES_OPEN_MAX = 200
/** So many of a customer's checks may fail in a day (UTC), or as many as are answered: then no hash
 *  is checked for it until the next. What failed stays on record, though nobody paid for it. */
export const FAILED_MAX = 1_000

/** What a customer asks for. */
export type NewCheck = Pick<
  Check,
  'customer_id' | 'idempotency_key' | 'type' | 'network' | 'address' | 'hash' | 'direction'
> &
  Buyer & {
    /** The user or the key whose call this is; undefined: the service itself asks. */
    asked_by?: Actor | undefined
    /** Why nothing may be begun, while a repetition is answered. */
    refusal?: Fault | undefined
  }

export type CheckPlacement = { check: Check; replayed: boolean }

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  /** How a check is tried again that the database could not place. */
  again?: Again | undefined
  /** Told of each check whose customer is told of it. */
  told?: ((name: string) => void) | undefined
  wake: (step: StepName) => void
}

export type CheckPrices = ReadonlyMap<CheckType, { price_sun: bigint; on_sale: boolean }>

/** What each type of check costs now. */
export async function checkPrices(sql: Sql | Tx): Promise<CheckPrices> {
  const rows = await sql<{ type: CheckType; price_sun: bigint; on_sale: boolean }>`
    select type, price_sun, on_sale from aml_price join aml_service using (type) where until is null
      order by type`
  return new Map(rows.map(({ type, ...price }) => [type, price]))
}

const BATCH_MAX = 256

/** Places one check; concurrent calls share a transaction. Throws 2 when the idempotency key was
 *  used for another one, 35 when the type is off sale, 5 and 6. */
export function checkPlacer(needs: Needs): (wanted: NewCheck) => Promise<CheckPlacement> {
  const { again = notAgain } = needs
  const place = batched<NewCheck, CheckPlacement | Fault>(BATCH_MAX, (wanted) =>
    needs.sql.begin((tx) => placeTogether(tx, needs, wanted)),
  )
  return async (wanted) => {
    const repeatable = wanted.idempotency_key !== null
    const outcome = await again(() => place(wanted), { repeatable })
    if (outcome instanceof Fault) throw outcome
    needs.told?.(`check:${outcome.check.id}`)
    if (!outcome.replayed) needs.wake('screen')
    return outcome
  }
}

type Today = { open: number; failed: number; completed: number }

/** What the checks of a batch are judged by; it changes as they are accepted. */
type PlacementState = {
  now: Date
  solid_number: bigint
  prices: CheckPrices
  purse: Purse
  /** Anyone who asks for a hash check: how many it has under way, and what became of the day's
   *  checks. */
  today: Map<string, Today>
  earlier: NamedPurchases<Check>
}

async function placeTogether(
  tx: Tx,
  needs: Needs,
  wanted: NewCheck[],
): Promise<(CheckPlacement | Fault)[]> {
  const state = await readState(tx, needs, wanted)
  const accepted: Check[] = []
  const outcomes = wanted.map((one) => {
    const outcome = judge(one, state, needs.new_id)
    if (!(outcome instanceof Fault) && !outcome.replayed) accepted.push(outcome.check)
    return outcome
  })
  placeChecks(tx, accepted)
  await state.purse.noteRefusals(tx, state.now)
  recordCustomerActions(tx, state.now, recordsOf(wanted, outcomes))
  return outcomes
}

/** What users have asked for. What keys ask for names them already. */
const recordsOf = (wanted: readonly NewCheck[], outcomes: readonly (CheckPlacement | Fault)[]) =>
  outcomes.flatMap((outcome, i): CustomerAction[] => {
    const { asked_by: actor } = wanted[i]!
    if (outcome instanceof Fault || outcome.replayed || !actor?.user) return []
    const { id, type, network, address, hash, direction, price_sun } = outcome.check
    const after = { type, network, address, hash, direction, price: money(price_sun) }
    return [{ actor, action: 'aml-checks/new', subject: `aml_check:${id}`, before: null, after }]
  })

async function readState(tx: Tx, { clock }: Needs, wanted: NewCheck[]): Promise<PlacementState> {
  const now = clock.now()
  // Sent together: other transactions that need these accounts wait for this one.
  const hashing = [
    ...new Set(wanted.flatMap(({ type, customer_id }) => (type === 'hash' ? [customer_id] : []))),
  ]
  const [purse, earlier, terms, today] = await Promise.all([
    openPurse(tx, wanted, now),
    placedEarlier(tx, wanted),
    readTerms(tx),
    hashing.length === 0 ? new Map<string, Today>() : readToday(tx, hashing, now),
  ])
  return {
    ...terms,
    now,
    purse,
    today,
    earlier,
  }
}

/** What of the customers' checks is under way, and what became of those of today. */
async function readToday(
  tx: Tx,
  customers: readonly string[],
  now: Date,
): Promise<Map<string, Today>> {
  const rows = await tx<{ customer_id: string; open: bigint; failed: bigint; completed: bigint }>`
    with counted as (
      select customer_id, state, n from aml_count
      where customer_id = any(${customers}) and day = ${dayOf(now)}
      union all
      select customer_id, state, d from aml_count_delta
      where customer_id = any(${customers}) and day = ${dayOf(now)}
    ), ended as (
      select customer_id, coalesce(sum(n) filter (where state = 'failed'), 0)::bigint as failed,
             coalesce(sum(n) filter (where state = 'completed'), 0)::bigint as completed
      from counted group by customer_id
    ), under_way as (
      select customer_id, count(*) as open from aml_check
      where customer_id = any(${customers}) and state in ('pending', 'processing') and type = 'hash'
      group by customer_id
    )
    select c.customer_id, coalesce(open, 0) as open, coalesce(failed, 0) as failed,
           coalesce(completed, 0) as completed
    from unnest(${customers}::text[]) as c (customer_id)
    left join under_way using (customer_id) left join ended using (customer_id)`
  return new Map(
    rows.map(({ customer_id, open, failed, completed }) => [
      customer_id,
      { open: Number(open), failed: Number(failed), completed: Number(completed) },
    ]),
  )
}

/** The checks that have the idempotency keys of those asked for. */
async function placedEarlier(tx: Tx, wanted: readonly NewCheck[]): Promise<NamedPurchases<Check>> {
  const earlier = new NamedPurchases<Check>()
  const keyed = wanted.filter((one) => one.idempotency_key !== null)
  if (keyed.length === 0) return earlier
  const checks = await tx<Check>`
    select c.${CHECK_COLUMNS} from aml_check as c
    join unnest(${keyed.map((one) => one.customer_id)}::text[],
                ${keyed.map((one) => one.idempotency_key)}::text[])
      as asked (customer_id, idempotency_key)
    on c.customer_id = asked.customer_id and c.idempotency_key = asked.idempotency_key`
  for (const check of checks) earlier.add(check.customer_id, check.idempotency_key, check)
  return earlier
}

/** What every check of a batch is placed on: one statement, because each customer waits for it. */
async function readTerms(tx: Tx): Promise<Pick<PlacementState, 'solid_number' | 'prices'>> {
  const rows = await tx<{
    solid_number: bigint | null
    type: CheckType
    price_sun: bigint
    on_sale: boolean
  }>`
    select (select confirmed_number from chain) as solid_number, type, price_sun, on_sale
    from aml_service left join aml_price using (type) where until is null order by type`
  return {
    solid_number: rows[0]?.solid_number ?? 0n,
    prices: new Map(rows.map(({ type, price_sun, on_sale }) => [type, { price_sun, on_sale }])),
  }
}

/** Judges one check, and books it in the state when it is accepted. */
function judge(wanted: NewCheck, state: PlacementState, new_id: NewId): CheckPlacement | Fault {
  const { purse } = state
  const { customer_id, idempotency_key } = wanted
  const earlier = state.earlier.find(customer_id, idempotency_key)
  if (earlier) {
    if (!isReplay(earlier, wanted, ['type', 'network', 'address', 'hash', 'direction']))
      return InvalidParams('external_id', 'Invalid Idempotency-Key').because(
        `it is that of the check ${earlier.id}, which asked for something else`,
        'Idempotency-Key',
      )
    return { check: earlier, replayed: true }
  }
  if (wanted.refusal) return wanted.refusal
  const price = state.prices.get(wanted.type)
  if (!price?.on_sale)
    return ServiceUnavailable().because(`screening of the type ${wanted.type} is off sale`, 'type')
  const today = wanted.type === 'hash' ? state.today.get(customer_id) : undefined
  if (today && isTooMuch(today))
    return ServiceUnavailable('too_many_checks', 'Too many checks are open or have failed')
  const { price_sun } = price
  const refused = purse.refuseWallet(wanted) ?? purse.refusePrice(wanted, price_sun)
  if (refused) return refused
  const { key, asked_by: _actor, refusal: _none, ...asked } = wanted
  const check = newCheck(asked, {
    id: new_id(),
    price_sun,
    key_id: key?.key_id ?? null,
    solid_number: state.solid_number,
    created_at: state.now,
  })
  if (today) today.open += 1
  purse.take(wanted, price_sun)
  state.earlier.add(customer_id, idempotency_key, check)
  return { check, replayed: false }
}

const isTooMuch = ({ open, failed, completed }: Today) =>
  open >= HASHES_OPEN_MAX || (failed >= FAILED_MAX && failed > completed)

/** What a check asks, beside what it costs. */
export type CheckQuestion = Pick<Check, 'type' | 'network' | 'address' | 'hash' | 'direction'>

/** The question about an address of this network. */
export const aboutAddress = (address: Address): CheckQuestion => ({
  type: 'address',
  network: 'TRX',
  address,
  hash: null,
  direction: null,
})

/** Asks again, at no price: the answer stands beside the one it supersedes. */
export async function placeAgain(
  tx: Tx,
  { clock, new_id }: Pick<Needs, 'clock' | 'new_id'>,
  { type, network, address, hash, direction }: CheckQuestion,
  of: Pick<Check, 'customer_id' | 'supersedes'>,
): Promise<Check> {
  const chain = await chainState(tx)
  const check = newCheck(
    { ...of, type, network, address, hash, direction, idempotency_key: null },
    {
      id: new_id(),
      price_sun: 0n,
      solid_number: BigInt(chain?.confirmed_number ?? 0),
      created_at: clock.now(),
    },
  )
  placeChecks(tx, [check])
  return check
}
