// The development chain's own interface, `/devchain/...`: setting a scene for a test. JSON in, JSON out; what is wrong
// with a request is said in one sentence with status 400.

import { addressToHex, isAddress } from '../src/tron/address.ts'
import { addressText } from './accounts.ts'
import type { Chain } from './chain.ts'
import { type Json, type JsonObject, parseJson, printJson } from './json.ts'
import { totalsOf } from './state.ts'

const BLOCKS_MAX = 100_000
/** As much as there will ever be on a chain whose sums fit into 64 bits. */
const SUN_MAX = 2n ** 62n

class BadControl extends Error {
  override name = 'BadControl'
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
    const whole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))
    const text = typeof value === 'string' && /^\d{1,19}$/.test(value)
    if (!whole && !text) throw new BadControl(`${name} must be a whole number`)
    const integer = BigInt(value as string | number | bigint)
    if (integer < least || integer > most) throw new BadControl(`${name} must be from ${least} to ${most}`)
    return integer
  }

  has(name: string): boolean {
    return this.members[name] !== undefined
  }

  flag(name: string): boolean {
    const value = this.members[name] ?? false
    if (typeof value !== 'boolean') throw new BadControl(`${name} must be true or false`)
    return value
  }

  /** An address, as text or as 42 hexadecimal characters. */
  address(name: string): string {
    const value = this.members[name]
    if (isAddress(value)) return addressToHex(value)
    if (typeof value === 'string' && /^41[0-9a-f]{40}$/.test(value)) return value
    throw new BadControl(`${name} must be a TRON address`)
  }
}

function describeState(chain: Chain): JsonObject {
  const describeBlock = (block: Chain['head']) => ({
    number: block.header.number,
    id: block.id,
    time_ms: block.header.timestamp,
  })
  const totals = totalsOf(chain.headView())
  return {
    head: describeBlock(chain.head),
    solid: describeBlock(chain.solid_block),
    genesis_time_ms: chain.genesis_time_ms,
    energy_weight_trx: totals.energy_weight + totals.rest_energy_weight,
    net_weight_trx: totals.net_weight + totals.rest_net_weight,
    burned_sun: totals.burned_sun,
    issued_sun: totals.issued_sun,
    accounts: chain.ground.count('account'),
    delegations: chain.ground.count('delegation'),
    pending: chain.pendingSize(),
  }
}

const controls: Readonly<Record<string, (chain: Chain, request: Request) => Json>> = {
  /** Credits TRX: readable and spendable at once, part of the next block. Makes the account if need be. */
  fund(chain, request) {
    const address = request.address('address')
    const sun = request.integer('sun', 1n, SUN_MAX)
    chain.decree({ kind: 'fund', address, sun })
    return { address: addressText(address), balance_sun: chain.headView().read('account', address)!.balance }
  },

  /** Makes blocks now, each 3 s of the chain's time after the last. */
  mine(chain, request) {
    const blocks = request.has('blocks') ? Number(request.integer('blocks', 1n, BigInt(BLOCKS_MAX))) : 1
    for (let made = 0; made < blocks; made++) chain.mine()
    return describeState(chain)
  },

  /** Moves the chain's clock forward and makes one block there; the slots between stay empty. */
  advance(chain, request) {
    const seconds = Number(request.integer('seconds', 1n, 100_000_000n))
    chain.mine(chain.head_time_ms + seconds * 1000)
    return describeState(chain)
  },

  state: describeState,
}

/** Answers a request to `/devchain/...`. */
export function answerControl(
  chain: Chain,
  method: string,
  path: string,
  body: string,
): { status: number; body: string } {
  const name = path.split('?', 1)[0]!.slice('/devchain/'.length)
  const control = Object.hasOwn(controls, name) ? controls[name] : undefined
  const refuse = (status: number, message: string) => ({ status, body: printJson({ error: message }) })
  if (!control) return refuse(404, `there is no control ${name}; there are ${Object.keys(controls).join(', ')}`)
  if (method !== 'POST' && !(method === 'GET' && name === 'state')) return refuse(405, `${name} takes a POST`)
  try {
    const members = body.trim() === '' ? {} : parseJson(body)
    if (typeof members !== 'object' || members === null || Array.isArray(members)) {
      return refuse(400, 'the body must be a JSON object')
    }
    return { status: 200, body: printJson(control(chain, new Request(members as Record<string, unknown>))) }
  } catch (error) {
    if (error instanceof SyntaxError) return refuse(400, 'the body is not JSON')
    if (error instanceof BadControl || error instanceof RangeError) return refuse(400, error.message)
    throw error
  }
}
