// Everybody who may be voted for.

import type { Candidate } from '../state/records.ts'
import type { Layer, View } from '../state/state.ts'

const BROKERAGE = 20

export const candidateOf = (view: View, address: string): Candidate | undefined =>
  view.read('candidate', address)

/** In the order in which they came. */
export function candidatesOf(view: View): Candidate[] {
  return (view.read('register', '') ?? []).map((address) => candidateOf(view, address)!)
}

export function addCandidate(state: Layer, address: string, url: string, votes: bigint): void {
  state.write('register', '', [...(state.read('register', '') ?? []), address])
  state.write('candidate', address, {
    address,
    url,
    votes,
    next_votes: votes,
    brokerage: BROKERAGE,
    paid_brokerage: BROKERAGE,
  })
}

/** The share that a witness keeps, in per cent; the usual one for everybody else. */
export const brokerageOf = (view: View, address: string): number =>
  candidateOf(view, address)?.brokerage ?? BROKERAGE
