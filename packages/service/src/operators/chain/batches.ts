// Batches of wallets sign and wallets broadcast: many transfers from deposit addresses in one file,
// made by treasury collect. Each can be sent again, in parts and after an interruption: the network
// takes the same bytes once.

import { encodeTransaction } from 'penstock-tron/transaction.ts'
import { Type } from 'typebox'
import type { BroadcastAnswer, Node } from '../../chain/node/node.ts'
import { refusal } from '../../lib/fault.ts'
import { eachAtOnce } from '../../lib/portions.ts'
import { Count, ListOf, optional, Text } from '../../platform/wire/schemas.ts'
import {
  type Batch,
  batchWords,
  depositKeys,
  expiryOf,
  type ReadTransfer,
  readBatch,
  requireInTime,
  requireSigned,
  signBatch,
} from '../../treasury/collecting/batch.ts'
import { networkOf } from '../../treasury/collecting/making.ts'
import type { LocalNeeds } from '../table/operation.ts'

const AT_ONCE = 8
const TRIES = 5
const BETWEEN_MS = 1_000

/** Of a body. Its transfers are read from their bytes. */
export const CarriedBatch = Type.Object({
  collection: Text,
  network: Text,
  digest: Text,
  parts: ListOf({
    transfers: ListOf({
      index: Count,
      raw_data: Text,
      energy: optional(Count),
      signature: optional(Text),
    }),
  }),
})

/** A batch in what a file has; undefined when that is something else. Throws Refused when it is a
 *  batch with other fields than one has. */
export function asBatch(value: unknown, name: string): Batch | undefined {
  if (typeof value !== 'object' || value === null || !('parts' in value)) return undefined
  const { collection, network, digest, parts } = value as Record<keyof Batch, unknown>
  const isPart = (one: unknown) => Array.isArray((one as Batch['parts'][number])?.transfers)
  const fits =
    [collection, network, digest].every((one) => typeof one === 'string') &&
    Array.isArray(parts) &&
    parts.every(isPart) &&
    (parts as Batch['parts']).flatMap(({ transfers }) => transfers).every(isTransfer)
  if (!fits) throw refusal(`${name} is not a batch of treasury collect: it has another form.`)
  return value as Batch
}

const isTransfer = (one: Batch['parts'][number]['transfers'][number] | null) =>
  Number.isSafeInteger(one?.index) &&
  one!.index >= 0 &&
  /^([0-9a-f]{2})+$/.test(one!.raw_data) &&
  (one!.signature === undefined || /^[0-9a-f]{130}$/.test(one!.signature))

/** The text of the file. */
export const batchText = (batch: Batch) => () => `${JSON.stringify(batch, null, 1)}\n`

/** Signs all of it with the words of the deposit wallet. Throws Refused when anything goes to an
 *  address that is not in collect_to. */
export async function signedBatch(
  { clock, wallets }: Pick<LocalNeeds, 'clock' | 'wallets'>,
  batch: Batch,
  secret: string,
) {
  const { collect_to = [] } = await wallets()
  if (collect_to.length === 0) throw refusal('The file of wallets has no collect_to.')
  const keyOf = await depositKeys(secret)
  const { signed, transfers } = signBatch(batch, { keyOf, collect_to, now: clock.now() })
  const value = {
    digest: batch.digest,
    signatures: transfers.length,
    expires_at: expiryOf(transfers),
    says: batchWords(transfers),
  }
  return { value, documents: { transaction: batchText(signed) } }
}

/** Of the reply: what became of the transfers of a batch. */
export const BATCH_OUTCOME = {
  sent: optional(Count),
  there: optional(Count),
  waiting: optional(Count),
  refused: optional(ListOf({ address: Text, tx_id: Text, said: Text })),
}

type Outcome = {
  sent: number
  there: number
  waiting: number
  refused: { address: string; tx_id: string; said: string }[]
}

/** Sends what is not on the chain yet. `burn`: also what has no energy. Throws Refused, with
 *  nothing sent, when the file is of another network, too old, changed or not signed. */
export async function sendBatch(needs: LocalNeeds, batch: Batch, burn: boolean) {
  const node = needs.node()
  const transfers = readBatch(batch)
  requireSigned(transfers)
  if ((await networkOf(node)) !== batch.network)
    throw refusal('The file is of another network than the node: nothing was sent.')
  requireInTime(transfers, (await node.head()).time)
  const outcome: Outcome = { sent: 0, there: 0, waiting: 0, refused: [] }
  let done = 0
  await eachAtOnce(transfers, AT_ONCE, async (transfer) => {
    await sendOne(needs, node, { transfer, burn, outcome })
    needs.progress({ done: ++done, whole: transfers.length, unit: 'transfers' })
  }).finally(() => needs.progress())
  const taken = outcome.refused.length === 0 && outcome.waiting === 0
  const said = outcome.waiting === 0 ? [] : [waitingText(outcome.waiting)]
  const value = { taken, answers: said, says: batchWords(transfers), ...outcome }
  const note = taken
    ? 'They are counted when their blocks are confirmed: treasury list.'
    : 'What was not taken can be sent again from the same file.'
  return { value, ok: taken, note }
}

const waitingText = (waiting: number) =>
  `${waiting} wait for energy at their addresses: send the file again when it is there, or with ` +
  '--burn.'

type BatchItem = { transfer: ReadTransfer; burn: boolean; outcome: Outcome }

async function sendOne(needs: LocalNeeds, node: Node, { transfer, burn, outcome }: BatchItem) {
  const { tx_id, raw, signature, from, energy } = transfer
  if (energy !== undefined && !burn && !(await hasEnergy(node, transfer))) {
    const there = (await node.whereabouts(tx_id)).found !== 'nowhere'
    outcome[there ? 'there' : 'waiting'] += 1
    return
  }
  const bytes = encodeTransaction(raw, [signature!])
  let answers: BroadcastAnswer[] = []
  for (let i = 0; i < TRIES; i++) {
    answers = await node.broadcast(bytes)
    if (answers.some(({ accepted }) => accepted)) {
      outcome.sent += 1
      return
    }
    if ((await node.whereabouts(tx_id)).found !== 'nowhere' || isKnown(answers)) {
      outcome.there += 1
      return
    }
    if (!answers.some(isBusy)) break
    await needs.wait(BETWEEN_MS)
  }
  const said = answers.map((one) => one.said).join(' | ')
  outcome.refused.push({ address: from, tx_id, said })
}

const hasEnergy = async (node: Node, { from, energy = 0 }: ReadTransfer) =>
  (await node.resource(from, 'energy')).left >= BigInt(energy)

/** It waits for a block already. */
const isKnown = (answers: readonly BroadcastAnswer[]) =>
  answers.some(({ said }) => said.startsWith('DUP_TRANSACTION'))

const isBusy = ({ said }: BroadcastAnswer) => /^(SERVER_BUSY|no answer|NOT_ENOUGH_EFF)/.test(said)
