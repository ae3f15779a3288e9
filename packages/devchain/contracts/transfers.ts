// TRX from one account to another, and the birth of accounts: by a contract of its own, or by the
// first TRX sent to an address. A birth burns 1 TRX beyond what its bandwidth costs (see
// bandwidth.ts).

import {
  accountOf,
  adjustBalance,
  burn,
  isAddressHex,
  newAccount,
  writeAccount,
} from '../state/accounts.ts'
import { type Contract, integerOf, textOf } from '../state/execution_context.ts'
import { invalid } from '../state/refusal.ts'

const INT64_MAX = 2n ** 63n - 1n

export const transfer: Contract = {
  validate({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const amount = integerOf(message, 'amount')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress!')
    if (!isAddressHex(to)) throw invalid('Invalid toAddress!')
    if (owner === to) throw invalid('Cannot transfer TRX to yourself.')
    const sender = accountOf(state, owner)
    if (!sender) throw invalid('Validate TransferContract error, no OwnerAccount.')
    if (amount <= 0n) throw invalid('Amount must be greater than 0.')
    const receiver = accountOf(state, to)
    const fee = receiver ? 0n : BigInt(parameters.getCreateNewAccountFeeInSystemContract)
    if (amount + fee > INT64_MAX) throw invalid('long overflow')
    if (sender.balance < amount + fee)
      throw invalid('Validate TransferContract error, balance is not sufficient.')
    if (receiver && receiver.balance + amount > INT64_MAX) throw invalid('long overflow')
  },

  execute({ state, parameters, now_ms }, message) {
    const owner = textOf(message, 'owner_address')
    const to = textOf(message, 'to_address')
    const amount = integerOf(message, 'amount')
    let fee = 0n
    if (!accountOf(state, to)) {
      writeAccount(state, newAccount(to, now_ms))
      fee = BigInt(parameters.getCreateNewAccountFeeInSystemContract)
      burn(state, owner, fee)
    }
    adjustBalance(state, owner, -amount)
    adjustBalance(state, to, amount)
    return { fee_sun: fee }
  },
}

export const createAccount: Contract = {
  validate({ state, parameters }, message) {
    const owner = textOf(message, 'owner_address')
    const address = textOf(message, 'account_address')
    if (!isAddressHex(owner)) throw invalid('Invalid ownerAddress')
    const payer = accountOf(state, owner)
    if (!payer) throw invalid(`Account[${owner}] not exists`)
    if (payer.balance < BigInt(parameters.getCreateNewAccountFeeInSystemContract)) {
      throw invalid('Validate CreateAccountActuator error, insufficient fee.')
    }
    if (!isAddressHex(address)) throw invalid('Invalid account address')
    if (accountOf(state, address)) throw invalid('Account has existed')
  },

  execute({ state, parameters, now_ms }, message) {
    const fee = BigInt(parameters.getCreateNewAccountFeeInSystemContract)
    writeAccount(state, newAccount(textOf(message, 'account_address'), now_ms))
    burn(state, textOf(message, 'owner_address'), fee)
    return { fee_sun: fee }
  },
}
