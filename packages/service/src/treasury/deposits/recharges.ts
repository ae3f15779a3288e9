// Direct recharge: anyone who sends TRX to the published address gets energy for an hour. Each
// deposit ends as delivered, refunded, held with a reason, or ignored (drawn in deposits.ts).
//
// The delivery is an order like any other, placed by the service itself under the deposit's own id,
// in one transaction with the deposit's own change. Money goes back only when the deposit is solid,
// and only to the address that sent it; never to one that is blacklisted, which is looked at again
// before a delivery is ordered, and until a refund is signed.

import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { contract } from 'penstock-tron/transaction.ts'
import { enqueueAttempt, withdrawAttempts } from '../../chain/follow/attempts.ts'
import { NETWORK_FEE_SUN, REFUND_MAX_SUN } from '../../chain/signing/signer.ts'
import {
  customerAccount,
  lockAccounts,
  move,
  REVENUE,
  WORLD,
} from '../../ledger/accounts/ledger.ts'
import { type Clock, later } from '../../lib/clock.ts'
import { Fault, is } from '../../lib/fault.ts'
import type { NewId } from '../../lib/ids.ts'
import type { OrderPlacer } from '../../market/orders/placing.ts'
import type { Prices } from '../../market/prices/prices.ts'
import { DIRECT_RECHARGE } from '../../people/customers/customers.ts'
import type { Sql, Tx } from '../../platform/database/sql.ts'
import { eachRow, type Step } from '../../platform/steps/step.ts'
import { ServiceUnavailable } from '../../platform/wire/endpoint.ts'
import type { HeldSenders } from '../../screening/engine/barred.ts'
import type { Issuers } from '../../screening/engine/issuers.ts'
import {
  BLOCKED,
  completeRefund,
  concludeDeliveries,
  type Deposit,
  deliverDeposit,
  deliveryName,
  forgetPassed,
  keepDeposit,
  lockReceived,
  refundDeposit,
  returnReceived,
  returnUnsent,
} from './deposits.ts'
import { DEPOSIT_COLUMNS } from './forms.ts'

export type RefundWallet = { address: Address; permission_id: number }

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  prices: () => Promise<Prices>
  tryOrder: OrderPlacer['tryOrder']
  /** Whether a second node, where there is one, has the transaction in a block too. */
  isWitnessed: (tx_id: string) => Promise<boolean>
  refund_wallet: RefundWallet | undefined
  heldSenders: HeldSenders
  issuers: Pick<Issuers, 'ask'>
  /** What is neither delivered nor sent back is ignored when it is less than this, and held
   *  otherwise. */
  dust_sun: bigint
}

/** A refund of less than this is not worth sending. */
const REFUND_MIN_SUN = 500_000n
/** How long a recharge may wait for room in the pool before it goes back. */
const WAIT_MAX_MS = 120_000
const LOOK_AGAIN_MS = 3_000
const ALONE_MS = 30_000
const AT_ONCE = 50

/** The energy that an amount buys: at the price of the highest tier whose least amount it reaches.
 *  Undefined when it reaches none, or more than that tier sells. */
export function rechargeEnergy(prices: Prices, amount_sun: bigint): number | undefined {
  const reached = prices.tiers
    .filter((tier) => tier.resource === 'energy')
    .map((tier) => ({ tier, energy: Number((amount_sun * 1000n) / tier.price_sun) }))
    .filter(({ tier, energy }) => energy >= tier.min_amount)
    .at(-1)
  return reached && reached.energy <= reached.tier.max_amount ? reached.energy : undefined
}

/** received -> delivering | returning */
export function rechargeStep(needs: Needs): Step {
  const { sql, clock } = needs
  return {
    name: 'recharge',
    rest_ms: 1_000,
    due: (sql) => sql`
      select from deposit
      where state in ('seen', 'received', 'returning') and solid_at is null
        and block_number <= (select number from cursor where name = 'deposits')
      union all
      select from deposit where state = 'received' and due_at <= ${clock.now()}
        and (solid_at is not null
          or block_number <= (select number from cursor where name = 'arrivals'))`,
    after: ['credit', 'arrive', 'holdings'],
    before: ['delegate'],
    async run() {
      const gone = await sql.begin((tx) => forgetPassed(tx, clock.now()))
      // Anyone who takes one up has it alone for a while: two that decide about the same deposit
      // could decide differently.
      const due = await sql<Deposit>`
        update deposit set due_at = ${later(clock, ALONE_MS)}
        where (tx_id, position) in (
          select tx_id, position from deposit where state = 'received' and due_at <= ${clock.now()}
            and (solid_at is not null or block_number <= (select number from cursor
              where name = 'arrivals'))
          order by due_at limit ${AT_ONCE} for update skip locked)
        returning ${DEPOSIT_COLUMNS}`
      const moved = await eachRow(
        due,
        (deposit) => deliver(needs, deposit),
        (deposit) => postpone(needs, deposit),
      )
      return moved || gone
    },
  }
}

async function postpone(
  { sql, clock }: Pick<Needs, 'sql' | 'clock'>,
  { tx_id, position }: Deposit,
): Promise<void> {
  await sql`
    update deposit set due_at = ${later(clock, LOOK_AGAIN_MS)}
    where tx_id = ${tx_id} and position = ${position}`
}

async function deliver(needs: Needs, deposit: Deposit): Promise<boolean> {
  const { sql, clock } = needs
  const { tx_id, amount_sun, from_address } = deposit
  if (await takeOver(sql, deposit)) return true
  // Before its block is solid, and confirmed, one node alone could have made it up.
  if (deposit.solid_at === null && !(await needs.isWitnessed(tx_id))) {
    await postpone(needs, deposit)
    return false
  }
  await needs.issuers.ask([from_address])
  if (await isHeld(needs, sql, from_address)) return giveBack(sql, deposit, BLOCKED)
  const prices = await needs.prices()
  const energy = amount_sun === null ? undefined : rechargeEnergy(prices, amount_sun)
  if (amount_sun === null || energy === undefined)
    return giveBack(sql, deposit, 'the amount is in no tier')
  if (!prices.on_sale.has(DIRECT_RECHARGE))
    return giveBack(sql, deposit, 'direct recharge is off sale')
  const gone = ServiceUnavailable()
  const blocked = ServiceUnavailable()
  const placed = await needs.tryOrder({
    customer_id: DIRECT_RECHARGE,
    external_id: deliveryName(tx_id),
    service: 'energy',
    address: from_address,
    energy,
    bandwidth: 0,
    activate: false,
    internal: {
      agreed_sun: amount_sun,
      // While the chain was asked the sender may have been blacklisted, and another worker may have
      // decided otherwise, if this one has been away for long.
      cause: {
        async lock(tx) {
          if (!(await lockReceived(tx, deposit))) return gone
          return (await isHeld(needs, tx, from_address)) ? blocked : undefined
        },
        note: (tx, order) => deliverDeposit(tx, deposit, order),
      },
    },
  })
  if (placed === gone) return false
  if (placed === blocked) return giveBack(sql, deposit, BLOCKED)
  if (placed instanceof Fault) {
    const waited_ms = clock.now().getTime() - deposit.seen_at.getTime()
    if (!is(placed, ServiceUnavailable)) return giveBack(sql, deposit, placed.message)
    if (waited_ms > WAIT_MAX_MS) return giveBack(sql, deposit, 'the pool could not deliver it')
    await postpone(needs, deposit)
    return false
  }
  return true
}

const isHeld = async ({ heldSenders }: Needs, sql: Sql | Tx, from: Address) =>
  (await heldSenders(sql, [from])).has(from)

/** The order that a release before has placed for it and not noted, whatever the prices are now. */
async function takeOver(sql: Sql, deposit: Deposit): Promise<boolean> {
  const [order] = await sql<{ id: string; energy: bigint }>`
    select id, energy from orders
    where customer_id = ${DIRECT_RECHARGE} and external_id = ${deliveryName(deposit.tx_id)}`
  return order !== undefined && deliverDeposit(sql, deposit, order)
}

async function giveBack(sql: Sql, deposit: Deposit, reason: string): Promise<true> {
  await returnReceived(sql, deposit, reason)
  return true
}

/** delivering -> delivered | returning */
export function rechargedStep({ sql }: Pick<Needs, 'sql'>): Step {
  return {
    name: 'recharged',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from deposit as d join orders as o on o.id = d.order_id
      where d.state = 'delivering' and o.state in ('success', 'failed')`,
    after: ['settle'],
    run: () => concludeDeliveries(sql),
  }
}

/** returning -> refunding | held | ignored */
export function refundStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'refund',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from deposit where state = 'returning' and solid_at is not null
      union all
      select from deposit as d join attempt as a on a.id = d.refund_id
      where d.state = 'refunding' and a.state = 'new'`,
    after: ['credit', 'holdings', 'recharge', 'recharged', 'refunded'],
    before: ['sign'],
    async run() {
      const due = await sql<Deposit>`
        select ${DEPOSIT_COLUMNS} from deposit where state = 'returning' and solid_at is not null
        order by due_at limit ${AT_ONCE}`
      // First: a deposit that cannot be sent back now holds it up no more.
      const withdrawn = await withdrawRefunds(needs)
      const moved = await eachRow(
        due,
        (deposit) => sql.begin((tx) => refund(tx, needs, deposit)),
        (deposit) => postpone(needs, deposit),
      )
      return moved || withdrawn
    },
  }
}

/** What is not signed yet is not sent to whom has become blacklisted meanwhile: `refunded` takes
 *  the deposit back. */
async function withdrawRefunds(needs: Needs): Promise<boolean> {
  const { sql } = needs
  let withdrawn = false
  for (let after = ''; ; ) {
    const unsigned = await sql<{ refund_id: string; from_address: Address }>`
      select refund_id, from_address from deposit join attempt on attempt.id = refund_id
      where deposit.state = 'refunding' and attempt.state = 'new' and refund_id > ${after}
      order by refund_id limit ${AT_ONCE}`
    const last = unsigned.at(-1)
    if (!last) return withdrawn
    after = last.refund_id
    const senders = [...new Set(unsigned.map((one) => one.from_address))]
    const held = await needs.heldSenders(sql, senders)
    const ids = unsigned.filter((one) => held.has(one.from_address)).map((one) => one.refund_id)
    if (ids.length > 0 && (await withdrawAttempts(sql, ids, BLOCKED))) withdrawn = true
  }
}

async function refund(tx: Tx, needs: Needs, { tx_id, position }: Deposit): Promise<boolean> {
  const [deposit] = await tx<Deposit>`
    select ${DEPOSIT_COLUMNS} from deposit
    where tx_id = ${tx_id} and position = ${position} and state = 'returning'
    for update skip locked`
  if (!deposit || deposit.amount_sun === null) return false
  const [delivered] = await tx`
    select 1 from orders
    where customer_id = ${DIRECT_RECHARGE} and external_id = ${deliveryName(tx_id)}
      and state <> 'failed'`
  if (delivered) throw new Error(`deposit ${tx_id} was delivered and cannot go back`)
  // After a restore the attempt of what has gone back already is there before it is asked for.
  const [gone] = await tx<{ id: string }>`
    select id from attempt where subject = ${`refund:${tx_id}`} and state <> 'dead'`
  if (gone) {
    await refundDeposit(tx, deposit, gone.id)
    return true
  }
  const refund_sun = deposit.amount_sun - NETWORK_FEE_SUN
  // What was blocked once stays so: that it is not any more is for the operator to say.
  const blocked = deposit.reason === BLOCKED || (await isHeld(needs, tx, deposit.from_address))
  const why = blocked ? BLOCKED : whyNotBack(needs.refund_wallet, deposit.from_address, refund_sun)
  if (!needs.refund_wallet || why !== undefined) {
    const state = deposit.amount_sun < needs.dust_sun ? 'ignored' : 'held'
    const reason = blocked ? BLOCKED : `${deposit.reason}; ${why}`
    await keepDeposit(tx, deposit, { state, reason })
    return true
  }
  const { address, permission_id } = needs.refund_wallet
  const payment = contract(
    'TransferContract',
    {
      owner_address: addressToHex(address),
      to_address: addressToHex(deposit.from_address),
      amount: refund_sun,
    },
    permission_id,
  )
  const refund_id = enqueueAttempt(tx, needs, { subject: `refund:${tx_id}`, contract: payment })
  await refundDeposit(tx, deposit, refund_id)
  return true
}

/** Why a refund cannot be sent, ever; undefined when it can. */
function whyNotBack(
  wallet: RefundWallet | undefined,
  to: Address,
  refund_sun: bigint,
): string | undefined {
  if (!wallet) return 'no wallet for refunds is configured'
  if (refund_sun < REFUND_MIN_SUN) return 'too little to send back'
  if (refund_sun > REFUND_MAX_SUN) return 'more than a refund may send'
  return to === wallet.address ? 'it came from the wallet for refunds' : undefined
}

/** refunding -> refunded when solid, or returning again when the attempt is dead */
export function refundedStep({ sql, clock }: Pick<Needs, 'sql' | 'clock'>): Step {
  return {
    name: 'refunded',
    rest_ms: 3_000,
    due: (sql) => sql`
      select from deposit as d join attempt as a on a.id = d.refund_id
      where d.state = 'refunding' and a.state in ('solid', 'dead')`,
    after: ['follow', 'confirm', 'judge'],
    async run() {
      const unsent = await returnUnsent(sql)
      const due = await sql<Deposit>`
        select d.${DEPOSIT_COLUMNS} from deposit as d join attempt as a on a.id = d.refund_id
        where d.state = 'refunding' and a.state = 'solid' order by d.due_at limit ${AT_ONCE}`
      const moved = await eachRow(
        due,
        (deposit) => sql.begin((tx) => book(tx, clock, deposit)),
        (deposit) => postpone({ sql, clock }, deposit),
      )
      return moved || unsent
    },
  }
}

async function book(tx: Tx, clock: Clock, deposit: Deposit): Promise<boolean> {
  const { tx_id, amount_sun } = deposit
  const debit = customerAccount(DIRECT_RECHARGE)
  await lockAccounts(tx, [debit])
  if (!(await completeRefund(tx, deposit)) || amount_sun === null) return false
  const made_at = clock.now()
  const refund_sun = amount_sun - NETWORK_FEE_SUN
  await move(tx, { id: `refund:${tx_id}`, debit, credit: WORLD, amount_sun: refund_sun, made_at })
  // What the sender does not get back pays the network.
  await move(tx, {
    id: `refund_fee:${tx_id}`,
    debit,
    credit: REVENUE,
    amount_sun: NETWORK_FEE_SUN,
    made_at,
  })
  return true
}
