// The bytes of our transactions. They are kept as they were sent until the transaction is solid for
// 30 days. Then they are emptied, with what nodes said of them: 18 bytes stay, of which, with the
// contract and the expiry, the raw data is made again, byte for byte, for whoever wants the proof
// of an old order. The signatures are on the chain.

import {
  type Contract,
  decodeRawData,
  decodeTransaction,
  encodeRawData,
  transactionId,
} from 'penstock-tron/transaction.ts'
import { type Clock, DAY_MS, later } from '../../lib/clock.ts'
import type { Sql } from '../../platform/database/sql.ts'
import type { Step } from '../../platform/steps/step.ts'
import { fromRow } from './attempts.ts'

/** Days for which the bytes of a solid transaction are kept; `keep_signed` has the same number. */
export const BYTES_DAYS = 30
const EMPTIED_AT_ONCE = 1_000

/** What is written of an attempt that was signed. */
export type WrittenBytes = {
  contract: Contract
  expires_at: Date
  /** The whole transaction; null once it was emptied. */
  signed: Uint8Array | null
  stamp: Uint8Array | null
}

/** The part of a transaction that is signed, and whose hash is its id. */
export function rawDataOf({ signed, stamp, contract, expires_at }: WrittenBytes): Uint8Array {
  if (signed) return decodeTransaction(signed).raw_data
  const bytes = Buffer.from(stamp!)
  return encodeRawData({
    ref_block_bytes: bytes.toString('hex', 0, 2),
    ref_block_hash: bytes.toString('hex', 2, 10),
    expiration: expires_at.getTime(),
    timestamp: bytes.readBigInt64BE(10),
    contract: [fromRow(contract)],
  })
}

type SignedRow = Omit<WrittenBytes, 'signed' | 'stamp'> & { tx_id: string; signed: Uint8Array }

/** The 18 bytes that stay of a transaction. None at all where its raw data could not be made of
 *  them: a transaction that was found on the chain may have fields that ours never have. */
function stampOf({ tx_id, signed, contract, expires_at }: SignedRow): Uint8Array {
  try {
    const { ref_block_bytes, ref_block_hash, timestamp } = decodeRawData(
      decodeTransaction(signed).raw_data,
    )
    const stamp = Buffer.alloc(18)
    stamp.write(ref_block_bytes + ref_block_hash, 'hex')
    stamp.writeBigInt64BE(BigInt(timestamp ?? 0), 10)
    const again = rawDataOf({ signed: null, stamp, contract, expires_at })
    return transactionId(again) === tx_id ? stamp : new Uint8Array()
  } catch {
    return new Uint8Array()
  }
}

/** Empties the bytes of what is solid for 30 days. One that was found on the chain long after its
 *  block waits for its own 30 days, as the database asks for. */
export function emptyBytesStep({ sql, clock }: { sql: Sql; clock: Clock }): Step {
  const before = () => later(clock, -BYTES_DAYS * DAY_MS)
  return {
    name: 'empty_bytes',
    rest_ms: 600_000,
    duty: 'upkeep',
    due: (sql) => sql`
      select from attempt
      where state = 'solid' and signed is not null and stamp is null
        and block_time < least(${before()}, now() - interval '30 days')
        and made_at < least(${before()}, now() - interval '30 days')`,
    async run() {
      const rows = await sql<SignedRow & { id: string }>`
        select id, tx_id, signed, contract, expires_at from attempt
        where state = 'solid' and signed is not null and stamp is null
          and block_time < least(${before()}, now() - interval '30 days')
          and made_at < least(${before()}, now() - interval '30 days')
        order by block_time limit ${EMPTIED_AT_ONCE}`
      if (rows.length === 0) return false
      const stamps = rows.map((row) => Buffer.from(stampOf(row)).toString('hex'))
      const emptied = await sql`
        update attempt set stamp = decode(t.stamp, 'hex'),
          signed = case when t.stamp = '' then signed end,
          answer = case when t.stamp = '' then answer end
        from unnest(${rows.map(({ id }) => id)}::text[], ${stamps}::text[]) as t (id, stamp)
        where attempt.id = t.id and attempt.stamp is null and attempt.id in (
          select id from attempt where id = any(${rows.map(({ id }) => id)})
          order by id for no key update)
        returning attempt.id`
      return emptied.length > 0
    },
  }
}
