// What operators do while everything else goes on: they blacklist a payer and take that back, end
// deposits that are held or ignored, in each way, and correct accounts. Each is done by what the
// commands do it with. A sentence that refuses is no finding: what has become of the money is for
// the auditor to say.

import { keptBlockWith } from 'penstock-service/chain/follow/blocks.ts'
import { perform } from 'penstock-service/events/log/changes.ts'
import type { Clock } from 'penstock-service/lib/clock.ts'
import { Outage, Refused } from 'penstock-service/lib/fault.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { type Deposit, placeOf } from 'penstock-service/treasury/deposits/deposits.ts'
import { resolveDeposit, sentIn, type Way } from 'penstock-service/treasury/deposits/resolutions.ts'
import { addressToHex } from 'penstock-tron/address.ts'
import { USDT } from 'penstock-tron/tokens.ts'
import type { Access } from './buyer.ts'
import type { Dice } from './dice.ts'
import type { Instance } from './instance.ts'
import type { Scenario } from './scenario.ts'
import type { Task } from './tasks.ts'

type Setting = { dice: Dice; scenario: Scenario; customers: readonly Access[]; clock: Clock }

const REASON = 'as the die says'
const CORRECTIONS_SUN = [1n, 900_000n, 5_000_000n, 2_000_000_000n]

export class Operator {
  private readonly dice: Dice
  private readonly scenario: Scenario
  private readonly customers: readonly Access[]
  private readonly clock: Clock
  /** What was sent back from a wallet of the operator's, by deposit. */
  private readonly payments = new Map<string, string>()

  constructor({ dice, scenario, customers, clock }: Setting) {
    this.dice = dice
    this.scenario = scenario
    this.customers = customers
    this.clock = clock
  }

  next(): Task {
    const kind = this.dice.weighted({ resolve: 6, correct: 2, blacklist: 2 })
    const work = {
      resolve: this.resolving(),
      correct: this.correcting(),
      blacklist: this.blacklisting(),
    }[kind]
    const run = async (instance: Instance) => {
      const told = await work.run(instance).catch((thrown: unknown) => {
        // A sentence, or a connection that is gone: everything else is a bug.
        const expected = thrown instanceof Refused || thrown instanceof Outage
        if (
          expected ||
          (thrown instanceof Error && thrown.constructor === Error && !('code' in thrown))
        ) {
          return `refused ${thrown.message}`
        }
        throw thrown
      })
      return { told, objection: undefined }
    }
    return { name: kind, about: work.about, run }
  }

  private blacklisting() {
    // The last payer is blacklisted from the beginning, or never.
    const { address } = this.dice.pick(this.scenario.payers.slice(0, -1))
    const frozen = this.dice.chance(0.6)
    const run = async ({ sql }: Instance) => {
      await sql`
        insert into flow_freeze (token, address, frozen, number)
          values (${USDT}, ${address}, ${frozen}, 0)
        on conflict (address, token) do update set frozen = excluded.frozen`
      return `blacklisted ${frozen}`
    }
    return { about: address, run }
  }

  private correcting() {
    const { customer_id } = this.dice.pick(this.customers)
    const sun = this.dice.pick(CORRECTIONS_SUN)
    const amount_sun = this.dice.chance(0.5) ? sun : -sun
    // Few names, so that some are used again: for the same, or for something else.
    const id = `ticket ${this.dice.between(1, 4)}`
    const run = async ({ sql }: Instance) => {
      const { clock } = this
      const operator = { made_by: 'simulator', reason: REASON }
      return perform(
        { sql, clock },
        { operator, action: 'customers credit' },
        async (tx, made_at) => {
          const wanted = {
            id,
            customer_id,
            amount_sun,
            made_at,
            made_by: 'simulator',
            reason: REASON,
            invoice_number: null,
          }
          const { made } = await correct(tx, wanted)
          const action = {
            subject: `correction:${id}`,
            before: null,
            after: { customer_id, amount_sun },
          }
          return { result: made ? 'corrected' : 'corrected before', actions: made ? [action] : [] }
        },
      )
    }
    return { about: `${customer_id} ${amount_sun} ${id}`, run }
  }

  private resolving() {
    const kind = this.dice.weighted({ sent_back: 4, credited: 2, written_off: 1 })
    const draw = this.dice.between(0, 999)
    const { customer_id } = this.dice.pick(this.customers)
    const payer = this.dice.pick(this.scenario.payers)
    const less = this.dice.chance(0.3)
    // What is on its way back is not to be had, and is asked for all the same.
    const late = this.dice.chance(0.4)
    const run = async ({ sql }: Instance): Promise<string> => {
      const all = await sql<Deposit>`
        select * from deposit
          where state in ('held', 'ignored', 'resolved', 'returning', 'refunding')
        order by state, tx_id, position`
      const leaving = all.filter(({ state }) => state === 'returning' || state === 'refunding')
      const some = late && leaving.length > 0 ? leaving : all
      const deposit = some[draw % some.length]
      if (!deposit) return 'nothing is held'
      const way: Way | undefined =
        kind === 'sent_back'
          ? await this.sentBack(sql, deposit, { payer, less })
          : kind === 'credited'
            ? { way: 'credited', customer_id }
            : { way: 'written_off' }
      if (way === undefined) return 'sent'
      const { clock } = this
      const operator = { made_by: 'simulator', reason: REASON }
      return perform(
        { sql, clock },
        { operator, action: 'deposits resolve' },
        async (tx, made_at) => {
          const made = { made_at, made_by: 'simulator', reason: REASON, blocked_reviewed: true }
          await resolveDeposit(tx, heldSenders({ clock }), { deposit, way, ...made })
          const action = {
            subject: `deposit:${placeOf(deposit)}`,
            before: null,
            after: { way: kind },
          }
          return { result: `resolved ${kind}`, actions: [action] }
        },
      )
    }
    return { about: kind, run }
  }

  /** What has sent it back by now; undefined when that had to be sent first, and may not be in a
   *  block for long. */
  private async sentBack(
    sql: Instance['sql'],
    deposit: Deposit,
    { payer, less }: { payer: Scenario['payers'][number]; less: boolean },
  ): Promise<Way | undefined> {
    const { from_address: to, amount_sun } = deposit
    if (amount_sun === null) return { way: 'written_off' }
    const sent_by =
      this.payments.get(placeOf(deposit)) ??
      (this.dice.chance(0.1) ? [...this.payments.values()][0] : '')
    if (!sent_by) {
      const amount = less && amount_sun > 1n ? amount_sun - 1n : amount_sun
      const payment = { to_address: addressToHex(to), amount }
      const { result, txid } = this.scenario.scene.send(payer, 'TransferContract', payment)
      if (result === true) this.payments.set(placeOf(deposit), String(txid))
      return undefined
    }
    const block = await keptBlockWith(sql, sent_by)
    if (!block) throw new Error(`${sent_by} is in no solid block`)
    return {
      way: 'sent_back',
      sent: sentIn(block, { tx_id: sent_by, to, asset: 'TRX' }),
      keep_rest: true,
    }
  }
}
