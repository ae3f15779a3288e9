// Customers' accounts put right by the operator's hand.

import { requireCustomer } from '../customers/customers.ts'
import { misuse } from '../lib/fault.ts'
import { correct, listCorrections } from '../treasury/corrections.ts'
import {
  type Changing,
  change,
  command,
  flag,
  LIMIT,
  needed,
  paging,
  text,
  trx,
} from './command.ts'

/** From here on a correction has to be confirmed: three zeros too many are soon typed. */
const UNCONFIRMED_MAX_SUN = 1_000_000_000n

const operands = {
  customer: needed(text('CUSTOMER', 'the id of the customer')),
  amount: needed(trx('AMOUNT', 'TRX, with at most 6 decimals')),
}
const options = {
  id: text('ID', 'a name for it: the same again changes nothing'),
  yes: flag('more than 1,000 TRX is meant'),
}

/** One correction, by the sign of what it does to the account. */
function correcting(words: string, summary: string, sign: 1n | -1n) {
  return change({
    words,
    summary,
    details:
      'An entry against the account `corrections`; the statement has it with its id. --reason must be given.',
    operands,
    options,
    async run(tx, { new_id }, { customer, amount, id = new_id(), yes, ...changing }) {
      if (amount === 0n) throw misuse(`${words}: AMOUNT is more than 0.`)
      if (amount > UNCONFIRMED_MAX_SUN && !yes)
        throw misuse('More than 1,000 TRX: --yes says that it is meant.')
      const made_by = changing.changed_by
      const wanted = {
        id,
        customer_id: customer,
        amount_sun: sign * amount,
        made_at: changing.at,
        made_by,
      }
      const { correction, made } = await correct(tx, { ...wanted, reason: reasonOf(changing) })
      const { customer_id, amount_sun } = correction
      const action = {
        subject: `correction:${id}`,
        before: null,
        after: { customer_id, amount_sun },
      }
      const note = made ? 'Done.' : 'It was made before.'
      return { result: { value: correction, note }, actions: made ? [action] : [] }
    },
  })
}

/** Why, which must be said where money moves by hand. Throws misuse. */
export function reasonOf({ reason }: Pick<Changing, 'reason'>): string {
  if (reason === null || reason.trim() === '')
    throw misuse('--reason is missing: why, for the record.')
  return reason
}

export const correctionCommands = [
  correcting('customers credit', "add to a customer's account by hand", 1n),
  correcting(
    'customers debit',
    "take from a customer's account by hand, never more than it can spend",
    -1n,
  ),
  command({
    words: 'customers corrections',
    summary: "what was added to customers' accounts, or taken from them, by hand, newest first",
    operands: { customer: text('CUSTOMER', 'only of this customer') },
    options: { limit: paging.limit },
    async run({ sql }, { customer, limit = LIMIT }) {
      if (customer !== undefined) await requireCustomer(sql, customer)
      return { value: await listCorrections(sql, { customer_id: customer, limit }) }
    },
  }),
]
