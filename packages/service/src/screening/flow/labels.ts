// Labels: who an address is said to be, by whom, how surely, and from when to when. At any instant
// an address has at most one label in force: the best of those valid then. With a confidence of 50
// or more its money becomes the label's category when it leaves (a terminal); below that, part of
// it does.

import { CATEGORIES } from './categories.ts'

/** Kinds of sources, the most believed first. */
export const KINDS = ['authority', 'ledger', 'exchange', 'curated', 'heuristic', 'tenant'] as const
export type Kind = (typeof KINDS)[number]

export type Label = {
  /** 40 lower-case hexadecimal characters: the address without its prefix. */
  readonly address: string
  /** Number of the category. */
  readonly category: number
  /** 0 to 100. */
  readonly confidence: number
  readonly kind: Kind
  /** Valid from this instant (milliseconds since 1970, UTC); -Infinity: since ever. */
  readonly from_ms: number
  /** Valid until, and not at, this instant; Infinity: still. */
  readonly to_ms: number
}

/** A label that is as sure as this, in percent, ends the way of the money. */
export const TERMINAL_CONFIDENCE = 50

export const isTerminal = (label: { readonly confidence: number }) =>
  label.confidence >= TERMINAL_CONFIDENCE

export const isValidAt = (label: Pick<Label, 'from_ms' | 'to_ms'>, at_ms: number) =>
  label.from_ms <= at_ms && at_ms < label.to_ms

/** Below 0 when `a` goes before `b`: the more believed kind, then confidence, weight and place in
 *  the list. */
function compareLabels(a: Omit<Label, 'address'>, b: Omit<Label, 'address'>): number {
  return (
    KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
    b.confidence - a.confidence ||
    CATEGORIES[b.category]!.weight - CATEGORIES[a.category]!.weight ||
    a.category - b.category
  )
}

/** The label in force among those of one address. */
export function labelInForce<L extends Omit<Label, 'address'>>(
  labels: readonly L[],
  at_ms: number,
): L | undefined {
  let best: L | undefined
  for (const label of labels) {
    if (!isValidAt(label, at_ms)) continue
    if (best === undefined || compareLabels(label, best) < 0) best = label
  }
  return best
}
