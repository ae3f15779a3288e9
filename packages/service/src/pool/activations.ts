// Activations: an account is created on the chain so that it can receive.
//
//   new -> activating -> active | failed       (dead attempt: back to new, at most TRIES times)
//
// One is under way for an address at a time; orders for the address wait for it, whoever pays for
// it. Somebody else may activate the address meanwhile: then ours dies, the address is active all
// the same, and nobody is charged the fee.

import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { contract } from 'penstock-tron/transaction.ts'
import { enqueueAttempt } from '../chain/attempts.ts'
import type { Sql, Tx } from '../database/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { NewId } from '../lib/ids.ts'
import type { Node } from '../node/node.ts'
import { eachRow, type Step } from '../steps/step.ts'

export type Needs = {
  sql: Sql
  clock: Clock
  new_id: NewId
  node: Pick<Node, 'account'>
  activation_wallet: ActivationWallet
}
export type ActivationWallet = { address: Address; permission_id: number }

const TRIES = 3
const AT_ONCE = 50

/** new -> activating, and the orders that pay for it become pending. */
export function activateStep(needs: Needs): Step {
  const { sql } = needs
  return {
    name: 'activate',
    rest_ms: 1_000,
    after: ['activated'],
    before: ['sign'],
    async run() {
      const rows = await sql<{ id: string; address: Address }>`
        select id, address from activation where state = 'new' order by made_at, id limit ${AT_ONCE}`
      return eachRow(
        rows,
        ({ id, address }) => sql.begin((tx) => activate(tx, needs, { id, address })),
        async () => {},
      )
    },
  }
}

async function activate(
  tx: Tx,
  needs: Needs,
  { id, address }: { id: string; address: Address },
): Promise<boolean> {
  const [mine] =
    await tx`select 1 from activation where id = ${id} and state = 'new' for update skip locked`
  if (!mine) return false
  const { activation_wallet } = needs
  const creation = contract(
    'AccountCreateContract',
    {
      owner_address: addressToHex(activation_wallet.address),
      account_address: addressToHex(address),
    },
    activation_wallet.permission_id,
  )
  const attempt_id = enqueueAttempt(tx, needs, { subject: `activate:${id}`, contract: creation })
  await tx`update activation set state = 'activating', attempt_id = ${attempt_id} where id = ${id}`
  await tx`update orders set state = 'pending' where activation_id = ${id} and activate and state = 'new'`
  return true
}

type Tried = { id: string; address: Address; attempt: 'included' | 'solid' | 'dead' }

/** activating -> active | new | failed, by what became of the attempt; and back when a fork took
 *  its block. */
export function activatedStep({ sql, node }: Pick<Needs, 'sql' | 'node'>): Step {
  return {
    name: 'activated',
    rest_ms: 1_000,
    after: ['follow', 'judge'],
    async run() {
      const uncovered = await sql`
        update activation set state = 'activating' from attempt
        where attempt.uncovered and attempt.state in ('signed', 'sent', 'dead')
          and attempt.id = attempt_id
          and activation.state = 'active'
          and not exists (select 1 from activation as other
                          where other.address = activation.address
                            and other.state in ('new', 'activating'))
        returning activation.id`
      const rows = await sql<Tried>`
        select activation.id, address, attempt.state as attempt from activation join attempt
          on attempt.id = attempt_id
        where activation.state = 'activating' and attempt.state in ('included', 'solid', 'dead')
        order by activation.id limit ${AT_ONCE}`
      const moved = await eachRow(
        rows,
        (row) => conclude(row),
        async () => {},
      )
      return moved || uncovered.length > 0
    },
  }

  async function conclude({ id, address, attempt }: Tried): Promise<boolean> {
    if (attempt !== 'dead') {
      await sql`update activation set state = 'active' where id = ${id} and state = 'activating'`
      // After a fork it may be another transaction than the one that was shown.
      await sql`
        update orders set tx_id = t.tx_id from activation as a join attempt as t
          on t.id = a.attempt_id
        where a.id = ${id} and orders.activation_id = a.id and orders.service = 'activate_address'
          and orders.state = 'success' and orders.tx_id <> t.tx_id`
      return true
    }
    const { active } = await node.account(address)
    if (active) {
      await sql`update activation set state = 'active', attempt_id = null where id = ${id} and state = 'activating'`
      return true
    }
    await sql`
      update activation set tries = tries + 1, attempt_id = null, state = case
        when tries + 1 < ${TRIES} then 'new' else 'failed' end
      where id = ${id} and state = 'activating'`
    return true
  }
}
