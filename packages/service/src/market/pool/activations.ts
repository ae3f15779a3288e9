// Activations: an account is created on the chain so that it can receive.
//
//   new -> activating -> active | failed       (dead attempt: back to new, at most TRIES times)
//
// One is under way for an address at a time; orders for the address wait for it, no matter who pays
// for it. Somebody else may activate the address meanwhile: then ours dies, the address is active
// all the same, and nobody is charged the fee. Who calls what: market/orders/delivery.ts.

import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { contract } from 'penstock-tron/transaction.ts'
import { type EnqueueNeeds, enqueueAttempts } from '../../chain/follow/attempts.ts'
import type { Query, Sql, Tx } from '../../platform/database/sql.ts'

export type ActivationWallet = { address: Address; permission_id: number }

export type Needs = EnqueueNeeds & { activation_wallet: ActivationWallet }

export type Activation = { id: string; address: Address }

/** An activation and the attempt that something was learnt of: while a node was asked another
 *  process may have gone on to the next one, of which it says nothing. */
export type ActivationAttempt = { id: string; attempt_id: string }

const TRIES = 3

/** The chain's fees for an account, where the node does not say: one TRX, and the bandwidth. */
const ACCOUNT_FEE_SUN = 1_000_000n
const ACCOUNT_BANDWIDTH_SUN = 100_000n

/** How many accounts so much TRX creates. */
export function payableActivations(
  balance_sun: bigint,
  parameters: ReadonlyMap<string, bigint>,
): bigint {
  const fee_sun = parameters.get('getCreateNewAccountFeeInSystemContract') ?? ACCOUNT_FEE_SUN
  const cost_sun = fee_sun + (parameters.get('getCreateAccountFee') ?? ACCOUNT_BANDWIDTH_SUN)
  return cost_sun > 0n ? balance_sun / cost_sun : balance_sun
}

/** What the activation wallet could pay for at a block. */
export type ActivationFloat = { address: Address; payable: bigint; block_number: number }

export async function noteActivationFloat(
  sql: Sql,
  { address, payable, block_number }: ActivationFloat,
): Promise<void> {
  await sql`
    insert into activation_float (address, payable, block_number)
    values (${address}, ${payable}, ${block_number})
    on conflict (one) do update set address = excluded.address, payable = excluded.payable,
      block_number = excluded.block_number`
}

/** For how many more activations the wallet can pay than are under way, or in a block that is newer
 *  than what is known of it. Without end while nothing is known of it. */
export async function activationsLeft(sql: Query): Promise<number> {
  const [row] = await sql<{ free: bigint }>`
    select f.payable
      - (select count(*) from activation where state in ('new', 'activating'))
      - (select count(*) from attempt where state = 'included'
          and block_number > f.block_number and starts_with(subject, 'activate:')) as free
    from activation_float as f`
  return row ? Number(row.free) : Number.POSITIVE_INFINITY
}

/** -> new */
export function insertActivations(tx: Tx, activations: readonly Activation[], now: Date): void {
  if (activations.length === 0) return
  tx.send`
    insert into activation (id, address, made_at)
    select id, address, ${now}
    from unnest(${activations.map((one) => one.id)}::text[],
                ${activations.map((one) => one.address)}::text[]) as a (id, address)`
}

/** new -> activating: asks for their transactions. The caller has locked them. */
export function beginActivations(tx: Tx, needs: Needs, activations: readonly Activation[]): void {
  const { address: owner, permission_id } = needs.activation_wallet
  const creation = (address: Address) => {
    const value = { owner_address: addressToHex(owner), account_address: addressToHex(address) }
    return contract('AccountCreateContract', value, permission_id)
  }
  const attempt_ids = enqueueAttempts(
    tx,
    needs,
    activations.map(({ id, address }) => ({
      subject: `activate:${id}`,
      contract: creation(address),
    })),
  )
  tx.send`
    update activation set state = 'activating', attempt_id = t.attempt_id
    from unnest(${activations.map((one) => one.id)}::text[], ${attempt_ids}::text[])
      as t (id, attempt_id)
    where activation.id = t.id`
}

/** activating -> active: a block has the attempt. */
export async function succeedActivation(sql: Query, one: ActivationAttempt): Promise<void> {
  await sql`
    update activation set state = 'active' where state = 'activating' and id = ${one.id}
      and attempt_id = (
        select id from attempt where id = ${one.attempt_id} and state in ('included', 'solid'))`
}

/** activating -> active, though the attempt is dead: somebody else has activated the address. */
export async function takeActivated(sql: Query, one: ActivationAttempt): Promise<void> {
  await sql`
    update activation set state = 'active', attempt_id = null
    where state = 'activating' and id = ${one.id}
      and attempt_id = (select id from attempt where id = ${one.attempt_id} and state = 'dead')`
}

/** activating -> new | failed: the attempt is dead. */
export async function retryActivation(sql: Query, one: ActivationAttempt): Promise<void> {
  await sql`
    update activation set tries = tries + 1, attempt_id = null, state = case
      when tries + 1 < ${TRIES} then 'new' else 'failed' end
    where state = 'activating' and id = ${one.id}
      and attempt_id = (select id from attempt where id = ${one.attempt_id} and state = 'dead')`
}

/** active -> activating: a fork took the block of the attempt back. One for an address at a time.
 *  True when any was moved. */
export async function revertActivations(sql: Query): Promise<boolean> {
  const reverted = await sql`
    update activation set state = 'activating' where state = 'active' and id in (
      select min(activation.id) from activation join attempt on attempt.id = attempt_id
      where attempt.uncovered and attempt.state in ('signed', 'sent', 'dead')
        and activation.state = 'active'
        and not exists (select 1 from activation as other
                        where other.address = activation.address
                          and other.state in ('new', 'activating'))
      group by address)
    returning id`
  return reverted.length > 0
}
