// A TRON development chain in a process of one's own: state, blocks and the node's HTTP interface
// as one synchronous object. It has no clock, no timer and no randomness: the same calls give the
// same answers, byte for byte.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Address, addressToHex } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey } from 'penstock-tron/keys.ts'
import type { Block } from './chain/blocks.ts'
import { Chain } from './chain/chain.ts'
import type { Decree } from './chain/decrees.ts'
import { answerControl } from './control/control.ts'
import { answerAdmin, answerRpc, KnownKeys } from './control/quickstart.ts'
import { Faults } from './http/faults.ts'
import type { Drift, Node } from './http/routes.ts'
import { answerEvents } from './indexer_api/events.ts'
import type { InternalSetting } from './state/internal.ts'
import {
  mainnetWeights,
  type Parameters,
  PENDING_MAX,
  SLOT_MS,
  WITNESS_COUNT,
} from './state/parameters.ts'
import { totalsOf } from './state/state.ts'
import { type Answer, answerWallet } from './wallet_api/wallet_api.ts'

export type DevchainOptions = {
  /** The time of the head at the start, in milliseconds since 1970; rounded down to a multiple of
   *  3000. The chain begins with some empty blocks before it: no client of a real network ever
   *  meets a block number of 0, which the node's JSON leaves out, or a witness without a block. */
  genesis_time_ms: number
  /** Derives the witnesses and everything else that looks random. Default: penstock. */
  seed?: string
  genesis_balances?: { address: Address; sun: bigint }[]
  /** How many blocks the solid block is behind the head. Default: 18, as on the main network. */
  solid_lag_blocks?: number
  /** How many empty blocks the chain begins with. Default: so many that each witness has made one
   *  that is solid. */
  blocks_before_start?: number
  /** Stakes of accounts that this chain does not have. Default: those of the main network. */
  rest_of_network?: { energy_weight_trx: bigint; net_weight_trx: bigint }
  /** Chain parameters that differ from the main network's, by their names in
   *  `getchainparameters`. */
  parameters?: Partial<Parameters>
  /** Makes a block for every transaction that is taken. Default: false. */
  instant?: boolean
  /** A block has the present time (or 1 ms after its parent's, when that is later) instead of that
   *  of a slot of 3 s. Default: false. */
  wall_clock?: boolean
  /** How long TRX are unfreezing. Default: as many days as the chain parameter says, 14. */
  unfreeze_delay_seconds?: number
  /** 64 hexadecimal characters; all that it does is make other block ids. Default: a hash of the
   *  seed. */
  genesis_parent_hash?: string
  /** Which internal transactions receipts show: none, those that move TRX, or operations on stakes
   *  too. Default: all. */
  internal?: InternalSetting
  /** With more transactions waiting than this, the node is busy. Default: 2000. */
  pending_max?: number
}

/** Tether's token, at its address on the main network; it exists from the start, with no supply. */
export const USDT: Address = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'

const SOLID_LAG = 18

/** How many empty blocks a chain begins with when it is not said. */
export const blocksBeforeStart = (solid_lag_blocks = SOLID_LAG): number =>
  solid_lag_blocks + 1 + WITNESS_COUNT

const noLess = (weight: bigint) => (weight > 0n ? weight : 0n)

export class Devchain implements Node {
  readonly chain: Chain
  readonly faults: Faults
  instant: boolean
  internal: InternalSetting
  drift: Drift = { energy_trx: 0n, net_trx: 0n }
  /** The present time in milliseconds, where there is a clock: the time of blocks that are made for
   *  a transaction. */
  clock: () => number = () => 0
  /** Changes how often blocks are made, where there is a clock. */
  setBlockTime: (seconds: number) => void = () => {
    throw new RangeError('this chain has no clock: blocks are made when they are asked for')
  }
  /** The key of USDT's owner: who may use its freeze list and issue tokens. */
  readonly usdt_owner_key: PrivateKey
  /** The answer of `/admin/accounts-json`: keys to play with. */
  readonly known_keys: KnownKeys

  constructor(options: DevchainOptions) {
    const seed = options.seed ?? 'penstock'
    this.known_keys = new KnownKeys(seed)
    this.usdt_owner_key = bytesToHex(sha256(utf8ToBytes(`${seed} usdt owner`)))
    const solid_lag_blocks = options.solid_lag_blocks ?? SOLID_LAG
    const founding_blocks = options.blocks_before_start ?? blocksBeforeStart(solid_lag_blocks)
    this.chain = new Chain({
      genesis_time_ms:
        Math.floor(options.genesis_time_ms / SLOT_MS) * SLOT_MS - founding_blocks * SLOT_MS,
      seed,
      solid_lag_blocks,
      decrees: this.foundingDecrees(options),
      parameters: options.parameters,
      pending_max: options.pending_max ?? PENDING_MAX,
      unfreeze_delay_ms:
        options.unfreeze_delay_seconds === undefined
          ? undefined
          : options.unfreeze_delay_seconds * 1000,
      genesis_parent_hash: options.genesis_parent_hash,
      wall_clock: options.wall_clock ?? false,
    })
    this.instant = options.instant ?? false
    this.internal = options.internal ?? 'all'
    this.faults = new Faults(seed)
    for (let made = 0; made < founding_blocks; made++) this.chain.mine()
  }

  private foundingDecrees({
    genesis_balances = [],
    rest_of_network = mainnetWeights,
  }: DevchainOptions): Decree[] {
    const owner = addressToHex(addressOf(this.usdt_owner_key))
    return [
      { kind: 'weights', ...rest_of_network },
      {
        kind: 'token',
        address: addressToHex(USDT),
        name: 'Tether USD',
        symbol: 'USDT',
        decimals: 6n,
        owner,
      },
      ...genesis_balances.map(({ address, sun }) => ({
        kind: 'fund' as const,
        address: addressToHex(address),
        sun,
      })),
    ]
  }

  /** One HTTP exchange without a socket. `path` may carry a query; `body` is the raw text, '' when
   *  there is none. A status of 0 stands for a connection that ended without an answer. */
  request(method: string, path: string, body: string, content_type = 'application/json'): Answer {
    const exchange = { method, path, body, content_type }
    if (path.startsWith('/devchain/')) return answerControl(this, exchange)
    if (path.startsWith('/admin/')) return answerAdmin(this, exchange)
    if (path === '/tre' || path.startsWith('/tre?')) return answerRpc(this, exchange)
    return path.startsWith('/v1/') ? answerEvents(this, exchange) : answerWallet(this, exchange)
  }

  /** Makes a block of what is pending, at the slot of `time_ms` (at the next one when absent or
   *  past). */
  mine(time_ms?: number): Block {
    return this.makeBlock(time_ms)
  }

  makeBlock = (asked_ms = 0, empty = false): Block => {
    const time_ms = this.chain.wall_clock ? Math.max(asked_ms, this.clock()) : asked_ms
    const late_ms = (this.faults.strike('slow_block')?.seconds ?? 0) * 1000
    return this.makeBlockInTime(Math.max(time_ms, this.chain.next_slot_time_ms) + late_ms, empty)
  }

  /** A block that no fault makes late: where there is a clock, its delay has been waited for. */
  makeBlockInTime(time_ms: number, empty = false): Block {
    const { energy_trx, net_trx } = this.drift
    if (energy_trx !== 0n || net_trx !== 0n) {
      const { rest_energy_weight, rest_net_weight } = totalsOf(this.chain.pendingView())
      this.chain.decree({
        kind: 'weights',
        energy_weight_trx: noLess(rest_energy_weight + energy_trx),
        net_weight_trx: noLess(rest_net_weight + net_trx),
      })
    }
    const blank = this.faults.strike('empty_block') !== undefined
    return this.chain.mine(time_ms, empty || blank)
  }

  makeBlockNow = (): Block => this.makeBlock(this.clock())

  /** Takes the newest blocks back and builds one more of other ones in their place, the first a
   *  slot later than it was. The transactions of the lost blocks are in the new ones, or lost
   *  altogether. Throws a RangeError when that would reach a solid block. */
  reorganize(blocks: number, drop_transactions = false): Block {
    return this.chain.fork(blocks, drop_transactions)
  }

  /** Credits TRX at once; the next block takes it in. */
  fund(address: Address, sun: bigint): void {
    this.chain.decree({ kind: 'fund', address: addressToHex(address), sun })
  }

  get head(): Block {
    return this.chain.head
  }

  get solid(): Block {
    return this.chain.solid_block
  }
}
