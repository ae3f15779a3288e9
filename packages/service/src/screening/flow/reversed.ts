// The log read from its end to its beginning, every transfer turned round: what an address would
// have received then is what it has sent, and the categories say where that ended. What an address
// turned round has not seen arrive is what was not passed on: it is `unidentified`.

import { type LoggedBlock, reverseTransfers } from '../../chain/transfers/packed.ts'
import { ISSUER_FROZEN } from './categories.ts'
import type { FreezeSpell } from './flow_index.ts'
import type { Label } from './labels.ts'

/** Where the reading begins: the last block, and the number of its last transfer. */
export type ReadingStart = { number: number; time_ms: number; sequence: number }

/** A block as it comes in this order. Its numbers and times rise from block to block. */
export function reversedBlock(block: LoggedBlock, start: ReadingStart): LoggedBlock {
  const { transfers, count } = reverseTransfers(block.transfers)
  return {
    number: start.number - block.number + 1,
    time_ms: -block.time_ms,
    freezes: [],
    first_sequence: start.sequence - (block.first_sequence + count - 1) + 1,
    transfers,
    ...(block.tx_ids && { tx_ids: reverseIds(block.tx_ids) }),
  }
}

function reverseIds(ids: Uint8Array): Uint8Array {
  const reversed = new Uint8Array(ids.length)
  for (let at = 0; at < ids.length; at += 32)
    reversed.set(ids.subarray(at, at + 32), ids.length - 32 - at)
  return reversed
}

/** Labels, and what freeze lists said until the start, by the times of this order. Times are whole
 *  milliseconds: one later is the first at which what ended is not valid. */
export function* reversedLabels(
  labels: Iterable<Label>,
  freezes: readonly FreezeSpell[],
  { time_ms }: ReadingStart,
): Generator<Label> {
  for (const label of labels) yield reversedLabel(label)
  for (const { address, from_ms, to_ms } of freezes) {
    if (from_ms > time_ms) continue
    const until = to_ms > time_ms ? Number.POSITIVE_INFINITY : to_ms
    yield reversedLabel({
      address,
      category: ISSUER_FROZEN,
      confidence: 100,
      kind: 'ledger',
      from_ms,
      to_ms: until,
    })
  }
}

const reversedLabel = (label: Label): Label => ({
  ...label,
  from_ms: 1 - label.to_ms,
  to_ms: 1 - label.from_ms,
})
