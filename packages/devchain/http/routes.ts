// An endpoint of the node: a name, a chain to ask, and arguments from a body or a
// query.

import type { Block } from '../chain/blocks.ts'
import type { Chain } from '../chain/chain.ts'
import type { ExecutionContext } from '../state/execution_context.ts'
import type { InternalSetting } from '../state/internal.ts'
import { type Json, printJson } from '../state/json.ts'
import type { View } from '../state/state.ts'
import type { Faults } from './faults.ts'
import { NodeException, printAddress, readAddress } from './messages.ts'

/** The members of a request: of its JSON body, or of its query. */
export class Arguments {
  readonly members: Readonly<Record<string, unknown>>

  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members
  }

  /** Whether addresses are text in the request and its answer. */
  get visible(): boolean {
    return this.flag('visible')
  }

  flag(name: string): boolean {
    const value = this.members[name]
    return value === true || value === 'true'
  }

  text(name: string): string {
    const value = this.members[name]
    if (value === undefined || value === null) return ''
    return typeof value === 'object' ? printJson(value as Json) : String(value)
  }

  /** An integer, 0 when absent. Throws the exception of a Java parser for other text. */
  integer(name: string): bigint {
    const text = this.text(name)
    if (text === '') return 0n
    if (!/^[+-]?\d{1,19}$/.test(text))
      throw new NodeException('java.lang.NumberFormatException', `For input string: "${text}"`)
    return BigInt(text)
  }

  /** The same for numbers of blocks and the like. */
  number(name: string): number {
    return Number(this.integer(name))
  }

  /** The permission that a transaction is to be signed under; what is no id means the owner's, as
   *  in the node. */
  permissionId(): number {
    return Math.max(0, this.number('Permission_id'))
  }

  /** An address as hexadecimal text. */
  address(name: string): string {
    return readAddress(this.text(name), this.visible)
  }

  /** An address for the answer. */
  print(hex: string): string {
    return printAddress(hex, this.visible)
  }
}

/** A node: its chain, what goes wrong with it, and how it makes blocks. */
export type Node = {
  readonly chain: Chain
  readonly faults: Faults
  /** A block is made for every transaction that is taken. */
  instant: boolean
  /** The growth of the rest of the network's stakes with each block, in TRX. */
  drift: Drift
  /** Which internal transactions receipts show. */
  internal: InternalSetting
  /** Makes a block of what is pending at the slot of a time, or at the next one: as its faults have
   *  it. */
  makeBlock(time_ms?: number, empty?: boolean): Block
  /** Makes a block every so often from now on; 0: for every transaction instead. Throws a
   *  RangeError where there is no clock. */
  setBlockTime(seconds: number): void
  /** Makes a block at the present time, where there is a clock. */
  makeBlockNow(): Block
}

export type Drift = { readonly energy_trx: bigint; readonly net_trx: bigint }

export type Call = Node & { readonly given: Arguments; readonly solid: boolean }

export type Route = {
  /** Endpoints that change something, or build it, answer a GET with nothing. */
  readonly post_only?: boolean
  /** Prints numbers as numbers even when the request asks for 64-bit integers as text. */
  readonly int64_as_number?: boolean
  answer(call: Call): Json
}

export type Routes = Readonly<Record<string, Route>>

/** The state that the call reads. */
export const viewOf = ({ chain, solid }: Call): View =>
  solid ? chain.solidView() : chain.headView()

/** The newest block that the call can see. */
export const newestOf = ({ chain, solid }: Call) => (solid ? chain.solid_block : chain.seen_head)

/** The context at the newest block that the call can see. */
export function contextOf(
  call: Call,
  building = false,
): Omit<ExecutionContext, 'state'> & { state: View } {
  return { ...call.chain.rulesAt(newestOf(call).header.timestamp, building), state: viewOf(call) }
}
