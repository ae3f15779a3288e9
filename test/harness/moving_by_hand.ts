// Money that an operator moves by hand, in a world: deposits that are held end in each way, and an
// account is put right.

import { keptBlockWith } from 'penstock-service/chain/follow/blocks.ts'
import { perform } from 'penstock-service/events/log/changes.ts'
import type { Action } from 'penstock-service/ledger/accounts/actions.ts'
import { heldSenders } from 'penstock-service/screening/engine/barred.ts'
import { correct } from 'penstock-service/treasury/corrections/corrections.ts'
import { resolveDeposit, sentIn, type Way } from 'penstock-service/treasury/deposits/resolutions.ts'
import { type Customer, TRX, type World } from './world.ts'

/** Three deposits that are held are sent back, credited and written off, in this order; two
 *  corrections. */
export async function moveByHand(world: World, anna: Customer): Promise<void> {
  const [whale, owner] = [world.person('whale', 9_000), world.person('owner', 9_000)]
  await world.blacklist(whale.address)
  const held = [20n, 21n, 22n].map((trx) => world.pay(anna.deposit_address, trx * TRX, whale))
  const back = world.pay(whale.address, 19n * TRX, owner)
  await world.solidify()
  await world.drain()
  const clock = { now: () => world.now }
  const operator = { made_by: 'anna', reason: 'by hand' }
  const made = { made_at: world.now, made_by: 'anna', reason: 'by hand' }
  const block = await keptBlockWith(world.sql, back)
  const sent = sentIn(block!, { tx_id: back, to: whale.address, asset: 'TRX' })
  const ways: Way[] = [
    { way: 'sent_back', sent, keep_rest: true },
    { way: 'credited', customer_id: anna.id },
    { way: 'written_off' },
  ]
  await perform({ sql: world.sql, clock }, { operator, action: 'by hand' }, async (tx) => {
    const actions: Action[] = []
    for (const [i, way] of ways.entries()) {
      const deposit = { tx_id: held[i]!, position: 0 }
      await resolveDeposit(tx, heldSenders({ clock }), {
        deposit,
        way,
        blocked_reviewed: true,
        ...made,
      })
      actions.push({ subject: `deposit:${held[i]}`, before: null, after: null })
    }
    for (const [id, amount_sun] of [
      ['more', 5_000_000n],
      ['less', -2_000_000n],
    ] as const) {
      await correct(tx, { id, customer_id: anna.id, amount_sun, invoice_number: null, ...made })
      actions.push({ subject: `correction:${id}`, before: null, after: null })
    }
    return { result: undefined, actions }
  })
}
