// The storage of a TRC20 token, and the cost of calling it: what its functions
// (token_functions.ts) stand on.

import type { Log } from '../state/execution_context.ts'
import type { Token } from '../state/records.ts'
import type { Layer, View } from '../state/state.ts'

/** A call as a function of a token sees it. */
export type TokenCall = {
  readonly state: Layer
  readonly token: Token
  readonly caller: string
  readonly data: string
  readonly logs: Log[]
}

/** Ends a call with REVERT; nothing that it did remains. `cost` is what a token asks for
 *  it. */
export class Revert extends Error {
  override name = 'Revert'
  readonly cost: Cost

  constructor(reason: string, cost: Cost = costOfRevert) {
    super(reason)
    this.cost = cost
  }
}

/** Energy without the penalty of a hot contract, and with the greatest that there is (factor
 *  3.4). */
export type Cost = { readonly base: number; readonly dearest: number }

export type TokenFunction = {
  readonly signature: string
  readonly outputs: readonly string[]
  readonly view: boolean
  /** The cost of the call, by the state it finds. */
  cost(call: TokenCall): Cost
  /** Does it, and returns the words of its result. Throws a Revert. */
  run(call: TokenCall): string
}

const MAX_FACTOR = 34_000
/** One more than the greatest number of a word. */
export const UINT_END = 2n ** 256n

const slotKey = (token: Token, kind: string, ...addresses: string[]) =>
  [token.address, kind, ...addresses].join(':')

/** A number that a token keeps under a name and addresses: a balance, an allowance, a place on the
 *  freeze list. */
export function slotOf(view: View, token: Token, kind: string, ...addresses: string[]): bigint {
  return view.read('slot', slotKey(token, kind, ...addresses)) ?? 0n
}

export function writeSlot(
  state: Layer,
  token: Token,
  value: bigint,
  kind: string,
  ...addresses: string[]
): void {
  state.write('slot', slotKey(token, kind, ...addresses), value === 0n ? undefined : value)
}

export const tokenOf = (view: View, address: string): Token | undefined =>
  view.read('token', address)

export const plain = (base: number): Cost => ({
  base,
  dearest: Math.trunc(base * (1 + MAX_FACTOR / 10_000)),
})

/** The cost of a call that ends at once, and of a transfer of more than there is. */
const costOfRevert = plain(1_200)
export const costOfPoorTransfer: Cost = { base: 1_819, dearest: 8_000 }

/** The energy of a call at a token's factor, and how much of it is the penalty. */
export function energyOf(
  { base, dearest }: Cost,
  factor: number,
): { total: number; penalty: number } {
  const penalty = Math.trunc(((dearest - base) * factor) / MAX_FACTOR)
  return { total: base + penalty, penalty }
}

/** Creates tokens for an account. */
export function mint(state: Layer, token: Token, to: string, amount: bigint): void {
  writeSlot(state, token, slotOf(state, token, 'balance', to) + amount, 'balance', to)
  state.write('token', token.address, { ...token, total_supply: token.total_supply + amount })
}
