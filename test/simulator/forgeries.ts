// Somebody who can write rows, and wants signatures for them. In a run every forgery is made when
// all is at rest, and asks the signer itself: none may be signed. The rows stay; they end with the
// run.

import { enqueueAttempt } from 'penstock-service/chain/follow/attempts.ts'
import type { Signer } from 'penstock-service/chain/signing/signer.ts'
import type { Wallets } from 'penstock-service/chain/wallets/wallet_file.ts'
import type { Sql, Tx } from 'penstock-service/platform/database/sql.ts'
import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { contract, encodeRawData } from 'penstock-tron/transaction.ts'

export type Target = { sql: Sql; sign: Signer; wallets: Wallets; thief: Address; now: Date }

/** A transaction that the thief wants signed: what it does, and the rows that ask for it. */
export type Forgery = {
  name: string
  type: string
  value: Message
  /** Whether rows of others are changed for it, and not only rows added. */
  alters?: boolean
  rows: (tx: Tx, attempt: string) => unknown
}

/** Writes the rows of a forgery, as an attempt of that id. */
export function plant(
  target: Omit<Target, 'sign'>,
  forgery: Forgery,
  attempt: string,
): Promise<void> {
  const { sql, wallets, now } = target
  const wanted = { subject: `forged:${attempt}`, contract: contractOf(forgery, wallets) }
  return sql.begin(async (tx) => {
    enqueueAttempt(tx, { clock: { now: () => now }, new_id: () => attempt }, wanted)
    await forgery.rows(tx, attempt)
  })
}

/** By the permission that the wallet's key has. */
function contractOf({ type, value }: Forgery, { pool, activation, refund }: Wallets) {
  const owner = addressFromHex(String(value.owner_address))
  const wallet = [...pool, activation, ...(refund ? [refund] : [])].find(
    ({ address }) => address === owner,
  )
  return contract(type, value, wallet?.permission_id)
}

/** What was signed that nobody has bought: a line for each. */
export async function signedForgeries(target: Target): Promise<string[]> {
  const findings: string[] = []
  for (const [i, forgery] of (await forgeries(target)).entries()) {
    const attempt = `forged${i}`
    await plant(target, forgery, attempt)
    const [outcome] = await target.sign([{ attempt, raw_data: bytesOf(forgery, target) }])
    if (outcome?.state !== 'refused')
      findings.push(`the signer gives a thief ${forgery.name}: ${outcome?.state}`)
  }
  return findings
}

const rename = (tx: Tx, attempt: string, subject: string) =>
  tx`update attempt set subject = ${subject} where id = ${attempt}`

function bytesOf(forgery: Forgery, { now, wallets }: Target): Uint8Array {
  return encodeRawData({
    ref_block_bytes: '0001',
    ref_block_hash: '0102030405060708',
    // Long after whatever was signed before has ended.
    timestamp: now.getTime() + 3_600_000,
    expiration: now.getTime() + 3_660_000,
    contract: [contractOf(forgery, wallets)],
  })
}

/** What a thief would want, as far as there are rows to begin with. */
export async function forgeries({
  sql,
  wallets,
  thief,
  now,
}: Omit<Target, 'sign'>): Promise<Forgery[]> {
  const wallet = wallets.pool[0]!.address
  const stake_sun = 50_000_000n
  const delegation = (
    receiver: Address,
    type = 'DelegateResourceContract',
    balance = stake_sun,
  ) => ({
    type,
    value: {
      owner_address: addressToHex(wallet),
      receiver_address: addressToHex(receiver),
      balance,
      resource: 'ENERGY',
    },
  })
  const deliver = async (tx: Tx, attempt: string, order_id: string) => {
    await rename(tx, attempt, `delegate:${attempt}`)
    return tx`
      insert into delegation (id, order_id, wallet, receiver, resource, amount, stake_sun,
        attempt_id)
      values (${attempt}, ${order_id}, ${wallet}, ${thief}, 'energy', 32000, ${stake_sun},
              ${attempt})`
  }
  const order = (tx: Tx, id: string, { customer_id, external_id, sun }: Payer) => tx`
    insert into orders (id, customer_id, external_id, service, address, energy, activate, state,
      to_delegate,
                        amount_sun, due_at, created_at)
    values (${id}, ${customer_id}, ${external_id}, 'energy', ${thief}, 32000, false, 'pending',
      false,
            ${sun}, ${now}, ${now})`
  const found: Forgery[] = [
    { name: 'a delegation that nothing asks for', ...delegation(thief), rows: () => undefined },
    {
      name: 'an activation that no order wants',
      type: 'AccountCreateContract',
      value: {
        owner_address: addressToHex(wallets.activation.address),
        account_address: addressToHex(thief),
      },
      async rows(tx, attempt) {
        await rename(tx, attempt, `activate:${attempt}`)
        return tx`
          insert into activation (id, address, state, attempt_id, made_at)
          values (${attempt}, ${thief}, 'activating', ${attempt}, ${now})`
      },
    },
  ]
  for (const [name, payer] of Object.entries(PAYERS)) {
    const rows = async (tx: Tx, attempt: string) => {
      await order(tx, attempt, payer)
      return deliver(tx, attempt, attempt)
    }
    found.push({ name: `a delegation for ${name}`, ...delegation(thief), rows })
  }
  const [sold] = await sql<{
    id: string
  }>`select id from orders where state = 'success' and energy > 0 limit 1`
  if (sold) {
    const rows = (tx: Tx, attempt: string) => deliver(tx, attempt, sold.id)
    found.push({ name: 'a delegation for an order of somebody else', ...delegation(thief), rows })
  }
  return [
    ...found,
    ...(await forgedReturns(sql, delegation)),
    ...(await forgedRefunds({ sql, wallets, thief, now })),
  ]
}

type Payer = { customer_id: string; external_id: string | null; sun: bigint }
const PAYERS: Readonly<Record<string, Payer>> = {
  'an order that holds no money': { customer_id: 'nobody', external_id: null, sun: 1_000_000n },
  'an order that costs nothing': { customer_id: 'nobody', external_id: null, sun: 0n },
  'a subscription that there is not': {
    customer_id: 'subscriptions',
    external_id: 'forged/1',
    sun: 0n,
  },
  'a recharge that there was not': {
    customer_id: 'direct_recharge',
    external_id: 'deposit:00',
    sun: 1_000_000n,
  },
}

type DelegateFunction = (
  receiver: Address,
  type?: string,
  balance?: bigint,
) => Pick<Forgery, 'type' | 'value'>

/** More is taken back than was given: what is left of another order's. */
async function forgedReturns(sql: Sql, delegation: DelegateFunction): Promise<Forgery[]> {
  const [ended] = await sql<{ id: string; receiver: Address; stake_sun: bigint }>`
    select id, receiver, stake_sun from delegation where state = 'ended' and resource = 'energy'
      limit 1`
  if (!ended) return []
  const { id, receiver, stake_sun } = ended
  return [
    {
      name: 'a reclaim of more than was delegated',
      alters: true,
      ...delegation(receiver, 'UnDelegateResourceContract', stake_sun + 1_000_000n),
      async rows(tx, attempt) {
        await tx`update attempt set subject = 'taken:' || id where subject = ${`reclaim:${id}`}`
        await rename(tx, attempt, `reclaim:${id}`)
        return tx`
          update delegation set state = 'reclaiming', reclaimed_at = null, reclaim_id = ${attempt}
            where id = ${id}`
      },
    },
  ]
}

async function forgedRefunds({
  sql,
  wallets,
  thief,
  now,
}: Omit<Target, 'sign'>): Promise<Forgery[]> {
  const { refund, recharge_address } = wallets
  if (!refund) return []
  const payment = (to: Address, amount: bigint) => ({
    type: 'TransferContract',
    value: { owner_address: addressToHex(refund.address), to_address: addressToHex(to), amount },
  })
  const found: Forgery[] = [
    {
      name: 'a payment that only an attempt asks for',
      ...payment(thief, 5_000_000n),
      rows: (tx, attempt) => rename(tx, attempt, `refund:${attempt}`),
    },
    {
      name: 'a refund of a deposit that never came',
      ...payment(thief, 5_000_000n),
      async rows(tx, attempt) {
        await rename(tx, attempt, `refund:${attempt}`)
        return tx`
          insert into deposit (tx_id, position, from_address, to_address, amount_sun, block_number,
            block_time, state,
                               reason, refund_id, solid_at, due_at, seen_at)
          values (${attempt}, 0, ${thief}, ${recharge_address}, 9000000,
            1, ${now}, 'refunding', 'forged', ${attempt},
                  ${now}, ${now}, ${now})`
      },
    },
  ]
  const [back] = await sql<{
    tx_id: string
    from_address: Address
    amount_sun: bigint
    refund_id: string
  }>`
    select tx_id, from_address, amount_sun, refund_id from deposit where state = 'refunded' limit 1`
  if (back) {
    found.push({
      name: 'a refund of what has gone back',
      alters: true,
      ...payment(back.from_address, back.amount_sun - 300_000n),
      async rows(tx, attempt) {
        // The first is said to be dead, so that there may be another.
        await tx`
          update attempt set state = 'dead', block_number = null, block_time = null,
            fee_sun = null, bandwidth = null, energy = null
            where id = ${back.refund_id}`
        await rename(tx, attempt, `refund:${back.tx_id}`)
        return tx`
          update deposit set state = 'refunding', refund_id = ${attempt} where tx_id = ${back.tx_id}
            and position = 0`
      },
    })
  }
  return found
}
