// The interface of the official development image, as far as test suites written for it ask:
// `/admin/...` for funded accounts and their keys, `/tre` for blocks on demand and transactions
// without signatures. What is not here is said to be unknown, in the shape of JSON-RPC.

import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { addressToHex, isAddress } from 'penstock-tron/address.ts'
import { addressOf, type PrivateKey } from 'penstock-tron/keys.ts'
import type { Node } from '../http/routes.ts'
import { accountOf } from '../state/accounts.ts'
import { type Json, parseJson, printJson } from '../state/json.ts'
import { ISSUED_SUN_MAX, SUN_PER_TRX } from '../state/parameters.ts'
import { totalsOf } from '../state/state.ts'
import type { Answer, Exchange } from '../wallet_api/wallet_api.ts'

const ACCOUNTS = 10
const ACCOUNTS_MAX = 1000
const BALANCE_TRX = 10_000
const BALANCE_TRX_MAX = 1_000_000_000
const BLOCKS_MAX = 10_000
const BLOCK_TIME_MAX_SECONDS = 86_400

/** Keys of funded accounts that anyone who asks may have: those that the chain was started with,
 *  and batches made since. */
export class KnownKeys {
  readonly given: PrivateKey[] = []
  readonly batches: PrivateKey[][] = []
  private readonly seed: string

  constructor(seed: string) {
    this.seed = seed
  }

  /** Makes a batch of keys, which follow from the seed and the number of the batch. */
  make(count: number): readonly PrivateKey[] {
    const name = `${this.seed} batch ${this.batches.length}`
    const keys = Array.from({ length: count }, (_, index) =>
      bytesToHex(sha256(utf8ToBytes(`${name} key ${index}`))),
    )
    this.batches.push(keys)
    return keys
  }
}

type Quickstart = Node & { readonly known_keys: KnownKeys }

const text = (body: string): Answer => ({
  status: 200,
  body,
  content_type: 'text/plain;charset=utf-8',
})

/** A whole number of a query from 1 to some most; the usual one for anything else. */
function countOf(query: URLSearchParams, name: string, usual: number, most: number): number {
  const count = Number(query.get(name) ?? usual)
  return Number.isInteger(count) && count >= 1 ? Math.min(count, most) : usual
}

/** Funds new accounts, and makes so many blocks that they are solid: who asks for them uses them at
 *  once. */
function generate(node: Quickstart, query: URLSearchParams): void {
  const { chain, known_keys } = node
  const sun = BigInt(countOf(query, 'defaultBalance', BALANCE_TRX, BALANCE_TRX_MAX)) * SUN_PER_TRX
  for (const key of known_keys.make(countOf(query, 'accounts', ACCOUNTS, ACCOUNTS_MAX))) {
    chain.decree({ kind: 'fund', address: addressToHex(addressOf(key)), sun })
  }
  for (let made = 0; made <= chain.solid_lag_blocks; made++) node.makeBlockNow()
}

function describe({ chain, known_keys }: Quickstart): string {
  const keys = [...known_keys.given, ...known_keys.batches.flat()]
  const lines = keys.map((key, index) => {
    const address = addressOf(key)
    const sun = accountOf(chain.headView(), addressToHex(address))?.balance ?? 0n
    return `(${index}) ${address} (${sun / SUN_PER_TRX} TRX)`
  })
  return [
    'Available Accounts',
    ...lines,
    '',
    'Private Keys',
    ...keys.map((key, index) => `(${index}) ${key}`),
    '',
  ].join('\n')
}

/** Answers `/admin/...`. */
export function answerAdmin(node: Quickstart, { path }: Exchange): Answer {
  const [route, query = ''] = path.split('?', 2)
  switch (route) {
    case '/admin/accounts-json': {
      const { given, batches } = node.known_keys
      const more = batches.map((privateKeys) => ({ privateKeys }))
      return { status: 200, body: printJson({ privateKeys: given, more }) }
    }
    case '/admin/temporary-accounts-generation':
      generate(node, new URLSearchParams(query))
      return text(describe(node))
    case '/admin/accounts':
      return text(describe(node))
    default:
      return { status: 404, body: printJson({ error: 'Not Found' }) }
  }
}

class Unknown extends Error {
  override name = 'Unknown'
}

/** A whole number from 0 on: a number, or text of digits or of 0x and hexadecimal digits. */
function wholeOf(given: unknown, name: string, most: bigint): bigint {
  const text = typeof given === 'string' || typeof given === 'bigint' ? String(given) : ''
  const whole = Number.isSafeInteger(given) ? BigInt(given as number) : undefined
  const number = /^(\d{1,19}|0x[0-9a-fA-F]{1,16})$/.test(text) ? BigInt(text) : whole
  if (number === undefined || number < 0n || number > most) {
    throw new Unknown(`${name} must be a whole number from 0 to ${most}`)
  }
  return number
}

/** The addresses of a parameter: one, or a list. */
function addressesOf(given: unknown): string[] {
  const list: unknown[] = Array.isArray(given) ? given : [given]
  return list.map((one) => {
    if (!isAddress(one)) throw new Unknown(`${printJson(one as Json)} is not an address`)
    return addressToHex(one)
  })
}

/** Gives an account what it has less than a sum, or takes from it what it has more. */
function setBalance({ chain }: Node, address: string, sun: bigint): void {
  const state = chain.pendingView()
  const more = sun - (accountOf(state, address)?.balance ?? 0n)
  if (totalsOf(state).issued_sun + more > ISSUED_SUN_MAX) {
    throw new Unknown(`there cannot be more than ${ISSUED_SUN_MAX} sun on a chain`)
  }
  chain.decree({ kind: 'fund', address, sun: more })
}

function run(node: Node, method: Json, [first, second]: readonly unknown[]): Json {
  if (method === 'tre_mine') {
    const asked = (first as { blocks?: unknown } | undefined)?.blocks ?? 1
    if (!Number.isInteger(asked) || Number(asked) < 1 || Number(asked) > BLOCKS_MAX) {
      throw new Unknown(`blocks must be a whole number from 1 to ${BLOCKS_MAX}`)
    }
    for (let made = 0; made < Number(asked); made++) node.makeBlock()
    return '0x0'
  }
  if (method === 'tre_blockTime') {
    node.setBlockTime(Number(wholeOf(first, 'the block time', BigInt(BLOCK_TIME_MAX_SECONDS))))
    return true
  }
  if (method === 'tre_setAccountBalance') {
    setBalance(node, addressesOf(first)[0]!, wholeOf(second, 'the balance', ISSUED_SUN_MAX))
    return true
  }
  if (method === 'tre_unlockedAccounts') {
    for (const address of addressesOf(first)) node.chain.impersonate(address, true)
    return true
  }
  throw new Unknown(`the method ${printJson(method as Json)} does not exist here`)
}

/** Answers `/tre`, which speaks JSON-RPC 2.0. */
export function answerRpc(node: Node, { body }: Exchange): Answer {
  let id: Json = null
  const reply = (rest: { [name: string]: Json }): Answer => ({
    status: 200,
    body: printJson({ jsonrpc: '2.0', id, ...rest }),
  })
  try {
    const asked = parseJson(body) as { id?: Json; method?: unknown; params?: unknown } | null
    id = typeof asked?.id === 'number' || typeof asked?.id === 'string' ? asked.id : null
    return reply({
      result: run(
        node,
        (asked?.method ?? null) as Json,
        Array.isArray(asked?.params) ? asked.params : [],
      ),
    })
  } catch (error) {
    if (error instanceof SyntaxError)
      return reply({ error: { code: -32700, message: 'Parse error' } })
    if (error instanceof Unknown || error instanceof RangeError)
      return reply({ error: { code: -32602, message: error.message } })
    throw error
  }
}
