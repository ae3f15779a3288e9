// Whether a receipt is right: that a key of the service has signed it, and that a chain has every
// transaction that it names, with what it says of them. It knows nothing but the receipt, the
// public keys and a node, so whoever doubts the service can run it.

import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { addressFromHex } from 'penstock-tron/address.ts'
import { decodeRawData, type RawData, transactionId } from 'penstock-tron/transaction.ts'
import { fieldsOf } from '../../chain/node/answers.ts'
import type { Block, Node, Side } from '../../chain/node/node.ts'
import { wireTime } from '../../lib/clock.ts'
import { refusal } from '../../lib/fault.ts'
import { RECEIPT_TYPE, type Receipt, ReceiptForm } from './receipts.ts'

/** What the receipt says, and the key that has signed it. Throws Refused for everything that no key
 *  of the set has signed as a receipt, byte for byte. */
export async function verifyReceipt(
  jws: string,
  keys: unknown,
): Promise<{ receipt: Receipt; key_id: string }> {
  const no = (why: string) => refusal(`This is no receipt of the service: ${why}.`)
  // Bits that are left over in the last letter change nothing, so they must be zero.
  const exact = (part: string) => Buffer.from(part, 'base64url').toString('base64url') === part
  if (!jws.split('.').every(exact)) throw no('it is not three parts in base64url')
  const signed = await (async () =>
    compactVerify(jws, createLocalJWKSet(keys as JSONWebKeySet), {
      algorithms: ['EdDSA'],
    }))().catch((thrown: Error) => {
    throw no(thrown.message)
  })
  const { typ, kid = '' } = signed.protectedHeader
  if (typ !== RECEIPT_TYPE) throw no(`it is signed as ${typ ?? 'something else'}`)
  const receipt: unknown = JSON.parse(Buffer.from(signed.payload).toString('utf8'))
  const { Check } = await import('typebox/schema')
  if (!Check(ReceiptForm, receipt)) throw no('it is of a form that is not known here')
  return { receipt, key_id: kid }
}

/** A node to ask: `ask` is one request to it, and answers what its JSON says. */
export type ChainNode = {
  node: Pick<Node, 'blocks'>
  ask(path: string, body: object): Promise<unknown>
}

/** What a receipt says of one transaction. */
export type Claim = {
  what: 'activation' | 'delegation' | 'reclaim'
  hash: string
  block_number: number
  /** Null: not said. */
  block_id: string | null
  block_time: string | null
  /** Its only contract. */
  type: string
  fields: Record<string, string>
  side: Side
}

/** A transaction that a receipt names; `wrong`: what the chain does not say of it, or null. */
export type Comparison = Pick<Claim, 'what' | 'hash' | 'block_number'> & { wrong: string | null }

/** Holds every transaction of a receipt against the chain. Throws Outage when the node does not
 *  answer. */
export async function compareWithChain(
  { node, ask }: ChainNode,
  receipt: Receipt,
): Promise<Comparison[]> {
  const compared: Comparison[] = []
  for (const claim of claimsOf(receipt)) {
    const { what, hash, block_number, side } = claim
    const [block] = await node.blocks(block_number, block_number, side)
    const path = '/wallet/gettransactionbyid'
    const { raw_data_hex } = fieldsOf(await ask(path, { value: hash }), path)
    const wrong = wrongPlace(claim, block) ?? wrongContents(claim, raw_data_hex)
    compared.push({ what, hash, block_number, wrong })
  }
  return compared
}

/** What a receipt says of each transaction that it names. */
export function claimsOf({ state, activation, parts, order }: Receipt): Claim[] {
  const side: Side = state === 'delivered' ? 'head' : 'solid'
  const { address } = order.params
  const delegated = parts.flatMap((part): Claim[] => {
    const fields = {
      receiver_address: address,
      balance: `${part.stake_sun}`,
      resource: part.resource.toUpperCase(),
    }
    const delegation: Claim = {
      what: 'delegation',
      type: 'DelegateResourceContract',
      side,
      fields,
      hash: part.hash,
      block_number: part.block_number,
      block_id: part.block_id,
      block_time: part.block_time,
    }
    if (part.reclaim_hash === null || part.reclaim_block_number === null) return [delegation]
    const reclaim: Claim = {
      what: 'reclaim',
      type: 'UnDelegateResourceContract',
      fields,
      side: state === 'ended' ? 'solid' : 'head',
      hash: part.reclaim_hash,
      block_number: part.reclaim_block_number,
      block_id: null,
      block_time: null,
    }
    return [delegation, reclaim]
  })
  const fields = { account_address: address }
  const activated: Claim[] = activation
    ? [{ what: 'activation', type: 'AccountCreateContract', side, fields, ...activation }]
    : []
  return [...activated, ...delegated]
}

function wrongPlace(claim: Claim, block: Block | undefined): string | null {
  const { hash, block_number, block_id, block_time, side } = claim
  if (!block) return `the ${side} chain has no block ${block_number}`
  if (block_id !== null && block.id !== block_id) return `block ${block_number} is ${block.id}`
  if (block_time !== null && wireTime(block.time) !== block_time)
    return `block ${block_number} was made at ${wireTime(block.time)}`
  const found = block.transactions.find(({ tx_id }) => tx_id === hash)
  if (!found) return `block ${block_number} does not have it`
  return found.succeeded ? null : 'it failed'
}

/** What the bytes of a transaction do not say of it, or null: they say what it does, and its hash
 *  is theirs. */
export function wrongContents(
  { hash, type, fields }: Pick<Claim, 'hash' | 'type' | 'fields'>,
  raw_data_hex: unknown,
): string | null {
  const raw = Buffer.from(typeof raw_data_hex === 'string' ? raw_data_hex : '', 'hex')
  if (transactionId(raw) !== hash) return 'its bytes are not there'
  const contract = decoded(raw)?.contract[0]
  if (contract?.type !== type) return `it is a ${contract?.type ?? 'transaction of another kind'}`
  const { resource = 'BANDWIDTH', ...value } = contract.parameter.value
  const is: Record<string, unknown> = { resource, ...value }
  const other = Object.entries(fields).find(([name, wanted]) => printed(name, is[name]) !== wanted)
  return other ? `its ${other[0]} is ${printed(other[0], is[other[0]])}` : null
}

function decoded(raw: Uint8Array): RawData | undefined {
  try {
    return decodeRawData(raw)
  } catch {
    return undefined
  }
}

/** Addresses as text, where there is one: whoever wrote the bytes may have left it out. */
const printed = (name: string, value: unknown): string =>
  name.endsWith('_address') && /^41[0-9a-f]{40}$/.test(String(value))
    ? addressFromHex(String(value))
    : String(value)
