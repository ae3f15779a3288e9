// The development chain's own interface, `/devchain/...`: setting a scene for a test. JSON in, JSON
// out; what is wrong with a request is said in one sentence with status 400.

import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import { contractAt } from '../calls/calls.ts'
import type { Block } from '../chain/blocks.ts'
import { HOT_FACTOR } from '../chain/decrees.ts'
import { faultKinds, isFaultKind } from '../http/faults.ts'
import type { Node } from '../http/routes.ts'
import { addressText, requireAccount } from '../state/accounts.ts'
import { internalSettings, isInternalSetting } from '../state/internal.ts'
import { type Json, type JsonObject, parseJson, printJson } from '../state/json.ts'
import { ISSUED_SUN_MAX } from '../state/parameters.ts'
import { totalsOf, type View } from '../state/state.ts'
import type { Answer, Exchange } from '../wallet_api/wallet_api.ts'

const BLOCKS_MAX = 100_000n
const SUN_MAX = 2n ** 62n
const RECEIVERS_MAX = 20

/** USDT's address on the main network, where this chain has it too. */
const USDT_HEX = '41a614f803b6fd780986a42c78ec9c7f77e6ded13c'

class BadControl extends Error {
  override name = 'BadControl'
}

function readAddress(name: string, value: unknown): string {
  if (isAddress(value)) return addressToHex(value)
  if (typeof value === 'string' && /^41[0-9a-f]{40}$/.test(value)) return value
  throw new BadControl(`${name} must be a TRON address`)
}

/** The members of a control request. */
class Request {
  private readonly members: Readonly<Record<string, unknown>>

  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members
  }

  /** A whole number between two bounds. */
  integer(name: string, least: bigint, most: bigint): bigint {
    const value = this.members[name]
    const whole =
      typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))
    const text = typeof value === 'string' && /^-?\d{1,19}$/.test(value)
    if (!whole && !text) throw new BadControl(`${name} must be a whole number`)
    const integer = BigInt(value as string | number | bigint)
    if (integer < least || integer > most)
      throw new BadControl(`${name} must be from ${least} to ${most}`)
    return integer
  }

  has(name: string): boolean {
    return this.members[name] !== undefined
  }

  text(name: string): string {
    const value = this.members[name]
    if (typeof value !== 'string') throw new BadControl(`${name} must be text`)
    return value
  }

  /** A number from 0 to 1; 1 when absent. */
  fraction(name: string): number {
    const value = this.members[name] ?? 1
    if (typeof value !== 'number' || value < 0 || value > 1)
      throw new BadControl(`${name} must be from 0 to 1`)
    return value
  }

  flag(name: string): boolean {
    const value = this.members[name] ?? false
    if (typeof value !== 'boolean') throw new BadControl(`${name} must be true or false`)
    return value
  }

  /** The token that the request is about: USDT when it names none. */
  token(): string {
    return this.has('token') ? this.address('token') : USDT_HEX
  }

  /** An address, as text or as 42 hexadecimal characters. */
  address(name: string): string {
    return readAddress(name, this.members[name])
  }

  /** A list of addresses, and no more of them than so many. */
  addresses(name: string, most: number): string[] {
    const value = this.members[name]
    if (!Array.isArray(value) || value.length > most) {
      throw new BadControl(`${name} must be a list of at most ${most} addresses`)
    }
    return value.map((one) => readAddress(name, one))
  }
}

function requireNoContract(view: View, address: string): void {
  if (contractAt(view, address)) throw new BadControl('there is a contract at this address already')
}

const describeBlock = ({ id, header }: Block) => ({
  number: header.number,
  id,
  time_ms: header.timestamp,
})

function describeState({ chain, faults, internal }: Node): JsonObject {
  const totals = totalsOf(chain.headView())
  return {
    head: describeBlock(chain.head),
    solid: describeBlock(chain.solid_block),
    genesis_time_ms: chain.calendar.genesis_ms,
    solid_lag_blocks: chain.solid_lag_blocks,
    energy_weight_trx: totals.energy_weight + totals.rest_energy_weight,
    net_weight_trx: totals.net_weight + totals.rest_net_weight,
    burned_sun: totals.burned_sun,
    issued_sun: totals.issued_sun,
    accounts: chain.head_state.count('account'),
    delegations: chain.head_state.count('delegation'),
    pending: chain.pendingSize(),
    faults: faults.list(),
    internal,
  }
}

const controls: Readonly<Record<string, (node: Node, request: Request) => Json>> = {
  /** Credits TRX: readable and spendable at once, part of the next block. Makes the account if need
   *  be. */
  fund({ chain }, request) {
    const address = request.address('address')
    const sun = request.integer('sun', 1n, SUN_MAX)
    if (totalsOf(chain.pendingView()).issued_sun + sun > ISSUED_SUN_MAX) {
      throw new BadControl(`there cannot be more than ${ISSUED_SUN_MAX} sun on a chain`)
    }
    chain.decree({ kind: 'fund', address, sun })
    return {
      address: addressText(address),
      balance_sun: requireAccount(chain.pendingView(), address).balance,
    }
  },

  /** Makes blocks now, each 3 s of the chain's time after the last; empty ones leave the pool as it
   *  is. */
  mine(node, request) {
    const blocks = request.has('blocks') ? Number(request.integer('blocks', 1n, BLOCKS_MAX)) : 1
    const empty = request.flag('empty')
    for (let made = 0; made < blocks; made++) node.makeBlock(undefined, empty)
    return describeState(node)
  },

  /** Moves the chain's clock forward and makes one block there; the slots between stay empty. */
  advance(node, request) {
    const seconds = Number(request.integer('seconds', 1n, 100_000_000n))
    node.makeBlock(node.chain.head_time_ms + seconds * 1000)
    return describeState(node)
  },

  /** Replaces the newest blocks by one more of another branch. */
  reorg(node, request) {
    const blocks = Number(request.integer('blocks', 1n, BLOCKS_MAX))
    node.chain.fork(blocks, request.flag('drop_transactions'))
    return describeState(node)
  },

  /** Makes a TRC20 token at an address, like Tether's and without supply. */
  token({ chain }, request) {
    const address = request.address('address')
    const owner = request.address('owner')
    const decimals = request.integer('decimals', 0n, 18n)
    requireNoContract(chain.pendingView(), address)
    chain.decree({
      kind: 'token',
      address,
      owner,
      decimals,
      name: request.text('name'),
      symbol: request.text('symbol'),
    })
    return { address: addressText(address) }
  },

  /** Makes a contract for tests. TRX sent to it are divided among its receivers, if it has any. */
  contract({ chain }, request) {
    const address = request.address('address')
    const owner = request.address('owner')
    const receivers = request.has('receivers') ? request.addresses('receivers', RECEIVERS_MAX) : []
    requireNoContract(chain.pendingView(), address)
    chain.decree({ kind: 'contract', address, owner, receivers })
    return { address: addressText(address) }
  },

  /** Sets which internal transactions receipts show, those of earlier blocks too: as if another
   *  node of the network were asked. */
  set_internal(node, request) {
    const setting = request.text('show')
    if (!isInternalSetting(setting)) {
      throw new BadControl(`show must be one of ${internalSettings.join(', ')}`)
    }
    node.internal = setting
    return describeState(node)
  },

  /** Creates tokens for an address; USDT when no other token is named. */
  mint(node, request) {
    const amount = request.integer('amount', 1n, SUN_MAX)
    node.chain.decree({
      kind: 'mint',
      token: request.token(),
      address: request.address('address'),
      amount,
    })
    return describeState(node)
  },

  /** Puts an address onto a token's freeze list, or takes it off, without a transaction. */
  blacklist(node, request) {
    const listed = request.has('listed') ? request.flag('listed') : true
    node.chain.decree({
      kind: 'blacklist',
      token: request.token(),
      address: request.address('address'),
      listed,
    })
    return describeState(node)
  },

  /** Sets the factor of a token's energy penalty in ten-thousandths: 0 is cold, 34000 as hot as can
   *  be. It stays so, unless `held` is false: then it follows the use of the contract from here
   *  on. */
  set_factor(node, request) {
    const factor = request.integer('factor', 0n, HOT_FACTOR)
    const held = request.has('held') ? request.flag('held') : true
    node.chain.decree({ kind: 'factor', token: request.token(), factor, held })
    return describeState(node)
  },

  /** Sets the stakes of the rest of the network, in TRX: what one staked TRX yields follows from
   *  them. */
  set_weight(node, request) {
    const weight = (name: string) =>
      request.has(name) ? { [name]: request.integer(name, 0n, SUN_MAX) } : {}
    node.chain.decree({
      kind: 'weights',
      ...weight('energy_weight_trx'),
      ...weight('net_weight_trx'),
    })
    return describeState(node)
  },

  /** Makes every block add to the stakes of the rest of the network (or take away), in TRX. */
  set_drift(node, request) {
    const trx = (name: string) =>
      request.has(name) ? request.integer(name, -SUN_MAX, SUN_MAX) : 0n
    node.drift = { energy_trx: trx('energy_trx'), net_trx: trx('net_trx') }
    return describeState(node)
  },

  /** Sets how many blocks the solid block is behind the head; it never moves back. */
  set_solid_lag(node, request) {
    node.chain.setSolidLag(Number(request.integer('blocks', 0n, BLOCKS_MAX)))
    return describeState(node)
  },

  /** Remembers where the chain stands. */
  snapshot(node) {
    return { snapshot: node.chain.snapshot() }
  },

  /** Goes back to a snapshot, which is used up with all later ones. */
  restore(node, request) {
    node.chain.restore(Number(request.integer('snapshot', 1n, BLOCKS_MAX)))
    return describeState(node)
  },

  /** Lets readers see the chain some blocks behind its head (never behind the solid block), as a
   *  lagging node would. */
  set_lag(node, request) {
    node.chain.setLag(Number(request.integer('blocks', 0n, BLOCKS_MAX)))
    return describeState(node)
  },

  /** Lets transactions of an account pass without its signature, until `allowed` is false. */
  impersonate(node, request) {
    const allowed = request.has('allowed') ? request.flag('allowed') : true
    node.chain.impersonate(request.address('address'), allowed)
    return describeState(node)
  },

  /** Arms a fault for the next `count` requests that it is about. */
  fault(node, request) {
    const kind = request.text('kind')
    if (!isFaultKind(kind))
      throw new BadControl(`kind must be one of ${Object.keys(faultKinds).join(', ')}`)
    const count = request.has('count') ? Number(request.integer('count', 1n, BLOCKS_MAX)) : 1
    const seconds = request.has('seconds') ? Number(request.integer('seconds', 0n, 1_000_000n)) : 0
    node.faults.arm({ kind, count, seconds, probability: request.fraction('probability') })
    return describeState(node)
  },

  /** Disarms the faults of a kind, or all. */
  clear_faults(node, request) {
    const kind = request.has('kind') ? request.text('kind') : undefined
    if (kind !== undefined && !isFaultKind(kind))
      throw new BadControl('kind is not a kind of fault')
    node.faults.clear(kind)
    return describeState(node)
  },

  state: describeState,
}

/** Answers a request to `/devchain/...`. */
export function answerControl(node: Node, { method, path, body }: Exchange): Answer {
  const name = path.split('?', 1)[0]!.slice('/devchain/'.length)
  const control = Object.hasOwn(controls, name) ? controls[name] : undefined
  const refuse = (status: number, message: string) => ({
    status,
    body: printJson({ error: message }),
  })
  if (!control)
    return refuse(404, `there is no control ${name}; there are ${Object.keys(controls).join(', ')}`)
  if (method !== 'POST' && !(method === 'GET' && name === 'state'))
    return refuse(405, `${name} takes a POST`)
  try {
    const members = body.trim() === '' ? {} : parseJson(body)
    if (typeof members !== 'object' || members === null || Array.isArray(members)) {
      return refuse(400, 'the body must be a JSON object')
    }
    return {
      status: 200,
      body: printJson(control(node, new Request(members as Record<string, unknown>))),
    }
  } catch (error) {
    if (error instanceof SyntaxError) return refuse(400, 'the body is not JSON')
    if (error instanceof BadControl || error instanceof RangeError)
      return refuse(400, error.message)
    throw error
  }
}
