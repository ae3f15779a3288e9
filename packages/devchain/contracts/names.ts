// The name and the id that an account may give itself, each once. Both are bytes; ids are found
// whatever their case.

import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { accountOf, isAddressHex, requireAccount, writeAccount } from '../state/accounts.ts'
import { type Contract, textOf } from '../state/execution_context.ts'
import type { Account } from '../state/records.ts'
import { invalid } from '../state/refusal.ts'
import type { View } from '../state/state.ts'

const NAME_BYTES_MAX = 200
const ID_BYTES_MAX = 32
const ID_BYTES_MIN = 8

const nameKey = (name: string) => `name:${name}`
const idKey = (id: string) =>
  `id:${bytesToHex(utf8ToBytes(new TextDecoder().decode(hexToBytes(id)).toLowerCase()))}`

/** The account that has an id of hexadecimal bytes. */
export function accountById(view: View, id: string): Account | undefined {
  const address = view.read('register', idKey(id))?.[0]
  return address === undefined ? undefined : accountOf(view, address)
}

/** Printable ASCII without spaces. */
function isReadable(id: string): boolean {
  return hexToBytes(id).every((byte) => byte >= 0x21 && byte <= 0x7e)
}

export const updateAccount: Contract = {
  validate({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    const name = textOf(message, 'account_name')
    if (name.length > NAME_BYTES_MAX * 2) throw invalid('Invalid accountName')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    const account = accountOf(state, owner)
    if (!account) throw invalid('Account does not exist')
    if (parameters.getAllowUpdateAccountName !== 0) return
    if (account.name) throw invalid('This account name is already existed')
    if (state.read('register', nameKey(name))) throw invalid('This name is existed')
  },

  execute({ state }, message) {
    const account = requireAccount(state, textOf(message, 'owner_address'))
    const name = textOf(message, 'account_name')
    writeAccount(state, { ...account, name })
    state.write('register', nameKey(name), [account.address])
    return { fee_sun: 0n }
  },
}

export const setAccountId: Contract = {
  validate({ state }, message) {
    const owner = textOf(message, 'owner_address')
    const id = textOf(message, 'account_id')
    const bytes = id.length / 2
    if (bytes < ID_BYTES_MIN || bytes > ID_BYTES_MAX || !isReadable(id))
      throw invalid('Invalid accountId')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    const account = accountOf(state, owner)
    if (!account) throw invalid('Account has not existed')
    if (account.id) throw invalid('This account id already set')
    if (state.read('register', idKey(id))) throw invalid('This id has existed')
  },

  execute({ state }, message) {
    const account = requireAccount(state, textOf(message, 'owner_address'))
    const id = textOf(message, 'account_id')
    writeAccount(state, { ...account, id })
    state.write('register', idKey(id), [account.address])
    return { fee_sun: 0n }
  },
}
