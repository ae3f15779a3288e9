// The transaction that gives a hot key its permission, or takes every permission of a key away. The
// chain takes all permissions of an account together, so those that stay are sent again as they
// are. It is made where the chain can be reached, signed where the owner's key is, and carried in
// between; anyone who signs it is told what it does by its bytes alone.

import { type Address, addressFromHex, addressToHex } from 'penstock-tron/address.ts'
import { ContractType } from 'penstock-tron/contracts.ts'
import type { Message } from 'penstock-tron/protobuf.ts'
import { contract, decodeRawData, encodeRawData } from 'penstock-tron/transaction.ts'
import { refusal } from '../../lib/fault.ts'
import type { AccountState, BlockHead, Permission } from '../node/node.ts'
import { allowedTypes, type Kind, NEEDED } from './permissions.ts'

export type Permissions = Pick<AccountState, 'owner' | 'witness' | 'permissions'>

const ACTIVES_MAX = 8
const FIRST_ACTIVE = 2
const BITS = 256
/** The names of permissions that this service asks for begin with it. */
const OURS = 'penstock '

/** What a permission of this kind may do, as the chain writes it. */
function operationsOf(kind: Kind): string {
  const bytes = Buffer.alloc(BITS / 8)
  for (const name of NEEDED[kind]) {
    const type = ContractType.values[name]!
    bytes[type >> 3]! |= 1 << (type & 7)
  }
  return bytes.toString('hex')
}

export type NewPermission = {
  kind: Kind
  hot_key: Address
  spare_keys: readonly Address[]
  /** Which is replaced; left out: the one of this kind that was given before, else a new one. */
  permission_id: number | undefined
}

/** The permissions with one for the hot key, and that one's number. Throws Refused. */
export function permit(
  now: Permissions,
  wanted: NewPermission,
): { next: Permissions; permission_id: number } {
  const { kind, hot_key, spare_keys, permission_id } = wanted
  requireNotOwner(now, hot_key)
  const name = `${OURS}${kind}`
  const place = now.permissions.findIndex((one) =>
    permission_id === undefined ? one.name === name : one.id === permission_id,
  )
  if (permission_id !== undefined && place < 0)
    throw refusal(`There is no permission ${permission_id} to replace.`)
  const at = place < 0 ? now.permissions.length : place
  if (at >= ACTIVES_MAX) throw refusal(`An account has ${ACTIVES_MAX} active permissions at most.`)
  const elsewhere = now.permissions.find(
    (one, i) => i !== at && one.keys.some(({ address }) => address === hot_key),
  )
  if (elsewhere) throw refusal(`${hot_key} is in permission ${elsewhere.id} too: forbid it first.`)
  const keys = [hot_key, ...spare_keys].map((address) => ({ address, weight: 1n }))
  const given = { id: at + FIRST_ACTIVE, name, threshold: 1n, operations: operationsOf(kind), keys }
  const permissions = numbered([
    ...now.permissions.slice(0, at),
    given,
    ...now.permissions.slice(at + 1),
  ])
  return { next: { ...now, permissions }, permission_id: given.id }
}

/** The permissions without a key. Throws Refused when it is one of the owner, or in none. */
export function forbid(now: Permissions, key: Address): Permissions {
  requireNotOwner(now, key)
  if (!now.permissions.some(({ keys }) => keys.some(({ address }) => address === key))) {
    throw refusal(`${key} is in no active permission.`)
  }
  const left = now.permissions.flatMap((one) => {
    const keys = one.keys.filter(({ address }) => address !== key)
    const weight = keys.reduce((sum, one) => sum + one.weight, 0n)
    return weight < one.threshold ? [] : [{ ...one, keys }]
  })
  // The chain wants one. The owner's keys can do this and everything anyway.
  const { threshold, keys } = now.owner
  const own = {
    id: FIRST_ACTIVE,
    name: 'owner only',
    threshold,
    operations: operationsOf('pool'),
    keys,
  }
  return { ...now, permissions: numbered(left.length === 0 ? [own] : left) }
}

/** The chain numbers active permissions in their order. */
const numbered = (all: readonly Permission[]) =>
  all.map((one, i) => ({ ...one, id: i + FIRST_ACTIVE }))

function requireNotOwner({ owner, witness }: Permissions, key: Address): void {
  const has = (of: Permission | undefined) => of?.keys.some(({ address }) => address === key)
  if (has(owner)) throw refusal(`${key} is in the owner permission: take another hot key.`)
  if (has(witness)) throw refusal(`${key} is in the witness permission: take another hot key.`)
}

/** The bytes to sign: valid for so long after the newest block. */
export function updateBytes(
  address: Address,
  next: Permissions,
  valid: { head: BlockHead; hours: number },
) {
  const { head, hours } = valid
  const value: Message = {
    owner_address: addressToHex(address),
    owner: messageOf(next.owner, 'Owner'),
    ...(next.witness && { witness: messageOf(next.witness, 'Witness') }),
    actives: next.permissions.map((one) => messageOf(one, 'Active')),
  }
  return encodeRawData({
    ref_block_bytes: head.id.slice(12, 16),
    ref_block_hash: head.id.slice(16, 32),
    timestamp: head.time.getTime(),
    expiration: head.time.getTime() + hours * 3_600_000,
    contract: [contract('AccountPermissionUpdateContract', value)],
  })
}

function messageOf({ id, name, threshold, operations, keys }: Permission, type: string): Message {
  return {
    type,
    permission_name: name,
    threshold,
    keys: keys.map(({ address, weight }) => ({ address: addressToHex(address), weight })),
    ...(type === 'Active' ? { id, operations } : {}),
  }
}

/** What is carried, in words: what is ours first, one permission a line. */
export type CarriedUpdate = { address: Address; expires_at: Date; says: string[] }

/** What the bytes do, in words, and until when. Throws Refused when they are anything else than
 *  an update of permissions. */
export function describeUpdate(raw_data: Uint8Array): CarriedUpdate {
  const { contract: contracts, expiration, data, fee_limit } = decodeRawData(raw_data)
  const [first, ...more] = contracts
  const is_update = first?.type === 'AccountPermissionUpdateContract' && more.length === 0
  if (!is_update || data !== undefined || fee_limit !== undefined) {
    throw refusal('This is not an update of permissions.')
  }
  const { value } = first.parameter
  const address = addressFromHex(String(value.owner_address))
  const { owner, witness, actives } = value as Record<string, Message | Message[] | undefined>
  const all = ((actives ?? []) as Message[]).map((one, i) => ({
    is_ours: String(one.permission_name ?? '').startsWith(OURS),
    said: permissionText(one, i + FIRST_ACTIVE),
  }))
  const said = (ours: boolean) => all.filter(({ is_ours }) => is_ours === ours)
  const says = [
    ...said(true).map(({ said }) => said),
    `${address} belongs to ${keysText(owner as Message)}, who may do everything.`,
    ...(witness ? [`Blocks are signed by ${keysText(witness as Message)}.`] : []),
    ...said(false).map(({ said }) => said),
    'Every other permission that it has is taken away. The chain takes 100 TRX for the change.',
  ]
  return { address, expires_at: new Date(Number(expiration)), says }
}

/** What an account may by the permission that it is born with. */
const BORN_WITH = '7fff1fc0033efb0f'.padEnd(BITS / 4, '0')

function permissionText(one: Message, id: number): string {
  const operations = String(one.operations ?? '')
  const types = allowedTypes(operations).map((type) => ContractType.names.get(type) ?? type)
  const may =
    operations === BORN_WITH
      ? `all that an account's own permission may from its birth, transfers among it ` +
        `(${types.length} kinds of transactions)`
      : types.join(', ')
  return `Permission ${id} (${one.permission_name ?? ''}): ${keysText(one)} may use ${may}.`
}

function keysText({ keys, threshold }: Message): string {
  const named = ((keys ?? []) as Message[]).map(
    ({ address, weight }) =>
      `${addressFromHex(String(address))}${weight === 1n ? '' : ` (weight ${weight})`}`,
  )
  const weight = threshold === 1n ? '' : `, with a weight of ${threshold} together`
  return `${named.join(' or ')}${weight}`
}
