// What is kept of a block, how it is read from the node's answers, and how it lies in the database.

import { hash } from 'node:crypto'
import type { Address } from 'penstock-tron/address.ts'
import type { ContractLog } from 'penstock-tron/tokens.ts'
import { destructionOf, freezeOf, transferOf } from 'penstock-tron/tokens.ts'
import type { Block, Receipt } from '../node/node.ts'

/** A movement of value, in the order of execution: what a transaction itself transfers or sends
 *  along to a contract, then the events of followed tokens, then what contracts sent on. `index` is
 *  that of the event in its block, from 1. */
export type Move = {
  tx_id: string
  kind: 'transfer' | 'call_value' | 'event' | 'internal'
  index: number
  /** TRX in sun, or a token's contract, or the number of a TRC-10 asset, in its smallest unit. */
  asset: string
  from: Address
  to: Address
  amount: bigint
}

/** A change of a followed token's freeze list, or the destruction of what a frozen address held. */
export type FreezeEvent = {
  tx_id: string
  index: number
  token: Address
  kind: 'added' | 'removed' | 'destroyed'
  address: Address
}

/** `staked`: what of the energy was there, own or delegated; for the rest TRX was burnt, or the
 *  contract's owner paid. */
export type EnergyUse = { tx_id: string; owner: Address; energy: bigint; staked: bigint }

/** A transaction that is none of the above and for which the network took TRX of its owner: another
 *  permission, a delegation without bandwidth. */
export type FeePayment = { tx_id: string; owner: Address }

/** What a node shows like a transfer by a contract, with a note that nobody here knows. */
export type UnknownMove = Move & { note: string }

/** What is kept of a block. `unfollowed` are moves of tokens that are not followed, TRC-10
 *  included, whose asset is its number: anybody can make such a token and let it say anything, so
 *  they count for nothing but being seen. Whether `unknown` ones moved anything is not known, so
 *  neither do they. */
export type Contents = {
  moves: Move[]
  unfollowed: Move[]
  unknown: UnknownMove[]
  freezes: FreezeEvent[]
  energy_uses: EnergyUse[]
  fees: FeePayment[]
}

/** `hidden_in`: a transaction of which the node that gave the receipts does not show what its
 *  contracts did. */
export type ReadBlock = Block & {
  contents: Contents
  receipts: readonly Receipt[]
  hidden_in: string | undefined
}

/** A block with what is kept of it. */
export function contentsOf(
  tokens: ReadonlySet<Address>,
  block: Block,
  receipts: readonly Receipt[],
): ReadBlock {
  const unfollowed = block.asset_transfers.map(
    (one): Move => ({ ...one, kind: 'transfer', index: 0 }),
  )
  const contents: Contents = {
    moves: [],
    unfollowed,
    unknown: [],
    freezes: [],
    energy_uses: [],
    fees: [],
  }
  const transfers = new Map(block.transfers.map((transfer) => [transfer.tx_id, transfer]))
  const moving = new Set([...block.transfers, ...block.asset_transfers].map(({ tx_id }) => tx_id))
  let index = 0
  let hidden_in: string | undefined
  for (const [
    i,
    { tx_id, fee_sun, energy, staked, logs, internal, unknown_internal, internal_shown },
  ] of receipts.entries()) {
    const { owner, succeeded, call } = block.transactions[i]!
    if (energy > 0n && owner !== undefined)
      contents.energy_uses.push({ tx_id, owner, energy, staked })
    else if (fee_sun > 0n && owner !== undefined && !moving.has(tx_id))
      contents.fees.push({ tx_id, owner })
    if (!succeeded) continue
    // Another contract than the one that was called has said something: so it was called too, which
    // a node shows that keeps such calls.
    if (call && internal_shown === 0 && logs.some(({ contract }) => contract !== call.contract))
      hidden_in = tx_id
    const trx = (kind: Move['kind'], from: Address, to: Address, amount: bigint) => {
      if (amount > 0n)
        contents.moves.push({ tx_id, kind, index: 0, asset: 'TRX', from, to, amount })
    }
    const transfer = transfers.get(tx_id)
    if (transfer) trx('transfer', transfer.from, transfer.to, transfer.amount_sun)
    if (call && owner !== undefined) trx('call_value', owner, call.contract, call.value_sun)
    for (const log of logs) {
      index += 1
      noteEvent(contents, { tx_id, index, log }, tokens.has(log.contract))
    }
    for (const { asset, from, to, amount } of internal) {
      if (asset === undefined) trx('internal', from, to, amount)
      else contents.unfollowed.push({ asset, from, to, amount, tx_id, kind: 'internal', index: 0 })
    }
    for (const { asset = 'TRX', ...more } of unknown_internal) {
      contents.unknown.push({ ...more, asset, tx_id, kind: 'internal', index: 0 })
    }
  }
  return { ...block, contents, receipts, hidden_in }
}

function noteEvent(
  contents: Contents,
  { tx_id, index, log }: { tx_id: string; index: number; log: ContractLog },
  followed: boolean,
): void {
  const { contract } = log
  const transfer = transferOf(log)
  if (transfer) {
    const { from, to, amount } = transfer
    const moves = followed ? contents.moves : contents.unfollowed
    moves.push({ tx_id, kind: 'event', index, asset: contract, from, to, amount })
  }
  if (!followed) return
  const freeze = freezeOf(log)
  const destruction = destructionOf(log)
  if (freeze) {
    const kind = freeze.frozen ? 'added' : 'removed'
    contents.freezes.push({ tx_id, index, token: contract, kind, address: freeze.address })
  }
  if (destruction) {
    contents.freezes.push({
      tx_id,
      index,
      token: contract,
      kind: 'destroyed',
      address: destruction.address,
    })
  }
}

/** How contents lie in the database: as lists, without names, amounts as text. */
export type PackedContents = {
  m: PackedMove[]
  /** Absent in blocks that were stored before these were kept. */
  o?: PackedMove[]
  /** With their notes. Absent likewise, and where there are none. */
  u?: [...PackedMove, note: string][]
  f: [tx_id: string, index: number, token: Address, kind: FreezeEvent['kind'], address: Address][]
  /** Without the last in blocks that were stored before it was kept. */
  e: [tx_id: string, owner: Address, energy: string, staked?: string][]
  /** Absent likewise. */
  p?: [tx_id: string, owner: Address][]
}
type PackedMove = [
  tx_id: string,
  kind: Move['kind'],
  index: number,
  asset: string,
  from: Address,
  to: Address,
  amount: string,
]

/** A sum of which transactions a block has, and which of them succeeded. */
export function outcomesSum({ transactions }: Block): string {
  return hash(
    'sha256',
    transactions.map(({ tx_id, succeeded }) => tx_id + (succeeded ? '1' : '0')).join(),
    'hex',
  )
}

export function pack({ moves, unfollowed, unknown, freezes, energy_uses, fees }: Contents): string {
  const packed: PackedContents = {
    m: moves.map(packMove),
    o: unfollowed.map(packMove),
    ...(unknown.length > 0 && { u: unknown.map((one) => [...packMove(one), one.note] as const) }),
    f: freezes.map((one) => [one.tx_id, one.index, one.token, one.kind, one.address]),
    e: energy_uses.map(({ tx_id, owner, energy, staked }) =>
      staked === energy
        ? [tx_id, owner, energy.toString()]
        : [tx_id, owner, energy.toString(), staked.toString()],
    ),
    ...(fees.length > 0 && { p: fees.map((one) => [one.tx_id, one.owner] as const) }),
  }
  return JSON.stringify(packed)
}

const packMove = ({ tx_id, kind, index, asset, from, to, amount }: Move): PackedMove => [
  tx_id,
  kind,
  index,
  asset,
  from,
  to,
  amount.toString(),
]

export function unpack({ m, o = [], u = [], f, e, p = [] }: PackedContents): Contents {
  return {
    moves: m.map(unpackMove),
    unfollowed: o.map(unpackMove),
    unknown: u.map(([tx_id, kind, index, asset, from, to, amount, note]) => ({
      ...unpackMove([tx_id, kind, index, asset, from, to, amount]),
      note,
    })),
    freezes: f.map(([tx_id, index, token, kind, address]) => ({
      tx_id,
      index,
      token,
      kind,
      address,
    })),
    energy_uses: e.map(([tx_id, owner, energy, staked = energy]) => ({
      tx_id,
      owner,
      energy: BigInt(energy),
      staked: BigInt(staked),
    })),
    fees: p.map(([tx_id, owner]) => ({ tx_id, owner })),
  }
}

const unpackMove = ([tx_id, kind, index, asset, from, to, amount]: PackedMove): Move => ({
  tx_id,
  kind,
  index,
  asset,
  from,
  to,
  amount: BigInt(amount),
})
