// Rows of attempts at a chain that stands still, for tests of what each of their steps takes.

import assert from 'node:assert/strict'
import { person } from 'penstock-devchain/scene.ts'
import { type Needs, signStep } from 'penstock-service/chain/follow/attempts.ts'
import type { Node } from 'penstock-service/chain/node/node.ts'
import type { Signer } from 'penstock-service/chain/signing/signer.ts'
import { silentLog } from 'penstock-service/lib/log.ts'
import type { Sql, Tx } from 'penstock-service/platform/database/sql.ts'
import { contract, decodeRawData, transactionId } from 'penstock-tron/transaction.ts'
import { isDue } from './is_due.ts'
import { blockIdOf } from './made_chain.ts'

export const NOW = new Date(1_780_000_000_000)
export const clock = { now: () => NOW }
export const after = (ms: number) => new Date(NOW.getTime() + ms)

const HEAD = 100
export const CONFIRMED = 80
export const timeOf = (number: number) => after(-3_000 * (HEAD - number))
/** The parent of the confirmed block: what had to be in a block by then is late. */
export const LATE = timeOf(CONFIRMED - 1)

const CREATION = contract('AccountCreateContract', {
  owner_address: person('pool').hex,
  account_address: person('bob').hex,
})

/** A payment whose sum needs 64 bits. */
export const PAYMENT = contract('TransferContract', {
  owner_address: person('pool').hex,
  to_address: person('bob').hex,
  amount: 2n ** 53n + 1n,
})

/** Blocks up to the head, as they are when the newest came just now. */
export async function withChain(sql: Sql): Promise<void> {
  for (let number = CONFIRMED - 3; number <= HEAD; number++)
    await sql`
      insert into block (number, id, parent_id, time, contents)
      values (${number}, ${blockIdOf(number)}, ${blockIdOf(number - 1)}, ${timeOf(number)}, '{}')`
  await sql`
    insert into chain (head_number, head_id, head_time, solid_number, confirmed_number, seen_at,
      head_seen_at)
    values (${HEAD}, ${blockIdOf(HEAD)}, ${timeOf(HEAD)}, ${CONFIRMED}, ${CONFIRMED},
      ${NOW}, ${NOW})`
}

export type GivenAttempt = {
  state?: string
  send_at?: Date
  made_at?: Date
  expires_at?: Date
  block_number?: number
  answer?: string
  sent_at?: Date
}

export async function putAttempt(sql: Sql | Tx, id: string, given: GivenAttempt): Promise<void> {
  const { state = 'new', send_at = NOW, made_at = NOW, answer = null, sent_at = null } = given
  const has_bytes = state !== 'new'
  const number = given.block_number ?? null
  await sql`
    insert into attempt (id, subject, contract, state, tx_id, signed, expires_at, send_at, made_at,
      sent_at, answer, block_number, block_time, block_id)
    select ${id}, ${id}, ${JSON.stringify(CREATION)}::jsonb, ${state},
      ${has_bytes ? `tx ${id}` : null},
      ${has_bytes ? Buffer.from(id) : null},
      ${has_bytes ? (given.expires_at ?? after(1)) : null}::timestamptz, ${send_at}, ${made_at},
      ${sent_at}, ${answer}, number,
      case when number is not null then ${NOW}::timestamptz end,
      case when number is not null then 'block' end
    from (select ${number}::bigint as number) as block`
}

export type AttemptFields = {
  id: string
  state: string
  answer: string | null
  sends: number
  send_at: Date
  sent_at: Date | null
  tx_id: string | null
  signed: Buffer | null
  expires_at: Date | null
  refused_at: Date | null
  block_number: bigint | null
  block_time: Date | null
  block_id: string | null
  fee_sun: bigint | null
  bandwidth: bigint | null
  energy: bigint | null
  uncovered: boolean
}

export const attemptRows = (sql: Sql | Tx) => sql<AttemptFields>`select * from attempt order by id`
export const attemptStates = async (sql: Sql | Tx) =>
  Object.fromEntries((await attemptRows(sql)).map(({ id, state }) => [id, state]))

/** Signs whatever it is given. */
export const signAll: Signer = async (batch) =>
  batch.map(({ raw_data }) => ({
    state: 'signed',
    raw_data,
    tx_id: transactionId(raw_data),
    signature: '11'.repeat(65),
    expires_at: new Date(Number(decodeRawData(raw_data).expiration)),
  }))

export const signing = (sql: Sql, sign: Signer, log: Needs['log'] = silentLog) =>
  signStep({ sql, clock, sign, log, node: {} as Node })

/** A node that says this of every transaction, unless it says otherwise of one. */
export const asked = (solidTransaction: Node['solidTransaction']) => ({ solidTransaction }) as Node

export const hasNothing = asked(async () => [{ found: false, solid_number: CONFIRMED }])

/** The row of `one` as it is. */
export async function rowText(sql: Sql): Promise<string> {
  const [row] = await sql<{ row: string }>`
    select attempt::text as row from attempt where id = 'one'`
  return row!.row
}

/** Whether the step is due for the one row, and does something about it when it runs. */
export async function isTaken(sql: Sql, step: Parameters<typeof isDue>[1], given: GivenAttempt) {
  await sql`delete from attempt`
  await putAttempt(sql, 'one', given)
  const before = await rowText(sql)
  const due = await isDue(sql, step)
  const moved = await step.run()
  assert.equal(before !== (await rowText(sql)), moved)
  assert.equal(due, moved)
  return moved
}

/** A block with these transactions. */
export function blockWith(transactions: Record<string, boolean>) {
  return {
    number: 90,
    id: 'block 90',
    parent_id: '',
    time: timeOf(90),
    read_from: new Set<string>(),
    transfers: [],
    asset_transfers: [],
    transactions: Object.entries(transactions).map(([tx_id, succeeded]) => ({
      tx_id,
      owner: undefined,
      contract_type: 'x',
      succeeded,
      call: undefined,
    })),
  }
}
