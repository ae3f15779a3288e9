// Files that are carried between the machine with the node and the one with the key: a transaction
// or a batch of them, and its words before and after signing.

import { wrapped } from 'penstock-command-line/fitting.ts'
import { transactionId } from 'penstock-tron/transaction.ts'
import { type Static, Type } from 'typebox'
import type { BlockHead, Node } from '../../chain/node/node.ts'
import { describeCarried } from '../../chain/wallets/stake.ts'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { Moment, optional, Text, text, whole } from '../../platform/wire/schemas.ts'
import type { Answer, Terminal, TerminalAnswer } from '../table/operation.ts'
import { asBatch, CarriedBatch } from './batches.ts'

const HOURS = 12
export const hours = optional(
  whole('HOURS', `for how long it may be signed and sent (${HOURS})`, { max: 23 }),
)
export const FILE = Type.Object({ file: text('FILE', 'the transaction') })
export const OUT = Type.Object({
  file: optional(text('FILE', 'where the unsigned transaction is written to, to be carried')),
})

/** A transaction that is carried between the machine with the node and the one with the key. */
const CarriedTransaction = Type.Object({ raw_data: Text, signatures: Type.Array(Text) })
type CarriedTransaction = Static<typeof CarriedTransaction>

/** One transaction or a batch of them, as a file has it. */
export const CARRIED = {
  transaction: optional(CarriedTransaction),
  batch: optional(CarriedBatch),
}

/** Throws Refused when it is none that a command of wallets has prepared. */
function readCarried(value: unknown, name: string): CarriedTransaction {
  try {
    const { raw_data, signatures } = value as CarriedTransaction
    if (!/^([0-9a-f]{2})+$/.test(raw_data) || !Array.isArray(signatures))
      throw refusal('it has another form')
    if (!signatures.every((one) => /^[0-9a-f]{130}$/.test(one)))
      throw refusal('a signature has another form')
    describeCarried(Buffer.from(raw_data, 'hex'))
    return { raw_data, signatures }
  } catch (thrown) {
    throw refusal(
      `${name} is not a transaction of wallets permit, forbid or stake: ` +
        `${(thrown as Error).message}.`,
    )
  }
}

export async function readFileOf({ file }: { file: string }, { readFile }: Terminal) {
  const value = parsed(await readFile(file), file)
  const batch = asBatch(value, file)
  return batch ? { batch } : { transaction: readCarried(value, file) }
}

function parsed(given: string, name: string): unknown {
  try {
    return JSON.parse(given)
  } catch (thrown) {
    throw refusal(
      `${name} is not a transaction of wallets permit, forbid or stake: ` +
        `${(thrown as Error).message}.`,
    )
  }
}

/** The bytes with what they do; the id is worked out from them, since they are what is signed. */
export function describe({ raw_data }: Pick<CarriedTransaction, 'raw_data'>) {
  const raw = new Uint8Array(Buffer.from(raw_data, 'hex'))
  return { raw, tx_id: transactionId(raw), ...describeCarried(raw) }
}

export const carriedText = (carried: CarriedTransaction) => () =>
  `${JSON.stringify({ ...carried, tx_id: describe(carried).tx_id }, null, 2)}\n`

export const PreparedUpdate = {
  tx_id: Text,
  expires_at: Moment,
  says: Type.Array(Text),
  raw_data: Text,
}
type Valid = { head: BlockHead; hours: number }

/** The transaction, what it does, and what is carried of it. */
export async function prepared(node: Node, hours = HOURS, bytesOf: (valid: Valid) => Uint8Array) {
  const bytes = bytesOf({ head: await node.head(), hours })
  const raw_data = Buffer.from(bytes).toString('hex')
  const { tx_id, expires_at, says } = describe({ raw_data })
  const documents = { transaction: carriedText({ raw_data, signatures: [] }) }
  return { value: { tx_id, expires_at, says, raw_data }, documents }
}

/** The lines that are compared before and after signing: one permission a line, the bytes not at
 *  all. */
export function updateText({
  says,
  raw_data: _,
  ...facts
}: Record<string, unknown> & { says: string[] }) {
  const fields = Object.entries(facts).map(([key, value]): [string, string] => [
    key.replaceAll('_', ' '),
    value instanceof Date ? wireTime(value) : String(value),
  ])
  const width = Math.max(...fields.map(([name]) => name.length)) + 2
  const lines = says.flatMap((one) =>
    wrapped(one, 96).map((line, i) => `${i === 0 ? '- ' : '  '}${line}`),
  )
  const facts_text = fields.map(([name, said]) => name.padEnd(width) + said)
  return `${[...facts_text, '', ...lines].join('\n')}\n`
}

export async function carry(
  answer: Answer,
  file: string | undefined,
  terminal: Terminal,
): Promise<TerminalAnswer> {
  if (file === undefined)
    return { ...answer, note: 'Nothing was written: give --file to carry it.' }
  await terminal.writeFile(file, answer.documents!.transaction!())
  const note = `Take ${file} to the machine with the owner's key: wallets sign ${file}.`
  const { permission_id } = answer.value as { permission_id?: number }
  const for_file =
    permission_id === undefined
      ? ''
      : `\nIn the file of wallets: "permission_id": ${permission_id}.`
  return { ...answer, note: `${note}${for_file}` }
}
