// Who may sign for an account: the owner permission (id 0), and active ones (id 2 and up) that name
// contract types bit by bit. Every permission has keys with weights, and a threshold that the
// signatures must reach together.

import type { Message } from 'penstock-tron/protobuf.ts'
import {
  accountOf,
  addressText,
  availableOperations,
  burn,
  isAddressHex,
  permissionsOf,
  writeAccount,
} from '../state/accounts.ts'
import { type Contract, integerOf, textOf } from '../state/execution_context.ts'
import { SIGNATURES_MAX } from '../state/parameters.ts'
import type { Account, Permission } from '../state/records.ts'
import { invalid, Refusal } from '../state/refusal.ts'
import type { View } from '../state/state.ts'

const unsigned = (message: string) => new Refusal('SIGERROR', message)

/** Whether the bit of a contract type is set in 32 bytes of operations. */
export function allows(operations: string, contract_type: number): boolean {
  const byte = Number.parseInt(
    operations.slice(Math.floor(contract_type / 8) * 2, Math.floor(contract_type / 8) * 2 + 2),
    16,
  )
  return (byte & (1 << (contract_type % 8))) !== 0
}

export function permissionById(account: Account, id: number): Permission | undefined {
  const { owner, witness, actives } = permissionsOf(account)
  if (id === 0) return owner
  if (id === 1) return witness
  return actives.find((active) => active.id === id)
}

/** A transaction's claim to be executed. `signers` are the addresses that its
 *  signatures name. */
export type SignatureFacts = {
  readonly owner_address: string
  readonly contract_type: number
  readonly permission_id: number
  readonly signatures: readonly string[]
  readonly signers: () => readonly string[]
}

/** The weight of the signatures under a permission. Throws SIGERROR for a signature too many,
 *  foreign or repeated. */
export function weightOfSignatures(
  permission: Permission,
  { signatures, signers }: SignatureFacts,
): bigint {
  if (signatures.length > permission.keys.length) {
    throw unsigned(
      `Signature count is ${signatures.length} more than key counts of permission : ` +
        `${permission.keys.length}`,
    )
  }
  let weight = 0n
  const seen = new Set<string>()
  for (const [index, signer] of signers().entries()) {
    const key = permission.keys.find(({ address }) => address === signer)
    if (!key) {
      throw unsigned(
        `${signatures[index]} is signed by ${addressText(signer)} but it is not contained ` +
          'of permission.',
      )
    }
    if (seen.has(signer)) throw unsigned(`${addressText(signer)} has signed twice!`)
    seen.add(signer)
    weight += key.weight
  }
  return weight
}

/** Refuses (SIGERROR) a transaction whose signatures do not suffice for what it wants to do. */
export function checkSignatures(view: View, signed: SignatureFacts): void {
  const { owner_address, contract_type, permission_id, signatures } = signed
  if (signatures.length === 0) throw unsigned('miss sig or contract')
  if (signatures.length > SIGNATURES_MAX) throw unsigned('too many signatures')
  // An account that does not exist is judged by the permissions it would be born with.
  const account =
    accountOf(view, owner_address) ?? ({ address: owner_address, is_witness: false } as Account)
  const permission = permissionById(account, permission_id)
  if (!permission) throw unsigned("permission isn't exit")
  if (permission_id !== 0) {
    if (permission.type !== 'Active') throw unsigned('Permission type is error')
    if (!allows(permission.operations, contract_type)) throw unsigned('Permission denied')
  }
  if (weightOfSignatures(permission, signed) < permission.threshold) throw unsigned('sig error')
}

// The contract that changes permissions.

function readPermission(message: Message, id: number): Permission {
  return {
    type: (message.type ?? 'Owner') as Permission['type'],
    id,
    name: textOf(message, 'permission_name'),
    threshold: integerOf(message, 'threshold'),
    operations: textOf(message, 'operations'),
    keys: ((message.keys ?? []) as Message[]).map((key) => ({
      address: textOf(key, 'address'),
      weight: integerOf(key, 'weight'),
    })),
  }
}

function checkPermission(permission: Permission, parent_id: bigint): void {
  const { type, name, threshold, keys } = permission
  if (keys.length > SIGNATURES_MAX) {
    throw invalid(`number of keys in permission should not be greater than ${SIGNATURES_MAX}`)
  }
  if (keys.length === 0) throw invalid("key's count should be greater than 0")
  if (type === 'Witness' && keys.length !== 1)
    throw invalid("Witness permission's key count should be 1")
  if (threshold <= 0n) throw invalid("permission's threshold should be greater than 0")
  if (name.length > 32) throw invalid("permission's name is too long")
  if (parent_id !== 0n) throw invalid("permission's parent should be owner")
  if (new Set(keys.map(({ address }) => address)).size !== keys.length) {
    throw invalid(`address should be distinct in permission ${type}`)
  }
  for (const { address, weight } of keys) {
    if (!isAddressHex(address)) throw invalid('key is not a validate address')
    if (weight <= 0n) throw invalid("key's weight should be greater than 0")
  }
  const sum = keys.reduce((total, { weight }) => total + weight, 0n)
  if (sum >= 2n ** 63n) throw invalid('long overflow')
  if (sum < threshold) {
    throw invalid(`sum of all key's weight should not be less than threshold in permission ${type}`)
  }
  checkOperations(permission)
}

function checkOperations({ type, operations }: Permission): void {
  if (type !== 'Active') {
    if (operations !== '') throw invalid(`${type} permission needn't operations`)
    return
  }
  if (operations.length !== 64) throw invalid('operations size must 32')
  for (let bit = 0; bit < 256; bit++) {
    if (allows(operations, bit) && !allows(availableOperations, bit)) {
      throw invalid(`${bit} isn't a validate ContractType`)
    }
  }
}

export const updatePermissions: Contract = {
  validate({ state }, message) {
    const owner_address = textOf(message, 'owner_address')
    if (!isAddressHex(owner_address)) throw invalid('invalidate ownerAddress')
    const account = accountOf(state, owner_address)
    if (!account) throw invalid('ownerAddress account does not exist')
    if (!message.owner) throw invalid('owner permission is missed')
    if (account.is_witness && !message.witness) throw invalid('witness permission is missed')
    if (!account.is_witness && message.witness)
      throw invalid("account isn't witness can't set witness permission")
    const actives = (message.actives ?? []) as Message[]
    if (actives.length === 0) throw invalid('active permission is missed')
    if (actives.length > 8) throw invalid('active permission is too many')
    const all: [Message, Permission['type'], string][] = [
      [message.owner as Message, 'Owner', 'owner'],
    ]
    if (message.witness) all.push([message.witness as Message, 'Witness', 'witness'])
    for (const active of actives) all.push([active, 'Active', 'active'])
    for (const [given, type, name] of all) {
      const permission = readPermission(given, 0)
      if (permission.type !== type) throw invalid(`${name} permission type is error`)
      checkPermission(permission, integerOf(given, 'parent_id'))
    }
  },

  execute({ state, parameters }, message) {
    const fee = BigInt(parameters.getUpdateAccountPermissionFee)
    const account = accountOf(state, textOf(message, 'owner_address'))!
    const actives = message.actives as Message[]
    writeAccount(state, {
      ...account,
      permissions: {
        owner: readPermission(message.owner as Message, 0),
        ...(message.witness ? { witness: readPermission(message.witness as Message, 1) } : {}),
        actives: actives.map((active, index) => readPermission(active, index + 2)),
      },
    })
    burn(state, account.address, fee)
    return { fee_sun: fee }
  },
}
