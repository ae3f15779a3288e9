// What an account has, as a node answers it.

import { fieldsOf, integer, listOf } from './answers.ts'

const where = 'getaccount'
const sunOf = (value: unknown): bigint => BigInt(integer(value ?? 0, where))
const sumOf = (given: unknown, field: string): bigint =>
  listOf(given ?? [], where).reduce((sum: bigint, one) => sum + sunOf(fieldsOf(one, where)[field]), 0n)

/** All TRX of an account, in sun, wherever its owner has put them. */
export function holdingsOf(answer: unknown): bigint {
  const account = fieldsOf(answer, where)
  const resource = fieldsOf(account.account_resource ?? {}, where)
  const old_energy = fieldsOf(resource.frozen_balance_for_energy ?? {}, where)
  const delegated = [
    account.delegated_frozenV2_balance_for_bandwidth,
    resource.delegated_frozenV2_balance_for_energy,
    account.delegated_frozen_balance_for_bandwidth,
    resource.delegated_frozen_balance_for_energy,
  ]
  return (
    sunOf(account.balance) +
    sumOf(account.frozen, 'frozen_balance') +
    sunOf(old_energy.frozen_balance) +
    sumOf(account.frozenV2, 'amount') +
    sumOf(account.unfrozenV2, 'unfreeze_amount') +
    delegated.reduce((sum: bigint, one) => sum + sunOf(one), 0n)
  )
}
